#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DiME, InfoNCE and LiDAR of a layer: the Python package against the Layer by Layer code, in turns.

usage: compare_views.py INFORMATION_FLOW REPRESENTATION_ITL [--texts 1000] [--dim 768] [--lidar-views 4]
                        [--tokens 24] [--threads 2] [--repeats 5]

Both arguments are clones of github.com/OFSkean/information_flow and github.com/uk-cliplab/
representation-itl. Needs the package of this repository and torch. Both sides get the tokens of one layer
in memory, pool them and compute all three measures with 10 permutations; the code accumulates the
scatter matrices of LiDAR row by row. Prints medians with ranges, and the values of both.
"""
import argparse
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch

import lime_toolkit as lt

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/golden/geometry"))
from make_views import load_layer_by_layer


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("information_flow")
    parser.add_argument("representation_itl")
    for name, default in {"texts": 1000, "dim": 768, "lidar-views": 4, "tokens": 24, "threads": 2, "repeats": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    code, normalize = load_layer_by_layer(options.information_flow, options.representation_itl)
    rng = np.random.default_rng(1)
    shape = (options.texts, options.lidar_views, options.tokens, options.dim)
    tokens = rng.standard_normal(shape, np.float32)
    tokens += 2.0 * rng.standard_normal((options.texts, 1, options.tokens, options.dim), np.float32)
    sequences = list(tokens.reshape(-1, options.tokens, options.dim))

    def theirs():
        means = torch.stack([normalize(torch.from_numpy(one)).mean(0) for one in sequences])
        states = means.reshape(1, options.texts, options.lidar_views, options.dim)
        return (
            code.compute_dime(states[:, :, :2])["maxEntropy"][0],
            code.compute_infonce(states[:, :, :2])["raw"][0],
            code.compute_lidar(states)["maxEntropy"][0],
        )

    def ours():
        found = lt.geometry(sequences, measure="views", views=options.lidar_views, threads=options.threads)
        return found.dime, found.infonce.mean(), found.lidar

    seconds = {"lime": [], "code": []}
    for repeat in range(options.repeats + 1):
        for name, call in (("lime", ours), ("code", theirs)):
            start = time.perf_counter()
            values = call()
            if repeat > 0:  # the first turn warms up
                seconds[name].append(time.perf_counter() - start)
            else:
                print(name, "DiME {:.6f} InfoNCE {:.9f} LiDAR {:.9f}".format(*values))
    for name, times in seconds.items():
        print(f"{name} {median(times):.3f} s ({min(times):.3f} to {max(times):.3f})")
    print(f"ratio {median(seconds['lime']) / median(seconds['code']):.3f}")


if __name__ == "__main__":
    main()
