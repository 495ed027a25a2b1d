# SPDX-License-Identifier: Apache-2.0
"""Writes streams.json: residual streams and mixing weights, and their measures by scipy.

    python make_streams.py        # writes to its own folder; requires numpy, scipy
"""
import itertools
import json
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cosine
from scipy.stats import entropy

SEED = 20261128
STREAMS, HIDDEN = 3, 4


def doubly_stochastic(rng):
    matrix = np.exp(rng.normal(size=(STREAMS, STREAMS)))
    for _ in range(50):
        matrix /= matrix.sum(0)
        matrix /= matrix.sum(1, keepdims=True)
    return matrix


def of_streams(token):
    energy = (token**2).sum(1)
    cosines = [1 - cosine(a, b) for a, b in itertools.combinations(token, 2)]
    share = energy / energy.sum()
    return [np.exp(entropy(share)), share.max(), np.mean(cosines)], share


def of_mixing(part):
    pre, post, mixing = np.abs(part[:, 0]), np.abs(part[:, 1]), part[:, 2:]
    identity, uniform = np.eye(STREAMS), np.full((STREAMS, STREAMS), 1 / STREAMS)
    scale = np.linalg.norm(identity - uniform)
    return [np.linalg.norm(mixing - identity) / scale, np.linalg.norm(mixing - uniform) / scale,
            np.exp(entropy(pre)), np.exp(entropy(post))]


def main():
    rng = np.random.default_rng(SEED)
    lengths = [5, 3, 7, 4]
    scales = np.array([1.0, 2.0, 0.5])[:, None]
    streams = np.float32(np.round(scales * rng.normal(size=(sum(lengths), STREAMS, HIDDEN)), 3)).astype(float)
    weights = np.array([[np.hstack([rng.uniform(size=(STREAMS, 1)), rng.normal(size=(STREAMS, 1)),
                                    doubly_stochastic(rng)]) for _ in range(2)] for _ in range(sum(lengths))])
    weights = np.float32(np.round(weights, 4)).astype(float)
    parts = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
    measures = [np.mean([of_streams(streams[t])[0] for t in part], axis=0) for part in parts]
    energies = [np.mean([of_streams(streams[t])[1] for t in part], axis=0) for part in parts]
    mixing = [[np.mean([of_mixing(weights[t, half]) for t in part], axis=0) for half in range(2)] for part in parts]
    data = {
        "provenance": f"make_streams.py, seed {SEED}",
        "lengths": lengths,
        "num_streams": STREAMS,
        "streams": streams.reshape(len(streams), -1).tolist(),
        "weights": weights.reshape(len(weights), -1).tolist(),
        "measures": np.mean(measures, axis=0).tolist(),
        "energies": np.mean(energies, axis=0).tolist(),
        "mixing": np.mean(mixing, axis=0).tolist(),
        "mean_mixing": weights.mean(0)[:, :, 2:].tolist(),
    }
    path = Path(__file__).with_name("streams.json")
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
