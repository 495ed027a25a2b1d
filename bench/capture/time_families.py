#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every family's forward pass with transformers' and with its capture.

    bench/capture/time_families.py [--build build/release] [--threads 2] [--repeats 5]
                                   [--families gpt2 gemma2 ...] [--experts eager]

Writes a random model of 12 layers of width 768 per family, and runs the same sequences through
transformers' base model, our pass and our capture in turn (no logits in any). The first pass of each
turn is a warm-up. Prints the median tokens per second and the medians of the ratios per turn as
Markdown. Needs torch, transformers and numpy.
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
# 8 experts of 256 in 12 layers of width 256, two per token, with the experts implementation that
# transformers selects (--experts: another one).
EXPERTS = {"hidden_size": 256, "intermediate_size": 256, "moe_intermediate_size": 256,
           "shared_expert_intermediate_size": 256, "num_attention_heads": 8,
           "num_key_value_heads": 4, "head_dim": 32, "num_experts_per_tok": 2}
for family, key in (("mixtral", "num_local_experts"), ("olmoe", "num_experts"),
                    ("qwen2_moe", "num_experts"), ("qwen3_moe", "num_experts"),
                    ("granitemoe", "num_local_experts"), ("gpt_oss", "num_local_experts")):
    OWN_KEYS[family] = EXPERTS | {key: 8}
FAMILIES = ["llama", "mistral", "qwen2", "qwen3", "smollm3", "olmo2", "olmo3", "phi3", "gemma",
            "gemma2", "gemma3_text", "granite", "gpt_neox", "gpt2", "opt"]


def make_model(family, folder, sequences, tokens, experts):
    keys = dict(OWN_KEYS[family] if family == "gpt2" else LLAMA_KEYS | OWN_KEYS.get(family, {}))
    keys = {key: value for key, value in keys.items() if value is not None}
    config = transformers.AutoConfig.for_model(family, vocab_size=8192, pad_token_id=0,
                                               bos_token_id=1, eos_token_id=2, **keys)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    model.save_pretrained(folder)
    ids = numpy.random.default_rng(1).integers(3, 8192, (sequences, tokens))
    numpy.save(folder / "ids.npy", ids)
    if experts is not None:
        model.set_experts_implementation(experts)
    return model.base_model.eval(), torch.from_numpy(ids)


def transformers_rate(model, batches):
    with torch.no_grad():
        model(batches[0], use_cache=False)
        start = time.perf_counter()
        for batch in batches[1:]:
            model(batch, use_cache=False)
    return sum(batch.numel() for batch in batches[1:]) / (time.perf_counter() - start)


def our_rates(arguments, folder):
    """Returns the tokens per second of the bare passes and of those of a capture."""
    command = [arguments.build / "bin" / "lime-bench-forward", "--checkpoint", folder, "--tokens",
               folder / "ids.npy", "--repeats", 1, "--threads", arguments.threads,
               "--batch-size", arguments.batch_size, "--output", folder / "capture.h5"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"time_families: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return found["forward"]["passes"][0], found["capture"]["passes"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="turns")
    parser.add_argument("--passes", type=int, default=3, help="per turn, with the warm-up")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=256, help="per sequence")
    parser.add_argument("--families", nargs="+", default=FAMILIES, metavar="FAMILY",
                        choices=[*FAMILIES, *OWN_KEYS])
    parser.add_argument("--experts", help="experts implementation of transformers, such as eager")
    arguments = parser.parse_args()
    if arguments.passes < 2:
        parser.error("--passes must be at least 2")
    torch.set_num_threads(arguments.threads)
    print(f"{arguments.batch_size} x {arguments.tokens} tokens per pass, {arguments.threads} threads, "
          f"medians of {arguments.repeats} turns, transformers {transformers.__version__}, "
          f"torch {torch.__version__}\n")
    print("| family | our forward, tokens/s | transformers, tokens/s | ours / transformers | "
          "capture time / forward time |\n|---|---|---|---|---|")
    for family in arguments.families:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            count = arguments.passes * arguments.batch_size
            model, ids = make_model(family, folder, count, arguments.tokens,
                                    arguments.experts)
            turns = [(transformers_rate(model, ids.split(arguments.batch_size)),
                      *our_rates(arguments, folder)) for _ in range(arguments.repeats)]
            peer, forward, _ = (statistics.median(rates) for rates in zip(*turns))
            ratio = statistics.median(ours / theirs for theirs, ours, _ in turns)
            cost = statistics.median(bare / captured for _, bare, captured in turns)
            print(f"| `{family}` | {forward:.0f} | {peer:.0f} | {ratio:.2f} | {cost:.3f} |", flush=True)


if __name__ == "__main__":
    main()
