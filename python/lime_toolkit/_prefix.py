# SPDX-License-Identifier: Apache-2.0
"""The tokens that a tokenizer puts before every text, such as BOS, and sequences that lack them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Prefix:
    """Tokens before every text."""

    ids: list[int]
    text: str  #: as lime-capture stores it, e.g. "<bos>"

    def count_without(self, token: np.ndarray, offset: np.ndarray) -> int:
        """Returns how many sequences do not begin with these tokens.

        token: of all rows, -1 where it is not known, as with inputs_embeds.
        offset: first row of each sequence, and the end.
        """
        count = 0
        for first, end in zip(offset[:-1], offset[1:]):
            found = token[first : min(end, first + len(self.ids))]
            count += bool((found >= 0).all()) and found.tolist() != self.ids
        return count


def prefix_of(tokenizer: Any) -> Prefix | None:
    """Returns what precedes the tokens of a text when the tokenizer is called on it, if anything does."""
    if not callable(tokenizer):
        return None
    whole, text = ([int(one) for one in tokenizer("a", **options)["input_ids"]]
                   for options in ({}, {"add_special_tokens": False}))
    for start in range(len(whole) - len(text) + 1):
        if whole[start : start + len(text)] == text:
            ids = whole[:start]
            return Prefix(ids, "".join(map(str, tokenizer.convert_ids_to_tokens(ids)))) if ids else None
    return None
