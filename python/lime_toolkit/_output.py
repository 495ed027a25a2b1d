# SPDX-License-Identifier: Apache-2.0
"""The capture of a recorder: finished batches become rows of shards, in a thread of their own."""

from __future__ import annotations

import queue
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from . import _shards, models
from ._batches import Batch, Group
from ._copies import Buffers
from ._prefix import Prefix

_GROUP_BYTES = 8 << 20
_GROUP_SECONDS = 1.0


class Output:
    """Shards of one capture, of which this process writes every num_processes-th."""

    def __init__(
        self,
        path: Path,
        info: dict[str, Any],
        model: Any,
        tokenizer: Any,
        prefix: Prefix | None,
        modules: list[tuple[str, Any, int, tuple[str, models.Site]]],
        *,
        shard_sequences: int,
        total: int | None,
        share: tuple[int, int],
    ):
        self.path = path
        self.buffers = Buffers()
        self.failure: BaseException | None = None
        self.shard_sequences = shard_sequences
        self.total = total
        self._config = getattr(model, "config", None)
        self._tokenizer = tokenizer
        self._prefix = prefix
        self._modules = modules
        self._share = share
        self._plan = _shards.Plan(info, num_shards=0 if total is None else -(-total // shard_sequences))
        self._manifest: Any = None
        self._store: _shards.CaptureWriter | None = None
        self._writer: _shards.ShardWriter | None = None
        self._done = 0
        self._next = 0
        self._recorded = 0
        self._short = 0
        self._group = Group()
        self._queue: queue.Queue[Any] = queue.Queue(maxsize=4)
        self._thread: threading.Thread | None = None

    def prepare(self, resume: bool, overwrite: bool) -> None:
        """Finds the finished shards of an earlier run.

        Raises FileExistsError if the capture exists and is not to be continued.
        """
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"record: the folder '{self.path.parent}' does not exist")
        if overwrite:
            _core.remove_capture(self.path)
        manifest = _core.read_manifest(self.path)
        self._manifest = manifest
        if resume:
            if self.path.exists() and manifest is None:
                raise FileExistsError(
                    f"record: '{self.path}' is one file without shards and cannot be resumed; use another name"
                )
        elif self.path.exists() or (manifest is not None and self._record(0) is not None):
            what = "already exists" if self.path.exists() else "has finished shards of an earlier run"
            raise FileExistsError(
                f"record: '{self.path}' {what}; use resume=True to continue, overwrite=True, or another name"
            )
        elif manifest is not None:
            _core.remove_capture(self.path)
        while self._done < self._limit() and (record := self._record(self._done)) is not None:
            if self.total is None and record["num_sequences"] < self.shard_sequences:
                raise FileExistsError(f"record: '{self.path}' is finished and cannot be resumed")
            self._done += 1
        self._next = self._first_missing(0)

    @property
    def num_sequences(self) -> int:
        """Number of sequences recorded so far, including those of a resumed run."""
        finished = self._done
        if self._share[1] > 1:
            finished = sum(1 for shard in range(self._limit()) if self._is_finished(shard))
        found = finished * self.shard_sequences + self._recorded - self._short
        return found if self.total is None else min(found, self.total)

    def remaining(self) -> list[range]:
        """Returns the sequences that this process still has to record, for a known total."""
        assert self.total is not None
        size = self.shard_sequences
        return [
            range(shard * size, min((shard + 1) * size, self.total))
            for shard in range(self._share[0], self._limit(), self._share[1])
            if not self._is_finished(shard)
        ]

    def buffers_of(self, index: int) -> Buffers:
        """Returns the memory of the copies of a module."""
        return self.buffers

    # The thread of the model

    def start(self) -> None:
        """Starts the thread that writes; once."""
        if self._thread is not None:
            raise ValueError(f"record: '{self.path}' was recorded with this Recorder; create a new one")
        self._thread = threading.Thread(target=self._write_batches, name="lime-recorder", daemon=True)
        self._thread.start()

    def put(self, batch: Batch) -> None:
        """Hands finished batches to the thread that writes: small ones together, since every change of
        threads makes the model wait."""
        group = self._group
        group.add(batch)
        is_late = time.monotonic() - group.begin > _GROUP_SECONDS
        if is_late or group.bytes >= _GROUP_BYTES or group.sequences >= self.shard_sequences:
            self._hand_over()

    def close(self, is_clean: bool) -> None:
        """Waits for the thread, and ends the last shard and the capture."""
        assert self._thread is not None
        try:
            self._hand_over()
        finally:
            self._queue.put(None)
            self._thread.join()
        if self.failure is not None and is_clean:
            if self._writer is not None:
                self._writer.abandon()
            raise self.failure
        self._finish(is_clean)

    def _hand_over(self) -> None:
        group, self._group = self._group, Group()
        while self.failure is None and group.batches:
            try:
                return self._queue.put(group.batches, timeout=0.1)
            except queue.Full:
                continue

    # The thread that writes

    def _write_batches(self) -> None:
        while True:
            batches = self._queue.get()
            if batches is None:
                return
            if self.failure is not None:
                continue
            try:
                for batch in batches:
                    self._write(self._rows_of(batch))
                    batch.release(self.buffers)
            except BaseException as error:  # raised again by the next pass, or the end
                self.failure = error

    def _rows_of(self, batch: Batch) -> _shards.Rows:
        lengths, position, token, activations = batch.rows()
        columns = {name: batch.columns.get(name) for name in ("text", "label", "pair")}
        if columns["text"] is None:
            columns["text"] = [self._decode(token[end - n : end]) for n, end in zip(lengths, np.cumsum(lengths))]
        sequences = {
            name: [-1] * batch.num_sequences if values is None else values for name, values in columns.items()
        }
        return _shards.Rows(position, token, lengths, sequences, activations)

    def _decode(self, ids: np.ndarray) -> str:
        if self._tokenizer is None or (ids < 0).any():
            return ""
        return self._tokenizer.decode(ids.tolist())

    def _write(self, rows: _shards.Rows) -> None:
        first = 0
        while first < len(rows.lengths):
            writer = self._writer or self._begin_shard(rows)
            end = min(len(rows.lengths), first + self._capacity(writer.shard) - writer.num_sequences)
            writer.append(rows.cut(first, end))
            self._recorded += end - first
            first = end
            if writer.num_sequences == self._capacity(writer.shard):
                self._end_shard()

    # Shards

    def _limit(self) -> int:
        return self._plan.num_shards or 1 << 20

    def _is_finished(self, shard: int) -> bool:
        return self._record(shard) is not None

    def _record(self, shard: int) -> Any:
        """The record of a finished shard; None if it is missing or damaged."""
        return _core.finished_shard(self.path, shard)

    def _first_missing(self, shard: int) -> int:
        """The first unfinished shard of this process from `shard` on."""
        process, count = self._share
        shard += (process - shard) % count
        while shard < self._limit() and self._is_finished(shard):
            shard += count
        return shard

    def _capacity(self, shard: int) -> int:
        size = self.shard_sequences
        return size if self.total is None else min(size, self.total - shard * size)

    def _begin_shard(self, rows: _shards.Rows) -> _shards.ShardWriter:
        if self._next >= self._limit():
            raise ValueError(f"record: there are more sequences than the {self.total} of total= (or of this process)")
        store = self._store or self._start(rows)
        self._writer = store.begin_shard(self._next, self._next * self.shard_sequences)
        return self._writer

    def _start(self, rows: _shards.Rows) -> _shards.CaptureWriter:
        for (hook, _, layer, (site, _)), values in zip(self._modules, rows.activations):
            dim = values.shape[1]
            num_heads = models.num_heads(site, self._config, dim)
            self._plan.datasets.append(_shards.Dataset(site, layer, dim, hook, num_heads))
        ids = [int(one) for one in rows.token[: min(16, rows.lengths[0])] if one >= 0]
        self._plan.info["first_ids"] = ids
        if self._tokenizer is not None:
            self._plan.info["first_tokens"] = [str(one) for one in self._tokenizer.convert_ids_to_tokens(ids)]
        self._store = _shards.CaptureWriter(self.path, self._plan, self._share)
        return self._store

    def _end_shard(self) -> None:
        assert self._writer is not None
        if self.total is None:
            self._short += self.shard_sequences - self._writer.num_sequences  # of the last shard
        self._writer.finish()
        self._writer = None
        self._recorded = 0
        self._done += 1
        self._next = self._first_missing(self._next + self._share[1])

    def _finish(self, is_clean: bool) -> None:
        """Ends the last shard and writes the master over all of them."""
        if self._writer is not None:
            is_whole = is_clean and self.total is None
            if is_whole:
                self._end_shard()
            else:
                self._writer.abandon()
                self._writer = None
        store = self._store or self._restored()
        if store is None:
            if is_clean:
                raise ValueError("record: nothing was recorded, because the model was not called")
            return
        limit = self._limit() if self.total is not None else self._next
        records = [record for record in map(self._record, range(limit)) if record is not None]
        complete = is_clean and len(records) == limit
        if records and (complete or self._share[1] == 1):
            lacking = store.finish(records, complete, self._prefix)
            self._warn_of_prefix(lacking, sum(record["num_sequences"] for record in records))
        if is_clean and self._share[1] == 1 and not complete:
            raise ValueError(
                f"record: expected total={self.total} sequences, got {self.num_sequences}; the capture is incomplete"
            )

    def _warn_of_prefix(self, lacking: int, count: int) -> None:
        if lacking and self._prefix is not None:
            warnings.warn(
                f"record: {lacking} of {count} sequences do not begin with '{self._prefix.text}', which the tokenizer "
                "puts before every text; the model may compute other activations there; call the tokenizer with "
                "add_special_tokens=True",
                stacklevel=5,
            )

    def _restored(self) -> _shards.CaptureWriter | None:
        """Returns the writer with the plan of the resumed run, if no pass gave one."""
        if self._manifest is None:
            return None
        self._plan.info.update(self._manifest["info"])
        self._plan.datasets = [_shards.Dataset(**one) for one in self._manifest["identity"]["activations"]]
        return _shards.CaptureWriter(self.path, self._plan, self._share)
