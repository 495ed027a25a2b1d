# SPDX-License-Identifier: Apache-2.0
"""Compares the geometry of one layer of 64 x 2048 rows with reading the layer, and with NumPy.

    python3 bench/geometry/compare_geometry.py [--build build/release] [--dim 768]

Writes a capture of random rows with a falling spectrum (lime-bench-capture), then runs
lime-bench-geometry and the same measures in NumPy in one run. NumPy computes the toolkit's default
measures: moments in float64 sequence by sequence, eigenvalues of one Gram matrix, cosines in closed
form, curvature, and the median magnitude, with all BLAS threads. Neighbours are scikit-learn's,
brute force.
"""
import argparse
import json
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

SEQUENCES, TOKENS = 64, 2048


def rank(sequences):
    dim = sequences[0].shape[1]
    gram, total, count = np.zeros((dim, dim)), np.zeros(dim), 0
    for rows in sequences:
        x = rows.astype(np.float64)
        gram += x.T @ x
        total += x.sum(0)
        count += len(x)
    sigma = np.sqrt(np.clip(np.linalg.eigvalsh(gram), 0, None))
    q = sigma[sigma > 0] / sigma.sum()
    covariance = gram - np.outer(total, total) / count
    return np.exp(-(q * np.log(q)).sum()), np.trace(covariance) ** 2 / (covariance**2).sum()


def similarity(sequences, mean):
    sums = np.zeros((2, len(mean)))
    values = []
    for rows in sequences:
        x = rows.astype(np.float64)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        sums[0] += unit.sum(0)
        centred = x - mean
        sums[1] += (centred / np.linalg.norm(centred, axis=1, keepdims=True)).sum(0)
        centre = x.mean(0)
        residual = x - centre
        values.append((unit @ centre).mean() / np.linalg.norm(centre))
        values.append(np.linalg.norm(residual) / np.linalg.norm(x))
        absolute, rest = np.abs(x), np.abs(residual)
        values.append(np.sqrt(rest.sum(0).max() * rest.sum(1).max()
                              / absolute.sum(0).max() / absolute.sum(1).max()))
    return sums, values


def curvature(sequences):
    values = []
    for rows in sequences:
        steps = np.diff(rows.astype(np.float64), axis=0)
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        values.append(np.arccos(np.clip((steps[1:] * steps[:-1]).sum(1), -1, 1)).mean())
    return values


def massive(sequences):
    values = []
    for rows in sequences:
        magnitude = np.abs(rows)
        median = np.partition(magnitude.ravel(), (magnitude.size - 1) // 2)[(magnitude.size - 1) // 2]
        values.append(((magnitude > 100) & (magnitude >= 1000 * median)).mean())
    return values


def dimension(points):
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=20, algorithm="brute", n_jobs=-1).fit(points)
    distances, _ = search.kneighbors()
    return 1 / np.log(distances[:, -1:] / distances[:, :-1]).mean(1).mean()


def median_seconds(work, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[repeats // 2]


def numpy_seconds(dim, neighbor_rows, repeats):
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(1 + np.arange(dim))
    sequences = [(rng.standard_normal((TOKENS, dim)) * scale).astype(np.float32)
                 for _ in range(SEQUENCES)]
    points = np.concatenate(sequences)[:neighbor_rows]
    mean = np.zeros(dim)
    work = {
        "rank": lambda: rank(sequences),
        "similarity": lambda: similarity(sequences, mean),
        "curvature": lambda: curvature(sequences),
        "massive": lambda: massive(sequences),
        "dimension": lambda: dimension(points),
    }
    seconds = {name: median_seconds(run, repeats) for name, run in work.items()}
    seconds["all_but_neighbours"] = sum(seconds[name] for name in list(work)[:-1])
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--neighbor-rows", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--numpy-repeats", type=int, default=5, help="0: leave NumPy out")
    parser.add_argument("--folder", default=".", help="folder of the temporary capture")
    options = parser.parse_args()
    programs = Path(options.build) / "bin"
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        capture = str(Path(folder) / "capture.h5")
        subprocess.run(
            [programs / "lime-bench-capture", "--output", capture, "--layers", "1", "--tokens",
             str(TOKENS), "--dim", str(options.dim), "--size",
             f"{4 * SEQUENCES * TOKENS * options.dim}B"],
            check=True, stdout=subprocess.DEVNULL)
        output = subprocess.run(
            [programs / "lime-bench-geometry", "--capture", capture, "--threads",
             str(options.threads), "--repeats", str(options.repeats), "--neighbor-rows",
             str(options.neighbor_rows)],
            check=True, capture_output=True, text=True).stdout
    ours = json.loads(output)
    peer = {}
    if options.numpy_repeats:
        peer = numpy_seconds(options.dim, options.neighbor_rows, options.numpy_repeats)
        print(f"numpy {version('numpy')}, scikit-learn {version('scikit-learn')}")
    print(f"{SEQUENCES} x {TOKENS} x {options.dim}, {ours['bytes'] / 1e6:.0f} MB, "
          f"{ours['threads']} threads, medians of {options.repeats}")
    for name in ("read_cold", "read_warm", "all_but_neighbours", "rank", "similarity", "curvature",
                 "massive", "rank_of_sequences_too", "dimension", "from_file_cold"):
        line = f"{name:24} {ours[name]:8.3f} s"
        if name in peer:
            line += f"   numpy {peer[name]:8.3f} s   {peer[name] / ours[name]:6.1f} times"
        print(line)


if __name__ == "__main__":
    main()
