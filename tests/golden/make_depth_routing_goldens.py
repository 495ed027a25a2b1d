# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/model/{attn_res,mhc,depth_attention,mudd}-*/ with PyTorch in float64.

Run:  python make_depth_routing_goldens.py --attnres FOLDER --muddformer FOLDER [NAME...]
      (torch, transformers 5.23, h5py, safetensors, einops; checkouts of
      github.com/wdlctc/open-attention-residuals at 83d2b8d and github.com/Caiyun-AI/MUDDFormer at
      fc067b2)

Each folder has config.json, model.safetensors and golden.h5: ids [batch, seq]; logits [batch, seq,
vocab]; hidden [1 + layers, batch, seq, hidden]: the embedding, then after each layer the residual input
of the next one (attn_res, mhc: of its attention), at last that of the final norm; for depth_attention
values and routed_values; gradients/NAME: of the summed cross-entropy of the next tokens.

  attn_res-open-*        the classes of open-attention-residuals themselves, in their public layout
  attn_res-full, -block  a program written from arXiv:2603.15031, equations 2 to 6
  mhc                    LLaMA with DeepseekV4HyperConnection and DeepseekV4HyperHead of transformers
  depth_attention-*      a program written from arXiv:2606.05014 and its authors' code
  mudd                   the class MUDDFormer itself, with MLPs of one size for all layers
  mudd-former, -pythia   the classes MUDDFormer and MUDDPythia in their public layout

Public code casts to float32, float16 or bfloat16 in places; here these casts are casts to float64.
"""

import argparse
import json
import pathlib
import sys
import types

import h5py
import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from torch.nn import functional as F

from family_models import double_everywhere

SEED = 20261123
HERE = pathlib.Path(__file__).parent
BASE = dict(vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=2, head_dim=4, rms_norm_eps=1e-5,
            hidden_act="silu", rope_theta=10000.0, max_position_embeddings=64,
            tie_word_embeddings=False, torch_dtype="float32", bos_token_id=1, eos_token_id=2)


def open_attnres(**keys):
    return dict(BASE, model_type="qwen3_attnres", attnres_gate_type="bias",
                attnres_recency_bias_init=0.0, **keys)


def released_mudd(name, **keys):
    return dict(vocab_size=29, n_layer=3, n_head=2, n_local_heads=2, dim=8, intermediate_size=320,
                block_size=64, rope_base=10000, expand_last=True, model_type=name.lower(),
                architectures=[name], **keys)


CONFIGS = {
    "attn_res-open-full": open_attnres(attnres_mode="full", attnres_num_blocks=2),
    "attn_res-open-block": open_attnres(attnres_mode="block", attnres_num_blocks=2),
    "attn_res-open-nested": open_attnres(attnres_mode="block", attnres_num_blocks=2),
    "attn_res-full": dict(BASE, model_type="attn_res", attn_res=dict(num_blocks=0)),
    "attn_res-block": dict(BASE, model_type="attn_res",
                           attn_res=dict(num_blocks=2, recency_bias_init=1.0)),
    "mhc": dict(BASE, model_type="mhc",
                mhc=dict(hc_mult=3, hc_sinkhorn_iters=4, hc_eps=1e-6)),
    "depth_attention-stride": dict(BASE, model_type="depth_attention",
                                   depth_attention=dict(stride=2, recent_window=0)),
    "depth_attention-window": dict(BASE, model_type="qwen3",
                                   depth_attention=dict(stride=3, recent_window=1)),
    "mudd": dict(BASE, model_type="qwen3", num_key_value_heads=4, mudd=dict(round64=False)),
    "mudd-former": released_mudd("MUDDFormer", norm_eps=1e-5, use_qk_norm=True),
    "mudd-pythia": released_mudd("MUDDPythia", round64=True, rotary_pct=0.5),
}


def in_float64(source):
    """Returns public code with its casts to bfloat16 replaced, for transformers 5.23."""
    masks = "cache_position=cache_position,\n                past_key_values=past_key_values,"
    for name in ("torch.bfloat16", "torch.float16"):
        source = source.replace(name, "torch.float64")
    return source.replace(masks, "past_key_values=past_key_values,")


def module_of(path, package=None):
    """Imports a file of a checkout in float64."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    exec(compile(in_float64(path.read_text()), str(path), "exec"), module.__dict__)
    return module


