# SPDX-License-Identifier: Apache-2.0
"""The rows of one site and layer, of a file or in memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Iterator

import numpy as np

from ._lime_toolkit import RunningStatistics

if TYPE_CHECKING:
    from .capture import Capture


class Activations(np.lib.mixins.NDArrayOperatorsMixin):
    """The rows of one site and layer, [num_rows, dim].

        x = capture["hidden", 3]
        x[:100]              # float32 [100, dim]; of a file only the chunks of these rows are read
        x.sequence(7)        # [num_tokens, dim]
        numpy.asarray(x)     # all rows; no copy if the capture is in memory
        x - other["hidden", 3]    # activations in memory, with the sequences of x

    The metrics accept it directly, and use its sequences and statistics.
    """

    def __init__(self, capture: "Capture", site: str, layer: int, dim: int, hook: str):
        self.capture = capture
        self.site = site
        self.layer = layer
        self.hook = hook  #: full name of the hook point; empty if unknown
        self.shape: tuple[int, int] = (capture.num_rows, dim)
        self.ndim = 2
        self.dtype = np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Activations {self.site} {self.layer}: {self.shape[0]} rows x {self.shape[1]}>"

    @property
    def offsets(self) -> np.ndarray:
        """First row of each sequence, [num_sequences + 1]."""
        return self.capture.offsets

    @property
    def tokens(self) -> np.ndarray:
        """Token id of each row, [num_rows]."""
        return self.capture.rows.token

    @cached_property
    def statistics(self) -> RunningStatistics | None:
        """Statistics over all rows that the model computed; None if they are not stored."""
        return self.capture.statistics(self.site, self.layer)

    def sequence(self, index: int) -> np.ndarray:
        """Reads one sequence, [num_tokens, dim]. Raises IndexError."""
        first, end = self.capture.rows_of(index)
        return self[first:end]

    def sequences(self) -> Iterator[np.ndarray]:
        """Iterates over the sequences, [num_tokens, dim] each."""
        return (self.sequence(i) for i in range(self.capture.num_sequences))

    def heads(self, num_heads: int | None = None) -> np.ndarray:
        """Returns all rows by heads, [num_rows, num_heads, dim / num_heads], without a copy if in memory.

        num_heads: default: those of `attn.hook_pattern`, `queries`, `keys`, `values` and `attn.hook_z` of the model.
        Raises ValueError if they are unknown, or do not divide dim.
        """
        count = self.capture.num_heads(self.site) if num_heads is None else num_heads
        if not count or self.shape[1] % count:
            raise ValueError(f"num_heads: must divide the {self.shape[1]} values of a row, got {count}")
        return self[:].reshape(len(self), count, -1)

    def patterns(self, sequence: int) -> np.ndarray:
        """Returns the attention patterns of a sequence, [num_heads, query, key]; of the site attn.hook_pattern."""
        if self.site != "attn.hook_pattern":
            raise ValueError(f"patterns: are in the site attn.hook_pattern, not in '{self.site}'")
        rows = self.sequence(sequence)
        heads = self.capture.num_heads(self.site)
        if not heads or self.shape[1] % heads:
            raise ValueError("patterns: the capture has no config with num_attention_heads")
        return rows.reshape(len(rows), heads, -1)[..., : len(rows)].transpose(1, 0, 2)

    # NumPy and torch

    def numpy(self) -> np.ndarray:
        """Returns all rows; the memory of the capture if it is in memory, so change a copy of it."""
        return self[:]

    def torch(self) -> Any:
        """Returns all rows as a tensor on the CPU, without a copy if the capture is in memory."""
        import torch

        return torch.from_numpy(self[:])

    @property
    def T(self) -> np.ndarray:
        """All rows, transposed, [dim, num_rows]."""
        return self[:].T

    def mean(self, axis: int | None = None) -> Any:
        """Returns the mean, accumulated in double; axis=0 of all rows, [dim]; axis=1 of each row."""
        return self[:].mean(axis, dtype=np.float64)

    def std(self, axis: int | None = None, ddof: int = 0) -> Any:
        """Returns the standard deviation, accumulated in double; axis as for mean()."""
        return self[:].std(axis, dtype=np.float64, ddof=ddof)

    def sum(self, axis: int | None = None) -> Any:
        """Returns the sum, accumulated in double; axis as for mean()."""
        return self[:].sum(axis, dtype=np.float64)

    def var(self, axis: int | None = None, ddof: int = 0) -> Any:
        """Returns the variance, accumulated in double; axis as for mean()."""
        return self[:].var(axis, dtype=np.float64, ddof=ddof)

    def min(self, axis: int | None = None) -> Any:
        """Returns the smallest value; axis as for mean()."""
        return self[:].min(axis)

    def max(self, axis: int | None = None) -> Any:
        """Returns the largest value; axis as for mean()."""
        return self[:].max(axis)

    def norm(self) -> np.ndarray:
        """Returns the Euclidean norm of each row, [num_rows], accumulated in double."""
        return np.concatenate([np.sqrt(np.square(rows, dtype=np.float64).sum(1)) for rows in self._parts()])

    def _parts(self, size: int = 1024) -> Iterator[np.ndarray]:
        return (self[first : first + size] for first in range(0, max(1, len(self)), size))

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterates over the rows, [dim] each."""
        return (row for rows in self._parts() for row in rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        rows = self[:]
        if dtype is not None and rows.dtype != dtype:
            if copy is False:
                raise ValueError(f"activations: are float32; {np.dtype(dtype)} needs a copy")
            return rows.astype(dtype)
        return rows.copy() if copy else rows

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            return NotImplemented
        own = [one for one in inputs if isinstance(one, Activations)]
        if any(not np.array_equal(one.offsets, own[0].offsets) for one in own[1:]):
            raise ValueError(
                f"{ufunc.__name__}: both must have the same sequences, got {len(own[0].offsets) - 1} and "
                f"{len(own[1].offsets) - 1}, or other lengths"
            )
        values = [one[:] if isinstance(one, Activations) else one for one in inputs]
        result = getattr(ufunc, method)(*values, **options)
        if method != "__call__" or getattr(result, "shape", None) != own[0].shape or result.dtype.kind != "f":
            return result
        return own[0].capture._with(own[0], result)

    def __getitem__(self, key: Any) -> np.ndarray:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if rows is Ellipsis:
            rows = slice(None)
        if isinstance(rows, (int, np.integer)):
            at = range(len(self))[rows]
            return self.capture._read(self, at, at + 1)[0][columns]
        if isinstance(rows, slice):
            first, end, step = rows.indices(len(self))
            if step == 1:
                return self.capture._read(self, first, max(first, end))[:, columns]
            rows = np.arange(first, end, step)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                raise IndexError(f"rows: a mask must have the shape [{len(self)}], got {list(rows.shape)}")
            rows = np.flatnonzero(rows)
        if not rows.size:
            return np.empty((0, self.shape[1]), np.float32)[:, columns]
        first, end = int(rows.min()), int(rows.max()) + 1
        if first < 0 or end > len(self):
            raise IndexError(f"rows must be in [0, {len(self)}), got {first if first < 0 else end - 1}")
        return self.capture._read(self, first, end)[rows - first][:, columns]
