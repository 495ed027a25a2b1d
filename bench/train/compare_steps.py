#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares training steps of LLaMA and LIMe with a LLaMA in Python on the same LibTorch.

    bench/train/compare_steps.py [--build build/release] [--turns 5] [--repeats 20] [--threads 4 1]
    bench/train/compare_steps.py --device cuda [--autocast] [--shape hidden-size=1024 ...]

Default shape: 8 layers, width 256, 8 heads, 8 sequences of 256 tokens, vocabulary 4096; float32, on
a GPU also bfloat16 (--autocast). The programs alternate. Each turn is the median of its steps; the
table has the median and extremes of the turns.

The interpreter's torch should use the LibTorch of the toolkit (on Debian: python3-torch and
/usr/bin/python3; for a GPU the PyTorch whose LibTorch the toolkit was built with). OpenBLAS 0.3.21
does not recognise recent CPUs; --coretype sets OPENBLAS_CORETYPE for a second Python contender. On
a GPU there is one Python contender and one number of threads.
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
SHAPE = {"num-hidden-layers": 8, "hidden-size": 256, "num-attention-heads": 8, "batch-size": 8,
         "seq-len": 256, "vocab-size": 4096}


def size_option(text):
    """Parses NAME=NUMBER of --shape."""
    name, _, value = text.partition("=")
    if name not in SHAPE or not value.isdecimal() or int(value) < 1:
        raise argparse.ArgumentTypeError(
            f"must be NAME=NUMBER with one of {', '.join(SHAPE)}, got '{text}'")
    return name, int(value)


def add_device_options(parser):
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--autocast", action="store_true",
                        help="compute in bfloat16 where safe; CUDA only")
    parser.add_argument("--shape", nargs="+", type=size_option, default=[], metavar="NAME=NUMBER",
                        help="other sizes: " + ", ".join(SHAPE))


def device_words(arguments):
    return ["--device", arguments.device, *(["--autocast"] if arguments.autocast else [])]


def step_seconds(command, environment, words):
    done = subprocess.run([*map(str, command), *map(str, words)], capture_output=True, text=True,
                          env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(f"compare_steps: {command[0]} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)["step_seconds"]


def shown(seconds):
    low, high = min(seconds), max(seconds)
    return f"{1e3 * statistics.median(seconds):.4g} ms ({1e3 * low:.4g} to {1e3 * high:.4g})"


def commands_of(arguments):
    """Returns the command and environment of each column."""
    ours = arguments.build / "bin" / "lime-bench-step"
    python = [sys.executable, HERE / "torch_step.py"]
    told = f"Python, {arguments.coretype}"
    commands = {"Python": (python, {}),
                told: (python, {"OPENBLAS_CORETYPE": arguments.coretype}),
                "LLaMA": ([ours, "--no-pass", "--decoder", "llama"], {}),
                "LIMe": ([ours, "--no-pass", "--decoder", "lime"], {})}
    if arguments.device != "cpu":
        del commands[told]
    elif arguments.without_default:
        del commands["Python"]
    return commands


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--coretype", default="SkylakeX")
    parser.add_argument("--without-default", action="store_true",
                        help="omit the contender without OPENBLAS_CORETYPE")
    add_device_options(parser)
    arguments = parser.parse_args()
    commands = commands_of(arguments)
    shape = [word for name, value in (SHAPE | dict(arguments.shape)).items()
             for word in (f"--{name}", value)]
    all_threads = arguments.threads if arguments.device == "cpu" else arguments.threads[:1]
    for threads in all_threads:
        words = [*shape, *device_words(arguments), "--threads", threads,
                 "--repeats", arguments.repeats]
        seconds = {name: [] for name in commands}
        for _ in range(arguments.turns):
            for name, (command, environment) in commands.items():
                seconds[name].append(step_seconds(command, environment, words))
        if threads == all_threads[0]:  # not before the first measurement
            print("| threads | " + " | ".join(commands) +
                  " | best Python / LLaMA | LIMe / LLaMA |")
            print("|---" * (len(commands) + 3) + "|")
        median = {name: statistics.median(values) for name, values in seconds.items()}
        best = min(value for name, value in median.items() if name.startswith("Python"))
        print(f"| {threads} | " + " | ".join(map(shown, seconds.values())) +
              f" | {best / median['LLaMA']:.2f}"
              f" | {median['LIMe'] / median['LLaMA']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
