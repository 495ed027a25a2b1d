# SPDX-License-Identifier: Apache-2.0
"""Captures in memory: what the reader of a file offers, of arrays."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import to_matrix
from ._lime_toolkit import RunningStatistics

Key = tuple[str, int]


class ArrayReader:
    """Activations and tables in memory, with the methods of CaptureReader.

    activations: float32 [num_rows, dim] of each site and layer.
    """

    complete = True
    class_names: list[str] = []
    task_names: list[str] = []

    def __init__(
        self,
        activations: Mapping[Key, np.ndarray],
        *,
        token: np.ndarray,
        lengths: np.ndarray,
        position: np.ndarray | None = None,
        texts: Sequence[str] | None = None,
        columns: Mapping[str, Any] | None = None,
        hooks: Mapping[Key, str] | None = None,
        info: Mapping[str, Any] | None = None,
    ):
        self._activations = dict(activations)
        self._hooks = dict(hooks or {})
        self._statistics: dict[Key, RunningStatistics] = {}
        self._info = dict(info or {})
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.num_rows = int(self.offsets[-1])
        self._token = np.asarray(token, np.int32)
        self._position = (
            np.concatenate([np.arange(n) for n in lengths]) if position is None and len(lengths) else position
        )
        self._columns: dict[str, Any] = dict(columns or {})
        if texts is not None:
            self._columns["text"] = list(texts)

    def derived(self, key: Key, rows: np.ndarray) -> "ArrayReader":
        """Returns the same tables with other activations of one site and layer."""
        other = ArrayReader.__new__(ArrayReader)
        other.__dict__ = {**self.__dict__, "_activations": {key: rows}, "_statistics": {}}
        return other

    @classmethod
    def like(cls, reader: Any, key: Key, rows: np.ndarray) -> "ArrayReader":
        """Returns the tables of the reader of a file with activations in memory."""
        if isinstance(reader, ArrayReader):
            return reader.derived(key, rows)
        _, position, token, _ = reader.rows()
        columns = dict(reader.sequences())
        return cls(
            {key: rows}, token=token, lengths=np.diff(reader.offsets), position=position, columns=columns,
            info={"config": reader.config()},
        )

    def activations(self) -> list[tuple[str, int, int, str]]:
        return [(*key, rows.shape[1], self._hooks.get(key, "")) for key, rows in self._activations.items()]

    def read_rows(self, site: str, layer: int, first: int, count: int) -> np.ndarray:
        return self._activations[site, layer][first : first + count]

    def rows(self) -> tuple[Any, ...]:
        position = np.zeros(0) if self._position is None else self._position
        sequence = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return sequence.astype(np.int32), position.astype(np.int32), self._token, None

    def sequences(self) -> dict[str, Any]:
        return self._columns

    def statistics(self, site: str, layer: int) -> RunningStatistics:
        key = (site, layer)
        if key not in self._statistics:
            found = RunningStatistics()
            found.add(to_matrix(self._activations[key]))
            self._statistics[key] = found
        return self._statistics[key]

    def router(self, layer: int) -> None:
        return None

    def attributes(self) -> dict[str, Any]:
        texts = ("config", "options", "extra", "first_ids")
        return {
            name: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            if name in texts
            else value
            for name, value in self._info.items()
        }

    def info(self) -> dict[str, Any]:
        """Returns the attributes before they become texts."""
        return dict(self._info)

    def config(self) -> dict[str, Any]:
        return dict(self._info.get("config", {}))


def read_safetensors(path: Any) -> dict[str, np.ndarray]:
    """Returns the tensors of a safetensors file: float32, whole numbers as int64."""
    return _core.read_safetensors(path)
