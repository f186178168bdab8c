"""Tokens from language models, on the ExecuTorch runtime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layline._compiler import Error
from layline._program import Program


@dataclass(frozen=True)
class Generation:
    """What followed a prompt."""

    tokens: list[int]
    text: str | None
    """The tokens as text, if there is a tokenizer."""
    prefill_seconds: float
    decode_seconds: float
    """Time in the program: for the prompt, and for all tokens but the first."""


class Generator:
    """A language model that was compiled with `llm=True`, or any with tokens, positions and a cache.

    `tokenizer` is one of `transformers` or `tokenizers`; without one, prompts are tokens. `tokens` and
    `position` name the inputs where shapes do not tell them. `context` is the number of positions, for
    a program that does not say it.
    """

    def __init__(
        self,
        program: str | os.PathLike[str] | bytes | Program,
        tokenizer: Any = None,
        *,
        tokens: str = "",
        position: str = "",
        context: int = 0,
    ) -> None:
        from layline import _runtime

        self._tokenizer = tokenizer
        options = (tokens, position, context)
        if isinstance(program, Program):
            program = program.buffer
        if isinstance(program, bytes):
            self._generator = _runtime.Generator.from_bytes(program, *options)
        else:
            self._generator = _runtime.Generator.from_file(os.fspath(program), *options)

    def run(self, prompt: str | Sequence[int], steps: int) -> Generation:
        """Goes on from a prompt with the likeliest token, `steps` times or until the program's end."""
        if isinstance(prompt, str):
            if self._tokenizer is None:
                raise Error("a prompt of text needs a tokenizer: Generator(program, tokenizer)")
            encoded = self._tokenizer.encode(prompt)
            # `tokenizers` wraps the tokens, `transformers` does not.
            prompt = getattr(encoded, "ids", encoded)
        tokens, prefill, decode = self._generator.run([int(token) for token in prompt], steps)
        text = self._tokenizer.decode(tokens) if self._tokenizer is not None else None
        return Generation(tokens, text, prefill, decode)
