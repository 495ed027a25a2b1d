#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rounding errors of our float32 pass with those of transformers' eager float32.

    bench/parity/compare_precision.py [--build build/release] [--angles transformers] [--per-layer]
                                      [--checkpoint FOLDER --ids ids.npy | --families llama ...]
    bench/parity/compare_precision.py --texts FOLDER [--checkpoint FOLDER] [--num-texts 20]
                                      [--num-tokens 160]

The reference is transformers in float64, with norms and softmax in float64 too. Its rotary angles
are, with `--angles transformers`, the float32 cosines and sines of the eager pass, which both
float32 passes should reproduce; with `--angles exact`, those of float64.

The error of a row (a token) is |found - reference| / |reference|. Printed are the medians over
tokens as Markdown: ours, eager's, and the ratio; per family (the layer with the largest ratio), or
with --per-layer for each layer. Without --checkpoint, random models of 4 layers of width 384 run
2 sequences of 512 tokens. Exits with 1 if a ratio exceeds --limit. Needs numpy, h5py, torch,
transformers, safetensors.

With --texts, it measures the worst case of a real model (default: the one in LIME_REAL_MODEL) on
pieces of the .txt files of a folder: per layer the largest error of an entry, |found - reference| /
|reference row|, of all texts, and per text the error of its log-likelihood. Both are noisy:
--limit applies to the median of the ratio over the texts at each point and layer, and to the root
mean square of the log-likelihoods' errors.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

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


def each_eager_and_reference(folder, sequences, angles):
    """Yields what record_more() finds in each sequence: in float32, in float64."""
    single = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                                  dtype=torch.float32).eval()
    used = []
    for module in rotary_modules(single):
        module.register_forward_hook(lambda _, __, output: used.append(output))
    with double_everywhere():
        double = AutoModelForCausalLM.from_config(single.config, attn_implementation="eager",
                                                  dtype=torch.float64).eval()
        double.load_state_dict(single.state_dict())
    if angles == "transformers":
        for module in rotary_modules(double):
            module.forward = lambda *_, **__: tuple(x.double() for x in used.pop(0))
    for ids in sequences:
        eager = record_more(single, ids)
        with double_everywhere():
            reference = record_more(double, ids)
        used.clear()
        yield eager, reference


def eager_and_reference(folder, sequences, angles):
    """Activations of all sequences, tokens one after the other: of float32 and of float64."""
    eager, reference = zip(*each_eager_and_reference(folder, sequences, angles))
    return joined(eager), joined(reference)


def joined(recorded):
    """Concatenates sequences: {name: [layers, tokens, width]}, hidden without the embedding."""
    arrays = {}
    for name in SITES:
        parts = [found[name] for found in recorded]
        arrays[name] = np.concatenate([x.reshape(*x.shape[:2], -1) for x in parts], axis=1)
    arrays["hidden"] = arrays["hidden"][1:]
    return arrays


