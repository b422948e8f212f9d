#!/usr/bin/env python3
"""enums.py FOLDER: cbindgen sees the files of FOLDER alone. Puts the library's enumerations there in place of `pub use ... as chat_...`.

The comment of an enumeration is that of its `pub use`; its variants have those of the library.
"""
import pathlib
import re
import sys

USE = re.compile(r"^pub use (chatparse_\w+)(?:::\w+)*::(\w+) as (chat_\w+);$", re.M)


def enumeration(use):
    crate, name, c_name = use.groups()
    found = []
    for file in pathlib.Path("crates", crate.removeprefix("chatparse_"), "src").rglob("*.rs"):
        found += re.findall(rf"^( *)#\[repr\(u32\)\]\n(?: *#\[.*\]\n)*\1pub enum {name} {{\n(.*?)^\1}}$", file.read_text(), re.M | re.S)
    if len(found) != 1:
        sys.exit(f"enums: {use[0]}: there is no such enumeration with #[repr(u32)], or several")
    variants = re.sub(r"\((\d+)\) = \"[^\"]*\"", r" = \1", re.sub(r" *#.*\n", "", found[0][1]))
    return f"#[repr(u32)]\npub enum {c_name} {{\n{variants}}}"


def main():
    for file in pathlib.Path(sys.argv[1]).glob("*.rs"):
        file.write_text(USE.sub(enumeration, file.read_text()))


if __name__ == "__main__":
    main()
