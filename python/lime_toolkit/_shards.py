# SPDX-License-Identifier: Apache-2.0
"""The shards of a capture, which the writer of the programs writes: docs/capture_format.md."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from ._prefix import Prefix


@dataclass(frozen=True)
class Dataset:
    """One dataset of activations."""

    site: str
    layer: int
    dim: int
    hook: str
    num_heads: int = 0  #: > 0 also stores the root mean square of each head


@dataclass
class Rows:
    """Consecutive rows of a capture: whole sequences."""

    position: np.ndarray  #: [num_rows]
    token: np.ndarray  #: [num_rows]
    lengths: np.ndarray  #: rows of each sequence, [num_sequences]
    sequences: dict[str, list[Any]]  #: text, label and pair of each sequence; -1: no label, no pair
    activations: list[np.ndarray]  #: of each dataset, float32 [num_rows, dim]

    def cut(self, first: int, end: int) -> "Rows":
        """Returns the sequences [first, end)."""
        if first == 0 and end == len(self.lengths):
            return self
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        rows = slice(ends[first], ends[end])
        return Rows(
            self.position[rows],
            self.token[rows],
            self.lengths[first:end],
            {name: values[first:end] for name, values in self.sequences.items()},
            [one[rows] for one in self.activations],
        )


@dataclass
class Plan:
    """Properties of a capture that are known before its first row."""

    info: dict[str, Any]  #: attributes of the root group
    datasets: list[Dataset] = field(default_factory=list)
    num_shards: int = 0  #: 0: as many as it takes


def _without_h5py() -> Any:
    """Keeps h5py from calling HDF5 in another thread: Debian's shares the system's library, which has no locks."""
    h5py = sys.modules.get("h5py")
    return getattr(getattr(h5py, "_objects", None), "phil", contextlib.nullcontext())


class ShardWriter:
    """Writes one shard; appears complete with finish(), or not at all."""

    def __init__(self, writer: Any, shard: int):
        self.shard = shard
        self.num_sequences = 0
        self._writer = writer

    def append(self, rows: Rows) -> None:
        """Adds sequences. Raises ValueError, OSError."""
        columns = rows.sequences
        texts = [text.encode("utf-8", "replace") for text in columns["text"]]
        labels_and_pairs = (np.array(columns["label"], np.int8), np.array(columns["pair"], np.int32))
        positions_and_tokens = (np.asarray(rows.position, np.int32), np.asarray(rows.token, np.int32))
        with _without_h5py():
            self._writer.append(
                texts, labels_and_pairs, np.asarray(rows.lengths, np.int64), positions_and_tokens, rows.activations
            )
        self.num_sequences += len(rows.lengths)

    def finish(self) -> None:
        with _without_h5py():
            self._writer.finish()

    def abandon(self) -> None:
        with _without_h5py():
            self._writer.abandon()


class CaptureWriter:
    """Writes the shards of a capture, their manifest, and the master over them.

    process, num_processes: this process writes the shards s with s % num_processes == process.
    Raises ValueError that names the first difference if the shards were started with other options.
    """

    def __init__(self, path: Path, plan: Plan, share: tuple[int, int] = (0, 1)):
        datasets = [(one.site, one.layer, one.dim, one.hook, one.num_heads) for one in plan.datasets]
        self._writer = _core.CaptureWriter(path, json.dumps(plan.info), datasets, plan.num_shards, share)
        self._own: set[int] = set()

    def begin_shard(self, shard: int, first_sequence: int) -> ShardWriter:
        self._own.add(shard)
        with _without_h5py():
            return ShardWriter(self._writer.begin_shard(shard, first_sequence), shard)

    def finish(self, records: list[dict[str, Any]], complete: bool, prefix: Prefix | None = None) -> int:
        """Writes the master over these finished shards; returns how many sequences do not begin with `prefix`."""
        lacking = 0
        extra: dict[str, Any] = {}
        for record in records:
            if prefix is not None:
                lacking += self._count_without(prefix, record)
            elif record["shard"] not in self._own:
                self._writer.rows(record["shard"])  # read on trial, as it may be of others
        if prefix is not None:
            extra = {"tokenizer_prefix": prefix.text, "sequences_without_prefix": lacking}
        with _without_h5py():
            self._writer.finish(json.dumps(extra), complete)
        return lacking

    def _count_without(self, prefix: Prefix, record: dict[str, Any]) -> int:
        token, sequence = self._writer.rows(record["shard"])
        numbers = np.arange(record["num_sequences"] + 1) + record["first_sequence"]
        return prefix.count_without(token, np.searchsorted(sequence, numbers))
