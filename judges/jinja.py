#!/usr/bin/env python3
"""What Python's Jinja2 makes of the cases of tests/suite/jinja.rs.

Usage: jinja.py          writes corpus/jinja/cases.jsonl
       jinja.py --check  compares that file with what Jinja2 says now; exit code 77 where Jinja2 is not installed

Jinja2 is set up as Hugging Face's transformers does for chat templates. Each line of the file holds a template and its text,
or null where Jinja2 raises an error. The first line holds the variables that all of them see.
"""

import datetime
import json
import os
import sys

try:
    import jinja2
    import jinja2.ext
    import jinja2.nodes
    import jinja2.sandbox
except ImportError:
    print("skipped: no Jinja2 (pip install jinja2==3.1.6)")
    sys.exit(77)

import jinja_cases as cases

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus", "jinja", "cases.jsonl")
NOW = 1_787_356_800


class Generation(jinja2.ext.Extension):
    """The block that marks what the model wrote: a call block that keeps its text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("keep"), [], [], body).set_lineno(line)

    def keep(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None).strftime(form)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return env


def result(env, template):
    try:
        return env.from_string(template).render(json.loads(json.dumps(cases.VARIABLES)))
    except Exception:
        return None


def stable(text):
    """Whether a text holds no address, and no set's order."""
    return text is None or (" at 0x" not in text and "<generator" not in text)


def lines():
    env = environment()
    yield json.dumps(cases.VARIABLES)
    seen = set()
    for template in cases.all_cases():
        if template in seen:
            continue
        seen.add(template)
        text = result(env, template)
        if stable(text):
            yield json.dumps([template, text])


def main():
    text = "\n".join(lines()) + "\n"
    if "--check" in sys.argv:
        with open(FILE, encoding="utf-8") as file:
            same = file.read() == text
        print("the cases are", "as" if same else "not as", "Jinja2", jinja2.__version__, "says")
        sys.exit(0 if same else 1)
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
