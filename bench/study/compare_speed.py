#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of the study's commands with transformers and lm-eval, in turns of one run.

    bench/study/compare_speed.py FOLDER TEXT [--turns 5] [--threads 2] [--only capture generate collapse evaluate]
                                 [--harness PYTHON] [--limit 25]

FOLDER is a Hugging Face folder of a LLaMA, e.g. SmolLM2-135M; TEXT a text of at least 24 x 512 tokens.

- capture: values and hidden states of 24 x 512 tokens by lime-bench-forward (bare pass and capture in turns), and by
  transformers with forward hooks and h5py (bench/capture/hooks_h5py.py --transformers --bare-pass).
- generate: 100 tokens after a short prompt, greedy, without loading: lime-generate's time for 101 tokens minus that
  for one, and transformers' generate() for 101 tokens minus one.
- collapse: the time of lime-metrics collapse on that capture.
- evaluate: HellaSwag with 3 shots by bench/evaluation/compare_lm_eval.py, with --harness, a Python that has lm_eval.

Prints medians (smallest to largest) as Markdown. Needs torch, transformers, h5py and numpy.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEQUENCES, LENGTH, NEW_TOKENS = 24, 512, 100
PROMPT = "Once upon a time, in a small village by the sea, there lived a girl who"

GENERATION = f"""
import sys, time, torch, transformers
torch.set_num_threads(int(sys.argv[2]))
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
ids = transformers.AutoTokenizer.from_pretrained(sys.argv[1])({PROMPT!r}, return_tensors="pt").input_ids
def seconds(count):
    start = time.perf_counter()
    with torch.no_grad():
        model.generate(ids, max_new_tokens=count, min_new_tokens=count, do_sample=False)
    return time.perf_counter() - start
seconds(2)
print({NEW_TOKENS} / (seconds({NEW_TOKENS} + 1) - seconds(1)))
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_speed: {pathlib.Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def seconds_of(*command):
    start = time.perf_counter()
    run(*command)
    return time.perf_counter() - start


def spread(values, digits=0):
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def ratio(ours, theirs):
    """The median of the ratios of each turn, and their extremes."""
    return spread([a / b for a, b in zip(ours, theirs)], 2)


class Comparison:
    def __init__(self, arguments, scratch):
        self.programs = arguments.build / "bin"
        self.folder, self.text, self.scratch = arguments.folder, arguments.text, scratch
        self.turns, self.threads, self.limit = arguments.turns, arguments.threads, arguments.limit
        self.harness = arguments.harness
        self.capture_file = scratch / "tokens.h5"
        run(self.programs / "lime-capture", "--checkpoint", self.folder, "--text", self.text, "--seq-len", LENGTH,
            "--max-sequences", SEQUENCES, "--sites", "values,hidden", "-o", self.capture_file)
        self.ids = scratch / "ids.npy"
        with h5py.File(self.capture_file) as file:
            numpy.save(self.ids, file["rows/token"][:].reshape(SEQUENCES, LENGTH).astype(numpy.int64))

    def capture(self):
        bare, ours, their_bare, theirs = [], [], [], []
        for _ in range(self.turns):
            turn = json.loads(run(self.programs / "lime-bench-forward", "--checkpoint", self.folder, "--tokens",
                                  self.ids, "--output", self.scratch / "turn.h5", "--repeats", 1, "--threads",
                                  self.threads))
            bare += turn["forward"]["whole"]
            ours += turn["capture"]["whole"]
            peer = json.loads(run(sys.executable, ROOT / "bench/capture/hooks_h5py.py", self.folder, self.ids,
                                  self.scratch / "peer.h5", "--threads", self.threads, "--transformers",
                                  "--bare-pass"))
            their_bare.append(peer["bare_tokens_per_second"])
            theirs.append(peer["tokens_per_second"])
        yield "bare pass, tokens/s", bare, their_bare
        yield "capture, tokens/s (peer: hooks and h5py)", ours, theirs
        yield "capture against our bare pass", ours, bare

    def generate(self):
        ours, theirs = [], []
        command = [self.programs / "lime-generate", "--checkpoint", self.folder, "--prompt", PROMPT, "--threads",
                   self.threads, "--max-new-tokens"]
        count = len(run(*command, NEW_TOKENS + 1).split())
        if count < NEW_TOKENS // 4:
            print(f"note: the text ended after {count} words; choose another prompt", file=sys.stderr)
        for _ in range(self.turns):
            ours.append(NEW_TOKENS / (seconds_of(*command, NEW_TOKENS + 1) - seconds_of(*command, 1)))
            theirs.append(float(run(sys.executable, "-c", GENERATION, self.folder, self.threads)))
        yield "generation, tokens/s", ours, theirs

    def collapse(self):
        seconds = [seconds_of(self.programs / "lime-metrics", "collapse", self.capture_file, "--site", "hidden",
                              "--threads", self.threads, "-o", self.scratch / f"collapse-{turn}.json")
                   for turn in range(self.turns)]
        yield "collapse, seconds", seconds, None

    def evaluate(self):
        if self.harness is None:
            print("evaluate: omitted, needs --harness", file=sys.stderr)
            return
        print(run(self.harness, ROOT / "bench/evaluation/compare_lm_eval.py", self.folder, "--threads", self.threads,
                  "--turns", self.turns, "--limit", self.limit), flush=True)
        yield from ()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, default=25, help="items of HellaSwag")
    parser.add_argument("--harness", type=pathlib.Path)
    kinds = ["capture", "generate", "collapse", "evaluate"]
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="compare-speed-") as scratch:
        comparison = Comparison(arguments, pathlib.Path(scratch))
        print("| what | ours | peer | ours / peer |\n|---|---|---|---|")
        for kind in arguments.only:
            for what, ours, theirs in getattr(comparison, kind)():
                digits = 1 if statistics.median(ours) < 100 else 0
                peer = "" if theirs is None else spread(theirs, digits)
                against = "" if theirs is None else ratio(ours, theirs)
                print(f"| {what} | {spread(ours, digits)} | {peer} | {against} |", flush=True)


if __name__ == "__main__":
    main()
