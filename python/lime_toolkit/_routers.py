# SPDX-License-Identifier: Apache-2.0
"""Sites that are found in a model itself: its list of layers, its routers of experts, its streams."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable, Mapping

from . import _head_results, _passes, models
from .models import Site

#: Names of sites that stand for several.
GROUPS = {
    "router": ("mlp.hook_router_logits", "mlp.hook_expert_weights", "mlp.hook_expert_indices"),
    "streams": (models.STREAMS_SITE, models.STREAM_WEIGHTS_SITE),
}

#: Their replacement would not change what the model computes, or has no row per token.
READ_ONLY = frozenset(name for group in GROUPS.values() for name in group)


def sites_of(model: Any) -> dict[str, Site]:
    """Returns the sites of a model: those of its model_type, else `hidden` of its list of layers; and its routers.

    Raises ValueError if the model_type is unknown and the model has no list of layers, or several.
    """
    is_part = "decoder_input_ids" not in _passes.parameters(model)
    try:
        known = dict(models.known_sites(getattr(model, "config", None), is_part))
    except models.UnknownModelTypeError as error:
        known = {"hidden": Site(f"{_list_of_layers(model, error)}.*")}
    return {**known, **_head_results.sites_of(known, getattr(model, "config", None)), **_router_sites(model)}


def default_sites(model: Any) -> dict[str, Site]:
    """Returns `hidden` and `values`, or the streams of a model without either. Raises ValueError as sites_of()."""
    known = sites_of(model)
    chosen = {name: site for name, site in known.items() if name in ("hidden", "values")}
    return chosen or {models.STREAMS_SITE: known[models.STREAMS_SITE]}


def expanded(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Replaces the names of groups by those of their sites that the model has, or by all if it has none."""
    there = set(known)

    def members(name: str) -> Iterable[str]:
        group = GROUPS.get(name, (name,))
        return [one for one in group if one in there] or group

    return list(dict.fromkeys(one for name in names for one in members(name)))


def _list_of_layers(model: Any, unknown: ValueError) -> str:
    """Returns the name of the only list of layers: of the list with num_hidden_layers, else of equal modules.

    Raises ValueError that names the lists of the model.
    """
    lists = _lists(model)
    config = models.text_config(getattr(model, "config", None))
    count = next((getattr(config, key) for key in ("num_hidden_layers", "n_layer") if getattr(config, key, 0)), 0)
    of_config = [name for name, modules in lists.items() if len(modules) == count]
    for names in (of_config, list(lists)):
        if len(names) == 1:
            return names[0]
    if not lists:
        raise unknown
    found = ", ".join(f"{name} ({len(one)} {type(one[0]).__name__})" for name, one in lists.items())
    raise ValueError(f"{unknown}; its lists: {found}")


def _lists(model: Any) -> dict[str, list[Any]]:
    """Returns the modules of each list of modules of one class that is not inside of another list."""
    import torch

    found: dict[str, list[Any]] = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.ModuleList) or not name or re.search(r"(^|\.)\d+(\.|$)", name):
            continue
        modules = list(module)
        # A Linear or a norm per layer is no layer.
        if modules and len({type(one) for one in modules}) == 1 and any(True for _ in modules[0].children()):
            found[name] = modules
    return found


def _router_sites(model: Any) -> dict[str, Site]:
    """Returns the sites of the routers that transformers declares for output_router_logits; none without routers.

    Raises ValueError if the model has routers in several lists of layers.
    """
    names: dict[str, int] = {}
    for kind, index in _declared_routers(model):
        for name, module in model.named_modules():
            if isinstance(module, kind) and re.search(r"\.\d+\.", name):
                names[re.sub(r"\.\d+\.", ".*.", name, count=1)] = index
    # Of a model of texts and images, the routers of texts.
    of_texts = {name: index for name, index in names.items() if "vision" not in name and "visual" not in name}
    names = of_texts or names
    if len(names) > 1:
        return {}
    return {site: one for name, index in names.items() for site, one in _sites_of_router(name, index).items()}


def _sites_of_router(pattern: str, index: int) -> dict[str, Site]:
    return dict(
        zip(
            GROUPS["router"],
            (Site(pattern, output=index), Site(pattern, output=_weights(index)), Site(pattern, output=_indices)),
        )
    )


def _declared_routers(model: Any) -> list[tuple[type, int]]:
    """Returns the classes of routers, and the index of the logits in what they return."""
    found: dict[type, int] = {}
    for module in model.modules():
        declared = getattr(type(module), "_can_record_outputs", None)
        if not isinstance(declared, Mapping):
            continue
        entries = declared.get("router_logits")
        for entry in entries if isinstance(entries, (list, tuple)) else [entries]:
            kind = getattr(entry, "target_class", entry)
            if isinstance(kind, type):
                found.setdefault(kind, int(getattr(entry, "index", 0) or 0))
    return list(found.items())


def _tensors(output: Any) -> list[Any]:
    values = list(output) if isinstance(output, (tuple, list)) else [output]
    return [one for one in values if hasattr(one, "detach") and one.ndim >= 2]


def _indices(output: Any) -> Any:
    """Returns the expert indices in what a router returns."""
    found = [one for one in _tensors(output) if not one.is_floating_point()]
    if len(found) != 1:
        raise ValueError(
            "the router returns no expert indices; record its logits alone, sites=['mlp.hook_router_logits']"
        )
    return found[0]


def _weights(logits: int) -> Callable[[Any], Any]:
    """Selects the weights of the selected experts in what a router returns."""

    def weights(output: Any) -> Any:
        indices = _indices(output)
        others = [one for i, one in enumerate(output) if i != logits and hasattr(one, "detach")]
        found = [one for one in others if one.ndim == indices.ndim and one.is_floating_point()]
        if len(found) != 1:
            raise ValueError(
                "the router returns no weights of experts; record sites=['mlp.hook_router_logits', "
                "'mlp.hook_expert_indices']"
            )
        # Some routers return the weights of all experts.
        return found[0] if found[0].shape == indices.shape else found[0].gather(-1, indices)

    return weights
