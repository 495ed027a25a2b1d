# SPDX-License-Identifier: Apache-2.0
"""Generates rows for the comparison benchmarks that resemble activations of one layer: overlapping
classes, a power-law spectrum, and dimensions with nonzero means.

    python3 bench/make_rows.py rows.h5 [--rows 6672] [--dim 2048] [--classes 4] [--seed 1]

/rows     float32 [rows, dim]: Q diag((1 + k)^-decay) (class mean + z) + offset, Q orthogonal, z
          normal. Class means are `separation` standard deviations apart
/classes  int32 [rows], cycling 0, 1, ..., 0, 1, ...

make_pairs() generates sentences of minimal pairs: rows 2 i and 2 i + 1 differ little.
"""
import argparse

import numpy as np


def _spectrum(rng, dim, decay):
    """Returns the scales of the directions, and the directions, [dim, dim]."""
    return (1.0 + np.arange(dim)) ** -decay, np.linalg.qr(rng.standard_normal((dim, dim)))[0]


def make_rows(rows=6672, dim=2048, classes=4, seed=1, decay=0.55, separation=4.2, offset=0.1):
    """Returns rows and classes."""
    rng = np.random.default_rng(seed)
    scales, directions = _spectrum(rng, dim, decay)
    labels = np.arange(rows, dtype=np.int32) % classes
    means = separation / np.sqrt(2 * dim) * rng.standard_normal((classes, dim))
    values = (means[labels] + rng.standard_normal((rows, dim))) * scales
    values = values @ directions + offset * rng.standard_normal(dim)
    return values.astype(np.float32), labels


def make_pairs(rows=2000, dim=2048, seed=1, decay=0.5, separation=2.7, offset=0.1):
    """Returns rows and alternating classes 0, 1; each pair shares four fifths of the variance."""
    rng = np.random.default_rng(seed)
    scales, directions = _spectrum(rng, dim, decay)
    labels = np.arange(rows, dtype=np.int32) % 2
    of_pair = np.repeat(rng.standard_normal((rows // 2, dim)), 2, axis=0)
    between = separation / np.sqrt(dim) * rng.standard_normal(dim)
    values = 0.9 * of_pair + 0.44 * rng.standard_normal((rows, dim))
    values = (values + (labels[:, None] - 0.5) * between) * scales
    values = values @ directions + offset * rng.standard_normal(dim)
    return values.astype(np.float32), labels


def main():
    import h5py

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=6672)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decay", type=float, default=0.55)
    parser.add_argument("--separation", type=float, default=4.2)
    parser.add_argument("--offset", type=float, default=0.1)
    options = vars(parser.parse_args())
    output = options.pop("output")
    rows, labels = make_rows(**options)
    with h5py.File(output, "w") as f:
        f["rows"] = rows
        f["classes"] = labels
        for name, value in options.items():
            f.attrs[name] = value


if __name__ == "__main__":
    main()
