#!/usr/bin/env python3
"""header.py [--write]: arranges what cbindgen makes of src/ffi as a manual, sections by noun, with an index; run by header.sh.

Compares chatparse.h and the files that it includes with what is committed, or writes them. A declaration belongs to the section that lists
the longest beginning of its name. A declaration without a section, a section without declarations, and text that this program cannot read
are errors. In place of `pub use ... as chat_...` cbindgen gets the library's enumerations: with the comment of the `pub use`, and the
library's comments of their variants.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

WIDTH = 100
# Title, summary for the index, beginnings of names.
SECTIONS = [
    ("Version", "of the header and of the library", ["CHAT_VERSION", "chat_version"]),
    ("Handles", "the objects of the library", []),
    ("Texts", "views of text, positions in text", ["chat_str", "chat_span"]),
    ("Errors", "statuses and error objects", ["chat_status", "chat_error", "chat_version_check"]),
    ("Templates", "compiled once for each model", ["chat_template", "chat_report"]),
    ("Params", "one request: its prompt, and what parses and constrains the output", ["chat_params", "chat_delimiter", "chat_media", "chat_trigger"]),
    ("Messages", "what a model wrote: content, reasoning, tool calls, diagnostics",
     ["CHAT_PARSE", "chat_parse_partial", "chat_message", "chat_tool_call", "chat_outcome", "chat_call_report", "chat_report_fields", "chat_origin", "chat_diagnostic", "chat_part", "CHAT_SPANS"]),
    ("Streaming", "a message while the model writes it", ["chat_stream", "chat_delta"]),
    ("The next turn", "the prompt of the next request, with the model's cache kept",
     ["chat_params_continue", "chat_params_follow", "chat_params_turn", "chat_turn", "chat_reason"]),
    ("Segments", "which bytes of a prompt come from the template, and training masks",
     ["CHAT_MASK", "chat_segment", "chat_segments", "chat_text_origin"]),
    ("Grammars", "from JSON schemas; printed, checked and converted",
     ["chat_grammar", "chat_dialect", "chat_fidelity"]),
    ("The next bytes", "what may come next in an output, and what must",
     ["chat_matcher", "chat_params_matcher", "chat_byte_set"]),
    ("Parsers", "what parses an output, without its params", ["chat_parser", "chat_params_parser"]),
    ("Log", "what the library decides and is surprised by", ["chat_log"]),
    ("Grammar builder", "grammars from rules and schemas", ["chat_grammar_builder"]),
    ("Formats of your own", "syntax trees and grammars, for formats that no template shows",
     ["chat_parser_tagged", "chat_message_tree", "chat_parser_grammar", "chat_schema"]),
    ("Conversations in token ids", "ids in, ids out: what was sent and sampled stays; only in a library with the part `conversation`",
     ["chat_conversation", "chat_token_sink", "chat_special_token", "chat_tokenizer", "chat_extended", "chat_id", "chat_field"]),
    ("Servers' APIs", "requests and answers of OpenAI's and Anthropic's APIs",
     ["chat_answer", "chat_api", "chat_event", "chat_error_body", "chat_error_http_status"]),
]
HANDLES = "Handles"
MAIN = "chatparse.h"
UNSTABLE = "chatparse/unstable.h"
# What the other files say of themselves.
INTRODUCTION = {
    "chatparse/server.h": "/* A part of chatparse.h, which includes this file: its rules hold here, too. */",
    UNSTABLE: """\
