# SPDX-License-Identifier: Apache-2.0
"""Hooks on a model that record the passes of a `with` block: batches of sequences, for an output."""

from __future__ import annotations

import functools
from typing import Any, Mapping, NoReturn, Protocol, Sequence

import numpy as np

from . import _caches, _copies, _passes, _provenance, _routers, models
from ._batches import Batch
from ._generation import Generation
from .models import Site


class Destination(Protocol):
    """Where finished batches go."""

    failure: BaseException | None

    def buffers_of(self, index: int) -> _copies.Buffers: ...
    def start(self) -> None: ...
    def put(self, batch: Batch) -> None: ...
    def close(self, is_clean: bool) -> None: ...


class Recording:
    """The passes of a model within a `with` block. A subclass sets `_output`."""

    _output: Destination

    def __init__(
        self,
        model: Any,
        sites: Mapping[str, str | Site] | Sequence[str] | None,
        layers: Sequence[int] | None,
        max_length: int | None,
    ):
        self.model = model
        self.max_length = max_length
        self._names = _passes.parameters(model)
        self._modules = self._find(sites, layers)
        self._refuse_decoders()
        _provenance.warn_if_untested(model)
        self._hooks: list[Any] = []
        self._guards = _caches.Guards(self._on_reorder, self._on_crop)
        self._generation: Generation | None = None
        self._own_generate: Any = None
        self._pass: _passes.Pass | None = None
        self._outputs: dict[int, _copies.Copy] = {}
        self._pending: Batch | None = None  # until it is clear that no pass continues it
        self._columns: dict[str, list[Any]] = {}

    def __enter__(self) -> Any:
        self._output.start()
        self._hooks.append(
            self.model.register_forward_pre_hook(self._before, with_kwargs=True, prepend=True)
        )
        for index, (_, module, layer, site) in enumerate(self._modules):
            record = self._hook(index, site)
            if site[1].computed is not None:
                modules = [module, *self._joined.get((site[0], layer), ())]
                parts = _Parts(len(modules), record)
                computed = site[1].computed
                if site[1].through is not None:
                    computed = _with_module(computed, self._through[site[0], layer])
                for place, one in enumerate(modules):
                    self._hooks.append(one.register_forward_hook(parts.hook(place, computed)))
            elif site[1].is_input:
                self._hooks.append(module.register_forward_pre_hook(_of_input(record), with_kwargs=True))
            else:
                self._hooks.append(module.register_forward_hook(_of_output(record)))
        self._hooks.append(self.model.register_forward_hook(self._after))
        self._watch_generate()
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._guards.remove()
        self._unwatch_generate()
        if kind is None:
            self._commit()
        self._output.close(kind is None)

    # Preparation

    def _find(
        self, sites: Mapping[str, str | Site] | Sequence[str] | None, layers: Sequence[int] | None
    ) -> list[tuple[str, Any, int, tuple[str, Site]]]:
        config = getattr(self.model, "config", None)
        if sites is None:
            sites = _routers.default_sites(self.model)
        elif not isinstance(sites, Mapping):
            known = _routers.sites_of(self.model)
            names = _routers.expanded([sites] if isinstance(sites, str) else sites, known)
            for name in names:
                check_name(f"sites: model_type '{getattr(config, 'model_type', None)}'", name, tuple(known))
            sites = {name: known[name] for name in names}
        wanted = {name: one if isinstance(one, Site) else Site(one) for name, one in sites.items()}
        for name in wanted:
            if not 0 < len(name) <= 100 or name[0] == "." or any(not "!" <= c <= "~" or c == "/" for c in name):
                raise ValueError(
                    "sites: a name must be 1 to 100 visible ASCII characters without slashes, and not start "
                    f"with a dot, got '{name}'"
                )
        if models.PATTERN_SITE in wanted and not (self.max_length or 0) > 0:
            raise ValueError(
                f"max_length: {models.PATTERN_SITE} needs it, the number of tokens of the longest sequence, >= 1; "
                f"got {self.max_length}"
            )
        found = models.find_modules(self.model, wanted)
        self._joined: dict[tuple[str, int], list[Any]] = {}  # further modules of a site, by layer
        self._through: dict[tuple[str, int], Any] = {}  # what computed sites read beside their own module
        for name, one in wanted.items():
            for pattern in one.joined:
                for layer, _, module in models.find_modules(self.model, {name: Site(pattern)})[name]:
                    self._joined.setdefault((name, layer), []).append(module)
            if one.through is not None:
                for layer, _, module in models.find_modules(self.model, {name: Site(one.through)})[name]:
                    self._through[name, layer] = module
        modules = [
            (hook, module, layer, (name, wanted[name]))
            for name, matches in found.items()
            for layer, hook, module in matches
            if layers is None or layer in layers
        ]
        if not wanted:
            raise ValueError("sites: must name at least one site")
        if not modules:
            raise ValueError(f"layers: the model has none of {list(layers or [])}")
        return modules

    def _refuse_decoders(self) -> None:
        """Refuses modules of encoder-decoder models that are called with other tokens than input_ids."""
        if "decoder_input_ids" not in self._names or not hasattr(self.model, "get_encoder"):
            return
        inside = set(self.model.get_encoder().modules())
        others = [name for name, module, _, _ in self._modules if module not in inside]
        if others:
            raise ValueError(
                f"sites: '{others[0]}' of the encoder-decoder model {type(self.model).__name__} is not in its encoder, "
                "whose tokens are recorded; record model.get_decoder() instead"
            )

    # Passes

    def _before(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._output.failure is not None:
            raise self._output.failure
        self._pass, self._outputs = None, {}
        step = _passes.read(_passes.bind(self._names, args, kwargs))
        if self._continues(step):
            assert self._pending is not None
            if step.shape[0] != self._pending.num_sequences:
                self._refuse(
                    f"a pass continues {self._pending.num_sequences} sequences with {step.shape[0]}; beam search is "
                    "not supported"
                )
        else:
            self._commit()
        self._guards.watch(step.cache)
        self._pass = step

    def _continues(self, step: _passes.Pass) -> bool:
        """Returns whether a pass continues the last batch, and refuses one that continues something else."""
        batch, generation = self._pending, self._generation
        if step.cache is not None and step.cached != 0:
            if batch is None or not batch.is_continued_by(step):
                count = "" if step.cached is None else f"{step.cached} "
                self._refuse(
                    f"the cache of the pass contains {count}tokens that were not recorded as the beginning of its "
                    "sequences; begin with an empty cache in the 'with' block, and use it for no other sequences, or "
                    "call the model on whole sequences"
                )
            return True
        if step.cache is None and step.earlier > 0:  # a model of one's own, whose cache has another name
            if batch is None or batch.num_columns != step.earlier:
                self._refuse(
                    f"the attention_mask includes {step.earlier} earlier tokens that were not recorded as the "
                    "beginning of these sequences; call the model on whole sequences"
                )
            return True
        if generation is not None and generation.num_passes > 0:
            self._refuse(
                "generate() called the model again without the cache of its first pass (use_cache=False, "
                "guidance_scale, or a model without a cache that the recorder knows); use use_cache=True, or generate "
                "first, then record a pass over the result"
            )
        return False

    def _refuse(self, reason: str) -> NoReturn:
        """Drops the sequences that a pass would make wrong."""
        self._pending = self._pass = None
        raise ValueError(f"record: {reason}")

    def _hook(self, index: int, site: tuple[str, Site]) -> Any:
        name = self._modules[index][0]
        config = getattr(self.model, "config", None)

        def record(output: Any) -> None:
            step = self._pass
            if step is None:
                return
            if index in self._outputs:
                raise ValueError(f"record: '{name}' is called several times in one pass")
            tensor = _copies.tensor_of(output, site[1].output, name)
            if site[0] == models.PATTERN_SITE:
                assert self.max_length is not None
                tensor = _copies.pattern_rows(tensor, step, self._keys(step), name, self.max_length)
            buffers = self._output.buffers_of(index)
            self._outputs[index] = _copies.copy_rows(tensor, step, name, site[1], config, buffers)
            self._on_recorded()

        return record

    def _on_recorded(self) -> None:
        """Called after each module of a pass."""

    def _keys(self, step: _passes.Pass) -> Any:
        """Returns the tokens of the batch that exist, up to the end of a pass."""
        import torch

        earlier = [] if self._pending is None else [self._pending.exists]
        return torch.from_numpy(np.concatenate([*earlier, step.exists], axis=1))

    def _after(self, model: Any, args: Any, output: Any) -> None:
        step, self._pass = self._pass, None
        if step is None:
            return
        missing = [self._modules[i][0] for i in range(len(self._modules)) if i not in self._outputs]
        if missing:
            raise ValueError(
                f"record: '{missing[0]}'{f' and {len(missing) - 1} more' if missing[1:] else ''} were not called in "
                "the pass"
            )
        batch = self._pending
        if batch is None:
            batch = self._pending = Batch(step.shape[0], self._take_columns(step.shape[0]))
        caches = [one for one in (step.cache, *_caches.find_all(output)) if one is not None]
        batch.append(step, [self._outputs[i] for i in range(len(self._modules))], caches)
        self._outputs = {}
        for cache in caches:
            self._guards.watch(cache)
        if self._generation is not None:
            if self._generation.num_passes == 0:
                self._generation.first_column = batch.num_columns
            self._generation.num_passes += 1
        has_cache = bool(caches) or not isinstance(output, Mapping)
        if not (step.use_cache and has_cache):
            self._commit()  # no pass can continue these sequences

    def _take_columns(self, num_sequences: int) -> dict[str, list[Any]]:
        """Returns the metadata that describe() set for a batch."""
        columns, self._columns = self._columns, {}
        for name, values in columns.items():
            if len(values) != num_sequences:
                raise ValueError(
                    f"describe: {name}s must have one entry for each of the {num_sequences} sequences, got {len(values)}"
                )
        return columns

    def _commit(self) -> None:
        """Hands the last batch to the thread that writes."""
        batch, self._pending = self._pending, None
        if batch is not None:
            self._output.put(batch)

    # Generation

    def _watch_generate(self) -> None:
        """Observes generate() of the model: its passes are one batch, and it returns their tokens."""
        original = getattr(self.model, "generate", None)
        if original is None:
            return
        self._own_generate = vars(self.model).get("generate")

        @functools.wraps(original)
        def generate(*args: Any, **kwargs: Any) -> Any:
            if self._generation is not None:  # called by itself
                return original(*args, **kwargs)
            self._generation = generation = Generation(self.model, args, kwargs)
            try:
                result = original(*args, **kwargs)
            finally:
                self._generation = None
            if self._pending is not None and generation.num_passes > 0:
                if not generation.check(self._pending, result):
                    self._refuse(
                        "generate() returned other tokens than it passed to the model, as beam search and assisted "
                        "generation do; generate first, then record a pass over the result"
                    )
                self._pending.pad(generation.count_padding(self._pending))
            return result

        self.model.generate = generate

    def _unwatch_generate(self) -> None:
        if "generate" in vars(self.model):
            del self.model.generate
        if self._own_generate is not None:
            self.model.generate = self._own_generate

    def _on_reorder(self, cache: Any) -> None:
        if self._pending is not None and self._pending.owns(cache):
            self._refuse(
                "beam search and contrastive search exchange recorded sequences; generate first, then record a pass "
                "over the result"
            )

    def _on_crop(self, cache: Any, count: int | None) -> None:
        if self._pending is None or not self._pending.owns(cache):
            return
        if count is None:
            self._refuse("the cache was cropped by an unknown number of tokens; call the model on whole sequences")
        self._pending.crop(count)


class _Parts:
    """Joins what several modules of a layer compute, and records it after the last one."""

    def __init__(self, count: int, record: Any):
        self._parts: list[Any] = [None] * count
        self._record = record

    def hook(self, place: int, computed: Any) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            import torch

            with torch.no_grad():
                self._parts[place] = computed(module, args, output)
            if place + 1 < len(self._parts):
                return
            parts, self._parts = self._parts, [None] * len(self._parts)
            self._record(torch.cat(parts, -1))

        return hook


def _with_module(computed: Any, other: Any) -> Any:
    return lambda module, args, output: computed(module, args, output, other)


def _of_output(record: Any) -> Any:
    def hook(module: Any, args: Any, output: Any) -> None:
        record(output)

    return hook


def _of_input(record: Any) -> Any:
    def hook(module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        record(_passes.first_argument(args, kwargs))

    return hook


def check_name(name: str, value: str, expected: Sequence[str]) -> None:
    if value not in expected:
        raise ValueError(f"{name}: expected one of {', '.join(expected)}, got '{value}'")
