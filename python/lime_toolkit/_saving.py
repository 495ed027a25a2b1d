# SPDX-License-Identifier: Apache-2.0
"""Writes a capture in memory as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import _provenance, models


def save(capture: Any, path: Path, overwrite: bool) -> None:
    """Writes the shard and the master of a capture. Raises as Capture.save()."""
    try:
        from . import _shards
    except ImportError as error:
        raise ImportError("Capture.save() needs h5py; pip install lime-toolkit[record]") from error
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store: the folder '{path.parent}' does not exist")
    writer = _shards.CaptureWriter(path)
    if overwrite:
        writer.remove()
    elif path.exists() or writer.folder.exists():
        raise FileExistsError(f"store: '{path}' or its shards already exist; use overwrite=True, or another name")
    rows, sequences = capture.rows, capture.sequences
    config = capture.config
    plan = _shards.Plan(_provenance.complete(capture._reader.info()), num_shards=1)
    plan.datasets = [
        _shards.Dataset(site, layer, capture[site, layer].shape[1], capture[site, layer].hook,
                        models.num_heads(site, models.ConfigOf(config), capture[site, layer].shape[1]))
        for site, layer in capture
    ]
    writer.start(plan)
    columns = {
        name: [-1] * capture.num_sequences if values is None else list(values)
        for name, values in (("label", sequences.label), ("pair", sequences.pair))
    }
    columns["text"] = sequences.text or [""] * capture.num_sequences
    shard = _shards.ShardWriter(writer.folder, 0, 0, plan)
    try:
        activations = [np.ascontiguousarray(capture[key][:], dtype=np.float32) for key in capture]
        shard.append(_shards.Rows(rows.position, rows.token, np.diff(capture.offsets), columns, activations))
        shard.finish()
    except BaseException:
        shard.abandon()
        raise
    writer.write_master(plan, [writer.record(0)], True)
