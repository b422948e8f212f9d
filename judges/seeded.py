#!/usr/bin/env python3
"""Whether `chatparse lint` finds faults that are planted in templates, and reports none that is not there.

    seeded.py PROGRAM PLACES... [--found 98] [--true 100] [--every N] [--only TEXT] [--verbose]

PLACES are folders of templates. A fault is planted around a template: what it is given is changed before it, or what it renders
after it. It counts where it changes a prompt of the conversations below, and is found if lint breaks a law of its kind that
it does not break without the fault. Of the untouched templates, each fault that lint shows with a request is rendered again by
transformers' Jinja (the package jinja2): the text that lint got has to be there, or an error.
"""
import argparse, collections, concurrent.futures, json, os, pathlib, re, subprocess, sys, tempfile

# What is done with each message, or with all; `m` is a message, `all` the list. Each with the laws that it breaks.
EACH = {
    "a first system message is lost": ("shown", "not (m.role == 'system' and loop.first)", "m"),
    "a later system message is lost": ("shown", "not (m.role == 'system' and not loop.first)", "m"),
    "earlier answers are lost": ("shown", "not (m.role == 'assistant' and not m.tool_calls and not loop.last)", "m"),
    "the second result is lost": ("shown", "not (m.role == 'tool' and loop.previtem.role == 'tool')", "m"),
    "results are lost": ("shown", "true", "dict(m, content='') if m.role == 'tool' else m"),
    "results are cut": ("shown", "true", "dict(m, content=m.content[:9]) if m.role == 'tool' else m"),
    "results are in lower case": ("shown", "true", "dict(m, content=m.content | lower) if m.role == 'tool' else m"),
    "the user's text is cut": ("shown", "true", "dict(m, content=m.content[:9]) if m.role == 'user' else m"),
    "lines of the user are joined": ("shown", "true", "dict(m, content=m.content | replace('\\n', ' ')) if m.role == 'user' else m"),
    "content beside calls is lost": ("shown", "true", "dict(m, content='') if m.tool_calls else m"),
    "calls are lost": ("shown", "true", "dict(m, tool_calls=none) if m.tool_calls else m"),
    "the second call is lost": ("shown", "true", "dict(m, tool_calls=m.tool_calls[:1]) if m.tool_calls else m"),
    "names are in upper case": ("shown", "true", "dict(m, tool_calls=[dict(m.tool_calls[0], function=dict(m.tool_calls[0].function, name=m.tool_calls[0].function.name | upper))]) if m.tool_calls else m"),
    "arguments are lost": ("shown", "true", "dict(m, tool_calls=[dict(m.tool_calls[0], function=dict(m.tool_calls[0].function, arguments={}))]) if m.tool_calls else m"),
    "arguments are Python's": ("arguments read", "true", "dict(m, tool_calls=[dict(m.tool_calls[0], function=dict(m.tool_calls[0].function, arguments=m.tool_calls[0].function.arguments | string))]) if m.tool_calls and m.tool_calls[0].function.arguments is mapping else m"),
    "null is printed": ("absent", "true", "dict(m, content='None') if m.content is none else m"),
    "null calls raise": ("absent", "true", "(raise_exception('calls') if m.tool_calls is defined and m.tool_calls is none else m)"),
    "no calls are printed": ("absent", "true", "(dict(m, content=m.content ~ '[]') if m.tool_calls is defined and m.tool_calls == [] else m)"),
    "an unknown field raises": ("absent", "true", "(raise_exception('field') if m.refusal is defined else m)"),
    "markers of the user are removed": ("text", "true", "dict(m, content=m.content | replace(MARK, '')) if m.role == 'user' else m"),
    "markers of results are removed": ("text", "true", "dict(m, content=m.content | replace(MARK, '')) if m.role == 'tool' else m"),
    "a user's text after a marker is dropped": ("text", "true", "dict(m, content=m.content.split(MARK)[0]) if m.role == 'user' else m"),
    "reasoning is repeated in the content": ("read grows", "true", "dict(m, content=m.reasoning_content ~ m.content) if m.reasoning_content else m"),
    "earlier answers change": ("grows shown absent", "true", "dict(m, content='- ' ~ m.content) if m.role == 'assistant' and not loop.last and loop.revindex > 1 else m"),
}
TOOLS = {
    "the second tool is lost": ("shown", "tools[:1] if tools else tools"),
    "no tools are listed": ("absent", "([{'type': 'function', 'function': {'name': 'none', 'description': 'none', 'parameters': {'type': 'object', 'properties': {}}}}] if tools is defined and tools == [] else tools)"),
}
# What is done with the render `out`.
AFTER = {
    "the prompt ends in a space": ("opens read", "out ~ ' ' if add_generation_prompt else out"),
    "the prompt opens another role": ("opens read", "(out.rsplit(OPEN, 1) | join(TYPO)) if add_generation_prompt and out.endswith(OPEN) else out"),
    "an answer after a result does not end": ("ends", "(out | replace(SAID ~ END, SAID)) if messages | selectattr('role', 'equalto', 'tool') | list else out"),
    "an answer after a result ends twice": ("ends", "(out | replace(SAID ~ END, SAID ~ END ~ END)) if messages | selectattr('role', 'equalto', 'tool') | list else out"),
    "a turn with a call does not end": ("ends", "(out.split(TOLD)[0].rsplit(END, 1) | join('')) ~ TOLD ~ (out.split(TOLD)[1:] | join(TOLD)) if TOLD in out and 'old one' in out.split(TOLD)[0] and END in out.split(TOLD)[0].split('old one')[-1] else out"),
    "quotes in arguments are not escaped": ("read", "out | replace('\\\\\"', '\"')"),
    "the prompt begins with a count": ("grows", "(messages | length | string) ~ '\\n' ~ out"),
}


