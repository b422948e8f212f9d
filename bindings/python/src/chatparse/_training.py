"""Tokens of conversations for training, with a mask of what models wrote."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._template import Template
from ._types import MaskPart


def assistant_masks(
    tokenizer: Any,
    conversations: Sequence[Any],
    *,
    template: Template | None = None,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    parts: MaskPart = MaskPart.ALL,
    last_only: bool = False,
    threads: int = 0,
    return_tensors: str | None = None,
    tokenizer_options: Mapping[str, Any] | None = None,
    **variables: Any,
) -> Any:
    """What `apply_chat_template(..., return_dict=True, return_assistant_tokens_mask=True)` of a tokenizer of transformers gives, for any
    template: what the tokenizer makes of the text (`input_ids`, `attention_mask`), and `assistant_masks`, 1 for each token with a byte that
    a model wrote. Where a template has `{% generation %}` blocks, the masks are transformers' own.

    `conversations` is a list of messages, or of such lists; `tools` and `documents` hold for all, `variables` are the template's.
    `MaskPart.ALL | MaskPart.SPACE | MaskPart.PREFILL` as `parts` has what TRL's templates have besides: the white space behind a turn, and
    what the prompt has written of it. `template` spares the compilation of the tokenizer's. `tokenizer_options` are those of the call of
    the tokenizer, such as `padding` or `truncation`. If something ran out in search of a mask (`Segments.limit`), there is a warning.
    """
    if not getattr(tokenizer, "is_fast", True):
        raise ValueError("masks need the places of tokens, which fast tokenizers tell only")
    batched = not conversations or not isinstance(conversations[0], Mapping)
    shared = {"tools": tools, "documents": documents, "chat_template_kwargs": variables}
    requests = [{"messages": messages, **shared} for messages in (conversations if batched else [conversations])]
    template = template or Template.from_tokenizer(tokenizer)
    found = template.segments_batch(requests, {"for_training": True}, threads=threads)
    for index, limit in enumerate(segments.limit for segments in found):
        if limit:
            warnings.warn(f"conversations[{index}]: {limit}", stacklevel=2)
    options = {"add_special_tokens": False, **(tokenizer_options or {}), "return_offsets_mapping": True}
    encoded = tokenizer([segments.prompt.decode() for segments in found], **options)
    flags = parts | (16 if last_only else 0)
    places = encoded.pop("offset_mapping")
    # The classes of labels would take longer than the labels.
    labels = [segments.get_tokens(offsets, flags, True) for segments, offsets in zip(found, places)]
    encoded["assistant_masks"] = [[int(sampled) for _, _, sampled in tokens] for tokens in labels]
    if not batched:
        for name in list(encoded):
            encoded[name] = encoded[name][0]
    return encoded.convert_to_tensors(return_tensors, prepend_batch_axis=not batched) if return_tensors else encoded
