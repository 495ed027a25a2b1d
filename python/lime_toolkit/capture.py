# SPDX-License-Identifier: Apache-2.0
"""Reads captures: docs/capture_format.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _saving, importers
from . import _lime_toolkit as _core
from ._lime_toolkit import RunningStatistics
from ._memory import ArrayReader
from .activations import Activations
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


class Capture:
    """Activations of a model: a file of lime-capture or Recorder, in shards or packed, or in memory.

        capture = Capture("run.h5")                 # or cache(model, **batch), Capture.from_arrays(...)
        capture["hidden", 3][:]
        capture.sequences.text[7], capture.rows.token, capture.layers("hidden")
        "hidden" in capture, ("hidden", 3) in capture, list(capture)

    Everything but the activations is read when it is first used. The reader is that of the programs:
    checksums are verified, the trailer when a file is opened, chunks of activations when they are
    read; no data outside the file and its shards is read; a helper process reads a file first, so
    that one that makes HDF5 crash or loop is refused. Reads release the GIL.

    Raises FileNotFoundError if there is no such file (the message names an unfinished recording), or
    if a shard is missing; OSError if the system does not let a file be read; ValueError if it is not a
    capture, of another schema version, or damaged.
    """

    def __init__(self, path: str | Path):
        self.path: Path | None = Path(path)  #: None: in memory
        if not self.path.exists():
            raise FileNotFoundError(_why_missing(self.path))
        self._open(_core.CaptureReader(self.path))

    def _open(self, reader: Any) -> None:
        self._opened: Any = reader
        self.num_rows: int = reader.num_rows
        self.complete: bool = reader.complete  #: False if shards are missing
        self._sites: dict[str, dict[int, Activations]] = {}
        for site, layer, dim, hook in reader.activations():
            self._sites.setdefault(site, {})[layer] = Activations(self, site, layer, dim, hook)

    @classmethod
    def _of(cls, reader: ArrayReader) -> "Capture":
        made = cls.__new__(cls)
        made.path = None
        made._open(reader)
        return made

    def _with(self, what: Activations, rows: np.ndarray) -> Activations:
        """Returns other activations with the sequences of this capture, in memory."""
        reader = ArrayReader.like(self._reader, (what.site, what.layer), rows)
        made = Capture._of(reader)[what.site, what.layer]
        made.dtype = rows.dtype
        return made

    # Arrays and other libraries

    @classmethod
    def from_arrays(
        cls,
        activations: Mapping[Any, Any],
        *,
        tokens: Any = None,
        mask: Any = None,
        lengths: Sequence[int] | None = None,
        texts: Sequence[str] | None = None,
        config: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> "Capture":
        """Returns a capture in memory of arrays of NumPy, torch or DLPack.

        activations: by (site, layer), by names with one number, e.g. "blocks.3.hook_resid_post" of TransformerLens
            or "model.layers.3" of PyTorch (`hidden` of layer 3), or by site with a list of layers. A value is
            [batch, tokens, ...], [tokens, ...] of a single sequence, or with `lengths` all rows one below the other.
            The axes after the tokens are the values of a row: [heads, head_dim] is flattened. Attention patterns
            are [batch, heads, query, key]. float16 and bfloat16 are exact in float32; float32 of one sequence, or of
            a batch without padding, is not copied.
        tokens: ids, [batch, tokens] or [num_rows]. mask: tokens that exist, [batch, tokens].
        lengths: rows of each sequence. texts: of the sequences. config: of the model.
        provenance: JSON object, stored as `extra`.

        Raises ValueError that names the array for shapes that differ, and for names without a layer.
        """
        return cls._of(
            importers.from_arrays(
                activations, tokens=tokens, mask=mask, lengths=lengths, texts=texts, config=config,
                provenance=provenance,
            )
        )

    @classmethod
    def from_transformer_lens(
        cls, cache: Any, tokens: Any = None, *, mask: Any = None, texts: Sequence[str] | None = None,
        sites: Sequence[str] | None = None, config: Any = None,
    ) -> "Capture":
        """Returns the ActivationCache of run_with_cache() as a capture in memory.

        sites: names as in TransformerLens ("hook_resid_post", "attn.hook_v") or of ours ("hidden", "values");
            default: all that have a row per token. Scores before the softmax are left out.
        tokens, mask: [batch, tokens]; the cache has neither. Raises as from_arrays().
        """
        return cls._of(importers.from_transformer_lens(cache, tokens, mask, texts, sites, config))

    @classmethod
    def from_nnsight(
        cls, saves: Mapping[Any, Any], tokens: Any = None, *, mask: Any = None, texts: Sequence[str] | None = None,
        config: Any = None,
    ) -> "Capture":
        """Returns values that nnsight saved as a capture in memory.

        saves: by (site, layer), or by name of the module as in from_arrays(): tensors, or the outputs of modules,
            of which the first member is used, or proxies with a `value`. Raises as from_arrays().
        """
        return cls._of(importers.from_nnsight(saves, tokens, mask, texts, config))

    @classmethod
    def from_vllm(
        cls, files: Any, layers: Sequence[int], *, texts: Sequence[str] | None = None, config: Any = None
    ) -> "Capture":
        """Returns what vLLM's extract_hidden_states wrote as a capture in memory, a sequence per request.

        files: the safetensors files of the requests in order (`kv_transfer_params["hidden_states_path"]`), or their
            folder, in the order of the names.
        layers: vLLM's `eagle_aux_hidden_state_layer_ids`, which the files lack. Its id k is the input of layer k,
            here `hidden` of layer k - 1; id 0 is `hook_embed`.
        Raises ValueError if a file is damaged or has another number of layers; FileNotFoundError.
        """
        return cls._of(importers.from_vllm(files, layers, texts, config))

    @classmethod
    def from_sae_lens(cls, *folders: str | Path, config: Any = None) -> "Capture":
        """Returns activations that SAELens' CacheActivationsRunner stored as a capture in memory.

        folders: of one dataset per hook point, with the same sequences in the same order. Needs pyarrow, which
        SAELens installs. Raises ValueError if a folder is no such dataset, or the tokens differ.
        """
        return cls._of(importers.from_sae_lens([Path(one) for one in folders], config))

    def close(self) -> None:
        """Closes the files, after reads that other threads have begun."""
        self._opened = None

    def __enter__(self) -> "Capture":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"'{self.path}'"
        return f"<Capture {where}: {self.num_sequences} sequences, {self.num_rows} rows, sites {self.sites}>"

    def _repr_html_(self) -> str:
        from html import escape

        lines = [
            ("model", self.config.get("model_type", "")),
            ("sequences", self.num_sequences),
            ("rows", self.num_rows),
            *((site, f"layers {self.layers(site)[0]} to {self.layers(site)[-1]}") for site in self.sites),
        ]
        cells = "".join(f"<tr><th>{escape(str(a))}</th><td>{escape(str(b))}</td></tr>" for a, b in lines)
        return f"<table><caption>{escape(self._name)}</caption>{cells}</table>"

    @property
    def label(self) -> str:
        """Name of the capture in tables: that of the file without its ending, or of the model."""
        if self.path is not None:
            return self.path.stem
        config = self.config
        name = str(config.get("_name_or_path") or config.get("name_or_path") or config.get("model_type") or "arrays")
        return Path(name).name if Path(name).is_absolute() else name

    @property
    def _name(self) -> str:
        return "in memory" if self.path is None else self.path.name

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
                f"store: '{self._name}' has no site '{site}' (available: {', '.join(self.sites) or 'none'})"
            )
        return list(self._sites[site])

    def __getitem__(self, key: tuple[str, int]) -> Activations:
        """Returns the activations of (site, layer), read when they are indexed; a layer < 0 counts from the last one.

        Raises KeyError.
        """
        if not isinstance(key, tuple) or len(key) != 2:
            raise NoSuchNameError(f"store: activations need a site and a layer, capture['hidden', 3], got {key!r}")
        site, layer = key
        layers = self.layers(site)
        if isinstance(layer, (int, np.integer)) and -len(layers) <= layer < 0:
            layer = layers[layer]
        if layer not in layers:
            raise NoSuchNameError(
                f"store: '{self._name}' has no layer {layer} of site '{site}' (available: {_ranges(layers)})"
            )
        return self._sites[site][layer]

    def __contains__(self, key: object) -> bool:
        """Returns whether there is a site, or a (site, layer)."""
        if isinstance(key, str):
            return key in self._sites
        return isinstance(key, tuple) and len(key) == 2 and key[1] in self._sites.get(key[0], {})

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Iterates over (site, layer)."""
        return ((site, layer) for site, layers in self._sites.items() for layer in layers)

    def __len__(self) -> int:
        """Returns the number of (site, layer)."""
        return sum(map(len, self._sites.values()))

    def num_heads(self, site: str) -> int:
        """Returns the heads of a row of attention patterns, queries, keys, values or z; 0 if they are unknown."""
        names = ("num_attention_heads", "n_head", "n_heads", "num_heads")
        if site in ("values", "keys"):
            names = ("num_key_value_heads", *names)
        known = ("attn.hook_pattern", "attn.hook_profile", "queries", "keys", "values", "routed_values")
        if site not in known and not site.startswith("attn."):
            return 0
        return next((int(self.config[name]) for name in names if self.config.get(name)), 0)

    def token_strings(self, tokenizer: Any) -> list[str]:
        """Returns the text of the token of each row, as the tokenizer of transformers writes it."""
        ids = self.rows.token.tolist()
        known = {one: tokenizer.decode([one]) for one in set(ids) if one >= 0}
        return [known.get(one, "") for one in ids]

    def statistics(self, site: str, layer: int) -> RunningStatistics | None:
        """Returns count, mean and m2 of all rows that the model computed; None if not stored."""
        return self._reader.statistics(site, layer)

    def router(self, layer: int) -> np.ndarray | None:
        """Returns router weights, f32 [kv_heads, (layer + 1) * kv_heads]; None without a router."""
        return self._reader.router(layer)

    # Files

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes a capture in memory as a file in float32, which all programs read.

        Raises FileExistsError; ValueError for a capture of a file (copy it, or use `lime-capture pack`).
        """
        if self.path is not None:
            raise ValueError(f"store: '{self._name}' is a file; copy it with its shards, or use lime-capture pack")
        _saving.save(self, Path(path), overwrite)

    @property
    def _reader(self) -> Any:
        if self._opened is None:
            raise ValueError(f"store: '{self.path or self._name}' was closed; open it again")
        return self._opened

    def _read(self, what: Activations, first: int, end: int) -> np.ndarray:
        return self._reader.read_rows(what.site, what.layer, first, end - first)


def _ranges(layers: list[int]) -> str:
    return f"{layers[0]}-{layers[-1]}" if layers == list(range(layers[0], layers[-1] + 1)) else str(layers)


def _why_missing(path: Path) -> str:
    folder = _core.shard_folder_of(path)
    if not (folder / "manifest.json").is_file():
        return f"store: '{path}' does not exist"
    finished = sum(1 for _ in folder.glob("[0-9]*.json"))
    return (
        f"store: '{path}' does not exist, but '{folder}' contains an unfinished run ({finished} finished "
        "shards); resume it (--resume, Recorder(..., resume=True))"
    )
