"""cuts.py OURS THEIRS: how chatparse's session reads the cuts of outputs with calls, as chat.cpp writes them, beside llama.cpp's: never
fewer calls, streamed as whole, and no end of a call in the content or arguments. Prints how many cuts of each template are read otherwise."""

import collections
import json
import os
import sys

CONTENT, CALLS = 0, 2


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def behind(text, whole):
    """What a text has that the whole one has not, from there on."""
    return text[len(os.path.commonprefix([text, whole])):]


def faults(cut, message, theirs, whole):
    streamed, at_once = message
    if streamed != at_once:
        yield "streamed is not whole"
    if len(at_once[CALLS]) < len(theirs[CALLS]):
        yield "fewer calls"
    markup = behind(at_once[CONTENT], whole[CONTENT])
    if not cut.endswith(markup):
        yield "content that the output does not end in"
    # All of its calls are there, so what is more can only be what ends them.
    if markup and at_once[CALLS] and len(at_once[CALLS]) == len(whole[CALLS]):
        yield "content has the end of a call"
    for (_, shown), (_, all_of_it) in zip(at_once[CALLS], whole[CALLS]):
        if set(behind(shown, all_of_it)) & set("<>[]|/\n"):
            yield "arguments have markup"


ours, theirs = (read(path) for path in sys.argv[1:])
if [line[:2] for line in ours] != [line[:2] for line in theirs]:
    sys.exit("the two have not read the same cuts")
wholes = {where: at_once for where, _, _, at_once in ours}
found = collections.Counter()
for (where, cut, *message), (_, _, _, reference) in zip(ours, theirs):
    found.update(f"{where.split()[0]}: {fault}" for fault in faults(cut, message, reference, wholes[where]))
for what, count in found.items():
    print(f"cuts\t{what}, {count}")
print(f"cuts\t{len(ours)} cuts of {len(wholes)} outputs")