def call(index, sort):
    arguments = {"sort": sort, "ripe": True, "crate": None, "weights": [3, 4.5], "from": {"tree": "old one"}}
    return {"id": f"fruit000{index}", "type": "function", "function": {"name": "pick_fruit", "arguments": arguments}}


ASK, SAID, TOLD = "Quince \"jam\" & <b>\n 5?", "Medlar, I say.", "Loquat"
U, A = {"role": "user", "content": ASK}, {"role": "assistant", "content": SAID}
R = [{"role": "tool", "tool_call_id": f"fruit000{i}", "name": "pick_fruit", "content": text} for i, text in enumerate([f"{TOLD} IS \"7\" now", "Sorb"])]
C = {"role": "assistant", "content": "", "tool_calls": [call(0, "say \"old\"")]}
TOOL = [{"type": "function", "function": {"name": name, "description": "Picks", "parameters": {"type": "object", "properties": {"sort": {"type": "string"}}}}}
        for name in ("pick_fruit", "store_fruit")]
CONVERSATIONS = [({"messages": messages}, {"tools": TOOL} if tools else {}) for tools, messages in [
    (0, [{"role": "system", "content": "Be a Sloe."}, U]), (0, [U, A, U]), (0, [U, A, {"role": "system", "content": "Be a Medick."}, U]),
    (0, [U, dict(A, tool_calls=None), U]), (0, [U, dict(A, tool_calls=[]), U]), (0, [U, dict(A, refusal=None), U]), (1, [U]),
    (1, [U, C, R[0]]), (1, [U, dict(C, content=None), R[0]]), (1, [U, dict(C, content=SAID), R[0]]), (1, [U, dict(C, tool_calls=C["tool_calls"] + [call(1, "Kumquat")]), *R]),
    (1, [U, C, R[0], A, U]), (1, [U, dict(A, reasoning_content="Serviceberry: why?")])]] + [({"messages": [U]}, {"tools": []})]


def source(template, kind, end, opening):
    """The template with a fault planted around it."""
    names = "".join("{%%- set %s = %s -%%}" % (name, json.dumps(text)) for name, text in (("END", end), ("MARK", end.strip()), ("OPEN", opening), ("TYPO", re.sub(r"(\w)(\W*)$", r"\1\1\2", opening)), ("SAID", SAID), ("TOLD", TOLD)))
    if kind in EACH:
        _, test, value = EACH[kind]
        return names + ("{%%- set seed = namespace(all=[]) -%%}{%%- for m in messages -%%}{%%- if %s -%%}{%%- set seed.all = seed.all + [%s] -%%}{%%- endif -%%}{%%- endfor -%%}"
                        "{%%- set messages = seed.all -%%}" % (test, value)) + template
    if kind in TOOLS:
        return names + "{%%- set tools = %s -%%}" % TOOLS[kind][1] + template
    return names + "{%- set out -%}" + template + "{%- endset -%}{{- " + AFTER[kind][1] + " -}}"


KINDS = {**{kind: row[0] for kind, row in EACH.items()}, **{kind: row[0] for kind, row in TOOLS.items()}, **{kind: row[0] for kind, row in AFTER.items()}}


class Jinja:
    """Templates as transformers renders them."""
    def __init__(self, text):
        import jinja2, jinja2.sandbox
        def refuse(message): raise jinja2.exceptions.TemplateError(message)
        env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
        env.globals.update(raise_exception=refuse, strftime_now=lambda format: __import__("time").strftime(format, __import__("time").gmtime(0)))
        # A tag of transformers, which changes no prompt.
        self.template = env.from_string(re.sub(r"\{%(-?) *(end)?generation *(-?)%\}", r"{%\1 if true \3%}{% endif %}", text))

    def render(self, messages, **more):
        try:
            more = {"add_generation_prompt": True, **more.pop("chat_template_kwargs", {}), **more}
            return self.template.render(messages=messages, bos_token="", eos_token="", **more)
        except Exception:  # noqa: the template's own errors are of all kinds
            return None


