#!/usr/bin/env python3
"""abi.py INCLUDE [--write]: what the headers in the folder INCLUDE say is compatible with abi.xml, or, with --write, becomes it.

A program that was compiled with the headers of abi.xml must run with the library of today: libabigail compares functions, structs
and the numbers of enumerations. Functions may be added. Unstable headers do not count. Exits with 77 without libabigail.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = ["chatparse.h", "chatparse/server.h"]
ABI = pathlib.Path(__file__).with_name("abi.xml")


def source(include):
    """The functions of the headers with empty bodies, and a variable of each enumeration: a compiler drops unused types."""
    text = "".join(pathlib.Path(include, header).read_text() for header in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    functions = re.findall(r"^(?:CHAT_MUST_USE )?((?:const )?\w+ \*?chat_\w+\([^;{]*\));", text, re.M)
    enums = re.findall(r"^CHAT_ENUM\((chat_\w+)\)", text, re.M)
    assert len(functions) > 80 and len(enums) > 10, "the headers cannot be read"
    lines = [f"{head} {{ __builtin_unreachable(); }}" for head in functions] + [f"enum {name} any_{name};" for name in enums]
    return "\n".join(["#include <chatparse.h>", *lines, ""])


def main():
    include, *options = sys.argv[1:]
    if not shutil.which("abidiff"):
        print("no libabigail: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "libchatparse.so")
        compiler = ["cc", "-g", "-shared", "-fPIC", "-w", "-I", include, "-x", "c", "-", "-o", library]
        subprocess.run(compiler, input=source(include), text=True, check=True)
        if "--write" in options:
            written = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]
            subprocess.run([*written, "--out-file", ABI, library], check=True)
        sys.exit(subprocess.run(["abidiff", "--no-added-syms", ABI, library]).returncode != 0)


if __name__ == "__main__":
    main()
