# SPDX-License-Identifier: Apache-2.0
"""Audits of models in memory: copies with other weights, the proof that they compute the same, and their captures."""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy as np

from ._audit_values import FEWEST_SEQUENCES, values_of
from ._double import double_copy, double_precision
from ._gauges import GAUGES, Draws, NotExactError, Weights
from .caching import cache
from .capture import Capture
from .interventions import known_sites

#: Logits may differ by this fraction of the largest, as in lime-capture gauge.
TOLERANCE = 1e-12
_SHORTEST = 8
_SITES = ("values", "keys", "hidden", "attn.hook_z", "hook_attn_out", "mlp.hook_post", "hook_mlp_out")


class MemoryAudit:
    """An audit of a model in memory."""

    def __init__(
        self, model: Any, batches: Sequence[Mapping[str, Any]], sites: Any, layers: Any, seed: int, strength: float
    ):
        if not batches:
            raise ValueError("audit: needs at least one batch, audit(model, tokenizer(texts, return_tensors='pt'))")
        Weights(model)  # raises for other models
        self._model = model
        self._batches = [{name: value for name, value in one.items() if name != "labels"} for one in batches]
        self._layers = layers
        self._seed, self._strength = seed, strength
        known = known_sites(model, sites if isinstance(sites, Mapping) else None)
        chosen = list(sites) if sites is not None else [one for one in _SITES if one in known]
        for one in chosen:
            if one not in known:
                raise ValueError(f"sites: expected some of {', '.join(known)}, got '{one}'")
        self._sites = {name: known[name] for name in chosen}
        self.refused: dict[str, str] = {}  #: transforms that are not exact, with the reasons
        self.proofs: dict[str, float] = {}  #: largest difference of logits over the largest logit

    def run(self, transforms: Sequence[str], metrics: Sequence[str], must_be_exact: bool) -> list[dict[str, Any]]:
        """Returns the rows of kind `value` of the model and of its copies; sets `refused` and `proofs`.

        Raises ValueError if a transform is not exact and must be.
        """
        with double_precision():
            base = double_copy(self._model)
            expected = [self._logits(base, one) for one in self._batches]
            original = self._capture(base)
            self._check(original)
            values = list(values_of(original, "original", metrics, self._seed))
            for name in transforms:
                try:
                    changed = self._transformed(base, name)
                    self.proofs[name] = self._prove(changed, expected)
                except NotExactError as error:
                    if must_be_exact:
                        kind = type(self._model).__name__
                        raise ValueError(f"transforms: '{name}' is not exact for {kind}: {error}") from None
                    self.refused[name] = str(error)
                    continue
                values += values_of(self._capture(changed), name, metrics, self._seed)
                del changed
        return values

    def _transformed(self, base: Any, name: str) -> Any:
        import torch

        changed = double_copy(base)
        device = changed.get_input_embeddings().weight.device
        with torch.no_grad():
            GAUGES[name].apply(Weights(changed), Draws(self._seed, self._strength, device))
        return changed

    def _logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Returns the logits of the tokens of a batch that exist, [tokens, vocabulary]."""
        import torch

        with torch.no_grad():
            logits = getattr(model(**batch), "logits", None)
        if getattr(logits, "ndim", 0) != 3:
            raise ValueError(
                f"audit: {type(model).__name__} must return logits, [batch, tokens, vocabulary]; use an AutoModelForCausalLM"
            )
        mask = batch.get("attention_mask")
        return logits.flatten(0, 1) if mask is None else logits[mask.bool().to(logits.device)]

    def _prove(self, changed: Any, expected: Sequence[Any]) -> float:
        """Returns the largest difference of logits over the largest logit. Raises NotExactError."""
        difference = largest = 0.0
        for batch, before in zip(self._batches, expected):
            difference = max(difference, float((self._logits(changed, batch) - before).abs().max()))
            largest = max(largest, float(before.abs().max()))
        relative = difference / largest if largest > 0.0 else math.nan
        if not relative <= TOLERANCE:
            raise NotExactError(f"logits differ by {relative:.2g} of the largest, more than {TOLERANCE:g}")
        return relative

    def _capture(self, model: Any) -> Capture:
        return cache(model, *self._batches, sites=self._sites, layers=self._layers)

    def _check(self, capture: Capture) -> None:
        lengths = np.diff(capture.offsets)
        if capture.num_sequences < FEWEST_SEQUENCES or lengths.min() < _SHORTEST:
            raise ValueError(
                f"audit: needs at least {FEWEST_SEQUENCES} sequences of {_SHORTEST} tokens for intervals, got {capture.num_sequences}, the "
                f"shortest of {lengths.min()}; pass more, or longer, texts"
            )
