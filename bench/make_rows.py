# SPDX-License-Identifier: Apache-2.0
"""Makes the rows that the side-by-side benchmarks measure on: overlapping classes, as activations
of one layer are, with a spectrum that falls like a power law.

    python3 bench/make_rows.py rows.h5 [--rows 6672] [--dim 2048] [--classes 4] [--seed 1]

/rows     float32 [rows, dim]: class mean + Q diag((1 + k)^-decay) z, Q orthogonal, z normal
/classes  int32 [rows], in turn 0, 1, ..., 0, 1, ...
"""
import argparse

import h5py
import numpy as np


def make_rows(rows=6672, dim=2048, classes=4, seed=1, decay=0.5, separation=0.7):
    """Rows and classes. Means are drawn like rows, times `separation`."""
    rng = np.random.default_rng(seed)
    scales = (1.0 + np.arange(dim)) ** -decay
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    labels = np.arange(rows, dtype=np.int32) % classes
    means = separation * rng.standard_normal((classes, dim))
    values = (means[labels] + rng.standard_normal((rows, dim))) * scales
    return (values @ rotation).astype(np.float32), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output")
    parser.add_argument("--rows", type=int, default=6672)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decay", type=float, default=0.5)
    parser.add_argument("--separation", type=float, default=0.7)
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
