#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the training step of the same LLaMA in Python with PyTorch, for compare_steps.py.

    torch_step.py [--threads 4 --repeats 20 --batch-size 8 --seq-len 256 ...]
                  [--device cpu] [--autocast]

A usual PyTorch loop: forward, cross-entropy, backward, clipping and AdamW on random tokens, which
are copied to a GPU from pinned memory in each step. Prints one JSON line: the median seconds of a
step on the device, after a warm-up step, and the peak memory (of tensors on a GPU). Requires torch,
and h5py and numpy for the model in bench/capture.
"""
import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "capture"))
from hooks_h5py import Model, chosen_device, finish_on, peak_memory_bytes  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("threads", 4), ("repeats", 20), ("batch-size", 8), ("seq-len", 256),
                        ("num-hidden-layers", 8), ("hidden-size", 256),
                        ("num-attention-heads", 8), ("vocab-size", 4096)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--autocast", action="store_true",
                        help="compute in bfloat16 where safe; CUDA only")
    return parser.parse_args()


def make_model(arguments):
    config = {name: getattr(arguments, name) for name in
              ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")}
    config |= {"intermediate_size": 4 * arguments.hidden_size, "rms_norm_eps": 1e-5,
               "rope_theta": 10000.0}
    model = Model(config)
    for weight in model.parameters():
        if weight.dim() == 2:
            nn.init.normal_(weight, std=0.02)
    return model


def make_optimizer(model):
    matrices = [weight for weight in model.parameters() if weight.dim() == 2]
    norms = [weight for weight in model.parameters() if weight.dim() != 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": norms, "weight_decay": 0.0}],
                             lr=1e-3, betas=(0.9, 0.95), eps=1e-8)


def computing(arguments):
    """Returns a new context for a forward pass."""
    if arguments.autocast:
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


def main():
    arguments = parse_arguments()
    device = chosen_device(arguments.device, "torch_step")
    if arguments.autocast and device.type != "cuda":
        sys.exit(f"torch_step: autocast: bfloat16 requires CUDA, got device '{device}'; omit "
                 "--autocast or use --device cuda")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model = make_model(arguments).to(device)
    seconds = step_seconds(model, arguments, device)
    print(json.dumps({"step_seconds": statistics.median(seconds),
                      "peak_memory_bytes": peak_memory_bytes(device),
                      "torch": torch.__version__}))


def step_seconds(model, arguments, device):
    """Returns the seconds of each training step after the first."""
    optimizer = make_optimizer(model)
    ids = torch.randint(arguments.vocab_size, (arguments.batch_size, arguments.seq_len))
    targets = ids.roll(-1, 1)
    if device.type == "cuda":
        ids, targets = ids.pin_memory(), targets.pin_memory()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with computing(arguments):
            logits = model(ids.to(device, non_blocking=True)).flatten(0, 1)
            loss = nn.functional.cross_entropy(
                logits, targets.to(device, non_blocking=True).flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    seconds = []
    for _ in range(arguments.repeats + 1):
        start = time.perf_counter()
        step()
        finish_on(device)
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


if __name__ == "__main__":
    main()
