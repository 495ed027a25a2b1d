#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the peak memory of every metric on captures of 4 times its memory limit.

  python3 bench/streaming/peak_memory.py [--limit-mib 256] [--bin build/release/bin]
                                         [--only METRIC ...] [--folder DIR]

Writes captures of random rows (lime-bench-capture) with 32 layers: of tokens, words, minimal pairs,
and a decoder with routers. Runs each metric on the capture that it requires. Prints per metric the
seconds, the exit status, the peak resident memory as counted by the kernel, its fraction of the
limit, and the error message of refused runs.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

# Metric -> capture kind, options.
RUNS = {
    "entropy": ("tokens", []),
    "geometry": ("tokens", ["--layer", "0,1"]),
    "similarity": ("tokens", ["--max-rows", "1000"]),
    "similarity, default rows": ("tokens", []),
    "separability": ("words", ["--layer", "0,1"]),
    "separability, lime-code": ("words", ["--layer", "0,1", "--method", "lime-code"]),
    "tsne": ("words", ["--layer", "0,1", "--max-points", "4000", "--iterations", "250"]),
    "blimp": ("pairs", ["--layer", "0,1"]),
    "counterfactual": ("routed", ["--layer", "0-3"]),
}


def run(command, folder):
    """Returns seconds, exit status, peak resident bytes and the last line of standard error."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    lines = errors.strip().splitlines()
    return (time.perf_counter() - start, process.returncode, usage.ru_maxrss * 1024,
            lines[-1] if lines else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--limit-mib", type=int, default=256)
    parser.add_argument("--times", type=int, default=4, help="size of a capture over the limit")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--folder", help="for the captures; a temporary one by default")
    arguments = parser.parse_args()
    programs = arguments.bin.resolve()
    size = arguments.limit_mib * arguments.times
    print(f"captures of {size} MiB, {arguments.layers} layers; --memory-limit "
          f"{arguments.limit_mib} MiB, {arguments.threads} threads")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        written = None
        for name in arguments.only:
            kind, options = RUNS[name]
            if kind != written:
                subprocess.run([programs / "lime-bench-capture", "--kind", kind, "--size",
                                f"{size}MiB", "--layers", str(arguments.layers)], cwd=folder,
                               check=True, stdout=subprocess.DEVNULL)
                written = kind
            metric = name.split(",")[0]
            seconds, status, peak, error = run(
                [programs / "lime-metrics", metric, *options, "--quiet", "--threads",
                 str(arguments.threads), "--memory-limit", f"{arguments.limit_mib}MiB"], folder)
            share = peak / (arguments.limit_mib * 2**20)
            print(f"{name}: {seconds:.1f} s, status {status}, peak {peak / 2**20:.0f} MiB, "
                  f"{share:.2f} of the limit{', ' + error if error else ''}", flush=True)


if __name__ == "__main__":
    main()
