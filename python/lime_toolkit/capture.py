# SPDX-License-Identifier: Apache-2.0
"""Reads captures: docs/capture_format.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Iterator

import numpy as np

from . import _files
from . import _lime_toolkit as _core
from ._lime_toolkit import RunningStatistics
from .errors import NoSuchNameError


@dataclass(frozen=True)
class RowTable:
    """Metadata of the rows, one entry per row."""

    sequence: np.ndarray  #: i32, ascending
    position: np.ndarray  #: i32
    token: np.ndarray  #: i32
    class_id: np.ndarray | None  #: i16, index into `class_names`, -1 none; None without classes
    class_names: list[str]


@dataclass(frozen=True)
class SequenceTable:
    """Metadata of the sequences; None where the capture has no such column."""

    offset: np.ndarray  #: i64, [num_sequences + 1], first row of each sequence
    text: list[str] | None
    label: np.ndarray | None
    pair: np.ndarray | None
    task: np.ndarray | None
    task_names: list[str]
    log_likelihood: np.ndarray | None  #: nats
    scored_tokens: np.ndarray | None


class Activations:
    """The rows of one site and layer, [num_rows, dim], read when they are indexed.

        x = capture["hidden", 3]
        x[:100]              # float32 [100, dim]; only the chunks of these rows are read
        x.sequence(7)        # [num_tokens, dim]
        numpy.asarray(x)     # all rows

    The metrics accept it directly, and use its sequences and statistics.
    """

    def __init__(self, capture: "Capture", site: str, layer: int, dim: int, hook: str):
        self.capture = capture
        self.site = site
        self.layer = layer
        self.hook = hook  #: full name of the hook point; empty if unknown
        self.shape = (capture.num_rows, dim)
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

    def __iter__(self) -> Iterator[np.ndarray]:
        """Iterates over the rows, [dim] each."""
        size = 1024
        return (row for first in range(0, len(self), size) for row in self[first : first + size])

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

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


class Capture:
    """A capture of lime-capture or Recorder, in shards or packed.

        capture = Capture("run.h5")
        capture["hidden", 3][:]
        capture.sequences.text[7], capture.rows.token, capture.layers("hidden")

    Everything but the activations is read when it is first used. The reader is that of the programs:
    checksums are verified, the trailer when a file is opened, chunks of activations when they are
    read; no data outside the file and its shards is read; a helper process reads a file first, so
    that one that makes HDF5 crash or loop is refused. Reads release the GIL.

    Raises FileNotFoundError if there is no such file (the message names an unfinished recording), or
    if a shard is missing; OSError if the system does not let a file be read; ValueError if it is not a
    capture, of another schema version, or damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(_why_missing(self.path))
        self._opened: _core.CaptureReader | None = _core.CaptureReader(self.path)
        self.num_rows: int = self._opened.num_rows
        self.complete: bool = self._opened.complete  #: False if shards are missing
        self._sites: dict[str, dict[int, Activations]] = {}
        for site, layer, dim, hook in self._opened.activations():
            self._sites.setdefault(site, {})[layer] = Activations(self, site, layer, dim, hook)

    def close(self) -> None:
        """Closes the files, after reads that other threads have begun."""
        self._opened = None

    def __enter__(self) -> "Capture":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Capture '{self.path}': {self.num_sequences} sequences, {self.num_rows} rows, sites {self.sites}>"

    def _repr_html_(self) -> str:
        from html import escape

        lines = [
            ("model", self.config.get("model_type", "")),
            ("sequences", self.num_sequences),
            ("rows", self.num_rows),
            *((site, f"layers {self.layers(site)[0]} to {self.layers(site)[-1]}") for site in self.sites),
        ]
        cells = "".join(f"<tr><th>{escape(str(a))}</th><td>{escape(str(b))}</td></tr>" for a, b in lines)
        return f"<table><caption>{escape(self.path.name)}</caption>{cells}</table>"

    # Provenance

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the root group: texts, numbers and lists of them; JSON texts as they are stored."""
        return self._reader.attributes()

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json of the model; empty if it is not stored."""
        return self._reader.config()

    # Tables

    @property
    def num_sequences(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def offsets(self) -> np.ndarray:
        """First row of each sequence, i64, [num_sequences + 1]."""
        return self._reader.offsets

    def rows_of(self, sequence: int) -> tuple[int, int]:
        """Returns the first row of a sequence and the one after its last. Raises IndexError."""
        if not -self.num_sequences <= sequence < self.num_sequences:
            raise IndexError(f"sequence must be in [0, {self.num_sequences}), got {sequence}")
        at = sequence % self.num_sequences
        return int(self.offsets[at]), int(self.offsets[at + 1])

    @cached_property
    def rows(self) -> RowTable:
        """Sequence, position, token and class of each row."""
        reader = self._reader
        return RowTable(*reader.rows(), reader.class_names)

    @cached_property
    def sequences(self) -> SequenceTable:
        """Texts, labels and scores of the sequences."""
        reader = self._reader
        columns = reader.sequences()
        names = ("text", "label", "pair", "task", "log_likelihood", "scored_tokens")
        return SequenceTable(
            offset=self.offsets, task_names=reader.task_names, **{name: columns.get(name) for name in names}
        )

    @property
    def classes(self) -> list[str]:
        """Names of the classes of the rows; empty without classes."""
        return self.rows.class_names

    # Activations

    @property
    def sites(self) -> list[str]:
        return list(self._sites)

    def layers(self, site: str) -> list[int]:
        """Layers of a site, ascending. Raises KeyError."""
        if site not in self._sites:
            raise NoSuchNameError(
                f"store: '{self.path}' has no site '{site}' (available: {', '.join(self.sites) or 'none'})"
            )
        return list(self._sites[site])

    def __getitem__(self, key: tuple[str, int]) -> Activations:
        """Returns the activations of (site, layer), read when they are indexed. Raises KeyError."""
        if not isinstance(key, tuple) or len(key) != 2:
            raise NoSuchNameError(f"store: activations need a site and a layer, capture['hidden', 3], got {key!r}")
        site, layer = key
        layers = self.layers(site)
        if layer not in layers:
            raise NoSuchNameError(
                f"store: '{self.path}' has no layer {layer} of site '{site}' (available: {_ranges(layers)})"
            )
        return self._sites[site][layer]

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key[0] in self._sites and key[1] in self._sites[key[0]]

    def statistics(self, site: str, layer: int) -> RunningStatistics | None:
        """Returns count, mean and m2 of all rows that the model computed; None if not stored."""
        return self._reader.statistics(site, layer)

    def router(self, layer: int) -> np.ndarray | None:
        """Returns router weights, f32 [kv_heads, (layer + 1) * kv_heads]; None without a router."""
        return self._reader.router(layer)

    # Files

    @property
    def _reader(self) -> _core.CaptureReader:
        if self._opened is None:
            raise ValueError(f"store: '{self.path}' was closed; open it again")
        return self._opened

    def _read(self, what: Activations, first: int, end: int) -> np.ndarray:
        return self._reader.read_rows(what.site, what.layer, first, end - first)


def _ranges(layers: list[int]) -> str:
    return f"{layers[0]}-{layers[-1]}" if layers == list(range(layers[0], layers[-1] + 1)) else str(layers)


def _why_missing(path: Path) -> str:
    folder = _files.shard_folder(path)
    if not (folder / "manifest.json").is_file():
        return f"store: '{path}' does not exist"
    finished = sum(1 for _ in folder.glob("[0-9]*.json"))
    return (
        f"store: '{path}' does not exist, but '{folder}' contains an unfinished run ({finished} finished "
        "shards); resume it (--resume, Recorder(..., resume=True))"
    )
