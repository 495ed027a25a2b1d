# SPDX-License-Identifier: Apache-2.0
"""Compares the divergence of t-SNE with scikit-learn's, layer by layer, on samples of a model's rows.

    python3 bench/tsne/compare_layers.py rows.npy [--points 300,1000] [--layers 0,11,29] [--seeds 10]
        [--cache FILE.json]

rows.npy is float32 [layers, rows, dim]. A seed selects the rows of a sample and is the seed of both
programs. Rows have length 1. Both divergences are computed here, in float64 over all pairs with
scikit-learn's affinities; both programs have their defaults. --cache keeps scikit-learn's values,
which take most of the time. Prints the ratio (at most 1: no worse) per number of points: its mean,
the worst one with its layer and seed, and how many exceed 1.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import h5py
import numpy as np
from sklearn.manifold import TSNE
from sklearn.manifold._t_sne import _joint_probabilities_nn
from sklearn.neighbors import NearestNeighbors

PERPLEXITY = 30


def sample(layers, layer, count, seed):
    total = layers.shape[1]
    chosen = np.sort(np.random.default_rng(1000 * seed + count).permutation(total)[:count])
    rows = np.asarray(layers[layer])[chosen].astype(np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)


def affinities(rows):
    search = NearestNeighbors(n_neighbors=3 * PERPLEXITY + 1, algorithm="brute").fit(rows)
    graph = search.kneighbors_graph(mode="distance")
    graph.data **= 2
    return _joint_probabilities_nn(graph, PERPLEXITY, 0).tocoo()


def divergence(p, embedding):
    y = embedding.astype(np.float64)
    norms = (y**2).sum(axis=1)
    q = 1.0 / (1.0 + np.maximum(norms[:, None] + norms[None] - 2.0 * y @ y.T, 0.0))
    np.fill_diagonal(q, 0.0)
    some = p.data > 0
    entries = p.data[some]
    return float((entries * np.log(entries * q.sum() / q[p.row[some], p.col[some]])).sum())


def embed_with_lime(program, rows, seed):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "rows.h5"), pathlib.Path(folder, "embedding.h5")
        with h5py.File(source, "w") as file:
            file["rows"] = rows
        command = [program, "embed", source, target, "--seed", str(seed), "--perplexity", str(PERPLEXITY)]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        with h5py.File(target) as file:
            return file["embedding"][:]


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--points", type=numbers, default=[300, 1000])
    parser.add_argument("--layers", type=numbers)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/lime-bench-tsne")
    options = parser.parse_args()
    layers = np.load(options.rows, mmap_mode="r")
    known = {}
    if options.cache and options.cache.exists():
        known = json.loads(options.cache.read_text())
    for count in options.points:
        ratios = {}
        for layer in options.layers or range(layers.shape[0]):
            for seed in range(options.seeds):
                rows = sample(layers, layer, count, seed)
                p = affinities(rows)
                key = f"{os.path.basename(options.rows)} {layer} {count} {seed}"
                if key not in known:
                    known[key] = divergence(p, TSNE(random_state=seed).fit_transform(rows))
                    if options.cache:
                        options.cache.write_text(json.dumps(known))
                ours = divergence(p, embed_with_lime(options.program, rows, seed))
                ratios[layer, seed] = ours / known[key]
        (layer, seed), worst = max(ratios.items(), key=lambda item: item[1])
        above = sum(ratio > 1.0 for ratio in ratios.values())
        print(f"{count} points: mean {np.mean(list(ratios.values())):.4f}, worst {worst:.4f} (layer "
              f"{layer}, seed {seed}), {above} of {len(ratios)} above 1", flush=True)


if __name__ == "__main__":
    main()
