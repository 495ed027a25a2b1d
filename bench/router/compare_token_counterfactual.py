#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares counterfactuals of token-dependent routers: lime-metrics and numpy from the formulas.

usage: compare_token_counterfactual.py CAPTURE... [--program build/release/bin/lime-metrics]

numpy mixes the captured sources with the weights of each token, one einsum per router: of
`attn.hook_route` for the values, or of `hook_depth_weights` for the inputs of attention and MLP.
Prints the largest relative difference of the mean entropies and effective ranks. Requires numpy and
h5py.
"""
import argparse
import json
import pathlib
import subprocess

import h5py
import numpy as np

from compare_counterfactual import ROOT, spectrum_numbers

ROUTERS = ["trained", "identity", "mean", "last-2", "first-1", "top-1", "unsigned", "cut-0"]


def rows_of(file, site, layer):
    return file[f"activations/{site}/{layer:03d}"][:].astype(np.float64)


def mixed_input(file, config, read, layer, layers):
    """Returns sources [tokens, heads, sources, dim] and weights [tokens, heads, sources]."""
    if read == "values":
        heads = file["statistics/values/000/rms"].shape[0]
        is_mixed = config["model_type"] == "depth_attention"
        sources = [rows_of(file, "routed_values" if is_mixed and i < layer else "values", i)
                   for i in range(layer + 1)]
        sources = np.stack([rows.reshape(len(rows), heads, -1) for rows in sources], axis=2)
        weights = rows_of(file, "attn.hook_route", layer).reshape(len(sources), heads, -1)
        if weights.shape[2] > layer + 1:  # every head reads all heads of a layer
            flat = sources.transpose(0, 2, 1, 3).reshape(len(sources), 1, -1, sources.shape[3])
            sources = np.repeat(flat, heads, axis=1)
        return sources, weights
    count = 2 * layer + (2 if read == "mlp" else 1)
    sources = [rows_of(file, "hook_embed", 0)]
    for part in range(count - 1):
        sources.append(rows_of(file, ["hook_attn_out", "hook_mlp_out"][part % 2], part // 2))
    reads = ["q", "k", "v", "mlp"] if config["model_type"] == "mudd" else ["attn", "mlp"]
    reads += ["final"] if layer + 1 == layers else []
    weights = rows_of(file, "hook_depth_weights", layer)
    weights = weights.reshape(len(weights), len(reads), -1)[:, reads.index(read), :count]
    return np.stack(sources, axis=1)[:, None], weights[:, None]


def replaced(weights, sources, name, read, heads, row_rms):
    word, _, number = name.partition("-")
    per_source = heads if weights.shape[2] > sources else 1
    number = int(number or 0) * per_source
    result = np.zeros_like(weights)
    if name == "trained":
        return weights
    if name == "mean":
        return np.broadcast_to(weights.mean(0), weights.shape)
    if name == "identity" and read != "values":
        return np.ones_like(weights)
    if name == "identity":
        for head in range(heads):
            result[:, head, -per_source + (head if per_source > 1 else 0)] = 1
    elif word == "last":
        result[:, :, -number:] = weights[:, :, -number:]
    elif word == "first":
        result[:, :, :number] = weights[:, :, :number]
    elif name == "unsigned":
        result = np.abs(weights)
    elif word == "cut":
        result = weights.copy()
        result[:, :, number:number + per_source] = 0
    elif word == "top":
        kept = np.argmax(np.abs(weights) * row_rms, axis=2)[:, :, None]
        np.put_along_axis(result, kept, np.take_along_axis(weights, kept, 2), 2)
    return result


def by_numpy(file, read):
    config = json.loads(file.attrs["config"] if "config" in file.attrs else file["config"][()])
    layers = len(file["activations/hook_attn_out" if read != "values" else "activations/values"])
    offsets = file["sequences/offset"][:]
    numbers = {}
    for layer in range(layers):
        sources, weights = mixed_input(file, config, read, layer, layers)
        rms = np.sqrt((sources ** 2).mean(axis=(0, 3)))
        for name in ROUTERS:
            count = layer + 1 if read == "values" else weights.shape[2]
            w = replaced(weights, count, name, read, weights.shape[1], rms)
            if layer == 0 and read == "values" and name != "cut-0":
                w = weights
            mixed = np.einsum("ths,thsd->thd", w, sources).reshape(len(w), -1)
            if not mixed.any():
                continue
            z = (mixed - mixed.mean(0)) / (mixed.std(0, ddof=1) + 1e-5)
            found = [spectrum_numbers(z[a:b]) for a, b in zip(offsets[:-1], offsets[1:])]
            for place, quantity in enumerate(["entropy", "effective_rank"]):
                numbers[layer, name, quantity] = np.mean([entry[place] for entry in found])
    return numbers


def by_program(program, capture, read):
    command = [program, "counterfactual", capture, "--site", read, "--router", ",".join(ROUTERS),
               "--format", "json", "--bootstrap", "0", "--quiet"]
    output = subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout
    rows = json.loads(output)["rows"]
    worst = max((row["deviation"] for row in rows if row.get("deviation") is not None), default=None)
    return worst, {(row["layer"], row["router"], row["quantity"]): row["mean"]
                   for row in rows if row["layer"] is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("captures", type=pathlib.Path, nargs="+")
    parser.add_argument("--program", default=ROOT / "build/release/bin/lime-metrics")
    options = parser.parse_args()
    for capture in options.captures:
        with h5py.File(capture) as file:
            sites = list(file["activations"])
            reads = ["values"] if "attn.hook_route" in sites else ["attn", "mlp"]
            if "hook_depth_weights" in sites and json.loads(
                    file.attrs.get("config", "{}")).get("model_type") == "mudd":
                reads = ["q", "k", "v", "mlp"]
            for read in reads:
                expected = by_numpy(file, read)
                deviation, found = by_program(options.program, capture, read)
                assert found.keys() == expected.keys(), set(found) ^ set(expected)
                worst = max(abs(found[key] / expected[key] - 1) for key in found)
                print(f"{capture.stem} {read}: {len(found)} means, largest relative difference "
                      f"{worst:.1e}; recomputed and captured input differ by {deviation}")


if __name__ == "__main__":
    main()
