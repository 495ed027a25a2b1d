#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tables of the cost of decoders: step time, peak memory, parameters, multiply-accumulates.

    bench/train/compare_decoders.py decoders [--build build/release] [--threads 4]
    bench/train/compare_decoders.py deep | structured | checkpointing
    bench/train/compare_decoders.py decoders --device cuda [--autocast] [--shape batch-size=32 ...]

`decoders`: all decoders at one size, in the layout of the LIMe paper's efficiency appendix.
`structured`: routers that read few layers, compared with `full` on 32 layers. `deep`: 128 layers,
as the paper's table of deep models. `checkpointing`: blocks recomputed in the backward pass.

Each row is a separate process; rows alternate, and a row shows the median over its turns. --only
ROW ... measures these rows and the first one; --shape changes the sizes of all rows. Memory is the
peak of tensors on a GPU, and of the process on the CPU.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare_steps import add_device_options, device_words

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = {"num-hidden-layers": 8, "hidden-size": 256, "num-attention-heads": 8, "batch-size": 8,
         "seq-len": 256, "vocab-size": 4096}
MIDDLE = SMALL | {"num-hidden-layers": 32, "batch-size": 4}
DEEP = SMALL | {"num-hidden-layers": 128, "batch-size": 2}
LIME = {"decoder": "lime"}


def router(kind, j):
    return LIME | {"router": kind, "router-j": j}


TABLES = {
    "decoders": (SMALL, {
        "LLaMA": {"decoder": "llama"},
        "LIMe full": LIME,
        "LIMe average": LIME | {"router": "average"},
        "LIMe last-2": router("last", 2),
        "LIMe first-2": router("first", 2),
        "LIMe dilated-2": router("dilated", 2),
        "LIMe full, no head mixing": LIME | {"no-head-mixing": None},
        "LIMe full, per dimension": LIME | {"per-dimension": None},
        "LIMe full, dynamic": LIME | {"dynamic-router": None},
        "DenseFormer": {"decoder": "denseformer"},
        "DenseFormer 2x4": {"decoder": "denseformer", "dwa-dilation": 2, "dwa-period": 4},
        "Hyper-Connections, static": {"decoder": "hyper_connections", "hyper-static": None},
        "Hyper-Connections, dynamic": {"decoder": "hyper_connections"},
        "ResFormer": {"decoder": "resformer"},
        "SVFormer": {"decoder": "resformer", "first-layer-only": None},
        "mHC": {"decoder": "mhc"},
        "AttnRes full": {"decoder": "attn_res"},
        "AttnRes block": {"decoder": "attn_res", "attn-res-blocks": 4},
        "MUDD": {"decoder": "mudd"},
        "Depth-Attention": {"decoder": "depth_attention"}}),
    "structured": (MIDDLE, {
        "LLaMA": {"decoder": "llama"},
        "LIMe full": LIME,
        "LIMe first-4": router("first", 4),
        "LIMe last-4": router("last", 4),
        "LIMe dilated-4": router("dilated", 4)}),
    "deep": (DEEP, {
        "LLaMA": {"decoder": "llama"},
        "LIMe full": LIME,
        "LIMe dilated-8": router("dilated", 8),
        "LIMe dilated-16": router("dilated", 16),
        "LIMe first-7": router("first", 7),
        "LIMe first-7 and previous": router("first-and-previous", 7),
        "LIMe first-15": router("first", 15),
        "LIMe first-15 and previous": router("first-and-previous", 15)}),
    "checkpointing": (MIDDLE, {
        "LLaMA": {"decoder": "llama"},
        "LLaMA, blocks again": {"decoder": "llama", "activation-checkpointing": None},
        "LIMe full": LIME,
        "LIMe full, blocks again": LIME | {"activation-checkpointing": None}})}


def command_words(options):
    return [word for name, value in options.items()
            for word in (f"--{name}", *([] if value is None else [str(value)]))]


def run(command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_decoders: {command[0]} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def multiply_accumulates(build, options):
    """Returns the counts of lime-metrics cost, which follow the paper."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        words = command_words({k: v for k, v in options.items() if k != "activation-checkpointing"})
        run([build / "bin/lime-bench-step", *words, "--write-config", config])
        result = run([build / "bin/lime-metrics", "cost", config, "--sequence-length",
                      options["seq-len"], "--format", "json"])
    return result["rows"][0]["multiply_accumulates"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--only", nargs="+", default=None, metavar="ROW")
    parser.add_argument("--no-cost", action="store_true",
                        help="omit multiply-accumulates, which need no idle machine")
    parser.add_argument("--verbose", action="store_true", help="print each turn when it ends")
    add_device_options(parser)
    arguments = parser.parse_args()
    size, rows = TABLES[arguments.table]
    size = size | dict(arguments.shape)
    first = next(iter(rows))
    if arguments.only:
        rows = {name: rows[name] for name in [first, *arguments.only]}
    measured = {name: [] for name in rows}
    for _ in range(arguments.turns):
        for name, options in rows.items():
            measured[name].append(run([arguments.build / "bin/lime-bench-step",
                                       *command_words(size | options),
                                       *device_words(arguments), "--threads", arguments.threads,
                                       "--repeats", arguments.repeats, "--no-pass"]))
            if arguments.verbose:
                print(name, measured[name][-1], file=sys.stderr, flush=True)
    print("| decoder | step | against LLaMA | peak memory | against LLaMA | parameters | "
          "multiply-accumulates |")
    print("|---|---|---|---|---|---|---|")
    base = None
    for name, results in measured.items():
        step = statistics.median(result["step_seconds"] for result in results)
        memory = statistics.median(result["peak_memory_bytes"] for result in results)
        base = base or (step, memory)
        cost = 0.0
        if not arguments.no_cost:
            cost = multiply_accumulates(arguments.build, size | rows[name])
        print(f"| {name} | {1e3 * step:.4g} ms | {100 * (step / base[0] - 1):+.1f}% "
              f"| {memory / 2**20:.0f} MiB | {100 * (memory / base[1] - 1):+.1f}% "
              f"| {results[0]['parameters'] / 1e6:.3f} M | {cost / 1e9:.3f} G |", flush=True)


if __name__ == "__main__":
    main()