/*
 * Unstable: any release may change or remove what is in this file, also where the SONAME stays. chatparse.h does not include
 * it. A program that does should be linked to the library of one release. Otherwise the rules of chatparse.h hold here, too.
 */""",
}
# Sections in files of their own.
SEPARATE = {
    "Grammar builder": UNSTABLE,
    "Formats of your own": UNSTABLE,
    "Conversations in token ids": UNSTABLE,
    "Servers' APIs": "chatparse/server.h",
}
INDEX = " * @index@\n"
# An enumeration: cbindgen writes C's and C++'s form of each.
ENUM = re.compile(r"enum (\w+)\n#ifdef __cplusplus\n  : uint32_t\n#endif // __cplusplus\n \{\n(.*?)\n\};\n"
                  r"#ifndef __cplusplus\ntypedef uint32_t \1;\n#endif // __cplusplus", re.S)
# cbindgen's names of `chat_list<T>`, and one of these lists.
LISTS = re.compile(r"\bchat_list_(?:chat_)?(\w+)")
LIST = re.compile(r"typedef struct \{\n.*?  const (\w+) \*data;\n.*?  size_t len;\n\} (\w+_list);", re.S)
STRUCT = re.compile(r"typedef struct \{\n(.*?)\n\} (\w+);", re.S)
HANDLE = re.compile(r"typedef struct chat_(\w+) (chat_\1);")
FUNCTION = re.compile(r"([^()]*?\b(\w+))\((.*)\);", re.S)
OTHER = re.compile(r"(?:#define |typedef \w+ (?:\(\*)?)(\w+)\b[^\n]*")
USE = re.compile(r"^pub use (chatparse_\w+)(?:::\w+)*::(\w+) as (chat_\w+);$", re.M)
MEMBER = re.compile(r"  /\*\*\n((?:   \*[^\n]*\n)+)   \*/\n  (\w[^\n]*)")


def comment(lines, start="/**"):
    """A comment of these lines: on one line if it fits."""
    one = f"{start} {lines[0]} */"
    if len(lines) == 1 and len(one) <= WIDTH:
        return one
    return "\n".join([start] + [f" * {line}".rstrip() for line in lines] + [" */"])


def members(body):
    """The members of an enumeration or a struct as a table: one member and its comment a line."""
    found = MEMBER.findall(body)
    if MEMBER.sub("", body).strip():
        sys.exit(f"header: no member with a comment: {body}")
    column = max(len(member) for _, member in found) + 3
    rows = []
    for doc, member in found:
        text = " ".join(line.strip(" *") for line in doc.splitlines())
        # The end stays with the last word.
        text = f"/**< {text}\N{NO-BREAK SPACE}*/"
        lines = textwrap.wrap(text, WIDTH - column, break_on_hyphens=False, subsequent_indent=" " * 5)
        first, *rest = [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
        rows += [f"  {member}".ljust(column) + first] + [" " * column + line for line in rest]
    return "\n".join(rows)


def function(head, arguments):
    """A prototype, with as many arguments on a line as fit."""
    parts = re.split(r",\s*", arguments)
    if parts[-1] == "chat_error **error":
        head = f"CHAT_MUST_USE {head}"
    indent = " " * (len(head) + 1)
    line, lines = head + "(", []
    parts = [part + "," for part in parts[:-1]] + [parts[-1] + ");"]
    for part in parts:
        if not line.endswith("(") and len(line) + 1 + len(part) > WIDTH:
            lines.append(line)
            line = indent + part
        else:
            line += part if line.endswith("(") else " " + part
    return "\n".join(lines + [line])


def section_of(name):
    """The section with the longest beginning of this name, in whole words."""
    fits = [(len(words), title) for title, _, prefixes in SECTIONS for words in prefixes if f"{name}_".startswith(f"{words}_")]
    if not fits:
        sys.exit(f"header: {name} has no section: add it to one in .ci/header.py")
    return max(fits)[1]


def arrange(blocks):
    """The declarations of each section, in cbindgen's order."""
    sections = {title: [] for title, _, _ in SECTIONS}
    for block in blocks:
        split = re.fullmatch(r"/\*\*\n((?: \*[^\n]*\n)+) \*/\n(.*)", block, re.S)
        if not split:
            sys.exit(f"header: no declaration with a comment: {block}")
        doc, code = [line[3:] for line in split[1].splitlines()], split[2]
        if match := HANDLE.fullmatch(code):
            # The tag differs from the type's name: by `struct chat_message` a program may mean a struct of its own.
            end = doc.index("") if "" in doc else len(doc)
            handle = f"{comment(doc[:end])}\ntypedef struct chatparse_{match[1]} {match[2]};"
            section = section_of(match[2])
            if section in SEPARATE:
                sections[section].insert(0, handle)
            else:
                sections[HANDLES].append(handle)
            if doc[end + 1:]:
                sections[section].insert(0, comment(doc[end + 1:], "/*"))
            continue
        if match := ENUM.fullmatch(code):
            name, code = match[1], f"CHAT_ENUM({match[1]}) {{\n{members(match[2])}\n}};"
        elif match := LIST.fullmatch(code):
            name, doc = match[2], ["Several of them: an array of the object that they were asked of."]
            code = f"typedef struct {{ const {match[1]} *data; size_t len; }} {name};"
        elif match := STRUCT.fullmatch(code):
            name, code = match[2], f"typedef struct {{\n{members(match[1])}\n}} {match[2]};"
        elif match := FUNCTION.fullmatch(code):
            name, code = match[2], function(match[1], match[3])
        elif match := OTHER.fullmatch(code):
            name = match[1]
        else:
            sys.exit(f"header: cannot read: {code}")
        sections[section_of(name)].append(f"{comment(doc)}\n{code}")
    if empty := [title for title, declarations in sections.items() if not declarations]:
        sys.exit(f"header: nothing in the sections {empty}")
    return sections


