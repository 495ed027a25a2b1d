#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares lime-capture with the bare forward pass and with PyTorch hooks and h5py, in one run.

    bench/capture/compare_capture.py [--build build/release] [--repeats 5] [--threads 4 1]
    bench/capture/compare_capture.py --memory
    bench/capture/compare_capture.py --checkpoint DIR --device cuda --dtype bfloat16

Forward pass and capture alternate in one process, so that disturbances affect both. Prints medians
and extremes of tokens per second as Markdown: over the whole run, and over its passes without the
first one and without the final write to disk. Their ratio is the median of the ratios per turn.

"Idle" is the fraction of the capture time in which the device computed nothing: the capture time
minus the time of the bare passes of the same turn (by CUDA events on a GPU). Noise may make it
negative.

--checkpoint uses a model of bench/make_checkpoint.py with its ids.npy instead of 12 layers of width
768. --memory prints the peak memory for 100 and for 1000 sequences instead. The interpreter's torch
should use the LibTorch of lime-capture (on Debian: python3-torch, python3-h5py and
/usr/bin/python3; for a GPU the PyTorch whose LibTorch it was built with).
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_capture: {command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def scaled(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def spread(rates):
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} to {max(rates):.0f})"


def shown_share(shares):
    median, low, high = (100 * share(shares) for share in (statistics.median, min, max))
    return f"{median:.1f}% ({low:.1f} to {high:.1f})"


class Bench:
    def __init__(self, arguments, folder, model):
        self.programs = arguments.build / "bin"
        self.folder, self.model = folder, model
        self.place = ["--device", arguments.device, "--dtype", arguments.dtype]

    def turns(self, threads, repeats):
        """Returns tokens per second per turn, of the bare pass and of the capture, and idle fractions."""
        return json.loads(run([self.programs / "lime-bench-forward", "--checkpoint", self.model,
                               "--tokens", self.model / "ids.npy", "--output",
                               self.folder / "turns.h5", "--repeats", repeats,
                               "--threads", threads, *self.place]))

    def capture(self, threads, *more):
        output = self.folder / "capture.h5"
        text = run([self.programs / "lime-capture", "--checkpoint", self.model, "--tokens",
                    self.model / "ids.npy", "--batch-size", 8, "--threads", threads,
                    "-o", output, *self.place, *more])
        output.unlink()
        shutil.rmtree(self.folder / "capture.shards")
        rate = re.search(r"^Done .*: (\d+) tokens/s", text, re.M).group(1)
        memory = re.search(r"peak memory (.*)$", text, re.M).group(1)
        return {"tokens_per_second": float(rate), "peak_memory_bytes": scaled(memory)}

    def peer(self, threads):
        output = self.folder / "peer.h5"
        text = run([sys.executable, HERE / "hooks_h5py.py", self.model, self.model / "ids.npy",
                    output, "--threads", threads, *self.place])
        output.unlink()
        return json.loads(text)


def make_checkpoint(folder, sequences, hidden, inner, layers, heads):
    run([sys.executable, ROOT / "bench" / "make_checkpoint.py", folder, "--hidden", hidden,
         "--inner", inner, "--layers", layers, "--heads", heads, "--kv-heads", heads,
         "--dtype", "float32", "--ids", sequences, 512])


def compare_speed(arguments, folder):
    model = arguments.checkpoint or folder / "model"
    if not arguments.checkpoint:
        make_checkpoint(model, arguments.sequences, hidden=768, inner=2048, layers=12, heads=12)
    bench = Bench(arguments, folder, model)
    for threads in arguments.threads:
        ours = bench.turns(threads, arguments.repeats)
        peer = [bench.peer(threads)["tokens_per_second"] for _ in range(arguments.peer_repeats)]
        if threads == arguments.threads[0]:  # not before the first measurement
            print("| threads | what | bare forward | capture | hooks + h5py | capture / forward | "
                  "capture / hooks | idle |")
            print("|---|---|---|---|---|---|---|---|")
        for what in ("whole", "passes"):
            forward, capture = (ours[name][what] for name in ("forward", "capture"))
            of_turns = [ours / bare for ours, bare in zip(capture, forward)]
            against = statistics.median(capture) / statistics.median(peer) if peer else 0
            print(f"| {threads} | {what} | {spread(forward)} | {spread(capture)} | "
                  f"{spread(peer) if peer else ''} | {statistics.median(of_turns):.3f} "
                  f"({min(of_turns):.3f} to {max(of_turns):.3f}) | {against:.2f} | "
                  f"{shown_share(ours['idle'][what])} |", flush=True)


def compare_memory(arguments, folder):
    print("| sequences | peak memory of lime-capture |")
    print("|---|---|")
    model = folder / "model"
    make_checkpoint(model, 1000, hidden=256, inner=682, layers=4, heads=4)
    bench = Bench(arguments, folder, model)
    for sequences in (100, 1000):
        result = bench.capture(arguments.threads[0], "--max-sequences", sequences)
        print(f"| {sequences} | {result['peak_memory_bytes'] / 2**20:.0f} MiB |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer-repeats", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=48)
    parser.add_argument("--threads", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--checkpoint", type=pathlib.Path, default=None,
                        help="a LLaMA with tied embeddings; ids.npy must have a multiple of 8 sequences")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--scratch", type=pathlib.Path, default=None,
                        help="folder for about 3 GB of temporary files")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        compare = compare_memory if arguments.memory else compare_speed
        compare(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
