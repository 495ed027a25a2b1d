# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/interventions.json: losses of edited models, in float64.

Run:  python3 make_intervention_goldens.py      (torch, transformers 5.23, numpy, h5py)

The models are tests/golden/model/llama-plain, run by transformers with plain PyTorch hooks, and
lime-last and lime-no-head-mixing, run by the numpy program of make_decoder_goldens.py. Each entry has
the edit as `lime-capture --edit` takes it, and per sequence of golden.h5 the mean loss of the next
token, the mean of its logit minus the largest other one, and, where it is a component of a sweep, the
first-order estimate of the effect: of activations with torch.autograd, of routes by central
differences.
"""

import json
import pathlib

import h5py
import numpy as np
import torch
import transformers
from safetensors.numpy import load_file
from transformers import AutoConfig, AutoModelForCausalLM

import make_decoder_goldens as decoders
from make_model_goldens import make_float64

HERE = pathlib.Path(__file__).parent
DIRECTION = [float(np.cos(i)) for i in range(32)]


def scores(logits, ids):
    """Returns the mean loss and logit difference per sequence."""
    logits, ids = torch.as_tensor(logits)[:, :-1], torch.as_tensor(ids).long()[:, 1:]
    own = logits.gather(2, ids[..., None])[..., 0]
    others = logits.scatter(2, ids[..., None], -torch.inf).amax(2)
    return (logits.logsumexp(2) - own).mean(1), (own - others).mean(1)


class Llama:
    def __init__(self, name):
        folder = HERE / "model" / name
        self.model = make_float64(AutoModelForCausalLM.from_pretrained(
            folder, config=AutoConfig.from_pretrained(folder), dtype=torch.float32).eval())
        with h5py.File(folder / "golden.h5") as file:
            self.ids = torch.as_tensor(file["ids"][:]).long()
        self.dim = self.model.config.hidden_size // self.model.config.num_attention_heads

    def place(self, site, layer):
        """Returns the module of a site and whether its input is the activation."""
        block = self.model.model.layers[layer]
        return {"hidden": (block, False), "hook_resid_pre": (block, True),
                "hook_attn_out": (block.self_attn, False), "hook_mlp_out": (block.mlp, False),
                "attn.hook_z": (block.self_attn.o_proj, True),
                "attn.hook_v": (block.self_attn.v_proj, False),
                "attn.hook_q": (block.self_attn.q_proj, False),
                "mlp.hook_pre": (block.mlp.gate_proj, False),
                "mlp.hook_post": (block.mlp.down_proj, True)}[site]

    def hook(self, site, layer, change):
        module, is_input = self.place(site, layer)
        if is_input:
            return module.register_forward_pre_hook(lambda m, x: (change(x[0]), *x[1:]))
        return module.register_forward_hook(
            lambda m, x, y: (change(y[0]), *y[1:]) if isinstance(y, tuple) else change(y))

    def run(self, edits):
        hooks = [self.hook(*edit) for edit in edits]
        logits = self.model(self.ids, use_cache=False).logits
        for hook in hooks:
            hook.remove()
        return scores(logits, self.ids)

    def attribution(self, edits):
        """Returns sum (x' - x) dL/dx per sequence, L the mean loss."""
        kept = []

        def watch(change):
            def keep(x):
                probe = torch.zeros_like(x, requires_grad=True)
                kept.append((probe, (change(x) - x).detach()))
                return x + probe
            return keep

        loss, _ = self.run([(site, layer, watch(change)) for site, layer, change in edits])
        loss.sum().backward()
        return sum((p.grad * c).flatten(1).sum(1) for p, c in kept)

    def entry(self, text, *edits):
        with torch.no_grad():
            loss, difference = self.run(edits)
        return {"model": "llama-plain", "edit": text, "loss": loss.tolist(),
                "logit_difference": difference.tolist(),
                "attribution": self.attribution(edits).tolist() if edits else [0.0, 0.0]}


def at(mask, change):
    """Applies `change` where the mask, [batch, seq, dim] or broadcast to it, is set."""
    return lambda x: torch.where(mask, change(x), x)


def llama_entries():
    llama = Llama("llama-plain")
    batch, seq = llama.ids.shape
    everywhere = torch.ones(batch, seq, 1, dtype=torch.bool)
    zero = torch.zeros_like
    head = lambda h: (torch.arange(32) // llama.dim == h)[None, None]
    positions = torch.zeros(1, seq, 1, dtype=torch.bool)
    positions[:, 3:8] = True
    tokens = torch.isin(llama.ids, torch.tensor([5, 6, 7, 8, 9, 10, 11, 12]))[..., None]
    direction = torch.tensor(DIRECTION, dtype=torch.float64)
    direction /= direction.norm()
    project = lambda x: x - (x @ direction)[..., None] * direction
    mean = lambda x: x.mean((0, 1), keepdim=True).expand_as(x)
    yield llama.entry("")
    yield llama.entry("zero attn.hook_z layers=1 heads=2",
                      ("attn.hook_z", 1, at(head(2), zero)))
    yield llama.entry("zero attn.hook_v layers=0,2 heads=1,3",
                      *[("attn.hook_v", l, at(head(1) | head(3), zero)) for l in (0, 2)])
    yield llama.entry("scale=-0.5 hook_mlp_out layers=1 positions=3-7",
                      ("hook_mlp_out", 1, at(positions, lambda x: -0.5 * x)))
    yield llama.entry("mean hidden layers=0 tokens=5-12", ("hidden", 0, at(tokens, mean)))
    yield llama.entry("mean mlp.hook_post layers=2", ("mlp.hook_post", 2, at(everywhere, mean)))
    yield llama.entry("project=direction.json hook_resid_pre layers=1",
                      ("hook_resid_pre", 1, project))
    yield llama.entry("skip layers=1", ("hook_attn_out", 1, zero), ("hook_mlp_out", 1, zero))
    yield llama.entry("skip attention layers=0", ("hook_attn_out", 0, zero))
    yield llama.entry("skip mlp", *[("hook_mlp_out", l, zero) for l in range(3)])
    yield llama.entry("scale=2 attn.hook_q", *[("attn.hook_q", l, lambda x: 2 * x)
                                               for l in range(3)])
    yield llama.entry("zero mlp.hook_pre layers=1-2 positions=3-7 tokens=5-12",
                      *[("mlp.hook_pre", l, at(positions & tokens, zero)) for l in (1, 2)])


def lime_entries(name, edits):
    """@param edits  text, layer, and the rows and columns of static_weights that are scaled"""
    folder = HERE / "model" / name
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    with h5py.File(folder / "golden.h5") as file:
        ids = file["ids"][:].astype(np.int64)
    for text, layer, rows, columns, factor in [("", 1, [], [], 1.0), *edits]:
        key = f"model.layers.{layer}.self_attn.lime_router.static_weights"

        def run(scale):
            model = decoders.Model(config, weights)
            model.weights[key] = model.weights[key].copy()
            model.weights[key][np.ix_(rows, columns)] *= scale
            return scores(model.run(ids)[0], ids)

        loss, difference = run(factor)
        step = 1e-5
        slope = (run(1 + step)[0] - run(1 - step)[0]) / (2 * step)
        yield {"model": name, "edit": text, "loss": loss.tolist(),
               "logit_difference": difference.tolist(),
               "attribution": ((factor - 1) * slope).tolist()}


def main():
    entries = list(llama_entries())
    # Columns: source * kv_heads + source head; layer 3 of lime-last reads the layers 1 to 3.
    entries += lime_entries("lime-last", [
        ("zero route layers=3 sources=1", 3, [0, 1], [0, 1], 0.0),
        ("scale=0.5 route layers=2 heads=1 sources=2 source_heads=0", 2, [1], [4], 0.5),
        ("zero route layers=4", 4, [0, 1], list(range(6)), 0.0)])
    entries += lime_entries("lime-no-head-mixing", [
        ("zero route layers=3 heads=1 sources=0", 3, [1], [0], 0.0)])
    golden = {"versions": f"torch {torch.__version__}, transformers {transformers.__version__}, "
                          f"numpy {np.__version__}",
              "direction": DIRECTION, "entries": entries}
    (HERE / "interventions.json").write_text(json.dumps(golden, indent=1) + "\n")
    for entry in entries:
        print(entry["model"], repr(entry["edit"]), entry["loss"], entry["attribution"])


main()
