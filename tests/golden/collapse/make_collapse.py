#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes collapse.json: rows of four layers, and the measurements of docs/collapse.md with numpy.

Every quantity is computed from its definition on dense matrices (singular values, explicit loops),
with none of the shortcuts of src/metrics/collapse.
"""
import json
import pathlib

import numpy as np

SCALE = 64  # rows are whole numbers / SCALE, exact in float32
LENGTHS = [20, 14, 25, 18, 22, 16]
DIM = 24
RATIO = 4.0


def median(values):
    values = np.sort(values[values > 0])
    return values[(len(values) - 1) // 2]


def massive_and_dimensions(x):
    """Returns the mask of massive tokens and the outlier dimensions, the largest share first."""
    def far(y):
        norms = np.linalg.norm(y, axis=1)
        return norms >= RATIO * median(norms)

    massive = far(x)
    massive |= far(x - x[~massive].mean(0))
    others = x[~massive]
    raw, variance = (others**2).mean(0), others.var(0)
    found = (raw >= RATIO**2 * median(raw)) | (variance >= RATIO**2 * median(variance))
    share = np.maximum(raw / raw.sum(), variance / variance.sum())
    dimensions = sorted(np.flatnonzero(found), key=lambda j: -share[j])[: min(5, DIM // 8)]
    if dimensions:
        y = x.copy()
        y[:, dimensions] = 0
        centre = others.mean(0)
        centre[dimensions] = 0
        massive |= far(y) | far(y - centre)
    return massive, [int(j) for j in dimensions]


def participation(x):
    s = np.linalg.svd(x - x.mean(0), compute_uv=False) ** 2
    return s.sum() ** 2 / (s**2).sum()


def entropy(x):
    p = np.linalg.svd(x, compute_uv=False) ** 2
    p = p / p.sum()
    return np.log((p**0.5).sum()) / 0.5


def measure(x):
    sequence = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    massive, dimensions = massive_and_dimensions(x)
    keep = np.setdiff1d(np.arange(DIM), dimensions)
    norms = np.linalg.norm(x, axis=1)
    others, mean = x[~massive], x[~massive].mean(0)
    trace = lambda y: (y**2).sum()
    share = lambda y: trace(y[massive]) / trace(y)
    rest, rest_sequence = others[:, keep] - mean[keep], sequence[~massive]
    within, between, sizes = [], 0.0, []
    for s in range(len(LENGTHS)):
        own = rest[rest_sequence == s]
        within.append(own - own.mean(0))
        between += len(own) * trace(own.mean(0))
        sizes.append(len(own))
    sizes, n, k = np.array(sizes), len(rest), len(LENGTHS)
    ms_between, ms_within = between / (k - 1), sum(map(trace, within)) / (n - k)
    variance = max(0.0, (ms_between - ms_within) / ((n - (sizes**2).sum() / n) / (k - 1)))
    p = np.linalg.svd(np.concatenate(within), compute_uv=False) ** 2
    p = p / p.sum()
    p = p[p > 0]
    own = [x[sequence == s] for s in range(k)]
    own_others = [x[(sequence == s) & ~massive] for s in range(k)]
    without = x.copy()
    without[:, dimensions] = 0
    return {
        "massive": np.flatnonzero(massive).tolist(),
        "dimensions": dimensions,
        "largest_ratio": norms.max() / median(norms),
        "massive_share": share(x),
        "massive_share_centred": share(x - mean),
        "massive_share_rest": max(share(x[:, keep]), share((x - mean)[:, keep])),
        "dimension_share": trace(others[:, dimensions]) / trace(others),
        "dimension_share_centred": trace((others - mean)[:, dimensions]) / trace(others - mean),
        "dimension_tokens": float(
            np.mean((others[:, dimensions] ** 2).sum(1) * 2 > (others**2).sum(1)) if dimensions else 0
        ),
        "common_share": len(others) * trace(mean[keep]) / trace(others[:, keep]),
        "intraclass": variance / (variance + ms_within),
        "rank_one_residual": np.mean([np.sqrt(trace(y - y.mean(0)) / trace(y)) for y in own]),
        "rank_one_residual_rest": np.mean(
            [np.sqrt(trace(w) / trace(rest[rest_sequence == s])) for s, w in enumerate(within)]
        ),
        "effective_rank": np.exp(-(p * np.log(p)).sum()),
        "rank_ceiling": float(min(n - k, len(keep))),
        "participation": participation(x),
        "participation_without_tokens": participation(others),
        "participation_without_dimensions": participation(without),
        "participation_rest": participation(others[:, keep]),
        "entropy": np.mean([entropy(y) for y in own]),
        "entropy_without_tokens": np.mean([entropy(y) for y in own_others]),
    }


def layers(rng):
    n = sum(LENGTHS)
    starts = np.cumsum([0, *LENGTHS[:-1]])
    plain = rng.normal(size=(n, DIM))
    tokens = plain.copy()
    tokens[starts, 5] += 60.0
    dimensions = tokens + np.where(np.arange(DIM) == 7, 9.0, 0.0)
    equal = np.repeat(rng.normal(size=(len(LENGTHS), DIM)) * 3, LENGTHS, axis=0) + 0.5 * plain
    yield "plain", plain
    yield "massive", tokens
    yield "massive and dimension", dimensions
    yield "mean and equal tokens", equal + rng.normal(size=DIM) * 5


def main():
    rng = np.random.default_rng(20261127)
    written = {"numpy": np.__version__, "scale": SCALE, "lengths": LENGTHS, "layers": []}
    for name, x in layers(rng):
        whole = np.round(x * SCALE).astype(int)
        values = measure(whole / SCALE)
        written["layers"].append({"name": name, "rows": whole.tolist(), **values})
    path = pathlib.Path(__file__).with_name("collapse.json")
    path.write_text(json.dumps(written) + "\n")


main()
