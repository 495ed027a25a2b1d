# SPDX-License-Identifier: Apache-2.0
"""Activations of passes in memory, without a file."""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy as np

from . import _copies, _provenance
from . import _lime_toolkit as _core
from ._batches import Batch
from ._memory import ArrayReader
from ._prefix import prefix_of
from ._recording import Recording
from .capture import Capture
from .models import Site


def cache(
    model: Any,
    *batches: Mapping[str, Any],
    sites: Mapping[str, str | Site] | Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    positions: str | Sequence[int] | None = None,
    tokenizer: Any = None,
    texts: Sequence[str] | None = None,
    max_length: int | None = None,
    config: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
    **batch: Any,
) -> Capture:
    """Runs a model without gradients and returns its activations, a Capture in memory.

        cached = cache(model, **tokenizer(texts, return_tensors="pt", padding=True))
        cached["hidden", 3].mean(axis=0), entropy(cached["hidden", 3])

    model, sites, layers, max_length, tokenizer, config, extra: as for Recorder.
    batch: arguments of the model, input_ids [batch, tokens] and attention_mask; or several such mappings in
        `batches`, whose passes run one after another.
    positions: only these tokens of each sequence, from 0 or, if < 0, from its end: [0, -1], or "0-3,8".
    texts: of the sequences; default: the decoded tokens, if there is a tokenizer.

    The pass ends after the last module that is recorded: the head of the vocabulary is not computed. `use_cache` is
    False unless it is given. Memory: 4 bytes per value. Raises as Recorder.
    """
    if bool(batches) == bool(batch):
        raise ValueError("cache: give the arguments of the model, cache(model, input_ids=...), or batches of them")
    names = "decoder_input_ids"
    num_rows = sum(_num_rows(one) for one in batches or (batch,))
    own = _CacheRecording(model, sites, layers, max_length, positions, num_rows)
    with own:
        for one in batches or (batch,):
            if names in one and hasattr(model, "get_encoder"):
                raise ValueError(
                    f"cache: {type(model).__name__} is an encoder-decoder model; cache model.get_encoder() or "
                    "model.get_decoder()"
                )
            own.run(one)
    return own.capture(tokenizer, texts, config, extra)


def _num_rows(batch: Mapping[str, Any]) -> int:
    """Returns the number of tokens of a batch, without padding where the mask shows it."""
    source = batch.get("input_ids", batch.get("inputs_embeds"))
    mask = batch.get("attention_mask")
    if getattr(source, "ndim", 0) < 2:
        return 0
    shape = tuple(source.shape[:2])
    is_mask = getattr(mask, "ndim", 0) == 2 and tuple(mask.shape) == shape
    return int(mask.bool().sum()) if is_mask else math.prod(shape)


class _Stop(BaseException):
    """Ends a pass whose activations are recorded."""


class _Rows(_copies.Buffers):
    """Memory of all rows of a module, in which its copies follow each other."""

    def __init__(self, num_rows: int):
        super().__init__()
        self._num_rows = num_rows
        self._memory = np.empty(0, np.float32)
        self._used = 0

    def take(self, shape: Sequence[int]) -> tuple[Any, np.ndarray | None]:
        import torch

        size = math.prod(shape)
        if not self._memory.size:
            self._memory = np.empty(self._num_rows * shape[-1], np.float32)
        first, self._used = self._used, self._used + size
        if self._used > self._memory.size:
            return torch.empty(tuple(shape), dtype=torch.float32), None
        return torch.from_numpy(self._memory[first : self._used]).view(tuple(shape)), None

    def joined(self, parts: list[np.ndarray]) -> np.ndarray:
        """Returns the rows of all parts, without a copy if they follow each other in this memory."""
        at = self._memory.ctypes.data
        for one in parts:
            if one.ctypes.data != at or not one.flags.c_contiguous:
                return parts[0] if len(parts) == 1 else np.concatenate(parts)
            at += one.nbytes
        return self._memory[: sum(one.size for one in parts)].reshape(-1, parts[0].shape[1])