class Bench:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def lint(self, text, name):
        file = self.folder / name
        file.write_text(text)
        done = subprocess.run([self.program, "lint", file, "--json"], capture_output=True, text=True, timeout=300)
        file.unlink()
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"error": done.stderr}

    def examine(self, path, plant):
        text = path.read_text()
        try:
            sound = Jinja(text)
        except Exception:
            return path.name, [], []
        report = self.lint(text, path.name)
        if "error" in report:
            return path.name, [], []
        checked = [(finding, self.is_true(sound, finding)) for finding in report["findings"] if finding["fault"] and finding["request"]]
        rows = []
        asked, closed, said = (sound.render([U], add_generation_prompt=g) or "" for g in (True, False)), sound.render([U, A, U]) or "", sound.render([U, A], add_generation_prompt=False) or ""
        asked, bare = asked
        opening = asked[len(bare):] if asked.startswith(bare) else ""
        end = os.path.commonprefix([said.split(SAID)[-1], closed.split(SAID)[-1]]).rstrip() if SAID in said and SAID in closed else ""
        end = end if len(end) > 2 and end.endswith((">", "]", "}", "»", "⟧", "】", "⟩", ")", "|")) else ""
        takes_tools = "pick_fruit" in (sound.render([U], tools=TOOL) or "") or "old" in (sound.render([U, C, R[0]], tools=TOOL) or "")
        known = {(finding["rule"], finding["fault"], finding["message"]) for finding in report["findings"]}
        broken = {finding["rule"] for finding in report["findings"] if finding["fault"] or finding["rule"] == "opens"}
        conversations = [one for one in CONVERSATIONS if takes_tools or not one[1].get("tools")]
        prompts = [sound.render(**body, **more) for body, more in conversations]
        for kind in KINDS if plant else ():
            # A template is sound if it keeps the laws that the fault breaks.
            laws = KINDS[kind].split()
            if broken & set(laws) or all(report["laws"][law] == "not asked" for law in laws):
                continue
            # A template is sound if it keeps the laws that the fault breaks.
            laws = KINDS[kind].split()
            if broken & set(laws) or all(report["laws"][law] == "not asked" for law in laws):
                continue
            if ("END" in str(AFTER.get(kind)) or laws == ["text"]) and not end or kind == "the prompt opens another role" and len(opening.strip()) < 6:
                continue

            # A history that opens answers with a space is right with one.
            if kind == "the prompt ends in a space" and (said[len(asked):] or " ")[0].isspace():
                continue
            faulty = source(text, kind, end, opening)
            try:
                planted = Jinja(faulty)
            except Exception:
                continue
            changed = [planted.render(**body, **more) for body, more in conversations]
            if laws == ["text"]:
                marked = [{"messages": [dict(U, content=f"Quince {end} pear"), A, U]}]
                marked += [{"messages": [U, C, dict(R[0], content=f"Quince {end} pear")], "tools": TOOL}] if takes_tools else []
                if [planted.render(**body) for body in marked] == [sound.render(**body) for body in marked]:
                    continue
            # An error is no loss in silence.
            elif not any(a != b and a and (b or "raise" in kind) for a, b in zip(prompts, changed)):
                continue
            found = self.lint(faulty, f"{len(rows)}-{path.name}")
            new = {finding["rule"] for finding in found.get("findings", []) if (finding["rule"], finding["fault"], finding["message"]) not in known}
            rows.append((kind, bool(new & set(KINDS[kind].split())), sorted(new)))
        return path.name, checked, rows

    @staticmethod
    def is_true(sound, finding):
        """Whether transformers' Jinja renders what lint says that it got."""
        request = finding["request"]
        prompt = sound.render(**{name: request[name] for name in request if name != "parallel_tool_calls"})
        got = next((shown["text"] for shown in finding["shown"] if shown["from"] in ("got", "prompt")), "")
        return prompt is None or got in prompt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    for name, least in ("found", 98), ("true", 100):
        parser.add_argument(f"--{name}", type=float, default=least)
    parser.add_argument("--every", type=int, default=1, help="faults are planted in each so-many-th template")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    missing = [str(folder) for folder in args.folders if not folder.is_dir()]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 77
    try:
        import jinja2  # noqa
    except ImportError:
        print("skipped: the package jinja2 is not installed")
        return 77
    files = sorted(file for folder in args.folders for file in folder.glob("*.jinja") if args.only in file.name)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        bench = Bench(args.program, pathlib.Path(folder))
        done = list(pool.map(lambda at: bench.examine(files[at], at % args.every == 0), range(len(files))))
    totals = collections.defaultdict(lambda: [0, 0])
    for name, checked, rows in done:
        for finding, is_true in checked:
            totals["true"][0] += is_true
            totals["true"][1] += 1
            if not is_true:
                print(f"not true: {name}: {finding['rule']}: {finding['message']}")
        for kind, found, new in rows:
            for key in (kind, "found"):
                totals[key][0] += found
                totals[key][1] += 1
            if args.verbose and not found:
                print(f"not found: {kind} in {name}: {', '.join(new) or 'nothing'}")
    failed = False
    for key, (part, all) in totals.items():
        least = getattr(args, key, 0)
        percent = 100 * part / max(1, all)
        failed |= percent < least
        print(f"{key:42} {part:5} of {all:5}, {percent:5.1f} %" + (f", at least {least:g} %" if least else ""))
    return failed


if __name__ == "__main__":
    sys.exit(main())
