# SPDX-License-Identifier: Apache-2.0
"""Writes captures in shards, with the checksums of lime-capture: docs/capture_format.md."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from . import _files
from . import _lime_toolkit as _core
from ._prefix import Prefix

_CHUNK_BYTES = 1 << 20
_WRITEBACK_VALUES = 4 << 20
_TEXT = h5py.string_dtype("utf-8")
_DEFLATE_LEVEL = 1


@dataclass(frozen=True)
class Dataset:
    """One dataset of activations."""

    site: str
    layer: int
    dim: int
    hook: str
    num_heads: int = 0  #: > 0 also stores the root mean square of each head

    @property
    def path(self) -> str:
        return f"activations/{self.site}/{self.layer:03}"


@dataclass
class Rows:
    """Consecutive rows of a capture: whole sequences."""

    position: np.ndarray  #: i32 [num_rows]
    token: np.ndarray  #: i32 [num_rows]
    lengths: np.ndarray  #: rows of each sequence, i64 [num_sequences]
    sequences: dict[str, list[Any]]  #: text, and optionally label, pair, task of each sequence
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
    num_shards: int | None = None  #: None: as many as it takes
    task_names: list[str] = field(default_factory=list)

    def identity(self) -> dict[str, Any]:
        """Returns the properties that all runs of one capture must share."""
        names = ("options", "checkpoint_sha256", "tokenizer_sha256", "input_sha256", "compute_dtype")
        identity = {name: self.info[name] for name in (*names, "storage_dtype", "compression", "rows", "seed")}
        identity["class_names"] = []
        identity["task_names"] = self.task_names
        identity["activations"] = [
            {"site": one.site, "layer": one.layer, "dim": one.dim, "hook": one.hook} for one in self.datasets
        ]
        if self.num_shards is not None:
            identity["num_shards"] = self.num_shards
        return identity

    def digest(self) -> str:
        return hashlib.sha256(to_json(self.identity()).encode()).hexdigest()


def to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class _File:
    """An HDF5 file in the format that HDF5 1.10 reads, without times, so equal content has equal bytes."""

    def __init__(self, path: Path):
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
        access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
        creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        creation.set_obj_track_times(False)
        self.file = h5py.File(
            h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, fcpl=creation, fapl=access)
        )

    def group_of(self, path: str) -> Any:
        """Creates the parent groups of `path`."""
        group = self.file
        for name in path.split("/")[:-1]:
            if name not in group:
                creation = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
                creation.set_obj_track_times(False)
                h5py.h5g.create(group.id, name.encode(), gcpl=creation)
            group = group[name]
        return group

    def write(self, path: str, values: np.ndarray) -> None:
        values = np.asarray(values)
        options: dict[str, Any] = {}
        if values.ndim and values.size:
            row = values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
            rows = min(max(_CHUNK_BYTES // row, 1), len(values))
            options = {"chunks": (rows, *values.shape[1:]), "fletcher32": True}
        self.group_of(path).create_dataset(path.split("/")[-1], data=values, track_times=False, **options)

    def write_texts(self, path: str, texts: list[str]) -> None:
        clean = [text.replace("\0", "\ufffd") for text in texts]
        self.group_of(path).create_dataset(
            path.split("/")[-1], data=np.array(clean, dtype=object), dtype=_TEXT, track_times=False
        )

    def set(self, name: str, value: Any, path: str = "/") -> None:
        attributes = self.file[path].attrs
        if isinstance(value, list):
            attributes.create(name, np.array(value, dtype=object), shape=(len(value),), dtype=_TEXT)
        elif isinstance(value, str):
            attributes.create(name, value, dtype=_TEXT)
        else:
            attributes.create(name, value)

    def close(self) -> None:
        self.file.close()


class _ChunkWriter:
    """Writes the chunks of one dataset; the module fills them, with checksum and statistics, without the GIL."""

    def __init__(self, file: _File, dataset: Dataset, storage: str, compression: str):
        self.file = file
        self.what = dataset
        self.dtype = np.dtype("<f2" if storage == "float16" else "<f4")
        self.deflate = compression == "deflate"
        chunk_rows = max(1, _CHUNK_BYTES // (dataset.dim * self.dtype.itemsize))
        self.chunk = _core.ChunkBuffer(dataset.hook, chunk_rows, dataset.dim, storage == "float16")
        self.written = 0
        self.target: Any = None

    def append(self, parts: list[np.ndarray]) -> None:
        part = first = 0
        while part < len(parts):
            part, first = self.chunk.add(parts, part, first)
            if self.chunk.is_full:
                self._write()

    def finish(self) -> None:
        """Writes the rest."""
        if self.chunk.num_rows:
            if self.target is None:
                self.chunk.shrink()
            self._write()
        if self.target is None:
            self._create()
        self.file.set("hook", self.what.hook, self.what.path)

    def _create(self) -> None:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_obj_track_times(False)
        creation.set_chunk((self.chunk.chunk_rows, self.what.dim))
        creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        if self.deflate:
            creation.set_shuffle()
            creation.set_deflate(_DEFLATE_LEVEL)
        creation.set_fletcher32()
        group = self.file.group_of(self.what.path)
        space = h5py.h5s.create_simple((0, self.what.dim), (h5py.h5s.UNLIMITED, self.what.dim))
        kind = h5py.h5t.py_create(self.dtype, logical=True)
        name = self.what.path.split("/")[-1].encode()
        self.target = h5py.Dataset(h5py.h5d.create(group.id, name, kind, space, dcpl=creation))

    def _write(self) -> None:
        end = self.written + self.chunk.num_rows
        stored = self.chunk.finish()
        if self.target is None:
            self._create()
        self.target.id.set_extent((end, self.what.dim))
        if self.deflate:
            values = stored[:-4].view(self.dtype).reshape(-1, self.what.dim)
            self.target[self.written : end] = values[: end - self.written]
        else:
            self.target.id.write_direct_chunk((self.written, 0), stored)
        self.written = end

    def extents(self) -> list[tuple[int, int]]:
        """Returns offset and size of each chunk in the file, after finish() and a flush."""
        extents: list[tuple[int, int]] = []
        self.target.id.chunk_iter(lambda chunk: extents.append((chunk.byte_offset, chunk.size)))
        return extents


class ShardWriter:
    """Writes one shard; appears complete with finish(), or not at all."""

    def __init__(self, folder: Path, shard: int, first_sequence: int, plan: Plan):
        self.path = folder / f"{shard:05}.h5"
        self.shard = shard
        self.first_sequence = first_sequence
        self.plan = plan
        self.num_sequences = 0
        self.rows: list[Rows] = []
        self.waiting: list[list[np.ndarray]] = []
        self.begun = 0  # values of which the system was told to write them
        self.temporary = _files.temporary_of(self.path)
        self.file = _File(self.temporary)
        self.descriptor = self.file.file.id.get_vfd_handle()
        for name, value in {
            "format": "lime-capture-shard",
            "schema_version": np.int64(1),
            "shard": np.int64(shard),
            "first_sequence": np.int64(first_sequence),
            "identity_sha256": plan.digest(),
        }.items():
            self.file.set(name, value)
        self.chunks = [
            _ChunkWriter(self.file, one, plan.info["storage_dtype"], plan.info["compression"])
            for one in plan.datasets
        ]

    def append(self, rows: Rows) -> None:
        """Adds sequences, whose activations may change only after flush()."""
        self.waiting.append(rows.activations)
        rows.activations = []
        self.rows.append(rows)
        self.num_sequences += len(rows.lengths)

    def flush(self) -> None:
        """Writes what was appended."""
        for writer, parts in zip(self.chunks, zip(*self.waiting)):
            writer.append(list(parts))
        self.waiting.clear()
        written = sum(writer.written * writer.what.dim for writer in self.chunks)
        if written - self.begun >= _WRITEBACK_VALUES:
            self.begun = written
            _core.begin_writing(self.descriptor)

    def abandon(self) -> None:
        self.file.close()
        self.temporary.unlink(missing_ok=True)

    def finish(self) -> None:
        self.flush()
        for writer in self.chunks:
            writer.finish()
        self.file.file.flush()
        _core.begin_writing(self.descriptor)
        extents = [extent for writer in self.chunks for extent in writer.extents()]
        lengths = np.concatenate([rows.lengths for rows in self.rows])
        sequence = np.repeat(np.arange(len(lengths)) + self.first_sequence, lengths)
        self.file.write("rows/sequence", sequence.astype(np.int32))
        for name in ("position", "token"):
            values = np.concatenate([getattr(rows, name) for rows in self.rows])
            self.file.write(f"rows/{name}", values.astype(np.int32))
        columns = {
            name: [value for rows in self.rows for value in rows.sequences[name]]
            for name in self.rows[0].sequences
        }
        write_sequences(self.file, np.concatenate([[0], np.cumsum(lengths)]), columns, self.plan.task_names)
        for writer in self.chunks:
            write_statistics(self.file, writer.what, writer.chunk.statistics)
        self.file.close()
        _files.append_trailer(self.temporary, extents)
        _files.commit(self.temporary, self.path)
        record = {
            "shard": self.shard,
            "file": f"{self.path.parent.name}/{self.path.name}",
            "first_sequence": self.first_sequence,
            "num_sequences": self.num_sequences,
            "num_rows": int(lengths.sum()),
            "bytes": self.path.stat().st_size,
        }
        _files.write_text(self.path.with_suffix(".json"), json.dumps(record, indent=1) + "\n")


_COLUMN_TYPES = {"label": np.int8, "pair": np.int32, "task": np.int16}


def write_sequences(file: _File, offsets: np.ndarray, columns: dict[str, list[Any]], tasks: list[str]) -> None:
    file.write("sequences/offset", offsets.astype(np.int64))
    file.write_texts("sequences/text", columns["text"])
    for name, kind in _COLUMN_TYPES.items():
        values = np.array(columns.get(name, []), kind)
        if np.any(values >= 0) or (name == "task" and tasks):
            file.write(f"sequences/{name}", values)
    if tasks:
        file.set("names", tasks, "sequences/task")


def write_statistics(file: _File, dataset: Dataset, statistics: Any) -> None:
    path = dataset.path.replace("activations", "statistics", 1)
    file.write(f"{path}/count", np.int64(statistics.count))
    file.write(f"{path}/mean", statistics.mean)
    file.write(f"{path}/m2", statistics.m2)
    if dataset.num_heads and statistics.count:
        file.write(f"{path}/rms", statistics.rms_per_head(dataset.num_heads))


class CaptureWriter:
    """The shards of a capture, their manifest, and the master over them."""

    def __init__(self, path: Path):
        self.path = path
        self.folder = _files.shard_folder(path)

    def manifest(self) -> dict[str, Any] | None:
        try:
            return _core.read_json(self.folder / "manifest.json")
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(
                f"store: '{self.folder / 'manifest.json'}' is damaged; remove its folder to start over"
            ) from error

    def start(self, plan: Plan) -> None:
        """Writes the manifest, or compares it. Raises ValueError naming the first difference."""
        manifest = self.manifest()
        if manifest is not None:
            difference = _first_difference(manifest["identity"], plan.identity())
            if difference:
                raise ValueError(
                    f"store: '{self.path}' was started with different options: {difference}; use the same "
                    "ones, or another file"
                )
            plan.info.update(manifest["info"])
            return
        self.folder.mkdir(exist_ok=True)
        content = {"schema": "lime-shards/1", "identity": plan.identity(), "info": plan.info}
        _files.write_text(self.folder / "manifest.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def record(self, shard: int) -> dict[str, Any] | None:
        """The record of a finished shard; None if it is missing or has another size."""
        try:
            record = _core.read_json(self.folder / f"{shard:05}.json")
            size = (self.folder / f"{shard:05}.h5").stat().st_size
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.get("bytes") != size or record.get("shard") != shard:
            return None
        return {**record, "file": f"{self.folder.name}/{shard:05}.h5"}

    def remove(self) -> None:
        """Removes the capture and its shards; leaves other files alone."""
        self.path.unlink(missing_ok=True)
        if not self.folder.is_dir():
            return
        for file in self.folder.iterdir():
            name = file.name.split(".part-")[0].lstrip(".")
            stem, _, ending = name.partition(".")
            if name == "manifest.json" or (stem.isdigit() and ending in ("h5", "json")):
                file.unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def write_master(
        self, plan: Plan, records: list[dict[str, Any]], complete: bool, prefix: Prefix | None = None
    ) -> int:
        """Writes the master over finished shards; returns how many sequences do not begin with `prefix`."""
        tables = [self._tables(record, plan) for record in records]
        lacking = 0
        if prefix is not None:
            lacking = sum(
                prefix.count_without(self._tokens(record), table["offset"]) for record, table in zip(records, tables)
            )
            plan.info["extra"].update(tokenizer_prefix=prefix.text, sequences_without_prefix=lacking)
        with _files.atomic_file(self.path) as temporary:
            file = _File(temporary)
            self._write_virtual(file, plan, records)
            columns: dict[str, list[Any]] = {}
            offsets = [0]
            for record, table in zip(records, tables):
                # Sequences of missing shards have no rows and empty texts.
                missing = record["first_sequence"] - (len(offsets) - 1)
                offsets += [offsets[-1]] * missing
                offsets += (table["offset"][1:] + offsets[-1]).tolist()
                for name, values in table["columns"].items():
                    absent = "" if name == "text" else -1
                    columns.setdefault(name, []).extend([absent] * missing + values)
            write_sequences(file, np.array(offsets), columns, plan.task_names)
            for i, dataset in enumerate(plan.datasets):
                merged = _core.RunningStatistics()
                for table in tables:
                    merged.merge(table["statistics"][i])
                write_statistics(file, dataset, merged)
            self._write_attributes(file, plan, records, complete)
            file.close()
            _files.append_trailer(temporary, [])
        return lacking

    def _tokens(self, record: dict[str, Any]) -> np.ndarray:
        """Returns the tokens of a shard that _tables() has checked."""
        with h5py.File(self.path.parent / record["file"]) as file:
            return file["rows/token"][()]

    def _tables(self, record: dict[str, Any], plan: Plan) -> dict[str, Any]:
        path = self.path.parent / record["file"]
        offset, columns, found = _core.read_shard_tables(
            path, record["shard"], record["num_rows"], plan.digest()
        )
        missing = [one.path for one in plan.datasets if (one.site, one.layer) not in found]
        if missing:
            raise ValueError(f"store: '{path}' has no statistics of '{missing[0]}'; restore the original shard")
        columns = {name: column if name == "text" else column.tolist() for name, column in columns.items()}
        return {
            "offset": offset,
            "columns": columns,
            "statistics": [found[one.site, one.layer] for one in plan.datasets],
        }

    @staticmethod
    def _write_virtual(file: _File, plan: Plan, records: list[dict[str, Any]]) -> None:
        num_rows = sum(record["num_rows"] for record in records)

        def write(path: str, shape: tuple[int, ...], dtype: Any, fill: Any) -> None:
            layout = h5py.VirtualLayout(shape, dtype)
            first = 0
            for record in records:
                end = first + record["num_rows"]
                source = h5py.VirtualSource(record["file"], path, (record["num_rows"], *shape[1:]), dtype)
                if end > first:
                    layout[first:end] = source
                first = end
            file.group_of(path).create_virtual_dataset(path.split("/")[-1], layout, fillvalue=fill)

        for column in ("sequence", "position", "token"):
            write(f"rows/{column}", (num_rows,), np.dtype("<i4"), -1)
        storage = np.dtype("<f2" if plan.info["storage_dtype"] == "float16" else "<f4")
        for one in plan.datasets:
            write(one.path, (num_rows, one.dim), storage, np.nan)
            file.set("hook", one.hook, one.path)

    @staticmethod
    def _write_attributes(file: _File, plan: Plan, records: list[dict[str, Any]], complete: bool) -> None:
        file.set("format", "lime-capture")
        for name, value in plan.info.items():
            if name in ("config", "options", "extra", "first_ids"):
                value = to_json(value)
            elif name == "schema_version":
                value = np.int64(value)
            elif name == "seed":
                value = np.uint64(value)
            elif name in ("class_names", "task_names", "complete"):
                continue
            file.set(name, value)
        file.set("complete", np.int64(complete))
        file.set("sites", list(dict.fromkeys(one.site for one in plan.datasets)))
        file.set("shards", to_json(records))
        file.set("identity_sha256", plan.digest())


def _first_difference(stored: Any, wanted: Any, where: str = "") -> str:
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for name in sorted(stored.keys() | wanted.keys()):
            found = _first_difference(stored.get(name), wanted.get(name), f"{where}.{name}".lstrip("."))
            if found:
                return found
        return ""
    return "" if stored == wanted else f"{where} was {json.dumps(stored)} and is now {json.dumps(wanted)}"