def capture(arguments, folder, sequences, scratch, *options):
    """Runs lime-capture on the sequences; returns the file."""
    np.save(scratch / "ids.npy", sequences)
    command = [arguments.build / "bin" / "lime-capture", "--checkpoint", folder, "--tokens",
               scratch / "ids.npy", "--sites", ",".join(SITES.values()), *options, "-o",
               scratch / "capture.h5"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_precision: {done.stderr.strip()}")
    return scratch / "capture.h5"


def our_activations(file, rows=slice(None)):
    return {name: [layer[rows] for _, layer in sorted(file["activations"][site].items())]
            for name, site in SITES.items()}


def median_error(found, reference):
    error = np.linalg.norm(found.astype(np.float64) - reference, axis=1)
    return np.median(error / np.linalg.norm(reference, axis=1))


def errors_of(arguments, folder, sequences):
    """{name: [layers, 2]}: ours, eager's."""
    eager, reference = eager_and_reference(folder, sequences, arguments.angles)
    with tempfile.TemporaryDirectory() as scratch:
        path = capture(arguments, folder, sequences, pathlib.Path(scratch))
        with h5py.File(path) as file:
            ours = our_activations(file)
    return {name: np.array([[median_error(ours[name][layer], expected),
                             median_error(eager[name][layer], expected)]
                            for layer, expected in enumerate(reference[name])])
            for name in SITES}


def worst_entry(found, reference):
    error = np.abs(found.astype(np.float64) - reference).max(axis=1)
    return (error / np.linalg.norm(reference, axis=1)).max()


def log_likelihood(logits, ids):
    """Of all tokens but the first, in float64: the logits' errors, not those of the softmax."""
    logs = torch.log_softmax(torch.from_numpy(logits).double(), -1)
    return float(logs[:-1].gather(1, torch.tensor(ids[1:])[:, None]).sum())


def pieces_of_texts(arguments):
    """Returns ids, [num_texts, num_tokens]: pieces of every file in turn, at the start of a line."""
    tokenizer = AutoTokenizer.from_pretrained(arguments.checkpoint)
    texts = [path.read_text() for path in sorted(arguments.texts.glob("*.txt"))]
    if not texts:
        sys.exit(f"compare_precision: '{arguments.texts}' has no .txt files")
    rounds = -(-arguments.num_texts // len(texts))
    pieces = []
    for number in range(arguments.num_texts):
        text = texts[number % len(texts)]
        start = text.index("\n", len(text) * (1 + number // len(texts)) // (1 + rounds)) + 1
        pieces.append(tokenizer(text[start:start + 16 * arguments.num_tokens]).input_ids)
    return np.array([ids[:arguments.num_tokens] for ids in pieces])


def compare_texts(arguments):
    """Prints the tables of --texts; returns the largest ratio."""
    sequences = pieces_of_texts(arguments)
    worst = {name: [] for name in SITES}  # per text [layers, 2]: ours, eager's
    scores = []  # per text: error of ours, eager's, log-likelihood
    with tempfile.TemporaryDirectory() as scratch:
        path = capture(arguments, arguments.checkpoint, sequences, pathlib.Path(scratch),
                       "--log-likelihood")
        with h5py.File(path) as file:
            stored = file["sequences/log_likelihood"][()]
            passes = each_eager_and_reference(arguments.checkpoint, sequences, arguments.angles)
            for number, (eager, reference) in enumerate(passes):
                rows = slice(number * sequences.shape[1], (number + 1) * sequences.shape[1])
                exact = log_likelihood(reference["logits"], sequences[number])
                scores.append((stored[number] - exact,
                               log_likelihood(eager["logits"], sequences[number]) - exact, exact))
                ours, eager, reference = our_activations(file, rows), joined([eager]), joined(
                    [reference])
                for name in SITES:
                    worst[name].append([[worst_entry(ours[name][layer], expected),
                                         worst_entry(eager[name][layer], expected)]
                                        for layer, expected in enumerate(reference[name])])
    worst = {name: np.array(errors) for name, errors in worst.items()}  # [texts, layers, 2]
    print("Largest error of an entry in all texts; median over the texts of the ratio in brackets.\n")
    print_header("layer")
    each = {name: errors[..., 0] / errors[..., 1] for name, errors in worst.items()}
    ratios = {name: np.median(ratio, axis=0) for name, ratio in each.items()}
    for layer in range(len(ratios["hidden"])):
        cells = [f"{ours * 1e7:.0f} / {eager * 1e7:.0f} ({ratios[name][layer]:.2f})"
                 for name in SITES for ours, eager in [worst[name][:, layer].max(axis=0)]]
        print(f"| {layer} | " + " | ".join(cells) + " |")
    cells = [f"{each[name].min():.2f} to {each[name].max():.2f}" for name in SITES]
    print("| ratios of single texts | " + " | ".join(cells) + " |")
    return max(print_scores(np.array(scores)), *(ratio.max() for ratio in ratios.values()))


def print_scores(scores):
    """Prints errors of log-likelihoods; returns the ratio of their root mean squares."""
    print("\n| text | log-likelihood | error of ours | error of eager |\n|---|---|---|---|")
    for number, (ours, eager, exact) in enumerate(scores):
        print(f"| {number} | {exact:.3f} | {ours:.1e} | {eager:.1e} |")
    rms = np.sqrt((scores[:, :2] ** 2).mean(axis=0))
    largest = np.abs(scores[:, :2]).max(axis=0)
    print(f"| root mean square | | {rms[0]:.1e} | {rms[1]:.1e} |")
    print(f"| largest | | {largest[0]:.1e} | {largest[1]:.1e} |")
    return rms[0] / rms[1]


def print_header(first):
    print("| " + " | ".join([first, *SITES]) + " |")
    print("|" + "---|" * (len(SITES) + 1))


def cell(pair):
    return f"{pair[0] * 1e7:.1f} / {pair[1] * 1e7:.1f} ({pair[0] / pair[1]:.2f})"


def print_row(label, errors, layer=None):
    """A row of the table: of one layer, or of the layer with the largest ratio at each point."""
    cells = []
    for pairs in errors.values():
        pick = (pairs[:, 0] / pairs[:, 1]).argmax() if layer is None else layer
        cells.append(cell(pairs[pick]))
    print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def real_model():
    """Returns the first folder with a config.json in LIME_REAL_MODEL, or in a folder of it."""
    root = pathlib.Path(os.environ.get("LIME_REAL_MODEL", ""))
    found = [*root.glob("config.json"), *sorted(root.glob("*/config.json"))]
    if not os.environ.get("LIME_REAL_MODEL") or not found:
        sys.exit("compare_precision: --texts needs --checkpoint, or a model in LIME_REAL_MODEL")
    return found[0].parent


def finish(largest, limit):
    print(f"\nlargest ratio {largest:.2f}")
    sys.exit(1 if largest > limit else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--angles", choices=["transformers", "exact"], default="transformers")
    parser.add_argument("--per-layer", action="store_true")
    parser.add_argument("--limit", type=float, default=1.3)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--ids", type=pathlib.Path, help="2-D .npy of token ids")
    parser.add_argument("--families", nargs="+", default=list(BRANCHES))
    parser.add_argument("--texts", type=pathlib.Path, help="folder of .txt files")
    parser.add_argument("--num-texts", type=int, default=20)
    parser.add_argument("--num-tokens", type=int, default=160)
    arguments = parser.parse_args()
    print(f"angles of {arguments.angles}, transformers {transformers.__version__}, "
          f"torch {torch.__version__}; in 1e-7: ours / eager (ratio)\n")
    if arguments.texts:
        arguments.checkpoint = arguments.checkpoint or real_model()
        finish(compare_texts(arguments), arguments.limit)
    print_header("layer" if arguments.per_layer else "model")
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
    finish(largest, arguments.limit)


if __name__ == "__main__":
    main()
