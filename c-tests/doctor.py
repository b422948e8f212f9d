#!/usr/bin/env python3
"""How well `chatparse lint` finds faults that are planted in templates.

    doctor.py PROGRAM TEMPLATES... [--found 95] [--clean 95] [--every 5] [--verbose]

TEMPLATES are folders of sound templates, but for those that doctor.txt lists with a reason. Each kind of fault is planted in each template
where it changes the prompt of a conversation with calls. A fault is found if lint has a finding, or fails with more faults, that the
untouched template has not.
"""
import argparse, concurrent.futures, json, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent


def conversation():
    def call(index, place, days):
        return {"id": f"call0000{index}", "type": "function",
                "function": {"name": "look_up", "arguments": {"place": place, "days": days}}}
    tool = {"type": "function", "function": {"name": "look_up", "description": "Looks it up.", "parameters": {
        "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}, "required": ["place"]}}}
    return {"now": 0, "tools": [tool], "parallel_tool_calls": True, "messages": [
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "", "reasoning_content": "A tool knows.",
         "tool_calls": [call(1, "Porto Alegre", 3)]},
        {"role": "tool", "tool_call_id": "call00001", "name": "look_up", "content": "Rain"},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": "Still?"}]}


# Each returns the source with a fault, or None.
def first(source, old, new):
    at = source.find(old)
    return None if at < 0 else source[:at] + new + source[at + len(old):]


def upper_name(source):
    return re.sub(r"((?:tool_call|tool|tc|call|function|c)(?:\.function)?(?:\.name|\[['\"]name['\"]\]))(?=[^=]{0,12}(?:\}\}|~|\+))",
                  r"(\1 | upper)", source)


def hidden_calls(source):
    return re.sub(r"(for\s+\w+\s+in\s+)message(?:\.tool_calls|\[['\"]tool_calls['\"]\])", r"\1[]", source)


def other_opening(source):
    at = source.rfind("add_generation_prompt")
    return at >= 0 and "assistant" in source[at:] and source[:at] + first(source[at:], "assistant", "asistant")


FAULTS = [upper_name, hidden_calls, other_opening]


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.body = folder / "conversation.json"
        self.body.write_text(json.dumps(conversation()))

    def run(self, *args):
        done = subprocess.run([self.path, *map(str, args)], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout

    def prompt(self, file):
        status, text = self.run("render", file, self.body)
        return text if status == 0 else None

    def lint(self, file):
        status, text = self.run("lint", file, "--json")
        report = json.loads(text)
        # A note on what a role accepts says nothing of how the template's own text fits together.
        rules = [(found["rule"], found["subject"]) for found in report.get("findings", []) if found["rule"] != "printed-parts"]
        return status, rules, report.get("faults", 0)


def shows_calls(prompt):
    begin = prompt.find("How is the weather?")
    return begin >= 0 and prompt.find("look_up", begin) >= 0 and prompt.find("Rain", begin) >= 0


def examine(program, path, listed, plants):
    rows = []
    _, rules, faults = program.lint(path)
    clean = not rules
    untouched = clean and program.prompt(path)
    if plants and untouched and shows_calls(untouched) and path.name not in listed:
        for plant in FAULTS:
            source = path.read_text()
            faulty = plant(source)
            if not faulty or faulty == source:
                continue
            file = program.folder / f"{plant.__name__}-{path.name}"
            file.write_text(faulty)
            prompt = program.prompt(file)
            if prompt is None or prompt == untouched:
                continue
            status, found, left = program.lint(file)
            is_found = any(rule not in rules for rule in found) or status == 1 and left > faults
            rows.append((plant.__name__, is_found, [rule for rule, _ in found], left))
    return path.name, rules, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    for name, least in ("found", 95), ("clean", 95):
        parser.add_argument(f"--{name}", type=float, default=least)
    parser.add_argument("--every", type=int, default=5, help="faults are planted in each so-many-th template")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    missing = [str(folder) for folder in args.folders if not folder.is_dir()]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    lines = (HERE / "doctor.txt").read_text().splitlines()
    listed = dict(line.split("\t") for line in lines if not line.startswith("#"))
    files = sorted(file for folder in args.folders for file in folder.glob("*.jinja") if args.only in file.name)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        program = Program(args.program, pathlib.Path(folder))
        done = list(pool.map(lambda at: examine(program, files[at], listed, at % args.every == 0), range(len(files))))
    sound = [(name, rules) for name, rules, _ in done if name not in listed]
    noisy = [(name, rules) for name, rules in sound if rules]
    silent = [name for name, rules, _ in done if name in listed and not rules]
    rows = [(name, *row) for name, _, rows in done for row in rows]
    for name, rules in noisy:
        print(f"sound, but: {name}: {', '.join(rule for rule, _ in rules)}")
    for name in silent:
        print(f"not found: {name}: {listed[name]}")
    for name, plant, found, rules, faults in rows:
        if args.verbose or not found:
            print(f"{'found' if found else 'not found'}: {plant} in {name}: {', '.join(rules)}, {faults} faults")
    kinds = sorted({plant for _, plant, *_ in rows})
    for kind in kinds:
        of = [row for row in rows if row[1] == kind]
        print(f"  {kind:20} {len(of):3} planted, {sum(row[2] for row in of):3} found")
    percent = lambda part, all: 100 * part / max(1, all)
    figures = {
        "found": (sum(row[2] for row in rows), len(rows)),
        "clean": (len(sound) - len(noisy), len(sound)),
    }
    failed = bool(silent)
    for name, (part, all) in figures.items():
        print(f"{name}: {part} of {all}, {percent(part, all):.1f} %, at least {getattr(args, name):g} %")
        failed |= percent(part, all) < getattr(args, name)
    print(f"planted in {len({row[0] for row in rows})} templates")
    return failed


sys.exit(main())