class Llama:
    """LLaMA's or Qwen3's blocks with a routing, as the papers define it."""

    def __init__(self, config, weights):
        self.config, self.weights = config, weights
        self.own = config.get(self.routing(), {})

    def routing(self):
        return next(k for k in ("attn_res", "mhc", "depth_attention") if k in self.config)

    def weight(self, layer, name):
        return self.weights[f"model.layers.{layer}.{name}"]

    def rms(self, x, gain=1.0):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config["rms_norm_eps"]) * gain

    def rotate(self, x):
        half = x.shape[-1] // 2
        rates = self.config["rope_theta"] ** -(torch.arange(half, dtype=torch.float64) / half)
        angle = torch.arange(x.shape[1])[:, None, None] * rates
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def project(self, layer, name, x):
        y = x @ self.weight(layer, f"self_attn.{name}_proj.weight").T
        y = y.unflatten(-1, (-1, self.config["head_dim"]))
        norm = f"model.layers.{layer}.self_attn.{name}_norm.weight"
        return self.rms(y, self.weights[norm]) if norm in self.weights else y

    def mix_values(self, layer, q, k, v):
        """v_l <- sum a_i v_i, a = softmax(mean q of the group . k_i / sqrt(d)); mixed v are kept."""
        sources = [i for i in range(layer) if i % self.own["stride"] == 0
                   or i >= layer - self.own["recent_window"]]
        keys, values = zip(*[self.kept[i] for i in sources], (k, v))
        mean = q.unflatten(2, (k.shape[2], -1)).mean(3)
        scores = torch.stack([(mean * key).sum(-1) for key in keys], -1) / k.shape[-1] ** 0.5
        mixed = (scores.softmax(-1)[..., None] * torch.stack(values, -2)).sum(-2)
        self.kept.append((k, mixed))
        return mixed

    def attention(self, layer, x):
        x = self.rms(x, self.weight(layer, "input_layernorm.weight"))
        q, k, v = (self.project(layer, name, x) for name in "qkv")
        self.values.append(v)
        if "depth_attention" in self.config:
            v = self.mix_values(layer, q, k, v)
        self.routed_values.append(v)
        q, k = self.rotate(q), self.rotate(k)
        group = q.shape[2] // k.shape[2]
        k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
        seq = x.shape[1]
        scores = scores.masked_fill(torch.ones(seq, seq).triu(1).bool(), -torch.inf)
        out = torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v).flatten(2)
        return out @ self.weight(layer, "self_attn.o_proj.weight").T

    def mlp(self, layer, x):
        x = self.rms(x, self.weight(layer, "post_attention_layernorm.weight"))
        gate, up = (x @ self.weight(layer, f"mlp.{name}_proj.weight").T for name in ("gate", "up"))
        return (F.silu(gate) * up) @ self.weight(layer, "mlp.down_proj.weight").T

    def parts(self):
        for layer in range(self.config["num_hidden_layers"]):
            yield lambda x, layer=layer: self.attention(layer, x)
            yield lambda x, layer=layer: self.mlp(layer, x)

    def router(self, part):
        if part == 2 * self.config["num_hidden_layers"]:
            return "model.final_res_" if "attn_res" in self.config else "model.hc_head.hc_"
        names = ("attn_res_", "mlp_res_") if "attn_res" in self.config else ("attn_hc.", "ffn_hc.")
        return f"model.layers.{part // 2}.{names[part % 2]}"

    def attend(self, part, sources):
        """Equations 2 and 3: attention over depth with the keys RMSNorm(source)."""
        name = self.router(part)
        values = torch.stack(sources)
        keys = self.rms(values, self.weights[name + "norm.weight"])
        scores = torch.einsum("d,nbtd->nbt", self.weights[name + "proj.weight"].squeeze(0), keys)
        if name + "bias" in self.weights:
            scores = torch.cat([scores[:-1], scores[-1:] + self.weights[name + "bias"]])
        return torch.einsum("nbt,nbtd->btd", scores.softmax(0), values)

    def run_attn_res(self, x):
        """Equations 4 to 6: sums of the outputs within blocks; the embedding is a source of its own."""
        parts = 2 * self.config["num_hidden_layers"]
        size = parts // self.own["num_blocks"] if self.own["num_blocks"] else 1
        blocks, partial, inputs = [x], [], []
        for part, function in enumerate(self.parts()):
            inputs.append(self.attend(part, blocks + ([sum(partial)] if partial else [])))
            partial.append(function(inputs[-1]))
            if (part + 1) % size == 0:
                blocks, partial = blocks + [sum(partial)], []
        return inputs[2::2] + [self.attend(parts, blocks)]

    def run_mhc(self, x):
        from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek
        own = types.SimpleNamespace(rms_norm_eps=self.config["rms_norm_eps"],
                                    hidden_size=self.config["hidden_size"], **self.own)

        def called(kind, name, streams):
            module = kind(own).double()
            named = {key: self.weights[name + key.removeprefix("hc_")]
                     for key, _ in module.named_parameters()}
            return torch.func.functional_call(module, named, streams)

        streams = x.unsqueeze(2).expand(-1, -1, own.hc_mult, -1).contiguous()
        inputs = []
        for part, function in enumerate(self.parts()):
            post, comb, collapsed = called(deepseek.DeepseekV4HyperConnection, self.router(part),
                                           streams)
            inputs.append(collapsed)
            streams = (post.unsqueeze(-1) * function(collapsed).unsqueeze(-2)
                       + comb.transpose(-1, -2) @ streams)
        name = self.router(2 * self.config["num_hidden_layers"])
        return inputs[2::2] + [called(deepseek.DeepseekV4HyperHead, name, streams)]

    def run_depth_attention(self, x):
        self.kept, hidden = [], []
        for part, function in enumerate(self.parts()):
            x = x + function(x)
            if part % 2 == 1:
                hidden.append(x)
        return hidden

    def run(self, ids):
        self.values, self.routed_values = [], []
        x = self.weights["model.embed_tokens.weight"][ids]
        hidden = [x] + getattr(self, "run_" + self.routing())(x)
        x = self.rms(hidden[-1], self.weights["model.norm.weight"])
        return x @ self.weights["lm_head.weight"].T, hidden


