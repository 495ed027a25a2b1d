# SPDX-License-Identifier: Apache-2.0
"""The sequences of a batch, from the passes of a model over them."""

from __future__ import annotations

import time
import weakref
from typing import Any

import numpy as np

from . import _caches
from ._copies import Copy
from ._passes import Pass


class Batch:
    """Sequences whose tokens are the columns of one or more passes, e.g. of generate()."""

    def __init__(self, num_sequences: int, columns: dict[str, list[Any]]):
        self.num_sequences = num_sequences
        self.columns = columns  #: text, label, pair of the sequences
        self._masks: list[np.ndarray] = []
        self._ids: list[np.ndarray] = []
        self._copies: list[list[Copy]] = []
        self._kept = np.zeros(0, bool)  # columns that no crop removed
        self._padding: np.ndarray | None = None  # last columns of each sequence that are padding
        self._cache: list[weakref.ref[Any]] = []
        self._cached: int | None = None

    @property
    def num_columns(self) -> int:
        """Number of tokens of the longest sequence, with padding."""
        return int(self._kept.sum())

    @property
    def ids(self) -> np.ndarray:
        """Token ids, [sequence, column], with padding."""
        return np.concatenate(self._ids, axis=1)[:, self._kept]

    @property
    def exists(self) -> np.ndarray:
        """Tokens that exist, [sequence, column]."""
        return np.concatenate(self._masks, axis=1)[:, self._kept]

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for step in self._copies for one in step)

    def append(self, step: Pass, copies: list[Copy], caches: list[Any]) -> None:
        """Adds a pass. caches: those of its output, with which the next pass may continue."""
        self._masks.append(step.exists)
        self._ids.append(step.ids)
        self._copies.append(copies)
        self._kept = np.concatenate([self._kept, np.ones(step.shape[1], bool)])
        self._padding = None  # later tokens attend to it
        self.remember(caches)

    def remember(self, caches: list[Any]) -> None:
        """Keeps what identifies the caches of the last pass, and not their memory."""
        self._cache = [one for cache in caches for one in _caches.identify(cache)]
        counts = [_caches.num_tokens(cache) for cache in caches if hasattr(cache, "get_seq_length")]
        self._cached = counts[0] if counts else None

    def owns(self, cache: Any) -> bool:
        """Returns whether a cache is that of the last pass."""
        names = {id(one()) for one in _caches.identify(cache)}
        return any(one() is not None and id(one()) in names for one in self._cache)

    def is_continued_by(self, step: Pass) -> bool:
        """Returns whether the cache of a pass contains the tokens of this batch and no others."""
        return self.owns(step.cache) and step.cached == self._cached

    def crop(self, count: int) -> None:
        """Removes the last tokens of each sequence, as assisted generation does."""
        if count > 0:
            self._kept[np.flatnonzero(self._kept)[-count:]] = False
            self._cached = None if self._cached is None else self._cached - count

    def pad(self, counts: np.ndarray) -> None:
        """Marks the last tokens of each sequence as padding, unless the batch is continued."""
        self._padding = counts if counts.any() else None

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
        """Returns lengths of the sequences, and position, token and activations of their rows in order."""
        masks = np.concatenate(self._masks, axis=1)
        exists = masks & self._kept
        if self._padding is not None:
            later = np.cumsum(self._kept[::-1])[::-1]
            exists &= later > self._padding[:, None]
        starts = np.cumsum([0, *(one.shape[1] for one in self._masks)])
        places = [np.nonzero(one) for one in self._masks]
        sequence = np.concatenate([one[0] for one in places])
        column = np.concatenate([one[1] + start for one, start in zip(places, starts)])
        order = None
        if len(places) > 1 or exists.sum() < masks.sum():
            order = np.argsort(sequence, kind="stable")
            order = order[exists[sequence, column][order]]
            sequence, column = sequence[order], column[order]
        position = (np.cumsum(exists, axis=1) - 1)[sequence, column]
        token = np.concatenate(self._ids, axis=1)[sequence, column]
        steps = [[one.wait() for one in step] for step in self._copies]
        activations = [
            parts[0] if order is None else np.concatenate(parts)[order] for parts in map(list, zip(*steps))
        ]
        return exists.sum(axis=1), position, token, activations

    def release(self, buffers: Any) -> None:
        """Gives the memory of the copies back, after they were written."""
        for one in (one for step in self._copies for one in step):
            one.release(buffers)


class Group:
    """Finished batches that are handed over together."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.sequences = 0
        self.bytes = 0
        self.begin = time.monotonic()

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.sequences += batch.num_sequences
        self.bytes += batch.nbytes
