#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every family's forward pass with transformers' and with its capture.

    bench/capture/compare_families.py [--build build/release] [--threads 2] [--repeats 5]
                                      [--families gpt2 gemma2 ...]

Writes a random model of 12 layers of width 768 per family, runs the same 512-token sequences in
batches of 8 through our pass and through transformers' base model (no logits in either), and prints
the median tokens per second of `--repeats` turns as Markdown, with capture over forward as in
compare_capture.py. Needs torch, transformers and numpy.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLAMA_KEYS = {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
              "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 64,
              "max_position_embeddings": 1024}
WINDOW = {"sliding_window": 256}
OWN_KEYS = {
    "mistral": WINDOW, "gemma2": WINDOW, "gemma3_text": WINDOW, "olmo3": WINDOW,
    "gpt2": {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024},
    "gpt_neox": {"intermediate_size": 3072, "num_key_value_heads": None, "head_dim": None},
    "opt": {"ffn_dim": 3072, "word_embed_proj_dim": 768, "num_key_value_heads": None,
            "head_dim": None, "intermediate_size": None},
}
FAMILIES = ["llama", "mistral", "qwen2", "qwen3", "smollm3", "olmo2", "olmo3", "phi3", "gemma",
            "gemma2", "gemma3_text", "granite", "gpt_neox", "gpt2", "opt"]


def make_model(family, folder, sequences):
    keys = dict(OWN_KEYS[family] if family == "gpt2" else LLAMA_KEYS | OWN_KEYS.get(family, {}))
    keys = {key: value for key, value in keys.items() if value is not None}
    config = transformers.AutoConfig.for_model(family, vocab_size=8192, pad_token_id=0,
                                               bos_token_id=1, eos_token_id=2, **keys)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    ids = numpy.random.default_rng(1).integers(3, 8192, (sequences, 512))
    numpy.save(folder / "ids.npy", ids)
    return model.base_model.eval(), torch.from_numpy(ids)


def transformers_rate(model, ids):
    with torch.no_grad():
        model(ids[:8], use_cache=False)
        start = time.perf_counter()
        for first in range(0, len(ids), 8):
            model(ids[first:first + 8], use_cache=False)
    return ids.numel() / (time.perf_counter() - start)


def our_rates(arguments, folder):
    command = [arguments.build / "bin" / "lime-bench-forward", "--checkpoint", folder, "--tokens",
               folder / "ids.npy", "--repeats", arguments.repeats, "--threads", arguments.threads,
               "--output", folder / "capture.h5"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_families: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--families", nargs="+", default=FAMILIES)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print("| family | our forward | transformers | ratio | capture / forward |\n|---|---|---|---|---|")
    for family in arguments.families:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model, ids = make_model(family, folder, arguments.sequences)
            peer = statistics.median(transformers_rate(model, ids)
                                     for _ in range(arguments.repeats))
            ours = our_rates(arguments, folder)
            forward = statistics.median(ours["forward"]["whole"])
            capture = statistics.median(
                captured / bare for captured, bare in zip(ours["capture"]["passes"],
                                                          ours["forward"]["passes"]))
            print(f"| {family} | {forward:.0f} | {peer:.0f} | {forward / peer:.2f} | "
                  f"{1 / capture:.3f} |", flush=True)


if __name__ == "__main__":
    main()