class Public:
    """A class of public code, called with weights under our names."""

    def __init__(self, model, names):
        self.model, self.names = model.double().eval(), names
        self.values = self.routed_values = []

    def called(self, weights, *args, **kwargs):
        named = {name: weights[ours].reshape(tensor.shape)
                 for name, tensor in self.model.named_parameters()
                 for ours in [self.names(name)]}
        return torch.func.functional_call(self.model, named, args, kwargs)


class OpenAttnRes(Public):
    def __init__(self, config, weights, folder, file):
        module = module_of(folder / file)
        keys = {k: v for k, v in config.items() if k != "model_type"}
        super().__init__(module.Qwen3AttnResForCausalLM(
            module.Qwen3AttnResConfig(**keys, attn_implementation="eager")), lambda name: name)
        self.weights, self.seen = weights, []
        for layer in self.model.model.layers[1:]:
            layer.input_layernorm.register_forward_pre_hook(lambda _, x: self.seen.append(x[0]))
        self.model.model.norm.register_forward_pre_hook(lambda _, x: self.seen.append(x[0]))

    def run(self, ids):
        logits = self.called(self.weights, input_ids=ids, use_cache=False).logits
        return logits, [self.weights["model.embed_tokens.weight"][ids]] + self.seen


class MuddFormer(Public):
    NAMES = {"tok_embeddings": "model.embed_tokens", "output": "lm_head", "norm": "model.norm",
             "attention.wq": "self_attn.q_proj", "attention.wk": "self_attn.k_proj",
             "attention.wv": "self_attn.v_proj", "attention.wo": "self_attn.o_proj",
             "attention.q_norm": "self_attn.q_norm", "attention.k_norm": "self_attn.k_norm",
             "attention_norm": "input_layernorm", "attention_norms.0": "input_layernorm",
             "attention_norms.1": "input_layernorm_k", "attention_norms.2": "input_layernorm_v",
             "ffn_norm": "post_attention_layernorm", "feed_forward.w1": "mlp.gate_proj",
             "feed_forward.w3": "mlp.up_proj", "feed_forward.w2": "mlp.down_proj"}

    def __init__(self, config, weights, folder):
        module = module_of(folder / "pytorch/muddformer/configuration_muddformer.py")
        module = module_of(folder / "pytorch/muddformer/modeling_muddformer.py")
        own = module.MUDDFormerConfig(
            vocab_size=config["vocab_size"], n_layer=config["num_hidden_layers"],
            n_head=config["num_attention_heads"], n_local_heads=config["num_attention_heads"],
            dim=config["hidden_size"], intermediate_size=config["intermediate_size"],
            head_dim=config["head_dim"], norm_eps=config["rms_norm_eps"], block_size=64,
            rope_base=config["rope_theta"], use_qk_norm=True, sepln=True, expand_last=True,
            round64=False, dense_type="qkvr", is_training=True, use_gradient_checkpointing=False)
        model = module.MUDDFormer(own)
        for layer in model.layers:
            layer.feed_forward = module.FeedForward(own, layer.lidx, False, False)
        super().__init__(model, self.ours)
        self.prepare(weights, "model.embed_tokens.weight")

    def prepare(self, weights, embedding):
        self.model.setup_caches(2, 64)
        self.weights, self.seen, self.embedding = weights, [], embedding
        for layer in self.model.layers[1:]:
            layer.register_forward_pre_hook(lambda _, x: self.seen.append(x[0][-1]))
        self.model.norm.register_forward_pre_hook(lambda _, x: self.seen.append(x[0]))

    def ours(self, name):
        if name.startswith("dense_bs.") or name.startswith("dynamic_dense."):
            return "model." + name
        stem = name.removesuffix(".weight")
        if stem in self.NAMES:
            return self.NAMES[stem] + ".weight"
        _, layer, rest = stem.split(".", 2)
        return f"model.layers.{layer}.{self.NAMES[rest]}.weight"

    def run(self, ids):
        logits = self.called(self.weights, ids, return_tensor=True)
        return logits, [self.weights[self.embedding][ids]] + self.seen


