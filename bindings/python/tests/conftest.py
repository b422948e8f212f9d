"""What the tests share: a template that shows how its model calls tools, a request with a tool, and an answer in pieces."""

import sys
from pathlib import Path

import pytest
from chatparse import Params, Template

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from chat import PIECES, REQUEST, SOURCE  # noqa: E402


@pytest.fixture
def template() -> Template:
    return Template(SOURCE, eos="<|end|>")


@pytest.fixture
def params(template: Template) -> Params:
    return template.params(REQUEST)


@pytest.fixture
def pieces() -> list[str]:
    return list(PIECES)
