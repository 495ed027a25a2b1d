#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what block influence, the power law, the first token, attention statistics, the logit lens
and the dataset entropy cost: over the capture for those computed in the forward pass, else over
reading the site's rows with h5py. Prints a Markdown row each: medians of --runs, alternating.

  bench/geometry/measurement_cost.py BIN CHECKPOINT TEXT --seq-len 256 --max-sequences 64
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import h5py

IN_CAPTURE = {"attention statistics": "attn.hook_profile", "logit lens": "logit_lens"}
IN_METRICS = {
    "block influence, angle": "similarity --measure change",
    "alpha-ReQ": "geometry --measure power-law --power-law-last 40",
    "first token": "geometry --measure first-token",
    "dataset entropy": "entropy --dataset mean,last",
}


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_rows(path, site):
    total = 0.0

    def add(name, item):
        nonlocal total
        if isinstance(item, h5py.Dataset) and site in name and item.ndim == 2:
            total += float(item[:].sum())

    for file in [path, *sorted(path.with_suffix(".shards").glob("*.h5"))]:
        with h5py.File(file) as opened:
            opened.visititems(add)
    return total


def compare(name, base, other, runs):
    pairs = [(seconds(base), seconds(other)) for _ in range(runs)]
    first, second = (statistics.median(column) for column in zip(*pairs))
    print(f"| {name} | {first:.3f} | {second:.3f} | {second / first:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("checkpoint")
    parser.add_argument("text")
    parser.add_argument("--seq-len", default="256")
    parser.add_argument("--max-sequences", default="64")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count = 0

        def capture(sites):
            nonlocal count
            count += 1
            path = pathlib.Path(folder) / f"c{count}.h5"
            run(options.bin / "lime-capture", "--checkpoint", options.checkpoint, "--text",
                options.text, "--seq-len", options.seq_len, "--max-sequences",
                options.max_sequences, "--sites", sites, "--threads", options.threads, "--quiet",
                "-o", path)
            return path

        base = capture("hidden")
        print("| measurement | without, s | with, s | ratio |\n|---|---|---|---|")
        for name, site in IN_CAPTURE.items():
            compare(name, lambda: capture("hidden"), lambda: capture("hidden," + site),
                    options.runs)
        metrics = options.bin / "lime-metrics"
        idle = statistics.median(seconds(lambda: run(metrics, "--version"))
                                 for _ in range(options.runs))
        print(f"\nlime-metrics --version: {idle:.3f} s\n\n"
              "| measurement | reading, s | command, s | ratio |\n|---|---|---|---|")
        for name, arguments in IN_METRICS.items():
            command = arguments.split()
            compare(name, lambda: read_rows(base, "hidden"),
                    lambda: run(metrics, command[0], base, *command[1:], "--site", "hidden",
                                "--threads", options.threads), options.runs)


if __name__ == "__main__":
    main()
