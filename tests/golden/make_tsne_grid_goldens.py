# SPDX-License-Identifier: Apache-2.0
"""Writes tsne_grid.json: the divergences of scikit-learn's t-SNE on layers of points with outliers.

    python3 make_tsne_grid_goldens.py [--jobs 1]      (requires scikit-learn)

tests/analysis/layered_points.h generates the same points, bit for bit: the sums are integers. A value
of a layer is a mean of two independent variates, whose weights change by an eighth from layer to
layer. Each variate is the sum of the four 16-bit words of splitmix64, over its standard deviation.

ball      one cluster, whose neighbours are well connected
clusters  six clusters of unequal sizes

From layer 1 on, the first `outliers` rows have `factor` times the norm of a row in one direction, as
the massive tokens of trained models have. `kl` has the divergence of scikit-learn's embedding of a
layer by itself, with its default options, in float64 over all pairs: from principal components, or
the median of these and `runs` - 1 random starts. With 50 points the minimum that a run reaches depends
on its start: one layer ends at 0.172 from principal components and at 0.174 to 0.184 from ten random
starts. A cell is one run through all layers up to the last of `kl`. Values that tsne_grid.json already
contains are kept.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import sys

import numpy as np
import scipy
import sklearn
from sklearn.manifold import TSNE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/tsne"))
from scikit_learn import divergence, joint_probabilities  # noqa: E402

DIM = 24
FRAME = 8  # layers from one set of variates to the next
DEVIATION = 37837.0  # of the sum of four 16-bit words
CLUSTERS = 6
OUTLIER_COLUMN = 3
NORM = {"ball": 5.0, "clusters": 11.0}


def words_sum(seed, frame, rows):
    """Returns centred sums of the words of splitmix64, int64 [len(rows), DIM]."""
    place = (np.uint64(seed * 64 + frame) * np.uint64(8192) + rows.astype(np.uint64)) * np.uint64(64)
    x = place[:, None] + np.arange(DIM, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (x + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    words = [(z >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    return sum(word.astype(np.int64) for word in words) - 2 * 65535


def points_of(cell, layer):
    rows = np.arange(cell["points"])
    frame, eighths = divmod(layer, FRAME)
    total = (FRAME - eighths) * words_sum(cell["seed"], frame, rows)
    total += eighths * words_sum(cell["seed"], frame + 1, rows)
    if cell["kind"] == "clusters":
        lowest_bit = (rows + 1) & -(rows + 1)
        cluster = np.minimum(np.log2(lowest_bit).astype(np.int64), CLUSTERS - 1)
        total += 2 * FRAME * words_sum(cell["seed"], 63, 8191 - cluster)
    points = total / (FRAME * DEVIATION)
    if layer > 0:
        points[: cell["outliers"], OUTLIER_COLUMN] += cell["factor"] * NORM[cell["kind"]]
    points = points.astype(np.float32)
    if cell["normalize"] == "l2":
        norms = np.linalg.norm(points.astype(np.float64), axis=1, keepdims=True)
        points = (points.astype(np.float64) / norms).astype(np.float32)
    return points


def cells():
    """Yields each cell with the layers that scikit-learn embeds; the last one ends the run."""
    for kind in ("ball", "clusters"):
        for points, normalize, suites, factors, layers in (
            (50, "none", {1: "quick", 2: "slow", 3: "slow"}, (10, 100, 1000), (0, 1, 39)),
            (50, "l2", {1: "slow", 2: "quick", 3: "slow"}, (10, 100, 1000), (0, 1, 39)),
            (200, "none", {1: "quick", 2: "slow"}, (10, 1000), (0, 1, 7)),
            (200, "l2", {1: "slow", 2: "slow"}, (10, 1000), (0, 1, 39)),
            (1000, "none", {1: "quick"}, (10, 1000), (0, 1)),
            (1000, "l2", {1: "slow", 2: "full"}, (10, 1000), (0, 1, 39)),
            (5000, "l2", {1: "slow"}, (1000,), (0, 1)),
            (5000, "l2", {1: "full"}, (1000,), (0, 1, 39)),
        ):
            for seed, suite in suites.items():
                for factor in factors:
                    yield {
                        "kind": kind,
                        "points": points,
                        "outliers": 1 if seed == 1 else max(2, points // 50),
                        "factor": factor,
                        "normalize": normalize,
                        "seed": seed,
                        "perplexity": min(30, (points - 1) // 3),
                        "suite": suite,
                        "runs": 5 if points == 50 else 1,
                        "kl": dict.fromkeys(map(str, layers)),
                    }


def divergence_of(cell, layer):
    points = points_of(cell, layer)
    p = joint_probabilities(points, cell["perplexity"])
    divergences = []
    for run in range(cell["runs"]):
        init = "random" if run > 0 else "pca"
        tsne = TSNE(perplexity=cell["perplexity"], init=init, random_state=run)
        divergences.append(divergence(p, tsne.fit_transform(points)))
    return statistics.median(divergences)


def write(path, grid):
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    lines = ",\n".join(json.dumps(cell) for cell in grid)
    path.write_text(f'{{"provenance": "{versions}",\n"cells": [\n{lines}\n]}}\n')


def reuse(path, grid):
    """Takes over the divergences of equal cells in an existing file."""
    known = json.loads(path.read_text())["cells"] if path.exists() else []
    for cell in grid:
        for other in known:
            if all(cell[key] == other[key] for key in cell if key not in ("suite", "kl")):
                cell["kl"] |= {layer: kl for layer, kl in other["kl"].items() if layer in cell["kl"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    path = pathlib.Path(__file__).with_name("tsne_grid.json")
    grid = list(cells())
    reuse(path, grid)
    write(path, grid)
    work = {}  # without outliers, several cells have the same layer 0
    for cell in sorted(grid, key=lambda cell: cell["points"]):
        for layer, kl in cell["kl"].items():
            if kl is None:
                points = points_of(cell, int(layer)).tobytes()
                work.setdefault((points, cell["perplexity"]), []).append((cell, layer))
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        results = {}
        for same in work.values():
            cell, layer = same[0]
            results[pool.submit(divergence_of, cell, int(layer))] = same
        for done, future in enumerate(concurrent.futures.as_completed(results), 1):
            for cell, layer in results[future]:
                cell["kl"][layer] = round(future.result(), 6)
            write(path, grid)
            print(f"{done} of {len(results)}", flush=True)


if __name__ == "__main__":
    main()
