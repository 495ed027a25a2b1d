# SPDX-License-Identifier: Apache-2.0
"""The effect of interventions on the loss, as `lime-capture sweep` computes it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import models
from ._arrays import to_seed, to_whole
from ._provenance import warn_if_untested
from .comparison import summarize
from .edits import Edit, read_edits
from .interventions import PassState, Point, attach, edit, known_sites, points_of_edit
from .models import Site
from .tables import Table

_OVER = ("edits", "layers", "sublayers", "heads", "positions")


@dataclass(frozen=True)
class Sweep(Table):
    """Effects of interventions on the loss of the next token, nats per token."""

    metric = "sweep"

    rows: list[dict[str, Any]]  #: columns of `lime-capture sweep`; the first row is the original model
    loss: np.ndarray  #: of each sequence, [1 + interventions, num_sequences]
    logit_difference: np.ndarray  #: logit of the next token minus the largest other one, likewise
    attribution: np.ndarray  #: first-order estimate of the effect, likewise; 0 in the first row
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        over = self.options.get("over", "edits")
        what = f"effects {', '.join(f'{one:+.4g}' for one in self.column('effect')[:5])}{', ...' if len(self.rows) > 6 else ''}"
        return f"<Sweep over {over}: loss {self.rows[0]['loss']:.4g}, {what} nats>"

    def table(self) -> list[dict[str, Any]]:
        """Returns `rows`."""
        return self.rows

    def _options(self) -> dict[str, Any]:
        return self.options

    def column(self, name: str) -> np.ndarray:
        """Returns a column of the interventions, without the original model. Raises KeyError."""
        return np.array([row[name] for row in self.rows[1:]])


def sweep(
    model: Any,
    *batches: Mapping[str, Any],
    over: str = "edits",
    edits: str | Sequence[str] = (),
    ablation: str = "zero",
    attribution: bool = True,
    sites: Mapping[str, str | Site] | None = None,
    label: str | None = None,
    resamples: int = 10000,
    confidence: float = 0.95,
    seed: int = 0,
    sources: Mapping[str, Any] | None = None,
) -> Sweep:
    """Measures what each component of a causal language model contributes to its loss.

        sweep(model, tokenizer(texts, return_tensors="pt", padding=True), over="layers").rows

    batches: arguments of passes: input_ids [batch, tokens], and attention_mask if sequences are padded.
    over: layers, sublayers (attention, MLP), heads (attn.hook_z), positions (hook_resid_pre), which are replaced in
        turn by `ablation` ("zero", "mean", "scale=0.5", ...); or "edits", the effect of all `edits` together.
    attribution: also first-order estimates of the effects, which need one pass with gradients per batch.
    sites, sources: as for edit(). resamples, confidence, seed: of the bootstrap intervals over sequences.

    The layers below an intervention run once per batch. Sequences without a predecessor of a token are left out.
    Raises ValueError for invalid options and edits, and models without logits of the next token.
    """
    if over not in _OVER:
        raise ValueError(f"over: expected one of {', '.join(_OVER)}, got '{over}'")
    texts = [edits] if isinstance(edits, str) else list(edits)
    if (over == "edits") != bool(texts):
        raise ValueError("edits: belong to over='edits', and only to it")
    if not batches:
        raise ValueError("sweep: needs at least one batch, sweep(model, tokenizer(texts, return_tensors='pt'))")
    to_whole(resamples, "resamples"), to_seed(seed)
    warn_if_untested(model)
    known = known_sites(model, sites)
    items = _items(model, known, over, texts, ablation, batches, dict(sources or {}))
    parts, first = [], 0
    for one in batches:
        parts.append(_Batch(model, known, items, one, dict(sources or {}), first).run(attribution))
        first += len(one["input_ids"])
    loss, difference, estimate = (np.concatenate(one, axis=1) for one in zip(*parts))
    name = label or _label(model)
    summary = {"resamples": resamples, "confidence": confidence, "seed": seed}
    rows = _rows(name, items, loss, difference, estimate if attribution else None, summary)
    options = {"over": over, "edit": texts, "ablation": ablation, **summary}
    return Sweep(rows, loss, difference, estimate, options)


def _label(model: Any) -> str:
    """Returns ORG/NAME of the Hub, the name of a folder, or that of the class."""
    name = str(getattr(getattr(model, "config", None), "name_or_path", "") or type(model).__name__)
    return Path(name).resolve().name if Path(name).exists() else name


@dataclass(frozen=True)
class _Item:
    """One intervention, and the columns that name it."""

    key: dict[str, Any]
    texts: list[str]
    edits: list[Edit]
    first_layer: int


def _items(
    model: Any, known: Mapping[str, Site], over: str, texts: list[str], ablation: str, batches: Any, sources: Any
) -> list[_Item]:
    layers = [layer for layer, _, _ in _blocks(model, known)]
    planned: list[tuple[dict[str, Any], list[str], int]] = []
    if over == "edits":
        read = read_edits(texts, tuple(known), sources)
        first = min(point.layer for one in read for point, _ in points_of_edit(model, one, known))
        return [_Item({"part": "edits", "edit": "; ".join(texts)}, texts, read, first)]
    if not layers:
        raise ValueError("sites: a sweep needs the site 'hidden', the blocks of the model")
    for layer in layers:
        at = f"layers={layer}"
        if over == "layers":
            own = [f"{ablation} {one} {at}" for one in ("hook_attn_out", "hook_mlp_out")]
            planned.append(({"part": "layer", "layer": layer}, own, layer))
        if over == "sublayers":
            for part, site in (("attention", "hook_attn_out"), ("mlp", "hook_mlp_out")):
                planned.append(({"part": part, "layer": layer}, [f"{ablation} {site} {at}"], layer))
        if over == "heads":
            heads = models.num_heads("attn.hook_z", getattr(model, "config", None), 0)
            planned += [
                ({"part": "head", "layer": layer, "head": head}, [f"{ablation} attn.hook_z {at} heads={head}"], layer)
                for head in range(heads)
            ]
        if over == "positions":
            shortest = min(int(_lengths(one).min()) for one in batches)
            planned += [
                ({"part": "position", "layer": layer, "position": p}, [f"{ablation} hook_resid_pre {at} positions={p}"], layer)
                for p in range(shortest)
            ]
    return [
        _Item({**key, "edit": "; ".join(own)}, own, read_edits(own, tuple(known), sources), layer)
        for key, own, layer in planned
    ]


def _blocks(model: Any, known: Mapping[str, Site]) -> list[tuple[int, str, Any]]:
    """Returns layer, name and module of the blocks."""
    return models.find_modules(model, {"hidden": known["hidden"]})["hidden"] if "hidden" in known else []


def _lengths(batch: Mapping[str, Any]) -> np.ndarray:
    mask = batch.get("attention_mask")
    ids = batch["input_ids"]
    return np.full(len(ids), ids.shape[1]) if mask is None else mask.detach().cpu().numpy().astype(bool).sum(1)


class _Batch:
    """The interventions on the sequences of one batch."""

    def __init__(
        self, model: Any, known: Mapping[str, Site], items: list[_Item], batch: Mapping[str, Any], sources: Any, first: int
    ):
        import torch

        if "input_ids" not in batch:
            raise ValueError("sweep: a batch needs input_ids, [batch, tokens]")
        self.model = model
        self.known = known
        self.items = items
        self.sources = sources
        self.first = first  #: number of the first sequence
        self.call = {name: value for name, value in batch.items() if name != "labels"}
        self.state = PassState(model)
        if "use_cache" in self.state._names:
            self.call["use_cache"] = False
        ids, mask = batch["input_ids"], batch.get("attention_mask")
        exists = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()
        self.targets = ids[:, 1:]
        self.scored = exists[:, 1:] & exists[:, :-1]
        self.chosen = self.scored.any(1)
        if not bool(self.chosen.any()):
            raise ValueError("sweep: no sequence of the batch has a token with a predecessor")
        self.blocks = _blocks(model, known)
        self.shared = all("forward" not in vars(module) for _, _, module in self.blocks)

    def run(self, attribution: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns loss, logit difference and attribution, [1 + items, sequences]."""
        import torch

        outputs: dict[int, Any] = {}
        handles = [module.register_forward_hook(_keep(outputs, layer)) for layer, _, module in self.blocks]
        try:
            with torch.no_grad():
                found = [self._score(self.model(**self.call))]
        finally:
            for handle in handles:
                handle.remove()
        for item in self.items:
            edits = edit(self.model, *item.texts, sites=self.known, **self.sources)
            edits._first = self.first
            with self._from(item.first_layer, outputs), edits, torch.no_grad():
                found.append(self._score(self.model(**self.call)))
        outputs.clear()
        loss, difference = (np.stack(one) for one in zip(*found))
        estimates = self._attributions() if attribution else np.zeros_like(loss)
        return loss, difference, estimates

    @contextlib.contextmanager
    def _from(self, first: int, outputs: Mapping[int, Any]) -> Iterator[None]:
        """Lets the blocks below `first` return what they gave for the original model."""
        below = [module for layer, _, module in self.blocks if layer < first] if self.shared else []
        kept = outputs.get(first - 1)
        if kept is None:
            below = []

        def forward(*_: Any, **__: Any) -> Any:
            return kept

        for module in below:
            module.forward = forward
        try:
            yield
        finally:
            for module in below:
                del module.forward

    def _logits(self, output: Any) -> Any:
        logits = getattr(output, "logits", output)
        if getattr(logits, "ndim", 0) != 3 or logits.shape[1] != self.targets.shape[1] + 1 or "MaskedLM" in (
            type(self.model).__name__
        ):
            raise ValueError(
                f"sweep: {type(self.model).__name__} must return logits of the next token, [batch, tokens, vocabulary]; "
                "use an AutoModelForCausalLM"
            )
        return logits

    def _score(self, output: Any) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean loss and logit difference of each sequence; changes the logits."""
        logits = self._logits(output)
        loss, difference = [], []
        for one, targets, scored in zip(logits, self.targets, self.scored):
            if not bool(scored.any()):
                continue
            own = one[:-1][scored.to(one.device)]
            own = own if own.dtype.itemsize >= 4 else own.float()
            target = targets[scored].to(one.device)[:, None]
            right = own.gather(1, target)[:, 0]
            loss.append(float((own.logsumexp(1) - right).double().mean()))
            own.scatter_(1, target, -float("inf"))
            difference.append(float((right - own.amax(1)).double().mean()))
        return np.array(loss), np.array(difference)

    def _attributions(self) -> np.ndarray:
        """Returns sum (x' - x) dL/dx of each item, from one backward pass."""
        import torch

        points = {}
        modules = {}
        for item in self.items:
            for one in item.edits:
                for point, module in points_of_edit(self.model, one, self.known):
                    points.setdefault((point.name, point.layer), point)
                    modules[point.name, point.layer] = module
        probes: dict[Any, tuple[Any, Any]] = {}
        self.state.reset(self.first)
        handles = [self.state.watch()]
        for key, point in points.items():
            handles.append(attach(modules[key], point, self._probe(key, point, probes)))
        required = [one for one in self.model.parameters() if one.requires_grad]
        try:
            for one in required:
                one.requires_grad_(False)
            with torch.enable_grad():
                logits = self._logits(self.model(**self.call))[:, :-1]
                losses = torch.nn.functional.cross_entropy(
                    logits[self.scored.to(logits.device)],
                    self.targets[self.scored].to(logits.device), reduction="sum",
                )
                losses.backward()
        finally:
            for one in required:
                one.requires_grad_(True)
            for handle in handles:
                handle.remove()
        counts = self.scored.sum(1).double()
        estimates = [torch.zeros(int(self.chosen.sum()), dtype=torch.float64)]
        for item in self.items:
            total = torch.zeros(len(counts), dtype=torch.float64)
            for one in item.edits:
                for point, _ in points_of_edit(self.model, one, self.known):
                    x, change = probes[point.name, point.layer]
                    if change.grad is None:
                        continue
                    own = (point.edited(x, self.state) - x).double() * change.grad
                    total += own.flatten(1).sum(1).cpu()
            estimates.append((total / counts)[self.chosen])
        return np.stack([one.numpy() for one in estimates])

    def _probe(self, key: Any, point: Point, probes: dict[Any, tuple[Any, Any]]) -> Any:
        def probe(tensor: Any) -> Any:
            import torch

            x = point.part(tensor, self.state).detach()
            change = torch.zeros_like(x, requires_grad=True)
            probes[key] = x, change
            if point.site.part is None:
                return tensor + change.view(tensor.shape)
            wide = torch.zeros_like(tensor).index_add(-1, point._part_columns(tensor), change)
            return tensor + wide

        return probe


def _keep(outputs: dict[int, Any], layer: int) -> Any:
    def hook(module: Any, args: Any, output: Any) -> None:
        outputs[layer] = output

    return hook


def _rows(
    label: str, items: list[_Item], loss: np.ndarray, difference: np.ndarray, attribution: np.ndarray | None, options: Any
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"label": label, "part": "original"}, *({"label": label, **one.key} for one in items)]

    def add(name: str, values: np.ndarray, first: int) -> None:
        for row, own in zip(rows[first:], values[first:]):
            found = summarize(own, **options)
            row.update({name: found.mean, f"{name}_low": found.ci_low, f"{name}_high": found.ci_high, "n": found.n})

    add("loss", loss, 0)
    add("effect", loss - loss[0], 1)
    add("logit_difference", difference, 0)
    add("logit_effect", difference - difference[0], 1)
    if attribution is not None:
        add("attribution", attribution, 1)
        for row in rows[1:]:
            row["attribution_error"] = row["attribution"] - row["effect"]
    return rows
