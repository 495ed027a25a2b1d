# SPDX-License-Identifier: Apache-2.0
"""Compares the divergence of t-SNE with scikit-learn's, layer by layer, on samples of a model's rows.

    python3 bench/tsne/compare_layers.py rows.npy [--points 300,1000] [--layers 0,11,29] [--seeds 10]
        [--align] [--outliers 10,1000] [--normalize none] [--cache FILE.json]

rows.npy is float32 [layers, rows, dim]. A seed selects the rows of a sample and is the seed of both
programs. Both divergences are computed here, in float64 over all pairs with scikit-learn's
affinities; both programs have their defaults.

--align      starts each layer from the embedding of the previous one, from layer 0 on, as
             lime-metrics tsne --align does; scikit-learn embeds each layer by itself
--outliers   adds these multiples of the median norm, in one dimension, to one of 200 rows
--normalize  l2 (rows of length 1, after the outliers) or none
--cache      keeps scikit-learn's values, which take most of the time

Prints the ratio (at most 1: no worse) per number of points: its mean, the worst one with its layer
and seed, and how many exceed 1.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import h5py
import numpy as np
from scikit_learn import divergence, joint_probabilities
from sklearn.manifold import TSNE

PERPLEXITY = 30
OUTLIER_EVERY = 200  # rows


def sample(layers, layer, count, seed, outlier, normalize):
    total = layers.shape[1]
    chosen = np.sort(np.random.default_rng(1000 * seed + count).permutation(total)[:count])
    rows = np.asarray(layers[layer])[chosen].astype(np.float32)
    if outlier:
        rows[::OUTLIER_EVERY, 0] += outlier * np.median(np.linalg.norm(rows, axis=1))
    if normalize == "none":
        return rows
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)


def embed_with_lime(program, rows, seed, start=None):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "rows.h5"), pathlib.Path(folder, "embedding.h5")
        with h5py.File(source, "w") as file:
            file["rows"] = rows
            if start is not None:
                file["embedding"] = start
        command = [program, "embed", source, target, "--seed", seed, "--perplexity", PERPLEXITY]
        if start is not None:
            command += ["--start", source]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        with h5py.File(target) as file:
            return file["embedding"][:]


class ScikitLearn:
    """Divergences of scikit-learn, with those of earlier calls from a file."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path and path.exists() else {}

    def divergence(self, key, rows, p, seed):
        if key not in self.known:
            embedding = TSNE(perplexity=PERPLEXITY, random_state=seed).fit_transform(rows)
            self.known[key] = divergence(p, embedding)
            if self.path:
                self.path.write_text(json.dumps(self.known))
        return self.known[key]


def ratios_of(layers, options, scikit_learn, count, outlier):
    """Returns the ratio of the divergences per compared layer and seed."""
    compared = options.layers or range(layers.shape[0])
    ratios = {}
    for seed in range(options.seeds):
        embedding = None
        for layer in range(max(compared) + 1) if options.align else compared:
            rows = sample(layers, layer, count, seed, outlier, options.normalize)
            embedding = embed_with_lime(options.program, rows, seed, embedding if options.align else None)
            if layer not in compared:
                continue
            p = joint_probabilities(rows, PERPLEXITY)
            key = f"{os.path.basename(options.rows)} {layer} {count} {seed}"
            key += f" x{outlier}" if outlier else ""
            key += " none" if options.normalize == "none" else ""
            theirs = scikit_learn.divergence(key, rows, p, seed)
            ratios[layer, seed] = divergence(p, embedding) / theirs
    return ratios


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--points", type=numbers, default=[300, 1000])
    parser.add_argument("--layers", type=numbers)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--align", action="store_true")
    parser.add_argument("--outliers", type=numbers, default=[0])
    parser.add_argument("--normalize", choices=["l2", "none"], default="l2")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/lime-bench-tsne")
    options = parser.parse_args()
    layers = np.load(options.rows, mmap_mode="r")
    scikit_learn = ScikitLearn(options.cache)
    for count in options.points:
        for outlier in options.outliers:
            ratios = ratios_of(layers, options, scikit_learn, count, outlier)
            (layer, seed), worst = max(ratios.items(), key=lambda item: item[1])
            above = sum(ratio > 1.0 for ratio in ratios.values())
            print(
                f"{count} points{f', outliers x {outlier}' if outlier else ''}: "
                f"mean {np.mean(list(ratios.values())):.4f}, worst {worst:.4f} (layer {layer}, "
                f"seed {seed}), {above} of {len(ratios)} above 1",
                flush=True,
            )


if __name__ == "__main__":
    main()
