#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that captures, or results files apart from their provenance, are bit-identical.

equal_captures.py EXPECTED FOUND...     # all .h5, or all .json
"""
import json
import sys

import h5py
import numpy as np

GROUPS = ("rows", "sequences", "activations", "statistics", "router")


def datasets(path):
    """Returns the datasets of a capture by name, and the attributes of its statistics."""
    found = {}

    def visit(name, item):
        if name.split("/")[0] not in GROUPS:
            return
        if isinstance(item, h5py.Dataset):
            found[name] = item[...]
        for key, value in item.attrs.items():
            if name.startswith("statistics"):
                found[f"{name}@{key}"] = np.asarray(value)

    with h5py.File(path, "r") as file:
        if not file.attrs["complete"]:
            sys.exit(f"{path}: is not complete")
        file.visititems(visit)
    return found


def compare_captures(expected_path, path):
    expected, found = datasets(expected_path), datasets(path)
    if expected.keys() != found.keys():
        sys.exit(f"{path}: other datasets: {sorted(expected.keys() ^ found.keys())}")
    for name, values in expected.items():
        if values.shape != found[name].shape or values.dtype != found[name].dtype:
            sys.exit(f"{path}: {name} has another shape or type")
        same = values.tolist() == found[name].tolist() if values.dtype == object else (
            values.tobytes() == found[name].tobytes())
        if not same:
            sys.exit(f"{path}: {name} differs")
    rows = len(expected["rows/token"])
    print(f"{path}: bit-identical to {expected_path}, {rows} rows, {len(expected)} datasets")


def compare_results(expected_path, path):
    documents = []
    for name in (expected_path, path):
        with open(name, encoding="utf-8") as file:
            documents.append(json.load(file))
        documents[-1].pop("provenance")
    if documents[0] != documents[1]:
        sys.exit(f"{path}: differs from {expected_path}")
    print(f"{path}: equal to {expected_path} except for provenance, {len(documents[0]['rows'])} rows")


def main():
    expected, *others = sys.argv[1:]
    for other in others:
        if expected.endswith(".json"):
            compare_results(expected, other)
        else:
            compare_captures(expected, other)


if __name__ == "__main__":
    main()
