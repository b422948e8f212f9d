"""chatparse: prompts from chat templates, and messages from what the model answers, as it streams in.

    from chatparse import Template

    template = Template(source, eos="<|end|>")                 # once for each model
    params = template.params({"messages": [...]})              # once for each request
    with params.stream() as stream:
        for delta in stream.deltas(pieces):                    # as the model writes
            print(delta.text, end="")
        print(stream.message().to_dict())

Objects free themselves, in any order: none needs another. Templates, params, parsers, segments, grammars and messages are immutable,
and threads may share them: what takes long (compiling, rendering, proving, parsing a whole output) releases the interpreter's lock. Streams,
answers and grammar builders keep it. What a model writes is never an error; all else that fails raises an `Error`.
"""

from ._answer import Answer, Event
from ._conversation import Conversation, Extended, GgufTokenizer, HfTokenizer, IdRewrite, IdToken, Observed, TekkenTokenizer, TiktokenTokenizer, Tokenizer
from ._grammar import Grammar, GrammarBuilder, Matcher
from ._native import schema_allows_string, version
from ._stream import Message, Stream
from ._template import Params, Parser, Segments, Template
from ._training import assistant_masks
from ._types import (
    Api, CallOrigin, Delta, DeltaKind, Diagnostic, DiagnosticKind, Dialect, Error, Fidelity, FidelityKind, Field, GrammarStyle, InternalError,
    InvalidArgumentError, LimitError, MaskPart, Media, MessageDelimiter, Origin, Outcome, ParseError, Part, PartKind, Report,
    Rewrite, RewriteReason, SchemaError, Segment, Span, TemplateError, Token, ToolCall, Trigger, TriggerKind, Verdict,
)
from ._vocabulary import TokenizerFinding, check_tokenizer

__version__ = version()

__all__ = [
    "Answer", "Api", "CallOrigin", "Conversation", "Delta", "DeltaKind", "Diagnostic", "DiagnosticKind", "Dialect", "Error", "Event", "Extended",
    "Fidelity", "FidelityKind", "Field", "GgufTokenizer", "Grammar", "GrammarBuilder", "GrammarStyle", "HfTokenizer", "IdRewrite", "IdToken", "InternalError", "InvalidArgumentError", "LimitError",
    "MaskPart", "Matcher", "Media", "Message", "MessageDelimiter", "Observed", "Origin", "Outcome", "Params", "ParseError", "Parser", "Part",
    "PartKind", "Report", "Rewrite", "RewriteReason", "SchemaError", "Segment", "Segments", "Span", "Stream", "TekkenTokenizer", "Template", "TemplateError",
    "TiktokenTokenizer", "Token", "Tokenizer", "TokenizerFinding", "ToolCall", "Trigger", "TriggerKind", "Verdict", "assistant_masks", "check_tokenizer", "schema_allows_string", "version",
]
