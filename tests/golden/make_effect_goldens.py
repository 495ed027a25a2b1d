# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/effects.json and model/{mixtral,qwen2_moe,olmoe,gpt_oss}-experts/, in float64.

Run:  python make_effect_goldens.py      (torch, transformers 5.24, numpy, h5py, safetensors)

Interventions on routing: experts of mixtral, qwen2_moe, olmoe and gpt_oss and weights over depth of LLaMA in
transformers with plain PyTorch hooks; weights over depth of Attention Residuals, mHC and
Depth-Attention, and streams of mHC, in the programs of make_depth_routing_goldens.py. Each entry has the
edit, the mean loss of the next token and the mean logit difference of each sequence, and the first-order
estimate of the effect by torch.autograd where it exists; `null` where experts are masked.
"""

import json
import types

import h5py
import numpy as np
import torch
import transformers
from safetensors.torch import load_file

import make_depth_routing_goldens as depth
from family_models import double_everywhere
from make_decoder_goldens import HERE
from make_model_goldens import make_float64

SEED = 20261127
SIZES = dict(vocab_size=29, hidden_size=16, intermediate_size=12, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             num_experts_per_tok=2, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2,
             pad_token_id=0)
MODELS = {
    "mixtral": dict(num_local_experts=4, head_dim=4),
    "qwen2_moe": dict(num_experts=5, moe_intermediate_size=8, shared_expert_intermediate_size=12,
                      decoder_sparse_step=2, norm_topk_prob=False),
    "olmoe": dict(num_experts=6),
    "gpt_oss": dict(num_local_experts=4, head_dim=4, sliding_window=5,
                    rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
}


def scores(logits, ids):
    """Returns the mean loss and logit difference per sequence."""
    logits, ids = logits[:, :-1], ids[:, 1:]
    own = logits.gather(2, ids[..., None])[..., 0]
    others = logits.scatter(2, ids[..., None], -torch.inf).amax(2)
    return (logits.logsumexp(2) - own).mean(1), (own - others).mean(1)


class Probe:
    """Replaces numbers, and keeps what the first-order estimate needs."""

    def __init__(self, change, estimates=True):
        self.change, self.estimates, self.terms = change, estimates, []

    def __call__(self, x):
        new = self.change(x)
        if not self.estimates:
            return new
        zero = torch.zeros_like(x, requires_grad=True)
        self.terms.append((zero, (new - x).detach()))
        return x + zero

    def estimate(self):
        return sum((zero.grad * change).flatten(1).sum(1) for zero, change in self.terms)


def entry(model, edit, run, change, has_estimate=True):
    """@param run  maps a function of the edited numbers to logits and ids"""
    with torch.no_grad():
        loss, difference = scores(*run(Probe(change, False)))
    attribution = None
    if has_estimate:
        probe = Probe(change)
        scores(*run(probe))[0].sum().backward()
        attribution = probe.estimate().tolist()
    print(model, repr(edit), loss.tolist(), attribution)
    return {"model": model, "edit": edit, "loss": loss.tolist(),
            "logit_difference": difference.tolist(), "attribution": attribution}


def mixture(name):
    """Writes a small mixture of experts and returns it in float64 with ids."""
    config = transformers.AutoConfig.for_model(name, **SIZES, **MODELS[name])
    config.torch_dtype = "float32"
    torch.manual_seed(SEED)
    with double_everywhere():
        model = transformers.AutoModelForCausalLM.from_config(
            config, experts_implementation="eager").float().eval()
    with torch.no_grad():
        for key, value in model.named_parameters():
            value.normal_(0, 0.4)
            if key.endswith("norm.weight"):
                value += 1
    folder = HERE / "model" / f"{name}-experts"
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    ids = torch.tensor(np.random.default_rng(SEED).integers(0, 29, (2, 12)))
    with h5py.File(folder / "golden.h5", "w") as file:
        file["ids"] = ids.numpy().astype(np.int32)
    # The rotation of gpt_oss has half as many angles as make_float64() expects; float64 as it is.
    return model.double() if name == "gpt_oss" else make_float64(model.double()), ids


def expert_entries(name):
    model, ids = mixture(name)
    layers = model.model.layers

    def weights_of(module, logits, indices):
        """The weights of selected experts, as the router of this type computes them."""
        if name == "gpt_oss":
            return logits.gather(1, indices).softmax(1)
        weights = logits.softmax(1).gather(1, indices)
        is_normalised = name == "mixtral" or module.norm_topk_prob
        return weights / weights.sum(1, keepdim=True) if is_normalised else weights

    def run_with(layer, hook):
        router = layers[layer].mlp.router if name == "gpt_oss" else layers[layer].mlp.gate
        handle = router.register_forward_hook(hook)
        with double_everywhere():
            logits = model(ids, use_cache=False).logits
        handle.remove()
        return logits, ids

    def zero(layer, expert, factor=0.0):
        def run(probe):
            def hook(module, inputs, output):
                logits, weights, indices = output
                shape = (*ids.shape, -1)
                chosen = indices.view(shape) == expert
                probe.change = lambda w: torch.where(chosen, factor * w, w)
                return logits, probe(weights.view(shape)).view_as(weights), indices
            return run_with(layer, hook)
        return run

    def mask(layer, experts):
        def run(probe):
            def hook(module, inputs, output):
                logits = output[0].clone()
                logits[:, experts] = -torch.inf
                indices = logits.topk(2).indices
                return logits, weights_of(module, logits, indices), indices
            return run_with(layer, hook)
        return run

    label = f"{name}-experts"
    site = "mlp.hook_expert_weights"
    for expert in (0, 3):
        yield entry(label, f"zero {site} layers=1 experts={expert}", zero(1, expert), None)
    yield entry(label, f"scale=-0.5 {site} layers=1 experts=2", zero(1, 2, -0.5), None)
    yield entry(label, "mask mlp.hook_router_logits layers=1 experts=0-1", mask(1, [0, 1]), None,
                False)


def llama_entries():
    """Removes outputs of earlier parts from the input of one norm."""
    folder = HERE / "model" / "llama-plain"
    model = make_float64(transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32).eval())
    with h5py.File(folder / "golden.h5") as file:
        ids = torch.as_tensor(file["ids"][:]).long()
    layers = model.model.layers

    def runner(norm, sources, factor):
        def run(probe):
            outputs, handles = {}, []

            def keep(place):
                def hook(_, __, output):
                    outputs[place] = output[0] if isinstance(output, tuple) else output
                return hook

            handles.append(model.model.embed_tokens.register_forward_hook(keep(0)))
            for i, layer in enumerate(layers):
                handles.append(layer.self_attn.register_forward_hook(keep(1 + 2 * i)))
                handles.append(layer.mlp.register_forward_hook(keep(2 + 2 * i)))

            def change(_, inputs):
                # The weights, all 1, are the numbers that are edited.
                weights = torch.ones(*ids.shape, len(outputs), dtype=torch.float64)
                edited = torch.tensor([s in sources for s in range(len(outputs))])
                probe.change = lambda w: torch.where(edited, factor * w, w)
                new = probe(weights) - weights
                stacked = torch.stack([outputs[s] for s in range(len(outputs))], -1)
                return (inputs[0] + (stacked * new.unsqueeze(2)).sum(-1),)

            handles.append(norm.register_forward_pre_hook(change))
            logits = model(ids, use_cache=False).logits
            for handle in handles:
                handle.remove()
            return logits, ids
        return run

    for text, norm, sources, factor in [
            ("zero {} layers=1 reads=attn sources=0", layers[1].input_layernorm, [0], 0.0),
            ("zero {} layers=2 reads=mlp sources=1-2", layers[2].post_attention_layernorm, [1, 2], 0.0),
            ("scale=2 {} layers=2 reads=attn sources=3", layers[2].input_layernorm, [3], 2.0),
            ("zero {} layers=2 reads=final sources=5", model.model.norm, [5], 0.0)]:
        yield entry("llama-plain", text.format("hook_depth_weights"), runner(norm, sources, factor),
                    None)


class Edited(depth.Llama):
    """The reference program, in which weights of one part, or streams, pass through a probe."""

    place, edited, probe = None, (), None

    def attend(self, part, sources):
        name = self.router(part)
        values = torch.stack(sources)
        keys = self.rms(values, self.weights[name + "norm.weight"])
        scores = torch.einsum("d,nbtd->nbt", self.weights[name + "proj.weight"].squeeze(0), keys)
        if name + "bias" in self.weights:
            scores = torch.cat([scores[:-1], scores[-1:] + self.weights[name + "bias"]])
        weights = scores.softmax(0)
        if part == self.place:
            weights = self.probed(weights.permute(1, 2, 0)).permute(2, 0, 1)
        return torch.einsum("nbt,nbtd->btd", weights, values)

    def probed(self, weights):
        """Edits the weights [batch, seq, sources]."""
        chosen = torch.tensor([s in self.edited for s in range(weights.shape[-1])])
        self.probe.change = lambda w: torch.where(chosen, torch.zeros_like(w), w)
        return self.probe(weights)

    def mix_values(self, layer, q, k, v):
        sources = [i for i in range(layer) if i % self.own["stride"] == 0
                   or i >= layer - self.own["recent_window"]]
        keys, values = zip(*[self.kept[i] for i in sources], (k, v))
        mean = q.unflatten(2, (k.shape[2], -1)).mean(3)
        scores = torch.stack([(mean * key).sum(-1) for key in keys], -1) / k.shape[-1] ** 0.5
        weights = scores.softmax(-1)
        if layer == self.place:
            chosen = torch.tensor([s in self.edited for s in [*sources, layer]])
            self.probe.change = lambda w: torch.where(chosen, torch.zeros_like(w), w)
            weights = self.probe(weights)
        mixed = (weights[..., None] * torch.stack(values, -2)).sum(-2)
        self.kept.append((k, mixed))
        return mixed

    def run_mhc(self, x):
        from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek
        own = types.SimpleNamespace(rms_norm_eps=self.config["rms_norm_eps"],
                                    hidden_size=self.config["hidden_size"], **self.own)

        def called(kind, name, streams):
            module = kind(own).double()
            named = {key: self.weights[name + key.removeprefix("hc_")]
                     for key, _ in module.named_parameters()}
            return torch.func.functional_call(module, named, streams)

        kind, place = self.place
        streams = x.unsqueeze(2).expand(-1, -1, own.hc_mult, -1).contiguous()
        outputs = [x]
        # Coefficients of the outputs in each stream, [batch, seq, streams, sources].
        parts = 2 * self.config["num_hidden_layers"]
        traces = torch.zeros(*streams.shape[:3], parts + 1, dtype=torch.float64)
        traces[..., 0] = 1.0
        inputs = []
        for part, function in enumerate(self.parts()):
            post, comb, collapsed = called(deepseek.DeepseekV4HyperConnection, self.router(part),
                                           streams)
            inputs.append(collapsed)
            if kind == "weights" and part == place:
                # The collapsed input is linear in the streams: read the weights from unit vectors.
                pre = torch.linalg.lstsq(streams.detach().transpose(-1, -2),
                                         collapsed.detach().unsqueeze(-1)).solution.squeeze(-1)
                weights = torch.einsum("btn,btns->bts", pre, traces)[..., :len(outputs)].detach()
                change = self.probed(weights) - weights
                collapsed = collapsed + sum(change[..., s:s + 1] * y for s, y in enumerate(outputs))
            output = function(collapsed)
            outputs.append(output)
            streams = post.unsqueeze(-1) * output.unsqueeze(-2) + comb.transpose(-1, -2) @ streams
            traces = comb.transpose(-1, -2) @ traces
            traces[..., part + 1] += post
            if kind == "streams" and part == 2 * place + 1:
                chosen = torch.tensor([s in self.edited for s in range(own.hc_mult)])[:, None]
                self.probe.change = lambda h: torch.where(chosen, torch.zeros_like(h), h)
                streams = self.probe(streams)
        name = self.router(parts)
        return inputs[2::2] + [called(deepseek.DeepseekV4HyperHead, name, streams)]


def routing_entries():
    cases = [("attn_res-full", "zero hook_depth_weights layers=2 reads=attn sources=1", 4, [1]),
             ("attn_res-full", "zero hook_depth_weights layers=3 reads=mlp sources=0,7", 7, [0, 7]),
             ("attn_res-full", "zero hook_depth_weights layers=3 reads=final sources=8", 8, [8]),
             ("depth_attention-stride", "zero attn.hook_route layers=3 sources=0", 3, [0]),
             ("depth_attention-stride", "zero attn.hook_route layers=2 sources=2", 2, [2]),
             ("mhc", "zero hook_streams layers=1 streams=1", ("streams", 1), [1]),
             ("mhc", "zero hook_streams layers=3 streams=0,2", ("streams", 3), [0, 2]),
             ("mhc", "zero hook_streams layers=2", ("streams", 2), [0, 1, 2]),
             ("mhc", "zero hook_depth_weights layers=2 reads=attn sources=3", ("weights", 4), [3]),
             ("mhc", "zero hook_depth_weights layers=1 reads=mlp sources=0-1", ("weights", 3), [0, 1])]
    for name, text, place, edited in cases:
        folder = HERE / "model" / name
        config = json.loads((folder / "config.json").read_text())
        weights = {key: value.double() for key, value in
                   load_file(folder / "model.safetensors").items()}
        with h5py.File(folder / "golden.h5") as file:
            ids = torch.as_tensor(file["ids"][:]).long()

        def run(probe):
            program = Edited(config, weights)
            program.place, program.edited, program.probe = place, edited, probe
            with double_everywhere():
                return program.run(ids)[0], ids

        yield entry(name, text, run, None)


def main():
    entries = [*llama_entries(), *routing_entries()]
    for name in MODELS:
        entries += expert_entries(name)
    golden = {"versions": f"torch {torch.__version__}, transformers {transformers.__version__}, "
                          f"numpy {np.__version__}", "entries": entries}
    (HERE / "effects.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
