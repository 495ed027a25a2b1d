# SPDX-License-Identifier: Apache-2.0
"""Writes entropy_capture.h5 and entropy_expected.json for tests/app/lime_metrics_test.cpp.

Writes two small captures (synthetic activations, sequences shorter and longer than their width), and
the entropies of their layers as defined by each preset's source (docs/numerics.md), in numpy and
float64, directly from the formulas.

    python3 make_entropy.py
"""
import json
import pathlib
import sys

import h5py
import numpy as np

SEED = 20261121
LENGTHS = [5, 9, 12, 7]
DIMS = {"values": 6, "hidden": 10}
LAYERS = [0, 1, 2]
LABELS = ["first", "second"]


def renyi(eigenvalues, alpha):
    p = eigenvalues[eigenvalues > 0]
    if alpha == 1.0:
        return -np.sum(p * np.log(p))
    if np.isinf(alpha):
        return -np.log(p.max())
    return np.log(np.sum(p**alpha)) / (1.0 - alpha)


def spectrum(z):
    """Returns the eigenvalues of the Gram matrix, clamped at 0, divided by its trace.

    The LIMe code always uses t x t. If t > d, its t - d zero eigenvalues become rounding noise,
    which shifts alpha = 0.5 by about 1e-8. The d x d matrix has exactly the other eigenvalues.
    """
    gram = z @ z.T if z.shape[0] <= z.shape[1] else z.T @ z
    return np.clip(np.linalg.eigvalsh(gram), 0.0, None) / np.trace(gram)


def unit_rows(x):
    centred = x - x.mean(axis=0, keepdims=True)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def layer_by_layer(x, alpha):
    z = unit_rows(x)
    tokens, dim = z.shape
    gram = z.T @ z if tokens > dim else z @ z.T
    gram = np.clip(gram, 0.0, None)
    if alpha == 2.0:
        raise ValueError("repitl handles alpha 2 separately")
    eigenvalues = np.linalg.eigvalsh(gram / np.trace(gram))
    eigenvalues = eigenvalues[eigenvalues > 0]
    return renyi(eigenvalues / eigenvalues.sum(), alpha) / min(np.log(tokens), np.log(dim))


def matrix_entropy(x, alpha):
    z = unit_rows(x)
    covariance = z.T @ z / z.shape[0]
    p = np.linalg.svd(covariance / np.trace(covariance), compute_uv=False)
    return renyi(p, alpha) / np.log(z.shape[1])


def effective_rank(x, alpha):
    return np.exp(renyi(spectrum(unit_rows(x)), alpha))


def presets(rows):
    """Returns name, orders and function of each preset; `rows` are all rows of the layer."""
    mean, std = rows.mean(axis=0), rows.std(axis=0, ddof=1)
    return [
        ("lime-code", [0.5, 1.0, 2.0, np.inf], lambda x, a: renyi(spectrum((x - mean) / (std + 1e-5)), a)),
        ("raw", [0.5, 0.99], lambda x, a: renyi(spectrum(x), a)),
        ("seq-vcr", [1.0], lambda x, a: renyi(spectrum(x), a)),
        ("layer-by-layer", [1.0], layer_by_layer),
        ("matrix-entropy", [1.0], matrix_entropy),
        ("diff-erank", [1.0], effective_rank),
    ]


def main():
    folder = pathlib.Path(__file__).resolve().parent
    rng = np.random.default_rng(SEED)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    expected = []
    with h5py.File(folder / "entropy_capture.h5", "w") as file:
        file.attrs["seed"] = SEED
        file.attrs["script"] = pathlib.Path(__file__).name
        file.attrs["versions"] = f"python {sys.version.split()[0]}, numpy {np.__version__}"
        file["offsets"] = offsets.astype(np.int64)
        ranks = {}
        for label in LABELS:
            for site, dim in DIMS.items():
                for layer in LAYERS:
                    scales = np.arange(1, dim + 1.0) ** -(0.3 + layer)
                    rows = rng.normal(size=(offsets[-1], dim)) * scales + rng.normal(size=dim)
                    rows = rows.astype(np.float32)
                    file[f"{label}/{site}/{layer}"] = rows
                    rows = rows.astype(np.float64)
                    sequences = [rows[a:b] for a, b in zip(offsets, offsets[1:])]
                    for preset, orders, function in presets(rows):
                        for alpha in orders:
                            each = np.array([function(x, alpha) for x in sequences])
                            if preset == "diff-erank":
                                ranks[label, site, layer] = each
                            expected.append(row(preset, alpha, label, site, layer, each))
        for (label, site, layer), each in ranks.items():
            if label == LABELS[0]:
                difference = each - ranks[LABELS[1], site, layer]
                expected.append(row("diff-erank", 1.0, "first - second", site, layer, difference))
    provenance = {"script": pathlib.Path(__file__).name, "seed": SEED, "numpy": np.__version__}
    text = json.dumps({"provenance": provenance, "rows": expected}, indent=1)
    (folder / "entropy_expected.json").write_text(text + "\n")


def row(preset, alpha, label, site, layer, each):
    return {
        "preset": preset,
        "alpha": "inf" if np.isinf(alpha) else alpha,
        "label": label,
        "site": site,
        "layer": layer,
        "mean": each.mean(),
        "std": each.std(),
    }


if __name__ == "__main__":
    main()
