# SPDX-License-Identifier: Apache-2.0
"""Writes a capture in memory as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from . import _provenance, _shards, models


def save(capture: Any, path: Path, overwrite: bool) -> None:
    """Writes the shard and the master of a capture. Raises as Capture.save()."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store: the folder '{path.parent}' does not exist")
    if overwrite:
        _core.remove_capture(path)
    elif path.exists() or _core.shard_folder_of(path).exists():
        raise FileExistsError(f"store: '{path}' or its shards already exist; use overwrite=True, or another name")
    rows, sequences = capture.rows, capture.sequences
    config = capture.config
    plan = _shards.Plan(_provenance.complete(capture._reader.info()), num_shards=1)
    plan.datasets = [
        _shards.Dataset(site, layer, capture[site, layer].shape[1], capture[site, layer].hook,
                        models.num_heads(site, models.ConfigOf(config), capture[site, layer].shape[1]))
        for site, layer in capture
    ]
    columns = {
        name: [-1] * capture.num_sequences if values is None else list(values)
        for name, values in (("label", sequences.label), ("pair", sequences.pair))
    }
    columns["text"] = sequences.text or [""] * capture.num_sequences
    writer = _shards.CaptureWriter(path, plan)
    shard = writer.begin_shard(0, 0)
    try:
        activations = [np.ascontiguousarray(capture[key][:], dtype=np.float32) for key in capture]
        shard.append(_shards.Rows(rows.position, rows.token, np.diff(capture.offsets), columns, activations))
        shard.finish()
    except BaseException:
        shard.abandon()
        raise
    writer.finish([], True)
