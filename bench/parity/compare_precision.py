#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rounding errors of our float32 pass with those of transformers' eager float32.

    bench/parity/compare_precision.py [--build build/release] [--angles transformers] [--per-layer]
                                      [--checkpoint FOLDER --ids ids.npy | --families llama ...]

The reference is transformers in float64, with norms and softmax in float64 too. Its rotary angles
are, with `--angles transformers`, the float32 cosines and sines of the eager pass, which both
float32 passes should reproduce; with `--angles exact`, those of float64.

The error of a row (a token) is |found - reference| / |reference|. Printed are the medians over
tokens as Markdown: ours, eager's, and the ratio; per family (the layer with the largest ratio), or
with --per-layer for each layer. Without --checkpoint, random models of 4 layers of width 384 run
2 sequences of 512 tokens. Exits with 1 if a ratio exceeds --limit. Needs numpy, h5py, torch,
transformers, safetensors.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

from family_models import BRANCHES, child, double_everywhere, layers_of, record  # noqa: E402

# Name in record(), site of lime-capture.
SITES = {"q": "attn.hook_q", "k": "keys", "v": "values", "rot_q": "attn.hook_rot_q",
         "rot_k": "attn.hook_rot_k", "z": "attn.hook_z", "mlp": "mlp.hook_post",
         "hidden": "hidden"}
SIZES = dict(vocab_size=1000, hidden_size=384, intermediate_size=1024, num_hidden_layers=4,
             num_attention_heads=6, num_key_value_heads=2, head_dim=64,
             max_position_embeddings=1024, pad_token_id=0, bos_token_id=1, eos_token_id=2)
WINDOW = dict(sliding_window=128)
OWN_SIZES = {
    "mistral": WINDOW, "gemma2": WINDOW, "gemma3_text": WINDOW, "olmo3": WINDOW,
    "gpt2": dict(n_embd=384, n_layer=4, n_head=6, n_positions=1024),
    "gpt_neox": dict(num_key_value_heads=None, head_dim=None),
    "opt": dict(ffn_dim=1024, word_embed_proj_dim=384, num_key_value_heads=None, head_dim=None,
                intermediate_size=None),
}
NUM_SEQUENCES, NUM_TOKENS = 2, 512


def write_random_model(family, folder):
    """Writes a checkpoint of a family whose activations are of the size of trained models'."""
    keys = dict(SIZES, **OWN_SIZES.get(family, {}))
    if family == "gpt2":
        keys = dict(OWN_SIZES[family], vocab_size=SIZES["vocab_size"])
    keys = {key: value for key, value in keys.items() if value is not None}
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **keys)).float()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and "embed" not in name and "wte" not in name:
                weight.mul_(3.0)
    model.save_pretrained(folder)
    return np.random.default_rng(1).integers(3, SIZES["vocab_size"], (NUM_SEQUENCES, NUM_TOKENS))


def record_more(model, ids):
    """record() of family_models.py without pattern, with z: the input of the output projection."""
    inputs = []
    hooks = []
    for layer in layers_of(model):
        attention = child(layer, "self_attn", "attention", "attn")
        output = child(attention, "o_proj", "dense", "c_proj", "out_proj")
        hooks.append(output.register_forward_pre_hook(
            lambda _, args: inputs.append(args[0].reshape(len(ids), -1))))
    found = record(model, ids)
    for hook in hooks:
        hook.remove()
    del found["pattern"]
    return dict(found, z=torch.stack(inputs).numpy())


def rotary_modules(model):
    return [module for module in model.modules() if type(module).__name__.endswith("RotaryEmbedding")]


def eager_and_reference(folder, sequences, angles):
    """Activations of all sequences, tokens one after the other: of float32 and of float64."""
    single = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                                  dtype=torch.float32).eval()
    used = []
    hooks = [module.register_forward_hook(lambda _, __, output: used.append(output))
             for module in rotary_modules(single)]
    eager = [record_more(single, ids) for ids in sequences]
    for hook in hooks:
        hook.remove()
    with double_everywhere():
        double = AutoModelForCausalLM.from_config(single.config, attn_implementation="eager",
                                                  dtype=torch.float64).eval()
        double.load_state_dict(single.state_dict())
        if angles == "transformers":
            for module in rotary_modules(double):
                module.forward = lambda *_, **__: tuple(x.double() for x in used.pop(0))
        reference = [record_more(double, ids) for ids in sequences]
    return joined(eager), joined(reference)


