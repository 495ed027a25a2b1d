# SPDX-License-Identifier: Apache-2.0
"""Interventions on PyTorch models: activations are replaced while the model runs."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from . import _copies, _passes, _provenance, _routers, models
from . import _lime_toolkit as _core
from .edits import ALIASES, Edit, read_edits
from .models import Site


class edit:
    """Replaces activations of a model in a `with` block, in the language of `lime-capture --edit`.

        with edit(model, "zero head layers=10 heads=3"):
            edited = model(**batch).logits
            cached = cache(model, **batch)               # edited activations too

        clean = cache(model, **batch, sites=["hidden"])
        with edit(model, "patch=clean hidden layers=5 positions=3", clean=clean):
            model(**other_batch)

    edits: `OPERATION[=VALUE] SITE [layers=L] [heads=H] [positions=P] [tokens=T] [seed=N]`, docs/interventions.md:
        zero, mean, mean=CAPTURE, resample, resample=sequences, patch=CAPTURE, scale=F, project=DIRECTION and skip
        (attention, mlp or both); or files of format lime-edit/1. Each applies to the results of those before it.
        `head` is short for attn.hook_z.
    sites: patterns of module names as for Recorder, for models whose model_type is unknown.
    sources: captures and directions (1-D arrays) by the names that edits use as values; else these are files.

    mean and resample use the tokens of one pass, without padding; patch the sequences in the order in which they are
    passed to the model. These three need whole texts, not passes with a cache. Equal to lime-capture up to the
    rounding of the model.

    Raises ValueError that names the edit and its first fault, with the nearest known name.
    """

    def __init__(
        self,
        model: Any,
        *edits: str,
        sites: Mapping[str, str | Site] | None = None,
        **sources: Any,
    ):
        self.model = model
        _provenance.warn_if_untested(model)
        self._sites = known_sites(model, sites)
        self.edits: list[Edit] = read_edits(edits, tuple(self._sites), sources)
        self._points = _points_of(model, self.edits, self._sites)
        self._state = PassState(model)
        self._first = 0  # number of the first sequence
        self._handles: list[Any] = []

    def __enter__(self) -> "edit":
        if self._handles:
            raise ValueError("edit: these edits apply already; create others")
        self._state.reset(self._first)
        self._handles.append(self._state.watch())
        for module, points in self._points.values():
            self._handles.append(attach(module, points[0], self._changes(points)))
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _changes(self, points: list["Point"]) -> Any:
        def change(x: Any) -> Any:
            for point in points:
                x = point.replaced(x, self._state)
            return x

        return change


def known_sites(model: Any, sites: Mapping[str, str | Site] | None) -> dict[str, Site]:
    """Returns the sites of the model_type, and `sites` in their place. Raises ValueError if there are none."""
    given = {ALIASES.get(name, name): one if isinstance(one, Site) else Site(one) for name, one in (sites or {}).items()}
    try:
        return {**_routers.sites_of(model), **given}
    except ValueError:
        if not given:
            raise
        return given


class PassState:
    """Tokens of the pass that runs: which exist, their positions and ids."""

    def __init__(self, model: Any):
        self._model = model
        self._names = _passes.parameters(model)
        self.reset()

    def reset(self, first: int = 0) -> None:
        """Begins to count sequences at `first`."""
        self.first = first  #: number of the first sequence of the pass
        self._next = first
        self.step: _passes.Pass | None = None
        self.position = np.zeros((0, 0), np.int64)

    def watch(self) -> Any:
        """Registers the hook that reads each call; returns its handle."""
        return self._model.register_forward_pre_hook(self._before, with_kwargs=True, prepend=True)

    def _before(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call = _passes.bind(self._names, args, kwargs)
        step = _passes.read(call)
        exists = step.exists
        mask = call.get("attention_mask")
        if getattr(mask, "ndim", 0) == 2 and step.earlier > 0:
            earlier = mask.detach().cpu().numpy().astype(bool)[:, : step.earlier].sum(1, keepdims=True)
        else:
            earlier = np.full((step.shape[0], 1), step.cached or 0)
        self.position = np.where(exists, np.cumsum(exists, axis=1) - 1 + earlier, -1)
        self.is_whole = not (step.cached or step.earlier)
        if self.is_whole:
            self.first, self._next = self._next, self._next + step.shape[0]
        self.step = step

    def selected(self, edit: Edit) -> np.ndarray:
        """Returns the tokens of the pass that exist and that an edit selects, bool [batch, tokens]."""
        assert self.step is not None
        chosen = self.step.exists.copy()
        for key, values in (("positions", self.position), ("tokens", self.step.ids)):
            items = edit.items(key)
            if items is not None:
                chosen &= np.isin(values, items)
        return chosen


class Point:
    """An edit at one layer of a site."""

    def __init__(self, edit: Edit, name: str, site: Site, layer: int, module: str, model: Any):
        self.edit = edit
        self.name = name
        self.site = site
        self.layer = layer
        self.module = module
        self._config = getattr(model, "config", None)
        self._columns: Any = None  # of the part of a fused projection

    def replaced(self, output: Any, state: PassState) -> Any:
        """Returns the output of the module after the edit, a new tensor."""
        if state.step is None:
            return output
        shape = output.shape
        x = output.unflatten(0, state.step.shape) if output.ndim == 2 else output
        if tuple(x.shape[:2]) != state.step.shape:
            raise ValueError(
                f"edit '{self.edit.text}': '{self.module}' gives {list(shape)}, not a row for each of the "
                f"{state.step.shape[0]} x {state.step.shape[1]} tokens"
            )
        if self.site.part is None:
            return self.edited(x, state).reshape(shape)
        columns = self._part_columns(x)
        changed = x.clone()
        changed[..., columns] = self.edited(x[..., columns], state)
        return changed.reshape(shape)

    def part(self, output: Any, state: PassState) -> Any:
        """Returns what the edit replaces, [batch, tokens, dim]."""
        assert state.step is not None
        x = output.unflatten(0, state.step.shape) if output.ndim == 2 else output
        return x if self.site.part is None else x[..., self._part_columns(x)]

    def edited(self, x: Any, state: PassState) -> Any:
        """Returns the activations [batch, tokens, dim] after the edit."""
        import torch

        edit = self.edit
        if edit.needs_whole_texts and not state.is_whole:
            raise ValueError(
                f"edit '{edit.text}': {edit.operation} needs all tokens of a text; call the model on whole texts, or "
                "use zero, scale, project, skip or mean=CAPTURE"
            )
        mask = torch.from_numpy(state.selected(edit)).to(x.device)[..., None]
        heads = self._heads(x.shape[-1])
        new = self._replacement(x, heads, state).to(x.dtype)
        chosen = edit.selects("heads", heads) if heads else None
        if chosen is not None:
            own = torch.zeros(heads, dtype=torch.bool, device=x.device)
            own[torch.from_numpy(chosen.astype(np.int64))] = True
            mask = mask & own.repeat_interleave(x.shape[-1] // heads)
        return torch.where(mask, new, x)

    def _part_columns(self, x: Any) -> Any:
        import torch

        if self._columns is None:
            assert self.site.part is not None
            indices = torch.arange(x.shape[-1])[None, None]
            self._columns = self.site.part(indices, self._config).reshape(-1)
        return self._columns.to(x.device)

    def _heads(self, dim: int) -> int:
        return models.num_heads(self.name, self._config, dim)

    def _replacement(self, x: Any, heads: int, state: PassState) -> Any:
        import torch

        edit = self.edit
        if edit.operation == "scale":
            return x * edit.factor
        if edit.operation == "project":
            direction = torch.from_numpy(edit.direction).to(x.device)
            size = len(direction)
            if size != x.shape[-1] and (not heads or size != x.shape[-1] // heads):
                per_head = f" or, per head, {x.shape[-1] // heads}" if heads else ""
                raise ValueError(f"edit '{edit.text}': the direction must have {x.shape[-1]}{per_head} numbers, got {size}")
            wide = x.double().unflatten(-1, (-1, size))
            along = (wide @ direction)[..., None] / direction.square().sum()
            return (wide - along * direction).flatten(-2)
        if edit.operation == "mean":
            if edit.source is not None:
                return torch.from_numpy(self._source_mean(x.shape[-1])).to(x.device)
            assert state.step is not None
            exists = torch.from_numpy(state.step.exists).to(x.device)
            return x[exists].double().mean(0)
        if edit.operation == "resample":
            return self._resampled(x, state)
        if edit.operation == "patch":
            return self._patched(x, state)
        return torch.zeros((), dtype=x.dtype, device=x.device)

    def _source(self) -> Any:
        source = self.edit.source
        assert source is not None
        names = [self.name, *(alias for alias, name in ALIASES.items() if name == self.name)]
        found = next((name for name in names if (name, self.layer) in source), None)
        if found is None:
            raise ValueError(
                f"edit '{self.edit.text}': the capture has no layer {self.layer} of site '{self.name}' (it has "
                f"{', '.join(source.sites)})"
            )
        return source[found, self.layer]

    def _source_mean(self, dim: int) -> np.ndarray:
        statistics = self._source().statistics
        if statistics is None or len(statistics.mean) != dim:
            raise ValueError(f"edit '{self.edit.text}': the capture has no mean of {dim} values at layer {self.layer}")
        return statistics.mean

    def _patched(self, x: Any, state: PassState) -> Any:
        import torch

        assert state.step is not None
        rows = self._source()
        patch = torch.zeros(x.shape, dtype=torch.float32)
        for index, exists in enumerate(state.step.exists):
            sequence = state.first + index
            own = rows.sequence(sequence) if sequence < len(rows.offsets) - 1 else np.zeros((0, rows.shape[1]), np.float32)
            if own.shape != (int(exists.sum()), x.shape[-1]):
                raise ValueError(
                    f"edit '{self.edit.text}': sequence {sequence} has {int(exists.sum())} tokens of {x.shape[-1]} values, "
                    f"the capture contains {len(own)} of {own.shape[1]}; cache all tokens of texts of the same lengths"
                )
            patch[index, torch.from_numpy(exists)] = torch.from_numpy(own)
        return patch.to(x.device)

    def _resampled(self, x: Any, state: PassState) -> Any:
        import torch

        assert state.step is not None
        exists = state.step.exists
        count, length = exists.shape
        source = np.arange(count * length)
        places = [np.flatnonzero(one) + i * length for i, one in enumerate(exists)]
        items = np.arange(count) if self.edit.resamples_sequences else np.concatenate(places)
        order = _core.permutation(len(items), self.name, self.layer, self.edit.seed, state.first)
        if self.edit.resamples_sequences:
            for item, other in zip(items, items[order]):
                # Tokens beyond a shorter sequence stay.
                shared = min(len(places[item]), len(places[other]))
                source[places[item][:shared]] = places[other][:shared]
        else:
            source[items] = items[order]
        return x.flatten(0, 1)[torch.from_numpy(source).to(x.device)].view(x.shape)


def _points_of(model: Any, edits: Sequence[Edit], sites: Mapping[str, Site]) -> dict[Any, tuple[Any, list[Point]]]:
    """Returns the points of each module, for its input and its output, in the order of the edits."""
    found: dict[Any, tuple[Any, list[Point]]] = {}
    for one in edits:
        for point, module in points_of_edit(model, one, sites):
            found.setdefault((id(module), point.site.is_input, point.site.output), (module, []))[1].append(point)
    return found


def points_of_edit(model: Any, one: Edit, sites: Mapping[str, Site]) -> list[tuple[Point, Any]]:
    """Returns the points of an edit with their modules, layers ascending. Raises ValueError for missing layers."""
    points = []
    for name in one.sites:
        # Routers select experts before they return, and streams are several tensors per token.
        if sites[name].is_read_only or name in _routers.READ_ONLY:
            raise ValueError(f"edit '{one.text}': '{name}' can be recorded, not edited; use lime-capture --edit")
        try:
            matches = models.find_modules(model, {name: sites[name]})[name]
        except KeyError as error:
            raise ValueError(f"edit '{one.text}': {error}") from None
        layers = one.selects("layers", matches[-1][0] + 1)
        for layer, hook, module in matches:
            if layers is None or layer in layers:
                point = Point(one, name, sites[name], layer, hook, model)
                heads = models.num_heads(name, getattr(model, "config", None), 0)
                if heads:
                    one.selects("heads", heads)
                elif "heads" in one.lists:
                    raise ValueError(f"edit '{one.text}': only head, queries, keys and values have heads")
                points.append((point, module))
    return points


def attach(module: Any, point: Point, change: Any) -> Any:
    """Lets a function replace the tensor at a point, before hooks that read it; returns the handle."""

    def before(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = change(_passes.first_argument(args, kwargs))
        if args:
            return (x, *args[1:]), kwargs
        name = "hidden_states" if "hidden_states" in kwargs else next(iter(kwargs))
        return args, {**kwargs, name: x}

    def after(_: Any, args: Any, output: Any) -> Any:
        index = point.site.output
        return _with_tensor(output, index, change(_copies.tensor_of(output, index, point.module)))

    if point.site.is_input:
        return module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
    return module.register_forward_hook(after, prepend=True)


def _with_tensor(output: Any, index: int, tensor: Any) -> Any:
    """Returns the output of a module with another tensor in it."""
    if hasattr(output, "detach"):
        return tensor
    if isinstance(output, Mapping):
        name = list(output)[index]
        changed = type(output)(**output)
        changed[name] = tensor
        return changed
    return type(output)((*output[:index], tensor, *output[index + 1 :]))