class ReleasedMudd(MuddFormer):
    def __init__(self, config, weights, folder):
        Public.__init__(self, released_class(config, folder), lambda name: name)
        self.prepare(weights, "tok_embeddings.weight")


def released_config(config, folder, **keys):
    """Returns the public configuration, with the defaults of all keys."""
    kind, name = config["model_type"], config["architectures"][0]
    module = module_of(folder / f"pytorch/{kind}/configuration_{kind}.py")
    keys.update((key, value) for key, value in config.items() if key != "model_type")
    return getattr(module, name + "Config")(**keys)


def released_class(config, folder):
    """Returns a model of config's class, without its caches, which have no gradients."""
    own = released_config(config, folder, is_training=True)
    module = module_of(folder / "pytorch/{0}/modeling_{0}.py".format(config["model_type"]))
    return getattr(module, config["architectures"][0])(own)


def shapes(name, config):
    """Returns names and shapes of all parameters."""
    d, inner, dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    kv, q = config["num_key_value_heads"] * dim, config["num_attention_heads"] * dim
    layers = config["num_hidden_layers"]
    shape = {"model.embed_tokens.weight": (config["vocab_size"], d)}
    for layer in range(layers):
        own = {"self_attn.q_proj.weight": (q, d), "self_attn.k_proj.weight": (kv, d),
               "self_attn.v_proj.weight": (kv, d), "self_attn.o_proj.weight": (d, q),
               "mlp.gate_proj.weight": (inner, d), "mlp.up_proj.weight": (inner, d),
               "mlp.down_proj.weight": (d, inner), "input_layernorm.weight": (d,),
               "post_attention_layernorm.weight": (d,)}
        if "qwen3" in config["model_type"]:
            own.update({"self_attn.q_norm.weight": (dim,), "self_attn.k_norm.weight": (dim,)})
        if "attn_res" in name:
            for part in ("attn_res_", "mlp_res_"):
                own.update(attn_res_shapes(name, part, d))
        if "mhc" in config:
            n = config["mhc"]["hc_mult"]
            for part in ("attn_hc.", "ffn_hc."):
                own.update({part + "fn": ((2 + n) * n, n * d), part + "base": ((2 + n) * n,),
                            part + "scale": (3,)})
        if "mudd" in config and layer > 0:
            own.update({"input_layernorm_k.weight": (d,), "input_layernorm_v.weight": (d,)})
        shape.update({f"model.layers.{layer}.{key}": size for key, size in own.items()})
        if "mudd" in config:
            last = layer + 1 == layers
            count = (1 if last else 4) * (layer + 2)
            hidden = count * (4 if last else 1)
            shape.update({f"model.dynamic_dense.{layer}.w1.weight": (hidden, d),
                          f"model.dynamic_dense.{layer}.w2.weight": (count, hidden),
                          f"model.dense_bs.{layer}": (1 if last else 4, layer + 2)})
    if name in ("attn_res-full", "attn_res-block", "attn_res-open-nested"):
        shape.update({"model." + k: v for k, v in attn_res_shapes(name, "final_res_", d).items()})
    if "mhc" in config:
        n = config["mhc"]["hc_mult"]
        shape.update({"model.hc_head.hc_fn": (n, n * d), "model.hc_head.hc_base": (n,),
                      "model.hc_head.hc_scale": (1,)})
    shape.update({"model.norm.weight": (d,), "lm_head.weight": (config["vocab_size"], d)})
    return shape


