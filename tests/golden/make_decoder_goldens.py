# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/model/<name>/ for the decoders that transformers lacks.

Run:  python make_decoder_goldens.py [NAME...]
      (numpy, h5py, safetensors; torch, hyper-connections, einops for the hyper_connections-*)

Each folder contains config.json, model.safetensors and golden.h5 in float64: ids [batch, seq]; logits
[batch, seq, vocab]; hidden [1 + layers, batch, seq, hidden] (embeddings, then the residual stream
after each layer, summed over streams); values and routed_values [layers, batch, seq, kv_heads *
head_dim]. They are computed by the plain numpy program below, which follows the papers:

  lime-*               Gerasimov et al. (2025), arXiv:2502.09245
  denseformer-*        Pagliardini et al. (2024), arXiv:2402.02622
  resformer, svformer  Zhou et al. (2024), arXiv:2410.17897
  hyper_connections-*  Zhu et al. (2024), arXiv:2409.19606; computed by the package
                       hyper-connections by P. Wang, with its RMSNorm replaced by the paper's
                       LayerNorm; numpy must agree with it.
"""

import json
import pathlib
import sys

import h5py
import numpy as np
from safetensors.numpy import save_file

SEED = 20261121
HERE = pathlib.Path(__file__).parent
BASE = dict(vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=5,
            num_attention_heads=4, num_key_value_heads=2, head_dim=4, rms_norm_eps=1e-5,
            hidden_act="silu", rope_theta=10000.0, max_position_embeddings=64,
            tie_word_embeddings=False, torch_dtype="float32", bos_token_id=1, eos_token_id=2)


def lime(**router):
    return dict(BASE, model_type="lime", lime=router)


CONFIGS = {
    "lime-average": lime(router="average"),
    "lime-last": lime(router="last", j=3),
    "lime-first": lime(router="first", j=2),
    "lime-first-and-previous": lime(router="first-and-previous", j=2),
    "lime-dilated": lime(router="dilated", j=2),
    "lime-no-head-mixing": lime(router="full", head_mixing=False),
    "lime-per-dimension": lime(router="full", per_dimension=True),
    "lime-dynamic": lime(router="full", dynamic=True),
    "denseformer": dict(BASE, model_type="denseformer", denseformer=dict(dilation=1, period=1)),
    "denseformer-dilated": dict(BASE, model_type="denseformer",
                                denseformer=dict(dilation=2, period=1)),
    "denseformer-periodic": dict(BASE, model_type="denseformer",
                                 denseformer=dict(dilation=2, period=3)),
    "resformer": dict(BASE, model_type="resformer", resformer=dict(first_layer_only=False)),
    "svformer": dict(BASE, model_type="resformer", resformer=dict(first_layer_only=True)),
    "hyper_connections-static": dict(BASE, model_type="hyper_connections",
                                     hyper_connections=dict(dynamic=False, rate=3)),
    "hyper_connections-dynamic": dict(BASE, model_type="hyper_connections",
                                      hyper_connections=dict(dynamic=True, rate=4)),
}


def sources_of(config, layer):
    """Returns the layers that the router of `layer` reads, oldest first."""
    router, j = config["lime"]["router"], config["lime"].get("j", 0)
    earlier = range(layer + 1)
    reads = {"full": lambda i: True, "average": lambda i: True,
             "last": lambda i: i > layer - j,
             "first": lambda i: i < j or i == layer,
             "first-and-previous": lambda i: i < j or i == layer - 1,
             "dilated": lambda i: (layer - i) % j == 0}[router]
    return [i for i in earlier if reads(i)]


def shapes(config):
    """Returns names and shapes of all parameters."""
    d, inner, heads = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    kv, q = config["num_key_value_heads"], config["num_attention_heads"] * heads
    kind, shape = config["model_type"], {}
    shape["model.embed_tokens.weight"] = (config["vocab_size"], d)
    for layer in range(config["num_hidden_layers"]):
        own = {"self_attn.q_proj.weight": (q, d), "self_attn.k_proj.weight": (kv * heads, d),
               "self_attn.v_proj.weight": (kv * heads, d), "self_attn.o_proj.weight": (d, q),
               "mlp.gate_proj.weight": (inner, d), "mlp.up_proj.weight": (inner, d),
               "mlp.down_proj.weight": (d, inner)}
        if kind == "hyper_connections":
            rate = config[kind]["rate"]
            for part in ("hc_attn.", "hc_mlp."):
                own.update({part + "static_alpha": (rate, rate + 1), part + "static_beta": (rate,)})
                if config[kind]["dynamic"]:
                    own.update({part + "dynamic_alpha_fn": (d, rate + 1),
                                part + "dynamic_alpha_scale": (1,),
                                part + "dynamic_beta_fn": (d,), part + "dynamic_beta_scale": (1,)})
        else:
            own.update({"input_layernorm.weight": (d,), "post_attention_layernorm.weight": (d,)})
        if kind == "resformer" and config[kind]["first_layer_only"] and layer > 0:
            del own["self_attn.v_proj.weight"]
        if kind == "lime" and layer > 0 and config[kind]["router"] != "average":
            reads = len(sources_of(config, layer))
            reads *= kv if config[kind].get("head_mixing", True) else 1
            if config[kind].get("dynamic"):
                own["self_attn.lime_router.q_proj.weight"] = (kv * heads, d)
                own["self_attn.lime_router.keys"] = (reads, heads)
            else:
                reads *= heads if config[kind].get("per_dimension") else 1
                own["self_attn.lime_router.static_weights"] = (kv, reads)
        shape.update({f"model.layers.{layer}.{name}": size for name, size in own.items()})
        if kind == "denseformer" and (layer + 1) % config[kind]["period"] == 0:
            count = (layer + 1) // config[kind]["dilation"] + 1
            shape[f"model.dwa_modules.alphas.{layer}.weight"] = (1, count)
    shape["model.norm.weight"] = (d,)
    shape["lm_head.weight"] = (config["vocab_size"], d)
    return shape


def random_weights(config, rng):
    """Returns weights large enough that every part matters, rounded to float32."""
    weights = {}
    for name, shape in shapes(config).items():
        drawn = rng.standard_normal(shape)
        if name.endswith("norm.weight") or name.endswith("static_beta"):
            value = 1 + 0.3 * drawn
        elif name.endswith("static_alpha"):
            value = np.eye(shape[0], shape[1], 1) + 0.15 * drawn
        elif name.endswith("scale"):
            value = 0.1 * drawn
        elif "static" in name or "alphas" in name:
            value = 0.5 * drawn
        else:
            value = drawn / shape[-1] ** 0.5
        if config["model_type"] == "hyper_connections" and name.endswith(("o_proj.weight",
                                                                          "down_proj.weight")):
            value = 0.2 * value  # added to each stream: keeps their sum of order 5
        weights[name] = value.astype(np.float32)
    return weights


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)


class Model:
    """A decoder as defined in the papers, without optimisation."""

    def __init__(self, config, weights):
        self.config = config
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.kind = config["model_type"]
        self.own = config.get(self.kind, {})

    def weight(self, layer, name):
        return self.weights[f"model.layers.{layer}.{name}"]

    def rms_norm(self, x, gain):
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + self.config["rms_norm_eps"]) * gain

    def branch_norm(self, layer, name, x):
        if self.kind == "hyper_connections":
            return layer_norm(x)
        return self.rms_norm(x, self.weight(layer, name))

    def rotate(self, x):
        half = x.shape[-1] // 2
        rates = self.config["rope_theta"] ** -(np.arange(half) / half)
        angle = np.arange(x.shape[1])[:, None, None] * rates
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle),
                               b * np.cos(angle) + a * np.sin(angle)], -1)

    def project(self, layer, name, x):
        y = x @ self.weight(layer, f"self_attn.{name}_proj.weight").T
        return y.reshape(*y.shape[:-1], -1, self.config["head_dim"])

    def router(self, layer, x):
        """Returns the weights of one layer, [batch, seq, kv_heads, sources, buffered heads, head_dim]."""
        kv, dim = self.config["num_key_value_heads"], self.config["head_dim"]
        count = len(sources_of(self.config, layer))
        full = np.zeros((*x.shape[:2], kv, count, kv, dim))
        mixing = self.own.get("head_mixing", True)
        if self.own["router"] == "average":
            for h in range(kv):
                full[:, :, h, :, h, :] = 1 / count
            return full
        if self.own.get("dynamic"):
            q = self.project(layer, "lime_router.q", x)
            w = softmax(q @ self.weight(layer, "self_attn.lime_router.keys").T / np.sqrt(dim))
            w = np.repeat(w[..., None], dim, -1)
        else:
            w = self.weight(layer, "self_attn.lime_router.static_weights")
            w = w.reshape(kv, -1, dim if self.own.get("per_dimension") else 1)
            w = np.broadcast_to(w, (*x.shape[:2], *w.shape))
        w = w.reshape(*x.shape[:2], kv, count, kv if mixing else 1, -1)
        for h in range(kv):
            if mixing:
                full[:, :, h] = w[:, :, h]
            else:
                full[:, :, h, :, h] = w[:, :, h, :, 0]
        return full

    def read(self, layer, k, v, x):
        """Returns the keys and values that attention reads."""
        self.buffer.append((k, v))
        if self.kind == "resformer" and layer > 0:
            first = self.buffer[0][1]
            return k, first if self.own["first_layer_only"] else (first + v) / 2
        if self.kind == "lime" and layer > 0:
            weights = self.router(layer, x)
            chosen = [self.buffer[i] for i in sources_of(self.config, layer)]
            return tuple(np.einsum("bthsgd,sbtgd->bthd", weights, np.stack(side))
                         for side in zip(*chosen))
        return k, v

    def attention(self, layer, x):
        q, k = self.project(layer, "q", x), self.project(layer, "k", x)
        has_values = f"model.layers.{layer}.self_attn.v_proj.weight" in self.weights
        v = self.project(layer, "v", x) if has_values else self.buffer[0][1]
        k_read, v_read = self.read(layer, k, v, x)
        self.values.append(v)
        self.routed_values.append(v_read)
        q, k_read = self.rotate(q), self.rotate(k_read)
        out = np.zeros_like(q)
        seq, group = q.shape[1], q.shape[2] // k.shape[2]
        mask = np.where(np.tril(np.ones((seq, seq))) > 0, 0, -np.inf)
        for head in range(q.shape[2]):
            keys, values = k_read[:, :, head // group], v_read[:, :, head // group]
            scores = q[:, :, head] @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1]) + mask
            out[:, :, head] = softmax(scores) @ values
        return out.reshape(*out.shape[:2], -1) @ self.weight(layer, "self_attn.o_proj.weight").T

    def feed_forward(self, layer, x):
        gate = x @ self.weight(layer, "mlp.gate_proj.weight").T
        up = x @ self.weight(layer, "mlp.up_proj.weight").T
        return (gate / (1 + np.exp(-gate)) * up) @ self.weight(layer, "mlp.down_proj.weight").T

    def branches(self, layer):
        yield "hc_attn.", lambda x: self.attention(
            layer, self.branch_norm(layer, "input_layernorm.weight", x))
        yield "hc_mlp.", lambda x: self.feed_forward(
            layer, self.branch_norm(layer, "post_attention_layernorm.weight", x))

    def hyper_connect(self, layer, name, streams, branch):
        """Returns the streams [batch, seq, rate, hidden] after one branch."""
        alpha, beta = self.weight(layer, name + "static_alpha"), self.weight(layer,
                                                                             name + "static_beta")
        if self.own["dynamic"]:
            norm = layer_norm(streams)
            alpha = alpha + (self.weight(layer, name + "dynamic_alpha_scale")
                             * np.tanh(norm @ self.weight(layer, name + "dynamic_alpha_fn")))
            beta = beta + (self.weight(layer, name + "dynamic_beta_scale")
                           * np.tanh(norm @ self.weight(layer, name + "dynamic_beta_fn")))
        mixed = np.swapaxes(alpha, -1, -2) @ streams
        return beta[..., None] * branch(mixed[..., 0, :])[..., None, :] + mixed[..., 1:, :]

    def run(self, ids):
        self.buffer, self.values, self.routed_values = [], [], []
        x = self.weights["model.embed_tokens.weight"][ids]
        hidden, outputs = [x], [x]
        streams = np.repeat(x[:, :, None], self.own.get("rate", 1), 2)
        for layer in range(self.config["num_hidden_layers"]):
            for name, branch in self.branches(layer):
                if self.kind == "hyper_connections":
                    streams = self.hyper_connect(layer, name, streams, branch)
                    x = streams.sum(2)
                else:
                    x = x + branch(x)
            outputs.append(x)
            alpha = self.weights.get(f"model.dwa_modules.alphas.{layer}.weight")
            if alpha is not None:
                averaged = outputs[::-1][::self.own["dilation"]][::-1]
                assert len(averaged) == alpha.size
                x = sum(a * y for a, y in zip(alpha[0], averaged))
            hidden.append(x)
        logits = self.rms_norm(x, self.weights["model.norm.weight"]) @ self.weights[
            "lm_head.weight"].T
        return logits, np.stack(hidden)


def with_package(model, ids):
    """Computes the same with the residual streams of the package hyper-connections."""
    import torch
    from hyper_connections import HyperConnections

    rate = model.own["rate"]

    def connect(layer, name, streams, branch):
        module = HyperConnections(rate, dim=model.config["hidden_size"], layer_index=layer).double()
        module.norm = torch.nn.LayerNorm(model.config["hidden_size"], elementwise_affine=False)
        with torch.no_grad():
            for key, parameter in module.named_parameters():
                stored = model.weights.get(f"model.layers.{layer}.{name}{key}")
                value = np.zeros(parameter.shape) if stored is None else stored
                parameter.copy_(torch.from_numpy(value).reshape(parameter.shape))
            flat = torch.from_numpy(np.ascontiguousarray(np.moveaxis(streams, 2, 1))).flatten(0, 1)
            branch_input, add = module(flat)
            flat = add(torch.from_numpy(branch(branch_input.numpy())))
        return np.moveaxis(flat.unflatten(0, (-1, rate)).numpy(), 1, 2)

    model.hyper_connect = connect
    return model.run(ids)


def main():
    import importlib.metadata
    for name in sys.argv[1:] or CONFIGS:
        config = CONFIGS[name]
        rng = np.random.default_rng([SEED, list(CONFIGS).index(name)])
        weights = random_weights(config, rng)
        ids = rng.integers(0, config["vocab_size"], (2, 12))
        model = Model(config, weights)
        logits, hidden = model.run(ids)
        versions = f"numpy {np.__version__}"
        if config["model_type"] == "hyper_connections":
            ours = logits, hidden
            logits, hidden = with_package(model, ids)
            assert all(np.abs(a - b).max() < 1e-11 for a, b in zip(ours, (logits, hidden)))
            versions += ", hyper-connections " + importlib.metadata.version("hyper-connections")
        print(f"{name}: logits up to {np.abs(logits).max():.2f}, hidden {np.abs(hidden).max():.2f}")
        folder = HERE / "model" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        with h5py.File(folder / "golden.h5", "w") as file:
            file["ids"] = ids.astype(np.int32)
            file["logits"] = logits
            file["hidden"] = hidden
            file["values"] = np.stack(model.values).reshape(*hidden[1:].shape[:3], -1)
            file["routed_values"] = np.stack(model.routed_values).reshape(*hidden[1:].shape[:3], -1)
            file.attrs["made_by"] = "tests/golden/make_decoder_goldens.py"
            file.attrs["seed"] = SEED
            file.attrs["versions"] = versions


if __name__ == "__main__":
    main()
