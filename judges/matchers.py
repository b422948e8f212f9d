#!/usr/bin/env python3
"""Does `Matcher` say behind each byte of an output what `grammar --check`, llguidance and XGrammar say?

    matchers.py --bin target/release/chatparse --shared ../shared [--per N] [--limit N] [--seed N] [--show N] [--min N]

The outputs are those of parity/samples.py, N for each template and kind of request (25: some 12,000). Each is fed byte by byte, and so it is with one
byte changed. At each place all must say the same of two questions: may the next byte come, and may the output end? `grammar --check` reads
the GBNF, XGrammar `portable-gbnf`, llguidance `lark`; their tokens are the 256 bytes. Each text is also checked as a whole. Needs the Python
package `chatparse`, and those of the engines that are there. Ends with 77 where none is, and with 1 where two differ, or outputs are fewer than
--min.
"""
import argparse
import collections
import contextlib
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dialects


class Ours:
    """Our matcher behind what the prompt has."""

    def __init__(self, matcher, before=""):
        assert matcher.feed(before) == len(before.encode())
        self.begin = matcher

    def start(self):
        self.at = self.begin.copy()

    def feed(self, byte):
        return self.at.feed(bytes([byte])) == 1

    def may_end(self):
        return self.at.may_end


class XGrammar:
    def __init__(self, engine, text):
        self.make, self.loaded = engine.xg.GrammarMatcher, engine.load("portable-gbnf", text)

    def start(self):
        self.at = self.make(self.loaded)

    def feed(self, byte):
        return self.at.accept_token(byte)

    def may_end(self):
        ends = self.at.accept_token(dialects.EOS)
        if ends:
            self.at.rollback(1)
        return ends


class LLGuidance:
    def __init__(self, engine, text):
        self.begin = engine.load("lark", text)

    def start(self):
        self.at = self.begin.deep_copy()

    def feed(self, byte):
        return self.at.try_consume_tokens([byte]) == 1

    def may_end(self):
        return self.at.is_accepting()


def walk(engine, text):
    """Whether the output may end in front of each byte, up to the first that may not come, and behind the last."""
    engine.start()
    ends = [engine.may_end()]
    for byte in text:
        if not engine.feed(byte):
            break
        ends.append(engine.may_end())
    return ends


def changed(text, chance):
    """The text with one byte changed."""
    place = chance.randrange(len(text))
    others = [byte for byte in b'a0 \n"<>{}[],:\\\xc3' if byte != text[place]]
    return text[:place] + bytes([chance.choice(others)]) + text[place + 1 :]


def judges(scenario, at_hand):
    """What reads the grammar of a scenario's request; the GBNF; what of the output is in the prompt."""
    from chatparse import Dialect, Matcher, Template

    # What `replay` makes of a scenario.
    request = {**scenario["request"], "compat": "llama.cpp", "opening_again": "marker", "grammar_style": "faithful"}
    with open(scenario["template"], encoding="utf-8", newline="") as file:
        params = Template(file.read(), bos=scenario["bos"], eos=scenario["eos"]).params(request)
    gbnf, before = params.grammar(Dialect.GBNF), params.generation_prompt
    made = {"matcher": Ours(params.matcher()), "check": Ours(Matcher.from_grammar(gbnf.text), before)}
    for name, judge, dialect in (("xgrammar", XGrammar, Dialect.PORTABLE_GBNF), ("llguidance", LLGuidance, Dialect.LARK)):
        if name in at_hand:
            made[name] = judge(at_hand[name], params.grammar(dialect).text)
    return made, gbnf, before


def sampled(options):
    """The outputs of samples.py, by scenario: it sends them to a program."""
    shared, binary = options.shared, os.path.abspath(options.bin)
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "templates")
    folders = [own, os.path.join(shared, "templates"), os.path.join(shared, "templates-wild")]
    found = collections.defaultdict(list)
    with tempfile.NamedTemporaryFile() as sent:
        program = shlex.join(["bash", "-c", f"tee -a {shlex.quote(sent.name)} | {shlex.quote(binary)} replay"])
        command = [sys.executable, os.path.join(shared, "parity", "samples.py"), program, *filter(os.path.isdir, folders)]
        said = subprocess.run([*command, "--per", str(options.per), "--seed", str(options.seed)], check=True, capture_output=True, text=True).stdout
        print(said.splitlines()[-1])
        for scenario in map(json.loads, sent):
            for output in scenario.get("outputs", []):
                found[scenario["template"], json.dumps(scenario["request"])].append((scenario, output["text"].encode()))
    return found.values()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--shared", required=True)
    options.add_argument("--per", type=int, default=1)
    options.add_argument("--limit", type=int)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--show", type=int, default=5)
    options.add_argument("--min", type=int, default=1)
    options = options.parse_args()
    try:
        from chatparse import Verdict
    except ImportError as error:
        print(f"matchers: skipped: {error}")
        sys.exit(77)
    at_hand = dialects.engines()
    chance, began = random.Random(options.seed), time.time()
    outputs = places = changes = 0
    differences = collections.Counter()
    for cases in sampled(options):
        made, gbnf, before = judges(cases[0][0], at_hand)
        for scenario, output in cases[: None if options.limit is None else options.limit - outputs]:
            outputs += 1
            for text in [output, changed(output, chance)] if output else [output]:
                found = {name: walk(judge, text) for name, judge in made.items()}
                ends = found["matcher"]
                places += len(ends)
                is_whole = len(ends) > len(text)
                changes += not is_whole
                wrong = [name for name in found if found[name] != ends]
                with contextlib.suppress(UnicodeDecodeError):
                    expected = (Verdict.ALLOWED if ends[-1] else Verdict.PREFIX) if is_whole else Verdict.REFUSED
                    if gbnf.check(before + text.decode()) != expected:
                        wrong.append("check of the whole")
                for name in wrong:
                    differences[name] += 1
                    if sum(differences.values()) <= options.show:
                        print(f"--- {scenario['id']}: {name} goes {len(found.get(name, ends))} places, the matcher {len(ends)}: {text!r}")
    print(f"{outputs} outputs, and each with a byte changed, of which {changes} are refused somewhere: {places} places, "
          f"{time.time() - began:.0f} s, {sum(differences.values())} differences {dict(differences)}")
    sys.exit(bool(differences) or outputs < options.min)


if __name__ == "__main__":
    main()