def joined(recorded):
    """Concatenates sequences: {name: [layers, tokens, width]}, hidden without the embedding."""
    arrays = {}
    for name in SITES:
        parts = [found[name] for found in recorded]
        arrays[name] = np.concatenate([x.reshape(*x.shape[:2], -1) for x in parts], axis=1)
    arrays["hidden"] = arrays["hidden"][1:]
    return arrays


def our_activations(arguments, folder, sequences, scratch):
    np.save(scratch / "ids.npy", sequences)
    command = [arguments.build / "bin" / "lime-capture", "--checkpoint", folder, "--tokens",
               scratch / "ids.npy", "--sites", ",".join(SITES.values()), "-o",
               scratch / "capture.h5"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_precision: {done.stderr.strip()}")
    with h5py.File(scratch / "capture.h5") as file:
        found = {name: [layer[()] for _, layer in sorted(file["activations"][site].items())]
                 for name, site in SITES.items()}
    (scratch / "capture.h5").unlink()
    return found


def median_error(found, reference):
    error = np.linalg.norm(found.astype(np.float64) - reference, axis=1)
    return np.median(error / np.linalg.norm(reference, axis=1))


def errors_of(arguments, folder, sequences):
    """{name: [layers, 2]}: ours, eager's."""
    eager, reference = eager_and_reference(folder, sequences, arguments.angles)
    with tempfile.TemporaryDirectory() as scratch:
        ours = our_activations(arguments, folder, sequences, pathlib.Path(scratch))
    return {name: np.array([[median_error(ours[name][layer], expected),
                             median_error(eager[name][layer], expected)]
                            for layer, expected in enumerate(reference[name])])
            for name in SITES}


def cell(pair):
    return f"{pair[0] * 1e7:.1f} / {pair[1] * 1e7:.1f} ({pair[0] / pair[1]:.2f})"


def print_row(label, errors, layer=None):
    """A row of the table: of one layer, or of the layer with the largest ratio at each point."""
    cells = []
    for pairs in errors.values():
        pick = (pairs[:, 0] / pairs[:, 1]).argmax() if layer is None else layer
        cells.append(cell(pairs[pick]))
    print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--angles", choices=["transformers", "exact"], default="transformers")
    parser.add_argument("--per-layer", action="store_true")
    parser.add_argument("--limit", type=float, default=1.3)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--ids", type=pathlib.Path, help="2-D .npy of token ids")
    parser.add_argument("--families", nargs="+", default=list(BRANCHES))
    arguments = parser.parse_args()
    print(f"angles of {arguments.angles}, transformers {transformers.__version__}, "
          f"torch {torch.__version__}; in 1e-7: ours / eager (ratio)\n")
    print("| " + " | ".join(["layer" if arguments.per_layer else "model", *SITES]) + " |")
    print("|" + "---|" * (len(SITES) + 1))
    largest = 0.0
    with tempfile.TemporaryDirectory() as name:
        for family in [None] if arguments.checkpoint else arguments.families:
            folder = arguments.checkpoint or pathlib.Path(name) / family
            sequences = np.load(arguments.ids) if arguments.ids else write_random_model(family,
                                                                                        folder)
            errors = errors_of(arguments, folder, sequences)
            if arguments.per_layer:
                for layer in range(len(errors["hidden"])):
                    print_row(layer, errors, layer)
            else:
                print_row(f"`{family or folder.name}`", errors)
            largest = max(largest, *((pairs[:, 0] / pairs[:, 1]).max() for pairs in errors.values()))
    print(f"\nlargest ratio {largest:.2f}")
    sys.exit(1 if largest > arguments.limit else 0)


if __name__ == "__main__":
    main()
