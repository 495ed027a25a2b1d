# SPDX-License-Identifier: Apache-2.0
"""Compares the speed and results of lime-metrics attention and numpy on one capture.

    lime-capture --checkpoint MODEL --text FILE --seq-len 512 --max-sequences 20 \
        --sites attn.hook_pattern -o patterns.h5
    python3 bench/attention/compare_attention.py --program build/release/bin/lime-metrics patterns.h5

Both use one thread and read the capture in every run. lime-metrics also hashes it, verifies chunk
checksums and resamples the intervals; numpy computes only the vectorised formulas.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import h5py  # noqa: E402
import numpy as np  # noqa: E402


def profile(a):
    """Returns each measure of patterns [heads, T, T], averaged over queries from the second on."""
    positions = np.arange(a.shape[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(a * np.log(a), axis=-1)
    measured = {
        "entropy": entropy,
        "effective_keys": np.exp(entropy),
        "distance": positions * a.sum(axis=-1) - a @ positions.astype(np.float64),
        "first_share": a[:, :, 0],
        "own_share": a[:, positions, positions],
    }
    means = {name: values[:, 1:].mean(axis=1) for name, values in measured.items()}
    means["previous_share"] = a[:, positions[1:], positions[:-1]].mean(axis=1)
    return means


def numpy_means(path):
    """Returns the mean over sequences per layer and measure: one number per head."""
    found = {}
    with h5py.File(path, "r") as file:
        heads = json.loads(file.attrs["config"])["num_attention_heads"]
        offsets = file["sequences/offset"][:]
        for name, rows in file["activations/attn.hook_pattern"].items():
            for first, end in zip(offsets, offsets[1:]):
                tokens = end - first
                a = rows[first:end].astype(np.float64).reshape(tokens, heads, -1)
                for measure, means in profile(a[:, :, :tokens].transpose(1, 0, 2)).items():
                    found.setdefault((int(name), measure), []).append(means)
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def timed(call):
    begun = time.perf_counter()
    result = call()
    return time.perf_counter() - begun, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--program", default="build/release/bin/lime-metrics")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    seconds = {"lime-metrics": [], "numpy": []}
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "attention.json")
        command = [options.program, "attention", options.capture, "--threads", "1", "--quiet",
                   "-o", output]
        for _ in range(options.repeats):
            seconds["lime-metrics"].append(timed(lambda: subprocess.run(command, check=True))[0])
            elapsed, expected = timed(lambda: numpy_means(options.capture))
            seconds["numpy"].append(elapsed)
        with open(output, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    worst = max(abs(row["mean"] - expected[row["layer"], row["measure"]][row["head"]])
                for row in rows if row["kind"] == "head")
    for name, values in seconds.items():
        print(f"{name:14} median {statistics.median(values):.2f} s, fastest {min(values):.2f} s")
    print(f"ratio {statistics.median(seconds['numpy']) / statistics.median(seconds['lime-metrics']):.2f}, "
          f"largest difference {worst:.1e}; numpy {np.__version__}")


if __name__ == "__main__":
    main()