def paragraphs(declarations):
    """The declarations with blank lines in between, but none between neighbours of two lines."""
    text = declarations[0]
    for last, declaration in zip(declarations, declarations[1:]):
        text += ("\n" if last.count("\n") == declaration.count("\n") == 1 else "\n\n") + declaration
    return text


def enumeration(use):
    crate, name, c_name = use.groups()
    found = []
    for file in pathlib.Path("crates", crate.removeprefix("chatparse_"), "src").rglob("*.rs"):
        found += re.findall(rf"^( *)#\[repr\(u32\)\]\n(?: *#\[.*\]\n)*\1pub enum {name} {{\n(.*?)^\1}}$", file.read_text(), re.M | re.S)
    if len(found) != 1:
        sys.exit(f"header: {use[0]}: there is no such enumeration with #[repr(u32)], or several")
    variants = re.sub(r"\((\d+)\) = \"[^\"]*\"", r" = \1", re.sub(r" *#.*\n", "", found[0][1]))
    return f"#[repr(u32)]\npub enum {c_name} {{\n{variants}}}"


def declared():
    """What cbindgen makes of a copy of src/ffi, because it sees no alias, and no other folder."""
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path("src/ffi").glob("*.rs"):
            text = re.sub(r": ErrorOut\b", ": Out<*mut chat_error>", USE.sub(enumeration, file.read_text()))
            pathlib.Path(folder, file.name).write_text(re.sub(r": Out<([^<>']*)>", r": Option<&mut MaybeUninit<\1>>", text))
        command = ["cbindgen", "--quiet", "--config", "cbindgen.toml", f"{folder}/mod.rs"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def keep(file, text):
    path = pathlib.Path("include", file)
    if sys.argv[1:] == ["--write"]:
        path.write_text(text)
    elif (committed := path.read_text()) != text:
        print("\n".join(difflib.unified_diff(committed.splitlines(), text.splitlines(), str(path), "now", lineterm="")))
        sys.exit(f"{path} is out of date: run .ci/header.sh --write")


def main():
    written = LISTS.sub(lambda name: f"chat_{name[1].replace('u32', 'id')}_list", declared())
    head, start, rest = written.partition("#include <stdbool.h>")
    includes, *blocks = (start + rest).strip("\n").split("\n\n")
    opening = [block for block in blocks if block.startswith("#ifdef __cplusplus\nextern")]
    closing = blocks[-2:]
    if head.count(INDEX) != 1 or len(opening) != 1 or "#endif" not in closing[1]:
        sys.exit("header: expected one @index@, one extern, and the end of the include guard")
    sections = arrange([block for block in blocks if block not in opening + closing])
    index = "".join(f" *     {title:20} {summary}{f' ({SEPARATE[title]})' if title in SEPARATE else ''}\n"
                    for title, summary, _ in SECTIONS)
    texts = {MAIN: [head.replace(INDEX, index) + includes, MACROS, opening[0]]}
    for title, declarations in sections.items():
        file = SEPARATE.get(title, MAIN)
        if file not in texts:
            guard = re.sub(r"\W", "_", file).upper()
            texts[file] = [INTRODUCTION[file], f"#ifndef {guard}\n#define {guard}", f'#include "../{MAIN}"', opening[0]]
        texts[file] += [f"/* == {title} ".ljust(WIDTH - 3, "=") + " */", paragraphs(declarations)]
    for file, text in texts.items():
        end = closing if file != MAIN else [closing[0], "\n".join(f'#include "{name}"' for name in texts if name not in (MAIN, UNSTABLE)), closing[1]]
        keep(file, "\n\n".join(text + [block.replace("CHATPARSE_H", re.sub(r"\W", "_", file).upper()) for block in end]) + "\n")


MACROS = """\
/* Enumerations are uint32_t, in C and in C++. */
#ifdef __cplusplus
#define CHAT_ENUM(name) enum name : uint32_t
#else
#define CHAT_ENUM(name) typedef uint32_t name; enum name
#endif

/* Marks functions that can fail: the compiler warns where a program ignores their status. Define it as nothing before the
   #include to turn these warnings off. */
#ifndef CHAT_MUST_USE
#if defined(__GNUC__)
#define CHAT_MUST_USE __attribute__((warn_unused_result))
#else
#define CHAT_MUST_USE
#endif
#endif"""

if __name__ == "__main__":
    main()
