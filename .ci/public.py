#!/usr/bin/env python3
"""The public items of the crate `chatparse`, with their signatures, as `cargo doc --workspace --no-deps` shows them.

Without arguments: fails where tests/public.txt differs. With --write: writes it. The first line names the compiler: others may print
signatures in another way, so there nothing is compared.
"""
import difflib
import html
import pathlib
import re
import subprocess
import sys

COMMITTED = pathlib.Path("tests/public.txt")
PAGES = pathlib.Path("target/doc/chatparse")
DECLARED = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.S)
METHOD = re.compile(r'<h4 class="code-header">(.*?)</h4>', re.S)
TRAIT = re.compile(r'<h3 class="code-header">(.*?)</h3>', re.S)


def text(markup):
    shown = html.unescape(re.sub(r"<[^>]*>", "", markup))
    return re.sub(r"\s+", " ", shown.replace(" ⓘ", "")).strip()


def items():
    # The list of all items: pages of earlier runs may still lie there.
    for path in map(pathlib.Path, re.findall(r'<li><a href="([^"#]+)"', (PAGES / "all.html").read_text())):
        source = (PAGES / path).read_text()
        # Of what is implemented only what the source says: no blanket, no automatic trait.
        own, _, rest = source.partition('id="trait-implementations"')
        traits, _, _ = rest.partition('id="synthetic-implementations"')
        name = "::".join(["chatparse", *path.parts[:-1], path.name.split(".")[1]])
        for declared in DECLARED.findall(own):
            yield f"{name}: {text(declared)}"
        for found in METHOD.findall(own):
            yield f"{name}: {text(found)}"
        traits = [text(found) for found in TRAIT.findall(traits)]
        if traits:
            named = sorted(re.sub(r"^impl(<.*?>)? | for .*", "", found) for found in traits)
            yield f"{name}: {', '.join(named)}"


def main():
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split(" (")[0]
    made = [f"# as {compiler} prints it", *sorted(set(items()))]
    if sys.argv[1:] == ["--write"]:
        COMMITTED.write_text("\n".join(made) + "\n")
        return
    committed = COMMITTED.read_text().splitlines()
    if committed[0] != made[0]:
        print(f"public items: not compared, because {COMMITTED} is {committed[0][2:]}, and this is {compiler}")
    elif committed != made:
        print("\n".join(difflib.unified_diff(committed, made, str(COMMITTED), "now", lineterm="", n=0)))
        sys.exit("The public items have changed. Is that meant? See docs/stability.md, then run .ci/public.py --write")


main()
