#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what block influence, the power law, the first token, attention statistics, the logit lens
and the dataset entropy cost: over the capture for those computed in the forward pass, else over
reading the site's rows with h5py. Prints a Markdown row each: medians of --runs, alternating.

The model is a checkpoint, or a LLaMA of 12 layers and width 768 after one training step, with the
vocabulary of a tokenizer: the cost depends on the sizes, not on the weights.

  bench/geometry/measurement_cost.py BIN TEXT --tokenizer DIR
  bench/geometry/measurement_cost.py BIN TEXT --checkpoint DIR --max-sequences 96
"""
import argparse
import pathlib
import shutil
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


def discard(capture):
    capture.unlink()
    shutil.rmtree(capture.with_suffix(".shards"), ignore_errors=True)


def make_checkpoint(options, folder):
    """Trains one step, because a new model is written only by a training run."""
    path = pathlib.Path(folder) / "model"
    width = options.width
    run(options.bin / "lime-train", "--task", "lm", "--text", options.text, "--tokenizer",
        options.tokenizer, "--num-hidden-layers", str(options.layers), "--hidden-size", str(width),
        "--intermediate-size", str(8 * width // 3), "--num-attention-heads", str(width // 64),
        "--sequence-length", options.seq_len, "--steps", "1", "--batch-size", "1", "--seed", "1",
        "--threads", options.threads, "--quiet", "-o", path)
    return path


def compare(name, base, other, runs):
    pairs = [(seconds(base), seconds(other)) for _ in range(runs)]
    first, second = (statistics.median(column) for column in zip(*pairs))
    print(f"| {name} | {first:.3f} | {second:.3f} | {second / first:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("text")
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--checkpoint", help="folder of the model")
    model.add_argument("--tokenizer", help="folder of the tokenizer of a new model")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="a multiple of 64")
    parser.add_argument("--seq-len", default="256")
    parser.add_argument("--max-sequences", default="16")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count = 0
        checkpoint = options.checkpoint or make_checkpoint(options, folder)

        def capture(sites):
            nonlocal count
            count += 1
            path = pathlib.Path(folder) / f"c{count}.h5"
            if count > 2:  # the disk needs space for the first capture and the latest one
                discard(path.with_name(f"c{count - 1}.h5"))
            run(options.bin / "lime-capture", "--checkpoint", checkpoint, "--text",
                options.text, "--seq-len", options.seq_len, "--max-sequences",
                options.max_sequences, "--sites", sites, "--threads", options.threads, "--quiet",
                "-o", path)
            return path

        base = capture("hidden")
        size = sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*.h5"))
        print(f"site hidden: {size / 1e6:.0f} MB\n")
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
