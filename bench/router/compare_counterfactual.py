#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares counterfactual routers on one capture: lime-metrics and numpy written from the formulas.

usage: compare_counterfactual.py CAPTURE [--program build/release/bin/lime-metrics]
                                 [--sequences N] [--repeats 3] [--threads 0]

numpy routes all values of a layer with one einsum per router, computes mean and unbiased standard
deviation over all routed rows, and eigvalsh of the smaller Gram matrix of each sequence, with its
own threads. Prints the largest differences of the means over sequences, and medians in seconds.
Requires numpy and h5py.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUTERS = ["identity", "last-2", "first-1", "top-4", "unsigned", "cut-0"]


def replaced(router, scales, name):
    """Returns the counterfactual of one layer's router, [heads, sources]; None if nothing is left."""
    heads, sources = router.shape
    word, _, number = name.partition("-")
    number = int(number or 0) * heads
    result = np.zeros_like(router)
    if name == "trained":
        return router
    if name == "identity":
        result[:, sources - heads:] = np.eye(heads)
    elif word == "last":
        result[:, max(0, sources - number):] = router[:, max(0, sources - number):]
    elif word == "first":
        result[:, :number] = router[:, :number]
    elif word == "cut":
        result = router.copy()
        result[:, number:number + heads] = 0
    elif name == "unsigned":
        result = np.abs(router)
    elif word == "top":
        for row in range(heads):
            kept = np.argsort(-np.abs(router[row]) * scales, kind="stable")[: number // heads]
            result[row, kept] = router[row, kept]
    return result if np.any(result) else None


def spectrum_numbers(z):
    gram = z.T @ z if z.shape[0] > z.shape[1] else z @ z.T
    eigenvalues = np.clip(np.linalg.eigvalsh(gram), 0.0, None)
    p = eigenvalues / np.trace(gram)
    sigma = np.sqrt(eigenvalues)
    q = sigma[sigma > 0] / sigma.sum()
    return 2.0 * np.log(np.sum(np.sqrt(p))), np.exp(-np.sum(q * np.log(q)))


def by_numpy(file, num_sequences):
    """Returns {(layer, router, quantity): mean over the sequences}."""
    offsets = file["sequences/offset"][: num_sequences + 1]
    layers = sorted(int(name) for name in file["activations/values"])
    heads = file["statistics/values/000/rms"].shape[0]
    result, values, scales = {}, [], []
    for layer in layers:
        rows = file[f"activations/values/{layer:03d}"][:].astype(np.float64)
        values.append(rows.reshape(len(rows), heads, -1))
        scales.append(file[f"statistics/values/{layer:03d}/rms"][:])
        sources = np.concatenate(values, axis=1)
        own = file.get(f"router/{layer:03d}")
        router = np.eye(heads) if own is None else own[:].astype(np.float64)
        for name in ["trained"] + ROUTERS:
            weights = router
            if layer > 0 or name.startswith("cut"):
                weights = replaced(router, np.concatenate(scales), name)
            if weights is None:
                continue
            routed = np.einsum("hj,tjc->thc", weights, sources, optimize=True)
            routed = routed.reshape(len(routed), -1)
            z = (routed - routed.mean(0)) / (routed.std(0, ddof=1) + 1e-5)
            numbers = [spectrum_numbers(z[a:b]) for a, b in zip(offsets[:-1], offsets[1:])]
            result[layer, name, "entropy"] = np.mean([entry[0] for entry in numbers])
            result[layer, name, "effective_rank"] = np.mean([entry[1] for entry in numbers])
    return result


def by_program(options, num_sequences):
    command = [options.program, "counterfactual", options.capture, "--router", ",".join(ROUTERS),
               "--format", "json", "--bootstrap", "0", "--quiet", "--threads", options.threads,
               "--max-sequences", num_sequences]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout
    return {(row["layer"], row["router"], row["quantity"]): row["mean"]
            for row in json.loads(output)["rows"] if row["layer"] is not None}


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "build/release/bin/lime-metrics")
    parser.add_argument("--sequences", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    seconds = {"numpy": [], "lime-metrics": []}
    with h5py.File(options.capture) as file:
        count = options.sequences or len(file["sequences/offset"]) - 1
        for _ in range(options.repeats):
            duration, expected = timed(lambda: by_numpy(file, count))
            seconds["numpy"].append(duration)
            duration, found = timed(lambda: by_program(options, count))
            seconds["lime-metrics"].append(duration)
    assert found.keys() == expected.keys(), set(found) ^ set(expected)
    for quantity in ["entropy", "effective_rank"]:
        worst = max(abs(found[key] / expected[key] - 1) for key in found if key[2] == quantity)
        print(f"{quantity}: {sum(key[2] == quantity for key in found)} means, largest relative "
              f"difference {worst:.1e}")
    for name, values in seconds.items():
        print(f"{name}: {statistics.median(values):.3f} s")


if __name__ == "__main__":
    main()
