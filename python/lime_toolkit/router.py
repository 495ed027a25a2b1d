# SPDX-License-Identifier: Apache-2.0
"""Router maps of LIMe models, as `lime-metrics router` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import to_matrix
from .capture import Capture
from .tables import Table

#: In all layers: their routers have the square of it, 1 GiB.
_MOST_HEADS = 1 << 14


@dataclass(frozen=True)
class Router(Table):
    """Maps and summaries of the routers of all layers."""

    metric = "router"

    mean_map: np.ndarray  #: averaged over heads, [num_layers, num_layers], rows sum to 1
    head_maps: list[np.ndarray]  #: of each layer, [kv_heads, layer + 1], rows sum to 1
    heads: list[dict[str, Any]]  #: a summary per layer and head: entropy, mean_depth, share_own, ...
    own_distance: np.ndarray  #: from LIMe's initialisation, [num_layers]
    others_ratio: np.ndarray  #: likewise; NaN for layer 0

    def table(self) -> list[dict[str, Any]]:
        """Returns a row per head, and those of the mean map, with the columns of `lime-metrics router`."""
        rows = [{"layer": one["layer"], "kind": "head", **one} for one in self.heads]
        for layer, source in np.ndindex(self.mean_map.shape):
            if source <= layer:
                weight = float(self.mean_map[layer, source])
                rows.append({"layer": layer, "kind": "mean_map", "source_layer": source, "weight": weight})
        return rows


def router(weights: Sequence[Any], *, head_scales: Any = None) -> Router:
    """Computes the router maps of figures 5 and 9 of the LIMe paper.

    weights: of each layer l, [kv_heads, (l + 1) * kv_heads]: row = target head, column =
        source_layer * kv_heads + source_head (router_weights()).
    head_scales: root mean square of each buffered head, [num_layers, kv_heads]; default: ones.
    Raises ValueError naming the first layer with an invalid shape or value.
    """
    matrices = [to_matrix(one, f"layer {layer}", double=True) for layer, one in enumerate(weights)]
    scales = None if head_scales is None else to_matrix(head_scales, "head_scales", double=True)
    return Router(**_core.router(matrices, scales))


def router_weights(source: str | Path | Capture) -> list[np.ndarray]:
    """Reads the routers of a checkpoint folder, or of a capture, as full ones, for router().

    Layers without a router read their own heads (the identity). Raises FileNotFoundError; OSError if the system
    does not let a file be read; ValueError if a file is damaged, or if the weights depend on the token, or exist
    per dimension of a head.
    """
    if isinstance(source, Capture):
        return _capture_weights(source)
    folder = Path(source)
    if folder.is_file():
        with Capture(folder) as capture:
            return _capture_weights(capture)
    if not folder.exists():
        raise FileNotFoundError(f"router: '{folder}' does not exist")
    weights = _core.CheckpointWeights(folder)
    config = weights.config()
    num_layers, heads = _sizes(config, str(folder))
    lime = config.get("lime")
    has_routers = isinstance(lime, Mapping) and lime.get("router", "none") != "none"
    layers = []
    for layer in range(num_layers):
        name = f"model.layers.{layer}.self_attn.lime_router.static_weights"
        stored = weights.read(name)
        if stored is None and layer > 0 and has_routers:
            raise ValueError(f"router: '{folder}' has no '{name}': its routers are averages, or depend on the token")
        if stored is None:
            layers.append(_identity(layer, heads))
        elif stored.shape == (heads, (layer + 1) * heads):
            layers.append(stored)
        else:
            raise ValueError(
                f"router: '{name}' has the shape {list(stored.shape)}; only full routers of {heads} heads are read "
                "here, capture the checkpoint and read the capture's"
            )
    return layers


def _capture_weights(capture: Capture) -> list[np.ndarray]:
    num_layers, heads = _sizes(capture.config, str(capture.path))
    layers = []
    for layer in range(num_layers):
        stored = capture.router(layer)
        layers.append(_identity(layer, heads) if stored is None else stored.astype(np.float64))
    return layers


def _sizes(config: Any, where: str) -> tuple[int, int]:
    """Returns the numbers of layers and of key-value heads of a config.json, and bounds them."""
    config = config if isinstance(config, Mapping) else {}
    heads = config.get("num_key_value_heads") or config.get("num_attention_heads")
    sizes = {"num_hidden_layers": config.get("num_hidden_layers"), "num_key_value_heads": heads}
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"router: '{where}': '{name}' in config.json must be a number >= 1, got {size!r}")
    if sizes["num_hidden_layers"] * heads > _MOST_HEADS:
        raise ValueError(
            f"router: '{where}': must have at most {_MOST_HEADS} key-value heads in all layers, got "
            f"{sizes['num_hidden_layers']} layers of {heads}"
        )
    return sizes["num_hidden_layers"], heads


def _identity(layer: int, heads: int) -> np.ndarray:
    return np.hstack([np.zeros((heads, layer * heads)), np.eye(heads)])
