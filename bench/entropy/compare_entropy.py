#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the entropy of a batch of sequences: lime-bench-entropy and numpy, on the same rows.

usage: compare_entropy.py [--program build/release/bin/lime-bench-entropy] [--repeats 5]
                          [--sequences 16] [--threads 4,1] [--cases 0,1,2] [--quick]

The numpy contenders are the paper's code (z = (x - mean) / (std + 1e-5), eigvalsh of the t x t Gram
matrix) with numpy's threads, the same in a pool of single-threaded processes, and both with the
smaller of the two Gram matrices, which the paper's code does not use. Mean and standard deviation
are precomputed. The contenders alternate, so that disturbances affect all of them; each run is a
separate process with a warm-up. Prints medians in seconds per sequence, and ratios.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
# tokens, dim, alpha
CASES = [(2048, 2048, 0.5), (2048, 512, 0.5), (2048, 512, 2.0)]
CONTENDERS = ["numpy", "numpy, pool", "numpy, smaller Gram", "numpy, smaller Gram, pool", "lime"]


def entropy(x, mean, divisor, alpha, smaller):
    import numpy as np

    z = (x.astype(np.float64) - mean) / divisor
    gram = z.T @ z if smaller and z.shape[0] > z.shape[1] else z @ z.T
    if smaller and alpha == 2.0:  # both optimisations together
        return -np.log(np.sum(gram * gram) / np.trace(gram) ** 2)
    p = np.clip(np.linalg.eigvalsh(gram), 0.0, None) / np.trace(gram)
    return np.log(np.sum(p[p > 0] ** alpha)) / (1.0 - alpha)


class Batch:
    """Returns the rows of one case from the files that all contenders share."""

    def __init__(self, folder, case, sequences):
        import numpy as np

        tokens, dim, self.alpha = case
        self.rows = np.fromfile(folder / f"{dim}.f32", np.float32).reshape(sequences, tokens, dim)
        statistics_ = np.fromfile(folder / f"{dim}.f64", np.float64).reshape(2, dim)
        self.mean, self.divisor = statistics_

    def entropy(self, index, smaller):
        return entropy(self.rows[index], self.mean, self.divisor, self.alpha, smaller)


def pool_item(arguments):
    return POOL_BATCH.entropy(*arguments)


def run_numpy(arguments):
    """Runs in a separate process, whose environment sets the number of BLAS threads."""
    global POOL_BATCH
    case = tuple(arguments["case"])
    batch = POOL_BATCH = Batch(pathlib.Path(arguments["folder"]), case, arguments["sequences"])
    smaller = arguments["smaller"]
    items = [(i, smaller) for i in range(arguments["sequences"])]
    if arguments["pool"]:
        with multiprocessing.get_context("fork").Pool(arguments["threads"]) as pool:
            pool.map(pool_item, items[: arguments["threads"]], chunksize=1)
            start = time.perf_counter()
            values = pool.map(pool_item, items, chunksize=1)
            seconds = time.perf_counter() - start
    else:
        pool_item(items[0])
        start = time.perf_counter()
        values = [pool_item(item) for item in items]
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds_per_sequence": seconds / len(items), "values": values}))


def run_contender(name, folder, case, threads, options):
    tokens, dim, alpha = case
    if name == "lime":
        command = [options.program, "--rows", folder / f"{dim}.f32", "--tokens", tokens, "--dim",
                   dim, "--sequences", options.sequences, "--alpha", alpha, "--threads", threads,
                   "--repeats", 1]
        environment = os.environ
    else:
        arguments = {"folder": str(folder), "case": case, "sequences": options.sequences,
                     "threads": threads, "pool": "pool" in name, "smaller": "smaller" in name}
        command = [sys.executable, HERE, "--numpy", json.dumps(arguments)]
        blas_threads = str(1 if "pool" in name else threads)
        environment = os.environ | {variable: blas_threads for variable in
                                    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    run = subprocess.run([str(word) for word in command], env=environment, check=True,
                         stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)


def make_files(folder, options):
    import numpy as np

    rng = np.random.default_rng(1)
    for tokens, dim in {(tokens, dim) for tokens, dim, _ in options.cases}:
        scales = 1.0 / np.sqrt(np.arange(1, dim + 1))
        mixing = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        rows = (rng.standard_normal((options.sequences, tokens, dim)) * scales @ mixing
                + 0.1 * rng.standard_normal(dim)).astype(np.float32)
        flat = rows.reshape(-1, dim).astype(np.float64)
        rows.tofile(folder / f"{dim}.f32")
        np.stack([flat.mean(axis=0), flat.std(axis=0, ddof=1) + 1e-5]).tofile(folder / f"{dim}.f64")


def contenders_for(threads):
    # A pool of one process equals numpy with one thread.
    return [name for name in CONTENDERS if threads > 1 or "pool" not in name]


def compare(folder, case, threads, options):
    names = contenders_for(threads)
    seconds = {name: [] for name in names}
    values = {}
    for _ in range(options.repeats):
        for name in names:
            result = run_contender(name, folder, case, threads, options)
            seconds[name].append(result["seconds_per_sequence"])
            values[name] = result["values"]
    tokens, dim, alpha = case
    print(f"\nt = {tokens}, d = {dim}, alpha = {alpha}, {threads} thread{'s' * (threads > 1)}")
    ours = statistics.median(seconds["lime"])
    for name in names:
        median = statistics.median(seconds[name])
        difference = max(abs(a - b) for a, b in zip(values[name], values["lime"]))
        print(f"  {name:26} {median:9.5f} s  lime is {median / ours:7.2f} times as fast, "
              f"values differ by {difference:.0e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/lime-bench-entropy")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--threads", default="4,1")
    parser.add_argument("--cases", default="0,1,2", help="cases to run, to split a long comparison")
    parser.add_argument("--quick", action="store_true", help="4 sequences, 1 repeat")
    parser.add_argument("--numpy", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.numpy:
        run_numpy(json.loads(options.numpy))
        return
    options.cases = [CASES[int(index)] for index in options.cases.split(",")]
    if options.quick:
        options.repeats, options.sequences = 1, 4
    import numpy as np

    print(f"numpy {np.__version__}, {options.sequences} sequences, "
          f"medians of {options.repeats}, seconds per sequence")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_files(folder, options)
        for threads in map(int, options.threads.split(",")):
            for case in options.cases:
                compare(folder, case, threads, options)


if __name__ == "__main__":
    main()
