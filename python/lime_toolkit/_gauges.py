# SPDX-License-Identifier: Apache-2.0
"""Changes of the weights of a model that do not change its function, as `lime-capture gauge` makes them.

They act on blocks with the names of LLaMA. Whether one is exact, the logits of the model decide (audit.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from . import _lime_toolkit as _core
from . import models


class NotExactError(ValueError):
    """A transform does not exist for a model, with the reason."""


class Draws:
    """Random numbers of a transform, those of lime-capture gauge for the same seed."""

    def __init__(self, seed: int, strength: float, device: Any = "cpu"):
        self._random = _core.Random(seed)
        self._strength = strength
        self._device = device

    def factors(self, count: int) -> Any:
        """Returns exp(strength * z) with z standard normal, [count]."""
        return self._tensor(np.exp(self._strength * self._random.normals(count)))

    def permutation(self, count: int) -> Any:
        """Returns a uniform permutation, [count]."""
        return self._tensor(self._random.permutation(count))

    def rotation(self, size: int, keeps_mean: bool = False) -> Any:
        """Returns an orthogonal matrix, [size, size]: Q of the QR decomposition of I + strength / sqrt(size) * G.

        keeps_mean: it maps the vector of ones to itself, as LayerNorm requires.
        """
        if not keeps_mean:
            return self._tensor(self._orthogonal(size))
        inner = np.eye(size)
        if size > 1:
            inner[1:, 1:] = self._orthogonal(size - 1)
            normal = np.full(size, -1.0 / np.sqrt(size))
            normal[0] += 1.0
            reflection = np.eye(size) - 2.0 / (normal @ normal) * np.outer(normal, normal)
            inner = reflection @ inner @ reflection
        return self._tensor(inner)

    def _tensor(self, values: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(values).to(self._device)

    def _orthogonal(self, size: int) -> np.ndarray:
        noise = self._random.normals(size * size).reshape(size, size)
        q, r = np.linalg.qr(np.eye(size) + self._strength / np.sqrt(size) * noise)
        return q * np.where(np.diag(r) < 0.0, -1.0, 1.0)


class Norm:
    """A norm over the dimensions of the stream or of a head, whose gain is its weight, or one more."""

    def __init__(self, module: Any):
        self.module = module
        self.weight = getattr(module, "weight", None)
        self.bias = getattr(module, "bias", None)
        self.plus, self.subtracts_mean = _kind_of(module)

    @property
    def gain(self) -> Any:
        return self.weight.data + self.plus

    def multiply(self, factors: Any) -> None:
        self.weight.data = self.gain * factors - self.plus
        if self.bias is not None:
            self.bias.data *= factors


def _kind_of(module: Any) -> tuple[float, bool]:
    """Returns what is added to the weight of a norm, and whether the norm subtracts the mean over dimensions.

    Found by its values, since names of classes do not tell. Raises NotExactError for other modules.
    """
    import torch

    weight = getattr(module, "weight", None)
    if weight is None:
        raise NotExactError("its norms have no gain")
    x = torch.linspace(-1.0, 3.0, weight.numel(), dtype=weight.dtype, device=weight.device).sin() * 1e3 + 10.0
    with torch.no_grad():
        found = module(x[None, None])[0, 0]
    bias = getattr(module, "bias", None)
    for subtracts_mean in (False, True):
        own = x - x.mean() if subtracts_mean else x
        own = own / own.square().mean().sqrt()
        for plus in (0.0, 1.0):
            expected = own * (weight + plus) + (0.0 if bias is None else bias)
            if torch.allclose(found, expected, rtol=1e-6, atol=1e-6):
                return plus, subtracts_mean
    raise NotExactError(f"{type(module).__name__} is neither RMSNorm nor LayerNorm")


@dataclass
class Block:
    """The modules of a layer; None where it has none of this name."""

    attention: dict[str, Any]  #: q_proj, k_proj, v_proj, o_proj, q_norm, k_norm
    mlp: dict[str, Any]  #: gate_proj, up_proj, down_proj
    norms: dict[str, Any]  #: norms of the stream by their names

    def projections(self, *names: str) -> list[Any]:
        """Returns modules. Raises NotExactError if one does not exist."""
        modules = [(self.attention | self.mlp).get(name) for name in names]
        if any(one is None for one in modules):
            raise NotExactError(f"a layer has no modules called {', '.join(names)}")
        return modules

    @property
    def read_by_attention(self) -> Any:
        return self.norms.get("input_layernorm")

    @property
    def read_by_mlp(self) -> Any:
        """The norm that the MLP reads: that of attention, if both read one."""
        if "pre_feedforward_layernorm" in self.norms:
            return self.norms["pre_feedforward_layernorm"]
        if self.read_by_attention is None or "post_feedforward_layernorm" in self.norms:
            return None
        return self.norms.get("post_attention_layernorm", self.read_by_attention)

    @property
    def written_by_norms(self) -> list[Any]:
        """Norms whose output is added to the stream."""
        read = (self.read_by_attention, self.read_by_mlp)
        return [one for one in self.norms.values() if not any(one is other for other in read)]


class Weights:
    """The weights of a model with the names of LLaMA, in float64, that transforms change in place."""

    def __init__(self, model: Any):
        self.model = model
        config = models.text_config(getattr(model, "config", None))
        modules = dict(model.named_modules())
        found = {}
        for name, module in modules.items():
            match = re.fullmatch(r"(.*\.)?layers\.(\d+)", name)
            if match:
                found.setdefault(match[1], {})[int(match[2])] = module
        lists = [own for own in found.values() if hasattr(own.get(0), "self_attn")]
        if len(lists) != 1:
            raise ValueError(
                f"audit: {type(model).__name__} must have one list of layers with the names of LLaMA (layers.*.self_attn); "
                "audit a checkpoint folder, audit('FOLDER', text=...), which lime-capture loads"
            )
        self.blocks = [_block_of(lists[0][layer]) for layer in sorted(lists[0])]
        self.embedding = model.get_input_embeddings()
        self.head = model.get_output_embeddings()
        prefix = next(name for name, own in found.items() if own is lists[0])
        self.final_norm = modules.get(f"{prefix or ''}norm") or modules.get(f"{prefix or ''}final_layernorm")
        self.hidden_size: int = self.embedding.weight.shape[1]
        self.num_heads = models._heads(config)
        self.num_key_heads = models._key_value_heads(config)
        self.config = config

    @property
    def group(self) -> int:
        return self.num_heads // self.num_key_heads

    def head_dim(self, block: Block) -> int:
        return int(block.projections("k_proj")[0].weight.shape[0]) // self.num_key_heads

    def for_queries(self, of_heads: Any) -> Any:
        """Repeats what belongs to key-value heads, [heads * dim], for the query heads of each."""
        return of_heads.view(self.num_key_heads, 1, -1).expand(-1, self.group, -1).reshape(-1)

    def untie(self) -> None:
        """Gives the output projection weights of its own."""
        import torch

        if self.head is not None and self.head.weight is self.embedding.weight:
            self.head.weight = torch.nn.Parameter(self.head.weight.detach().clone())


def _block_of(layer: Any) -> Block:
    attention, mlp = layer.self_attn, getattr(layer, "mlp", None)

    def named(module: Any, *names: str) -> dict[str, Any]:
        found = {name: getattr(module, name, None) for name in names}
        return {name: one for name, one in found.items() if getattr(one, "weight", None) is not None}

    projections = named(attention, "q_proj", "k_proj", "v_proj", "o_proj", "q_norm", "k_norm")
    # A mixture of experts has matrices of three dimensions, or lists.
    units = named(mlp, "gate_proj", "up_proj", "down_proj")
    return Block(
        projections,
        {name: one for name, one in units.items() if one.weight.ndim == 2},
        {name: one for name, one in layer.named_children() if "norm" in name and getattr(one, "weight", None) is not None},
    )


def multiply_outputs(projection: Any, factors: Any) -> None:
    projection.weight.data *= factors[:, None]
    if projection.bias is not None:
        projection.bias.data *= factors


def permute_outputs(projection: Any, order: Any) -> None:
    projection.weight.data = projection.weight.data[order]
    if getattr(projection, "bias", None) is not None:
        projection.bias.data = projection.bias.data[order]


def value_scale(weights: Weights, draws: Draws) -> None:
    for block in weights.blocks:
        values, output = block.projections("v_proj", "o_proj")
        dim = weights.head_dim(block)
        factors = _joined(draws.factors(1) for _ in range(weights.num_key_heads)).repeat_interleave(dim)
        multiply_outputs(values, factors)
        output.weight.data /= weights.for_queries(factors)


def value_rotation(weights: Weights, draws: Draws) -> None:
    for block in weights.blocks:
        values, output = block.projections("v_proj", "o_proj")
        dim = weights.head_dim(block)
        for head in range(weights.num_key_heads):
            rotation = draws.rotation(dim)
            rows = slice(head * dim, (head + 1) * dim)
            values.weight.data[rows] = rotation @ values.weight.data[rows]
            if values.bias is not None:
                values.bias.data[rows] = rotation @ values.bias.data[rows]
            for reader in range(head * weights.group, (head + 1) * weights.group):
                columns = slice(reader * dim, (reader + 1) * dim)
                output.weight.data[:, columns] = output.weight.data[:, columns] @ rotation.T


def query_key_scale(weights: Weights, draws: Draws) -> None:
    for block in weights.blocks:
        queries, keys = block.projections("q_proj", "k_proj")
        dim = weights.head_dim(block)
        rotated = _rotary_dim(weights.config, dim)

        def pairs() -> Any:
            half = draws.factors(rotated // 2)
            return _joined([half, half, draws.factors(dim - rotated)])

        if "k_norm" not in block.attention:
            of_keys = _joined(pairs() for _ in range(weights.num_key_heads))
            multiply_outputs(keys, of_keys)
            multiply_outputs(queries, 1.0 / weights.for_queries(of_keys))
            continue
        key_norm, query_norm = (Norm(block.attention[name]) for name in ("k_norm", "q_norm"))
        if key_norm.weight.numel() == dim:
            of_keys = pairs()
            of_queries = 1.0 / of_keys
        else:
            of_keys = _joined(pairs() for _ in range(weights.num_key_heads))
            of_queries = 1.0 / weights.for_queries(of_keys)
        key_norm.multiply(of_keys)
        query_norm.multiply(of_queries)


def _rotary_dim(config: Any, dim: int) -> int:
    rope = getattr(config, "rope_parameters", None)
    share = getattr(config, "partial_rotary_factor", None)
    if share is None and isinstance(rope, dict):
        share = rope.get("partial_rotary_factor")
    return int(dim * (1.0 if share is None else share))


def head_permutation(weights: Weights, draws: Draws) -> None:
    if weights.num_heads < 2:
        raise NotExactError("it has a single head")
    for block in weights.blocks:
        queries, keys, values, output = block.projections("q_proj", "k_proj", "v_proj", "o_proj")
        key_heads = draws.permutation(weights.num_key_heads)
        group = weights.group
        query_heads = _joined(draws.permutation(group) + int(head) * group for head in key_heads)
        dim = weights.head_dim(block)
        of_keys, of_queries = _by_dimension(key_heads, dim), _by_dimension(query_heads, dim)
        permute_outputs(queries, of_queries)
        permute_outputs(keys, of_keys)
        permute_outputs(values, of_keys)
        output.weight.data = output.weight.data[:, of_queries]
        for name, order in (("q_norm", of_queries), ("k_norm", of_keys)):
            norm = block.attention.get(name)
            if norm is not None and norm.weight.numel() == len(order) > dim:
                permute_outputs(norm, order)


def _by_dimension(heads: Any, dim: int) -> Any:
    import torch

    return (heads[:, None] * dim + torch.arange(dim, device=heads.device)).flatten()


def unit_scale(weights: Weights, draws: Draws) -> None:
    for block in weights.blocks:
        _, up, down = block.projections("gate_proj", "up_proj", "down_proj")
        factors = draws.factors(len(up.weight))
        multiply_outputs(up, factors)
        down.weight.data /= factors


def unit_permutation(weights: Weights, draws: Draws) -> None:
    for block in weights.blocks:
        up, down = block.projections("up_proj", "down_proj")
        order = draws.permutation(len(up.weight))
        for one in (block.mlp.get("gate_proj"), up):
            if one is not None:
                permute_outputs(one, order)
        down.weight.data = down.weight.data[:, order]


def _rescale_norms(weights: Weights, factors_of: Callable[[Any], Any]) -> None:
    """Multiplies the gains of norms by factors and divides the columns of the projections that read them."""
    of_attention: list[tuple[Any, list[Any]]] = []
    of_mlp: list[tuple[Any, list[Any]]] = []
    for block in weights.blocks:
        if block.read_by_attention is None:
            raise NotExactError("no projection follows its norms: their output is added to the residual stream")
        own = block.projections("q_proj", "k_proj", "v_proj")
        units = [block.mlp[name] for name in ("gate_proj", "up_proj") if name in block.mlp]
        if not units:
            raise NotExactError("a layer has no module called up_proj")
        if block.read_by_mlp is block.read_by_attention:
            own = [*own, *units]
        else:
            of_mlp.append((block.read_by_mlp, units))
        of_attention.append((block.read_by_attention, own))
    readers = [*of_attention, *of_mlp]  # the order in which lime-capture gauge draws
    if weights.final_norm is not None and weights.head is not None:
        weights.untie()
        readers.append((weights.final_norm, [weights.head]))
    for module, projections in readers:
        norm = Norm(module)
        factors = factors_of(norm.gain)
        for one in projections:
            one.weight.data /= factors
        norm.multiply(factors)


def _reciprocal(gain: Any) -> Any:
    if bool((gain == 0.0).any()):
        raise NotExactError("gains of 0 cannot be folded, and a norm has one; use norm-scale")
    return gain.reciprocal()


def norm_fold(weights: Weights, draws: Draws) -> None:
    _rescale_norms(weights, _reciprocal)


def norm_scale(weights: Weights, draws: Draws) -> None:
    _rescale_norms(weights, lambda gain: draws.factors(gain.numel()))


def residual_rotation(weights: Weights, draws: Draws) -> None:
    if any(block.written_by_norms for block in weights.blocks):
        raise NotExactError("norms after attention and MLP have a gain per dimension of the residual stream")
    norm_fold(weights, draws)
    subtracts_mean = any(Norm(block.read_by_attention).subtracts_mean for block in weights.blocks)
    rotation = draws.rotation(weights.hidden_size, subtracts_mean)
    _change_residual(weights, lambda rows: rows @ rotation.T, gains=False)


def residual_permutation(weights: Weights, draws: Draws) -> None:
    order = draws.permutation(weights.hidden_size)
    _change_residual(weights, lambda rows: rows[..., order], gains=True)


def _change_residual(weights: Weights, change: Callable[[Any], Any], gains: bool) -> None:
    """Changes the axis of every weight that has the dimensions of the residual stream. gains: those of norms too."""
    seen: set[int] = set()

    def apply(parameter: Any, is_output: bool = False) -> None:
        if parameter is None or id(parameter) in seen:
            return
        seen.add(id(parameter))
        data = parameter.data
        parameter.data = change(data.T).T.contiguous() if is_output and data.ndim == 2 else change(data).contiguous()

    apply(weights.embedding.weight)
    if weights.head is not None:
        apply(weights.head.weight)
    norms = [] if weights.final_norm is None else [weights.final_norm]
    for block in weights.blocks:
        for one in block.projections("q_proj", "k_proj", "v_proj"):
            apply(one.weight)
        for one in block.projections("o_proj", "down_proj"):
            apply(one.weight, is_output=True)
            apply(one.bias)
        for name in ("gate_proj", "up_proj"):
            if name in block.mlp:
                apply(block.mlp[name].weight)
        norms += block.norms.values()
    for module in norms:
        if gains:
            apply(module.weight)
        apply(getattr(module, "bias", None))


def _joined(parts: Any) -> Any:
    import torch

    return torch.cat(list(parts))


@dataclass(frozen=True)
class Gauge:
    """A transform of the weights; those of permutations and of norm-fold have no strength."""

    apply: Callable[[Weights, Draws], None]
    has_strength: bool = True


#: By name, in the order of docs/invariance.md.
GAUGES = {
    "value-scale": Gauge(value_scale),
    "value-rotation": Gauge(value_rotation),
    "query-key-scale": Gauge(query_key_scale),
    "head-permutation": Gauge(head_permutation, has_strength=False),
    "unit-scale": Gauge(unit_scale),
    "unit-permutation": Gauge(unit_permutation, has_strength=False),
    "norm-fold": Gauge(norm_fold, has_strength=False),
    "norm-scale": Gauge(norm_scale),
    "residual-rotation": Gauge(residual_rotation),
    "residual-permutation": Gauge(residual_permutation, has_strength=False),
}
