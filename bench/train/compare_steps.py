#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a training step of LLaMA and LIMe with LLaMA's in Python on the same LibTorch.

    bench/train/compare_steps.py [--build build/release] [--turns 5] [--repeats 20] [--threads 4 1]

8 layers, width 256, 8 heads, 8 sequences of 256 tokens, vocabulary 4096, float32. They take turns;
each turn gives the median of its steps, the table the median and extremes of the turns. The
interpreter's torch should be built on the LibTorch of our programs (on Debian: python3-torch and
/usr/bin/python3). OpenBLAS 0.3.21 takes recent processors for old ones; --coretype names the one that
the second peer is told (OPENBLAS_CORETYPE).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHAPE = ("--num-hidden-layers 8 --hidden-size 256 --num-attention-heads 8 --batch-size 8 "
         "--seq-len 256 --vocab-size 4096").split()


def step_seconds(command, environment, threads, repeats):
    done = subprocess.run([*map(str, command), *SHAPE, "--threads", str(threads), "--repeats",
                           str(repeats)], capture_output=True, text=True,
                          env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(f"compare_steps: {command[0]} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)["step_seconds"]


def shown(seconds):
    low, high = min(seconds), max(seconds)
    return f"{1e3 * statistics.median(seconds):.0f} ms ({1e3 * low:.0f} to {1e3 * high:.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--coretype", default="SkylakeX")
    parser.add_argument("--without-default", action="store_true",
                        help="leave out the peer that is not told a processor")
    arguments = parser.parse_args()
    ours = arguments.build / "bin" / "lime-bench-step"
    python = [sys.executable, HERE / "torch_step.py"]
    commands = {"Python": (python, {}),
                f"Python, {arguments.coretype}": (python,
                                                  {"OPENBLAS_CORETYPE": arguments.coretype}),
                "LLaMA": ([ours, "--no-pass", "--decoder", "llama"], {}),
                "LIMe": ([ours, "--no-pass", "--decoder", "lime"], {})}
    if arguments.without_default:
        del commands["Python"]
    names = list(commands)
    print("| threads | " + " | ".join(names) + " | best Python / LLaMA | LIMe / LLaMA |")
    print("|---" * (len(names) + 3) + "|")
    for threads in arguments.threads:
        seconds = {name: [] for name in commands}
        for _ in range(arguments.turns):
            for name, (command, environment) in commands.items():
                seconds[name].append(step_seconds(command, environment, threads,
                                                  arguments.repeats))
        median = {name: statistics.median(values) for name, values in seconds.items()}
        best = min(value for name, value in median.items() if name.startswith("Python"))
        print(f"| {threads} | " + " | ".join(map(shown, seconds.values())) +
              f" | {best / median['LLaMA']:.2f}"
              f" | {median['LIMe'] / median['LLaMA']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