def attn_res_shapes(name, part, d):
    shape = {part + "proj.weight": (1, d), part + "norm.weight": (d,)}
    if name != "attn_res-full":
        shape[part + "bias"] = ()
    return shape


def random_weights(name, config, rng, args):
    """Returns weights large enough that every part matters, rounded to float32."""
    weights, of_class = {}, "architectures" in config
    parameters = released_class(config, args.muddformer).named_parameters() if of_class else ()
    sizes = {key: tensor.shape for key, tensor in parameters} or shapes(name, config)
    for key, shape in sizes.items():
        drawn = rng.standard_normal(shape)
        is_gain = key.endswith("weight") and "_norms." in key or "layernorm" in key
        if key.endswith("norm.weight") or is_gain or key.endswith("scale"):
            value = 1 + 0.3 * drawn
        elif key.endswith(("base", "bias")) or "dense_bs." in key:
            value = 0.5 * drawn
        elif key.endswith("_proj.weight") and "_res_" in key:
            value = 0.5 * drawn
        elif key.endswith("w2.weight"):
            value = 0.3 * drawn / shape[-1] ** 0.5
        else:
            value = drawn / shape[-1] ** 0.5
        weights[key] = torch.tensor(value, dtype=torch.float32)
    return weights


def model_of(name, config, weights, args):
    if name.startswith("attn_res-open"):
        nested = name.endswith("nested")
        file = "Attention-Residuals/modeling_qwen3_attnres.py" if nested else "modeling_attnres.py"
        return OpenAttnRes(config, weights, args.attnres, file)
    if name == "mudd":
        return MuddFormer(config, weights, args.muddformer)
    if "architectures" in config:
        return ReleasedMudd(config, weights, args.muddformer)
    return Llama(config, weights)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnres", type=pathlib.Path)
    parser.add_argument("--muddformer", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    for name in args.names or CONFIGS:
        config = CONFIGS[name]
        rng = np.random.default_rng([SEED, list(CONFIGS).index(name)])
        stored = random_weights(name, config, rng, args)
        ids = torch.tensor(rng.integers(0, config["vocab_size"], (2, 12)))
        weights = {key: value.double().requires_grad_() for key, value in stored.items()}
        with double_everywhere():
            model = model_of(name, config, weights, args)
            logits, hidden = model.run(ids)
        assert logits.dtype == torch.float64
        F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(),
                        reduction="sum").backward()
        print(f"{name}: logits up to {logits.abs().max():.2f}, hidden {hidden[-1].abs().max():.2f}")
        folder = HERE / "model" / name
        folder.mkdir(parents=True, exist_ok=True)
        if "architectures" in config:
            config = json.loads(released_config(config, args.muddformer).to_json_string())
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        save_file({key: value.contiguous() for key, value in stored.items()},
                  folder / "model.safetensors", metadata={"format": "pt"})
        with h5py.File(folder / "golden.h5", "w") as file:
            file["ids"] = ids.numpy().astype(np.int32)
            file["logits"] = logits.detach().numpy()
            file["hidden"] = torch.stack(hidden).detach().numpy()
            if model.values and "depth_attention" in config:
                file["values"] = torch.stack(model.values).flatten(3).detach().numpy()
                file["routed_values"] = torch.stack(model.routed_values).flatten(3).detach().numpy()
            for key, value in weights.items():
                slope = torch.zeros_like(value) if value.grad is None else value.grad
                file["gradients/" + key] = slope.reshape(-1).numpy().astype(np.float32)
            file.attrs["seed"] = SEED
            file.attrs["versions"] = f"torch {torch.__version__}, transformers {transformers.__version__}"


if __name__ == "__main__":
    main()
