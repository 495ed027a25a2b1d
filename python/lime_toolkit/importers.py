# SPDX-License-Identifier: Apache-2.0
"""Activations of arrays, TransformerLens, nnsight, vLLM and SAELens, as captures in memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from . import _lime_toolkit as _core
from . import models
from ._arrays import to_array, to_column
from ._memory import ArrayReader, Key

#: Names of TransformerLens that have a shorter one in captures.
SHORT_NAMES = {
    "hook_resid_post": "hidden",
    "attn.hook_q": "queries",
    "attn.hook_k": "keys",
    "attn.hook_v": "values",
}
_BLOCK = re.compile(r"(?:.*\.)?blocks\.(\d+)\.(.+)$")


def site_of(name: Any) -> Key:
    """Returns site and layer of a name. Raises ValueError if it has no layer, or several."""
    if isinstance(name, tuple) and len(name) == 2 and isinstance(name[0], str):
        return name[0], int(name[1])
    if not isinstance(name, str):
        raise ValueError(f"activations: names must be texts or (site, layer), got {name!r}")
    block = _BLOCK.match(name)
    if block and ("hook" in block[2]):
        return SHORT_NAMES.get(block[2], block[2]), int(block[1])
    name = re.sub(r"\.(output|input)(\[0\])?$", "", name)
    numbers = re.findall(r"(?<![^./])\d+(?![^./])", name)
    if len(numbers) != 1:
        if not numbers and name.startswith("hook_"):
            return name, 0
        raise ValueError(f"activations: '{name}' must contain one number, that of the layer, or be (site, layer)")
    pattern = re.sub(r"(?<![^./])\d+(?![^./])", "*", name)
    return models.site_named(pattern), int(numbers[0])


def from_arrays(
    activations: Mapping[Any, Any],
    *,
    tokens: Any = None,
    mask: Any = None,
    lengths: Sequence[int] | None = None,
    texts: Sequence[str] | None = None,
    config: Any = None,
    provenance: Mapping[str, Any] | None = None,
    source: str = "arrays",
) -> ArrayReader:
    """Returns the reader of Capture.from_arrays(), which documents the arguments."""
    if not activations:
        raise ValueError("activations: must contain at least one array")
    table = _Table(tokens, mask, lengths)
    rows: dict[Key, np.ndarray] = {}
    hooks: dict[Key, str] = {}
    for name, values in _by_layer(activations):
        key = site_of(name)
        if key in rows:
            raise ValueError(f"activations: '{name}' and '{hooks[key]}' are both layer {key[1]} of site '{key[0]}'")
        rows[key] = table.rows_of(_to_floats(values, name), key[0], name)
        hooks[key] = name if isinstance(name, str) else ""
    counts = {len(one) for one in rows.values()}
    if len(counts) > 1:
        raise ValueError(f"activations: all must have the same number of rows, got {sorted(counts)}")
    token, position, ends = table.finish()
    if texts is not None and len(texts) != len(ends):
        raise ValueError(f"texts: must have one entry for each of the {len(ends)} sequences, got {len(texts)}")
    if hasattr(config, "to_dict"):
        config = config.to_dict()
    info = {"format": "lime-capture", "tool": f"lime-toolkit (imported from {source})", "config": dict(config or {}),
            "extra": {"source": source, **dict(provenance or {})}, "rows": "tokens"}
    return ArrayReader(rows, token=token, position=position, lengths=ends, texts=texts, hooks=hooks, info=info)


def from_transformer_lens(
    cache: Any, tokens: Any, mask: Any, texts: Sequence[str] | None, sites: Sequence[str] | None, config: Any
) -> ArrayReader:
    """Returns the reader of Capture.from_transformer_lens()."""
    has_batch = getattr(cache, "has_batch_dim", True)
    wanted = None if sites is None else {SHORT_NAMES.get(one, one) for one in ([sites] if isinstance(sites, str) else sites)}
    chosen = {}
    for name, values in cache.items():
        block = _BLOCK.match(name)
        site = SHORT_NAMES.get(block[2], block[2]) if block else name
        if wanted is None:
            # Scores are -inf where they are masked; hook_in and hook_out are other names of the bridge.
            own = (block[2] if block else name).rpartition(".")[2]
            if own in ("hook_attn_scores", "hook_in", "hook_out") or not own.startswith("hook_"):
                continue
            if not _has_rows(values, has_batch, site, cache):
                continue
        elif site not in wanted:
            continue
        chosen[(site, int(block[1])) if block else (site, 0)] = values if has_batch else values[None]
    if not chosen:
        raise ValueError(f"sites: the cache has none of {sorted(wanted or [])} (it has {', '.join(list(cache.keys())[:8])}, ...)")
    return from_arrays(chosen, tokens=tokens, mask=mask, texts=texts, config=config, source="TransformerLens")


def _has_rows(values: Any, has_batch: bool, site: str, cache: Any) -> bool:
    """Returns whether a value has a row per token: the shape of a residual stream, up to its last axes."""
    first = next((one for name, one in cache.items() if name.endswith(("hook_resid_post", "hook_resid_pre"))), None)
    if first is None or site == "attn.hook_pattern":
        return True
    axes = 2 if has_batch else 1
    return tuple(values.shape[:axes]) == tuple(first.shape[:axes]) and values.ndim > axes


def from_nnsight(
    saves: Mapping[Any, Any], tokens: Any, mask: Any, texts: Sequence[str] | None, config: Any
) -> ArrayReader:
    """Returns the reader of Capture.from_nnsight()."""
    plain = {name: _saved(value) for name, value in saves.items()}
    return from_arrays(plain, tokens=tokens, mask=mask, texts=texts, config=config, source="nnsight")


def _saved(value: Any) -> Any:
    if isinstance(value, list):
        return [_saved(one) for one in value]
    if not hasattr(value, "shape") and hasattr(value, "value"):
        value = value.value
    return value[0] if isinstance(value, tuple) else value


def from_vllm(files: Any, layers: Sequence[int], texts: Sequence[str] | None, config: Any) -> ArrayReader:
    """Returns the reader of Capture.from_vllm()."""
    if isinstance(files, (str, Path)):
        folder = Path(files)
        if not folder.exists():
            raise FileNotFoundError(f"vllm: '{files}' does not exist")
        files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else [folder]
        packed = [*folder.glob("*.safetensors.zst")] if not files else [one for one in files if one.suffix == ".zst"]
        if packed:
            raise ValueError(
                f"vllm: '{packed[0]}' is compressed; decompress it with zstd -d, or set use_compression to false"
            )
    if not files:
        raise FileNotFoundError("vllm: there are no .safetensors files")
    layers = [int(one) for one in layers]
    if len(set(layers)) < len(layers) or min(layers, default=-1) < 0:
        raise ValueError(f"layers: must be distinct and >= 0, got {layers}")
    states, ids = [], []
    for path in files:
        tensors = _core.read_safetensors(path)
        for name, axes in (("hidden_states", 3), ("token_ids", 1)):
            if name not in tensors or tensors[name].ndim != axes:
                raise ValueError(f"vllm: '{path}' has no tensor '{name}' with {axes} axes")
        one = tensors["hidden_states"]
        if one.shape[1] != len(layers) or len(one) != len(tensors["token_ids"]):
            raise ValueError(
                f"vllm: '{path}' must have [tokens, {len(layers)} layers, dim] and as many token_ids, got "
                f"{list(one.shape)} and {len(tensors['token_ids'])}; layers are the ids of eagle_aux_hidden_state_layer_ids"
            )
        states.append(one)
        ids.append(tensors["token_ids"])
    if len({one.shape[2] for one in states}) > 1:
        raise ValueError(f"vllm: all files must have the same dim, got {sorted({one.shape[2] for one in states})}")
    # Id k is what layer k reads.
    names = [("hidden", layer - 1) if layer > 0 else ("hook_embed", 0) for layer in layers]
    rows = {name: np.concatenate([one[:, i] for one in states]) for i, name in enumerate(names)}
    return from_arrays(
        rows, tokens=np.concatenate(ids), lengths=[len(one) for one in ids], texts=texts, config=config,
        provenance={"files": [Path(one).name for one in files]}, source="vLLM",
    )


def from_sae_lens(folders: Sequence[Path], config: Any) -> ArrayReader:
    """Returns the reader of Capture.from_sae_lens()."""
    if not folders:
        raise ValueError("sae_lens: name at least one folder of activations")
    rows: dict[str, np.ndarray] = {}
    tokens: np.ndarray | None = None
    for folder in folders:
        columns = _arrow_columns(folder)
        own = columns.pop("token_ids", None)
        if own is not None:
            if tokens is not None and not np.array_equal(own, tokens):
                raise ValueError(f"sae_lens: '{folder}' has other tokens than '{folders[0]}'")
            tokens = own
        for name, values in columns.items():
            if name in rows:
                raise ValueError(f"sae_lens: '{name}' is in several folders")
            rows[name] = values
    return from_arrays(rows, tokens=tokens, config=config, source="SAELens",
                       provenance={"folders": [one.name for one in folders]})


def _arrow_columns(folder: Path) -> dict[str, np.ndarray]:
    """Returns the columns of a dataset that datasets.save_to_disk() wrote, each [sequences, tokens, ...]."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Capture.from_sae_lens() needs pyarrow; pip install pyarrow") from error
    state = _core.read_json(folder / "state.json")
    names = [one.get("filename") for one in state.get("_data_files", [])] if isinstance(state, dict) else []
    if not names or any(not isinstance(one, str) or Path(one).name != one for one in names):
        raise ValueError(f"sae_lens: '{folder / 'state.json'}' lists no data files in its folder")
    parts: dict[str, list[np.ndarray]] = {}
    for name in names:
        try:
            with pyarrow.memory_map(str(folder / name)) as file:
                table = pyarrow.ipc.open_stream(file).read_all()
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"sae_lens: '{folder / name}' is not an Arrow stream: {error}") from error
        for column in table.column_names:
            parts.setdefault(column, []).extend(
                _nested(chunk, f"{folder / name}: {column}") for chunk in table[column].chunks
            )
    return {column: np.concatenate(values) for column, values in parts.items()}


