# SPDX-License-Identifier: Apache-2.0
"""Names of modules by model_type, and the parts of fused projections."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from .errors import NoSuchNameError

Part = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Site:
    """A module per layer whose output is recorded.

    pattern: name of the module as in `model.named_modules()`, `*` for the number of the layer. The
        beginning (`model.`, `base_model.model.`) may be omitted if the rest is unique.
    part: function of the output and the model's config that returns the part to record, [batch, tokens,
        dim], e.g. the values of a fused projection, or one stream of [batch, tokens, streams, dim].
    output: index of the tensor to record, if the module returns a tuple; or a function of what it returns.
    is_input: the first argument of the module is recorded instead of its output.
    computed: function of the module, its arguments and its output that returns what is recorded instead, [batch,
        tokens, dim]: numbers that the module uses and does not return.
    joined: further modules per layer, whose numbers follow those of the first in a row.
    through: a module per layer that `computed` gets as its last argument.
    """

    pattern: str
    part: Part | None = None
    output: int | Callable[[Any], Any] = 0
    is_input: bool = False
    computed: Callable[..., Any] | None = None
    joined: tuple[str, ...] = ()
    through: str | None = None

    @property
    def is_read_only(self) -> bool:
        """Whether the numbers are functions of the activations, which a replacement would not change."""
        return self.computed is not None or callable(self.output)


def third(index: int) -> Part:
    """Selects a third of a projection that concatenates queries, keys and values (gpt2, mpt)."""
    return lambda output, config: output.chunk(3, -1)[index]


def interleaved(index: int) -> Part:
    """Selects query, key or value of a projection that concatenates heads (gpt_neox, bloom)."""

    def part(output: Any, config: Any) -> Any:
        heads = _heads(config)
        return output.unflatten(-1, (heads, 3, -1))[..., index, :].flatten(-2)

    return part


def grouped(index: int) -> Part:
    """Selects queries, keys or values of a concatenation with fewer key-value heads (phi3)."""

    def part(output: Any, config: Any) -> Any:
        heads, key_value_heads = _heads(config), _key_value_heads(config)
        head_dim = output.shape[-1] // (heads + 2 * key_value_heads)
        sizes = [heads * head_dim, key_value_heads * head_dim, key_value_heads * head_dim]
        return output.split(sizes, -1)[index]

    return part


def falcon(index: int) -> Part:
    """Selects queries, keys or values of Falcon: groups of query heads, each with its key and value last."""

    def part(output: Any, config: Any) -> Any:
        heads = _heads(config)
        groups = 1 if getattr(config, "multi_query", False) else heads
        if getattr(config, "new_decoder_architecture", False):
            groups = config.num_kv_heads
        split = output.unflatten(-1, (groups, heads // groups + 2, -1))
        chosen = split[..., :-2, :] if index == 0 else split[..., index - 3 : split.shape[-2] + index - 2, :]
        return chosen.flatten(-3)

    return part


#: Residual streams after each block, [streams * dim]; see docs/decoders.md.
STREAMS_SITE = "hook_streams"


def all_streams(output: Any, config: Any) -> Any:
    """Returns the streams of each token, [batch, tokens, streams * dim]: of deepseek_v4 [batch, tokens, streams,
    dim], of gemma3n [streams, batch, tokens, dim]."""
    if getattr(text_config(config), "altup_num_inputs", None):
        output = output.movedim(0, 2)
    return output.flatten(2)


#: Weights of the streams in a layer, [attention and MLP, streams, streams + 2]; see docs/decoders.md.
STREAM_WEIGHTS_SITE = "hook_stream_weights"


def stream_weights(module: Any, args: tuple[Any, ...], output: Any) -> Any:
    """Returns the weights of mHC in a part of a layer of deepseek_v4, [batch, tokens, streams * (streams + 2)].

    Of each stream: the weight with which the part reads it, which the module does not return, that of the part's
    output in it, and those of all streams in the new one.
    """
    import torch

    streams, (post, comb) = args[0], output[:2]
    count = module.hc_mult
    flat = module.input_norm(streams.flatten(2).float())
    logits = torch.nn.functional.linear(flat, module.fn.float())[..., :count]
    pre = torch.sigmoid(logits * module.scale[0] + module.base[:count]) + module.hc_eps
    weights = [pre.unsqueeze(-1), post.unsqueeze(-1), comb.transpose(-1, -2)]
    return torch.cat([one.to(comb.dtype) for one in weights], -1).flatten(2)


def block_weights(module: Any, args: tuple[Any, ...], output: Any) -> Any:
    """Returns the weights of the earlier blocks and of the current one in an input of inkling2, [batch, tokens,
    queries * blocks]."""
    import torch

    blocks, partial = args[:2]
    states = module.norm(torch.cat([blocks, partial.unsqueeze(-2)], -2).float())
    query = module.query.float().view(-1, states.shape[-1])
    scores = torch.einsum("qd,btnd->btqn", query, states) * states.shape[-1] ** -0.5
    return scores.softmax(-1).flatten(2)


def active_stream(output: Any, config: Any) -> Any:
    """Returns the stream that the parts of a layer of gemma3n read."""
    return output[text_config(config).altup_active_idx]


def text_config(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _heads(config: Any) -> int:
    config = text_config(config)
    for name in ("num_attention_heads", "n_head", "n_heads", "num_heads"):
        if getattr(config, name, None):
            return int(getattr(config, name))
    raise ValueError("record: the config has no num_attention_heads")


def _key_value_heads(config: Any) -> int:
    config = text_config(config)
    return int(getattr(config, "num_key_value_heads", None) or _heads(config))


class ConfigOf:
    """The members of a config.json as attributes."""

    def __init__(self, values: Mapping[str, Any]):
        self.__dict__.update(values)


def num_heads(site: str, config: Any, dim: int) -> int:
    """Returns the heads of a row of queries, keys, values or z; 0 where there are none."""
    if site not in ("queries", "keys", "values", "attn.hook_z") or config is None:
        return 0
    try:
        heads = _key_value_heads(config) if site in ("keys", "values") else _heads(config)
    except ValueError:
        return 0
    return heads if dim % heads == 0 else 0


#: Attention weights, [heads, query, key], of each token as a query; see docs/capture_format.md.
PATTERN_SITE = "attn.hook_pattern"


def _pattern(layer: str, projection: str) -> dict[str, Site]:
    """Returns the site of attention weights, the second output of the module with the projections."""
    return {PATTERN_SITE: Site(f"{layer}.{projection.rpartition('.')[0]}", output=1)}


def _residual(
    layer: str, attention: str, mlp: str, *, attention_norm: str | None = None, mlp_norm: str | None = None,
    is_mixture: bool = False,
) -> dict[str, Site]:
    """Returns the sites of the residual stream and of what is added to it.

    attention, mlp: the last projections, whose inputs are z and the activated neurons. Norms that follow them come
        before the residual stream. A mixture of experts has no neurons of its own, but logits of its router.
    """
    neurons = {"mlp.hook_post": Site(f"{layer}.{mlp}", is_input=True)}
    if is_mixture:
        neurons = {"mlp.hook_router": Site(f"{layer}.{mlp}.gate")}
    return {
        "hook_resid_pre": Site(layer, is_input=True),
        "attn.hook_z": Site(f"{layer}.{attention}", is_input=True),
        "hook_attn_out": Site(f"{layer}.{attention_norm or attention}"),
        **neurons,
        "hook_mlp_out": Site(f"{layer}.{mlp_norm or mlp}"),
    }


def _separate(layer: str, query: str, key: str, value: str, out: str, mlp: str, **options: Any) -> dict[str, Site]:
    return {
        "hidden": Site(layer),
        "values": Site(f"{layer}.{value}"),
        "keys": Site(f"{layer}.{key}"),
        "queries": Site(f"{layer}.{query}"),
        **_pattern(layer, value),
        **_residual(layer, out, mlp, **options),
    }


def _fused(layer: str, projection: str, part: Callable[[int], Part], out: str, mlp: str) -> dict[str, Site]:
    names = ("queries", "keys", "values")
    return {
        "hidden": Site(layer),
        **_pattern(layer, projection),
        **{name: Site(f"{layer}.{projection}", part(i)) for i, name in enumerate(names)},
        **_residual(layer, out, mlp),
    }


def _llama(mlp: str = "mlp.down_proj", out: str = "self_attn.o_proj", **options: Any) -> dict[str, Site]:
    return _separate("layers.*", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", out, mlp, **options)


_LLAMA = _llama()
_MIXTURE = _llama("mlp", is_mixture=True)
_POST_NORM = _llama(attention_norm="post_attention_layernorm", mlp_norm="post_feedforward_layernorm")
#: Its layers multiply what they add to the residual stream.
_SCALED = {name: site for name, site in _LLAMA.items() if name not in ("hook_attn_out", "hook_mlp_out")}
_BERT = _separate(
    "encoder.layer.*", "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "output.dense",
)

#: Sites by model_type, for Recorder(path, model). `hidden` is the residual stream after each block,
#: `values`, `keys` and `queries` the outputs of the projections, before rotary embeddings and norms,
#: `attn.hook_pattern` the attention weights, and the others those of docs/decoders.md, which edit() replaces.
SITES: dict[str, dict[str, Site]] = {
    **dict.fromkeys(
        (
            "llama", "mistral", "ministral", "qwen2", "qwen3", "gemma", "olmo", "stablelm", "cohere", "cohere2",
            "smollm3", "helium", "glm", "arcee", "ernie4_5", "seed_oss", "hunyuan_v1_dense", "apertus",
        ),
        _LLAMA,
    ),
    **dict.fromkeys(("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "phimoe", "gpt_oss"), _MIXTURE),
    **dict.fromkeys(("gemma2", "gemma3", "gemma3_text", "olmo2", "olmo3", "exaone4"), _POST_NORM),
    "granite": _SCALED,
    "granitemoe": {name: site for name, site in _SCALED.items() if name != "mlp.hook_post"},
    "phi": _llama("mlp.fc2", "self_attn.dense"),
    "starcoder2": _llama("mlp.c_proj"),
    "phi3": _fused("layers.*", "self_attn.qkv_proj", grouped, "self_attn.o_proj", "mlp.down_proj"),
    "gpt_neox": _fused(
        "layers.*", "attention.query_key_value", interleaved, "attention.dense", "mlp.dense_4h_to_h"
    ),
    "bloom": _fused(
        "h.*", "self_attention.query_key_value", interleaved, "self_attention.dense", "mlp.dense_4h_to_h"
    ),
    "falcon": _fused("h.*", "self_attention.query_key_value", falcon, "self_attention.dense", "mlp.dense_4h_to_h"),
    "gpt2": _fused("h.*", "attn.c_attn", third, "attn.c_proj", "mlp.c_proj"),
    "mpt": _fused("blocks.*", "attn.Wqkv", third, "attn.out_proj", "ffn.down_proj"),
    "gptj": _separate("h.*", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj", "mlp.fc_out"),
    "gpt_neo": _separate(
        "h.*", "attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj", "attn.attention.out_proj",
        "mlp.c_proj",
    ),
    "opt": _separate(
        "decoder.layers.*", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj", "fc2"
    ),
    **dict.fromkeys(("bert", "roberta", "electra", "xlm-roberta", "camembert"), _BERT),
    "distilbert": _separate(
        "transformer.layer.*", "attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "ffn.lin2"
    ),
    **dict.fromkeys(("mamba", "mamba2", "falcon_mamba"), {"hidden": Site("layers.*")}),
    "rwkv": {"hidden": Site("blocks.*")},
    "deepseek_v4": {
        STREAMS_SITE: Site("layers.*", all_streams),
        STREAM_WEIGHTS_SITE: Site("layers.*.attn_hc", computed=stream_weights, joined=("layers.*.ffn_hc",)),
    },
    # Layer 0 has no attention over depth before its attention.
    **dict.fromkeys(
        ("inkling2", "inkling2_text"),
        {
            "hidden": Site("layers.*"),
            "attn.hook_depth_weights": Site("layers.*.attention_input", computed=block_weights),
            "mlp.hook_depth_weights": Site("layers.*.mlp_input", computed=block_weights),
        },
    ),
    **dict.fromkeys(
        ("gemma3n", "gemma3n_text"),
        {"hidden": Site("layers.*", active_stream), STREAMS_SITE: Site("layers.*", all_streams)},
    ),
}


class UnknownModelTypeError(ValueError):
    """A model of tokens whose model_type SITES lacks."""


def known_sites(config: Any, is_part: bool = False) -> dict[str, Site]:
    """Returns all sites of a known model_type.

    is_part: the model is the encoder or the decoder of an encoder-decoder model. Raises ValueError if the model_type is
    unknown, UnknownModelTypeError if the model may have a list of layers.
    """
    known = SITES.get(getattr(text_config(config), "model_type", "")) or SITES.get(
        getattr(config, "model_type", "")
    )
    if known is None:
        problem = f"sites: model_type '{getattr(config, 'model_type', None)}' is unknown; "
        if getattr(config, "is_encoder_decoder", False) and not is_part:
            raise ValueError(f"{problem}use model.get_encoder() or model.get_decoder() of an encoder-decoder model")
        if config is not None and hasattr(config, "image_size") and not hasattr(text_config(config), "vocab_size"):
            raise ValueError(
                f"{problem}models of images have no tokens: call the model with output_hidden_states=True and use "
                "Capture.from_arrays({'hidden': list(output.hidden_states[1:])})"
            )
        raise UnknownModelTypeError(f"{problem}name the modules, e.g. sites={{'hidden': 'model.layers.*'}}")
    return known


def site_named(pattern: str) -> str:
    """Returns the site of a known model_type with this pattern of module names, else the pattern without its `*`.

    The beginning of the name may be longer than that of the site.
    """
    for sites in SITES.values():
        for name, site in sites.items():
            ends = pattern == site.pattern or pattern.endswith("." + site.pattern)
            if ends and site.output == 0 and site.part is None and not site.is_input:
                return name
    return pattern.replace(".*", "").replace("/*", "").replace("*.", "").strip("./") or "rows"


def find_modules(model: Any, sites: Mapping[str, Site]) -> dict[str, list[tuple[int, str, Any]]]:
    """Returns layer, name and module of each site, layers ascending.

    Raises NoSuchNameError (a KeyError) if a pattern matches nothing, naming near ones; ValueError
    if it matches in several places.
    """
    modules = dict(model.named_modules())
    return {name: _match(site.pattern, modules, name) for name, site in sites.items()}


def _match(pattern: str, modules: dict[str, Any], site: str) -> list[tuple[int, str, Any]]:
    expression = re.compile(
        r"(?P<before>(?:.+\.)?)" + r"(\d+)".join(re.escape(part) for part in pattern.split("*")) + "$"
    )
    found: dict[str, list[tuple[int, str, Any]]] = {}
    for name, module in modules.items():
        match = expression.match(name)
        if match:
            layer = int(match[2]) if "*" in pattern else 0
            found.setdefault(match["before"], []).append((layer, name, module))
    if not found:
        raise NoSuchNameError(f"sites: no module matches '{pattern}' of '{site}' {_near(pattern, modules)}")
    if len(found) > 1 and "" not in found:
        raise ValueError(
            f"sites: '{pattern}' of '{site}' matches in {len(found)} places: "
            f"{', '.join(sorted(before + pattern for before in found))}; use a longer name"
        )
    layers = found.get("") or next(iter(found.values()))
    if len({layer for layer, _, _ in layers}) < len(layers):
        raise ValueError(f"sites: '{pattern}' of '{site}' matches several modules of one layer")
    return sorted(layers, key=lambda one: one[0])


def _near(pattern: str, modules: dict[str, Any]) -> str:
    names = dict.fromkeys(re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name) for name in modules if name)
    near = difflib.get_close_matches(pattern, names, n=3, cutoff=0.4)
    endings = [name for name in names if name.endswith("." + pattern.split(".")[-1])]
    near = list(dict.fromkeys([*near, *endings]))[:4]
    return f"(near: {', '.join(near)})" if near else f"(modules: {', '.join(list(names)[:8])}, ...)"
