# SPDX-License-Identifier: Apache-2.0
"""One call of generate(): a batch of sequences that grows, and the tokens that are returned."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from ._batches import Batch


class Generation:
    """A running call of generate(inputs, generation_config, ...)."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]):
        self.num_passes = 0
        self.first_column = 0  #: of the tokens that are generated
        configs = [kwargs.get("generation_config", args[1] if len(args) > 1 else None)]
        configs.append(getattr(model, "generation_config", None))

        def find(name: str) -> list[int]:
            if name in kwargs:
                value = kwargs[name]
            else:
                value = next((v for v in (getattr(one, name, None) for one in configs) if v is not None), None)
            return [] if value is None else [int(one) for one in np.ravel(getattr(value, "tolist", lambda: value)())]

        self._ends = find("eos_token_id")
        # Without a token that ends sequences, generate() does not pad them.
        self._padding = (find("pad_token_id") or self._ends)[:1] if self._ends else []
        self._has_other_ends = any(kwargs.get(name) for name in ("stop_strings", "stopping_criteria"))

    def check(self, batch: Batch, result: Any) -> bool:
        """Returns whether the tokens that were returned are those that were passed to the model.

        Beam search, assisted generation and the like return others.
        """
        tokens = getattr(result, "sequences", result)
        if getattr(tokens, "ndim", 0) != 2 or tokens.is_floating_point():
            return True  # of a model with a generate() of its own, not token ids
        returned, passed = tokens.detach().cpu().numpy(), batch.ids
        if len(returned) != len(passed):
            return False
        # Embeddings have no ids, and the last token is not passed; some devices pass it nonetheless.
        passed = passed[:, np.cumprod((passed >= 0).all(axis=0)[::-1])[::-1].astype(bool)]
        ends = (returned[:, :-1], returned)
        return any(_ends_equally(one, passed) for one in ends)

    def count_padding(self, batch: Batch) -> np.ndarray:
        """Returns the number of last tokens of each sequence that follow its end, while others are continued."""
        if batch.num_sequences == 1:
            return np.zeros(1, np.int64)
        generated = batch.ids[:, self.first_column :]
        return np.array([self._padding_of(one) for one in generated], np.int64)

    def _padding_of(self, tokens: np.ndarray) -> int:
        if not self._padding:
            return 0
        ends = np.flatnonzero(np.isin(tokens, self._ends))
        if len(ends) and (tokens[ends[0] + 1 :] == self._padding[0]).all():
            return len(tokens) - int(ends[0]) - 1
        if self._padding[0] in self._ends or not self._has_other_ends:
            return 0
        others = np.flatnonzero(tokens != self._padding[0])
        return len(tokens) - (int(others[-1]) + 1 if len(others) else 0)


def _ends_equally(first: np.ndarray, second: np.ndarray) -> bool:
    count = min(first.shape[1], second.shape[1])
    return bool((first[:, first.shape[1] - count :] == second[:, second.shape[1] - count :]).all())