def _nested(values: Any, where: str) -> np.ndarray:
    """Returns lists of lists of numbers, all of the same length, as one array."""
    values = getattr(values, "storage", values)
    shape = [len(values)]
    while hasattr(values, "flatten") and str(values.type).startswith(("list", "fixed_size_list", "large_list")):
        inner = values.flatten()
        if values.null_count or (len(values) and len(inner) % len(values)):
            raise ValueError(f"sae_lens: '{where}' has lists of different lengths")
        shape.append(len(inner) // max(len(values), 1))
        values = inner
    return values.to_numpy(zero_copy_only=False).reshape(shape)


def _by_layer(activations: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Returns the arrays by name, with lists of a site by layer."""
    found: list[tuple[Any, Any]] = []
    for name, values in activations.items():
        if isinstance(values, (list, tuple)) and isinstance(name, str):
            found.extend(((name, layer), one) for layer, one in enumerate(values))
        else:
            found.append((name, values))
    return found


def _to_floats(values: Any, name: Any) -> np.ndarray:
    array = to_array(values)
    if array.dtype not in (np.float16, np.float32):
        raise ValueError(f"activations: '{name}' must be float16, bfloat16 or float32, got {array.dtype}")
    return array.astype(np.float32, copy=False)


class _Table:
    """Which rows of the arrays exist, and their tokens, from the first array on."""

    def __init__(self, tokens: Any, mask: Any, lengths: Sequence[int] | None):
        self._tokens = None if tokens is None else to_array(tokens)
        self._mask = None if mask is None else to_array(mask).astype(bool)
        self._lengths = None if lengths is None else to_column(list(lengths), "lengths", np.int64)
        self._shape: tuple[int, ...] | None = None
        if self._lengths is not None and (self._mask is not None or (self._lengths < 0).any()):
            raise ValueError("lengths: must be >= 0, and replace mask")
        if self._tokens is not None and self._tokens.dtype.kind not in "iu":
            raise ValueError(f"tokens: must be whole numbers, got {self._tokens.dtype}")
        if self._tokens is not None and self._lengths is None and self._tokens.ndim == 1:
            self._tokens = self._tokens[None]
        if self._mask is not None and self._mask.ndim == 1:
            self._mask = self._mask[None]

    def rows_of(self, values: np.ndarray, site: str, name: Any) -> np.ndarray:
        """Returns [num_rows, dim] of the rows that exist."""
        if site == "attn.hook_pattern" and values.ndim in (3, 4):
            values = np.moveaxis(values, -3, -2)  # [.., query, heads, key]
            if self._mask is not None and not self._mask.all():
                raise ValueError(f"activations: '{name}': patterns with padding are not supported; use no mask")
        if self._lengths is not None:
            if values.ndim < 2 or len(values) != self._lengths.sum():
                raise ValueError(
                    f"activations: '{name}' must have {int(self._lengths.sum())} rows, those of all lengths, got the "
                    f"shape {list(values.shape)}"
                )
            return values.reshape(len(values), -1)
        given = self._mask if self._mask is not None else self._tokens
        is_batch = values.ndim > 2 and (given is None or tuple(values.shape[:2]) == given.shape)
        if not is_batch:
            values = values[None]
        shape = values.shape[:2]
        if values.ndim < 3 or 0 in values.shape or shape != (self._shape or shape):
            raise ValueError(
                f"activations: '{name}' must be [batch, tokens, ...] as the others, got the shape {list(values.shape)}"
            )
        for what, other in (("tokens", self._tokens), ("mask", self._mask)):
            if other is not None and other.shape != shape:
                raise ValueError(
                    f"{what}: must have the shape {list(shape)} of '{name}', [batch, tokens], got {list(other.shape)}"
                )
        self._shape = shape
        if self._mask is not None and not self._mask.all():
            return values[self._mask].reshape(int(self._mask.sum()), -1)
        return values.reshape(shape[0] * shape[1], -1)

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns token and position of each row, and the length of each sequence."""
        if self._lengths is not None:
            lengths, token = self._lengths, self._tokens
            if token is not None and token.shape != (lengths.sum(),):
                raise ValueError(f"tokens: must have one entry per row, {lengths.sum()}, got {list(token.shape)}")
        else:
            assert self._shape is not None
            mask = np.ones(self._shape, bool) if self._mask is None else self._mask
            lengths = mask.sum(1)
            token = None if self._tokens is None else self._tokens[mask]
        if token is None:
            token = np.full(int(lengths.sum()), -1)
        position = np.concatenate([np.arange(n) for n in lengths]) if len(lengths) else np.zeros(0)
        return token, position, lengths