class _Kept:
    """Keeps finished batches."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows
        self.rows: dict[int, _Rows] = {}
        self.failure: BaseException | None = None
        self.batches: list[Batch] = []

    def buffers_of(self, index: int) -> _Rows:
        return self.rows.setdefault(index, _Rows(self._num_rows))

    def start(self) -> None:
        pass

    def put(self, batch: Batch) -> None:
        self.batches.append(batch)

    def close(self, is_clean: bool) -> None:
        pass


class _CacheRecording(Recording):
    def __init__(
        self, model: Any, sites: Any, layers: Sequence[int] | None, max_length: int | None, positions: Any, num_rows: int
    ):
        super().__init__(model, sites, layers, max_length)
        self._positions = _check_positions(positions)
        self._stops = False
        self._output: _Kept = _Kept(num_rows)

    def run(self, batch: Mapping[str, Any]) -> None:
        """Runs a pass, up to the last module that is recorded."""
        import torch

        call = dict(batch)
        if "use_cache" in self._names:
            call.setdefault("use_cache", False)
        # What the model adds to its output, it collects until its end; accelerate moves weights back after a module.
        is_whole = any(name.startswith(("output_", "return_")) and value for name, value in call.items())
        self._stops = not (is_whole or any(hasattr(one, "_hf_hook") for one in self.model.modules()))
        try:
            with torch.no_grad():
                self.model(**call)
        except _Stop:
            self._after(self.model, None, {})

    def _on_recorded(self) -> None:
        if self._stops and len(self._outputs) == len(self._modules):
            raise _Stop

    def capture(self, tokenizer: Any, texts: Any, config: Any, extra: Any) -> Capture:
        """Returns what was recorded."""
        if texts is not None and (isinstance(texts, str) or not all(isinstance(one, str) for one in texts)):
            raise ValueError("texts: must be a list of strings, one per sequence")
        lengths: list[np.ndarray] = []
        columns: list[tuple[np.ndarray, np.ndarray]] = []
        parts: list[list[np.ndarray]] = []
        while self._output.batches:
            counts, position, token, activations = self._output.batches.pop(0).rows()
            chosen = self._select(counts, position)
            if chosen is not None:
                sequence = np.repeat(np.arange(len(counts)), counts)
                counts = np.bincount(sequence[chosen], minlength=len(counts))
                position, token, activations = position[chosen], token[chosen], [one[chosen] for one in activations]
            lengths.append(counts)
            columns.append((position, token))
            parts.append(activations)
        ends = np.concatenate(lengths)
        position, token = (np.concatenate(one) for one in zip(*columns))
        rows: dict[tuple[str, int], np.ndarray] = {}
        hooks: dict[tuple[str, int], str] = {}
        for index, (hook, _, layer, (site, _)) in enumerate(self._modules):
            own = [one[index] for one in parts]
            rows[site, layer] = self._output.buffers_of(index).joined(own)
            hooks[site, layer] = hook
            for one in parts:
                one[index] = own[0][:0]  # frees the memory of the batches
        if texts is None and tokenizer is not None:
            starts = np.cumsum([0, *ends])
            texts = [tokenizer.decode(token[a:b].tolist()) for a, b in zip(starts[:-1], starts[1:])]
        if texts is not None and len(texts) != len(ends):
            raise ValueError(f"texts: must have one entry for each of the {len(ends)} sequences, got {len(texts)}")
        patterns = {name: site.pattern for _, _, _, (name, site) in self._modules}
        info = _provenance.describe_run(
            self.model, tokenizer, prefix_of(tokenizer), options={"sites": patterns}, storage="float32",
            compression="none", config=config, extra=extra,
        )
        return Capture._of(
            ArrayReader(rows, token=token, lengths=ends, position=position, texts=texts, hooks=hooks, info=info)
        )

    def _select(self, counts: np.ndarray, position: np.ndarray) -> np.ndarray | None:
        """Returns which rows are at the requested positions; None for all."""
        if self._positions is None:
            return None
        length = np.repeat(counts, counts)
        if isinstance(self._positions, str):
            longest = int(counts.max(initial=0))
            return np.isin(position, _core.select(self._positions, max(longest, 1), "positions"))
        wanted = np.array(self._positions)
        return np.isin(position, wanted[wanted >= 0]) | np.isin(position - length, wanted[wanted < 0])


def _check_positions(positions: Any) -> str | list[int] | None:
    if positions is None or isinstance(positions, str):
        return positions
    found = [positions] if isinstance(positions, (int, np.integer)) else list(positions)
    if not found or not all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in found):
        raise ValueError(f"positions: must be whole numbers or a text such as '0-3,8', got {positions!r}")
    return [int(one) for one in found]
