#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a capture with h5py only, as a user's notebook would, and checks it.

usage: read_capture.py CAPTURE.h5 EXPECTED_FOLDER

EXPECTED_FOLDER contains one raw float32 file SITE-LAYER.f32 per dataset of activations and one raw
int32 file NAME.i32 per column of rows. If the capture is a master file over shards, h5py reads its
virtual datasets.
"""
import json
import pathlib
import sys

import h5py
import numpy as np


def check(condition, what):
    if not condition:
        sys.exit(f"read_capture.py: {what}")


def check_activations(capture, expected):
    found = 0
    for site in capture["activations"]:
        for layer, dataset in capture["activations"][site].items():
            wanted = np.fromfile(expected / f"{site}-{int(layer)}.f32", np.float32)
            wanted = wanted.reshape(dataset.shape)
            got = dataset[:]
            check(got.dtype == capture.attrs["storage_dtype"], f"{dataset.name} is {got.dtype}")
            check(np.array_equal(got.astype(np.float32), wanted), f"{dataset.name} differs")
            check(np.array_equal(dataset[3:9].astype(np.float32), wanted[3:9]), "a slice differs")
            check("hook" in dataset.attrs, f"{dataset.name} has no hook")
            found += 1
    return found


def check_statistics(capture):
    for site in capture["statistics"]:
        for layer, group in capture["statistics"][site].items():
            data = capture["activations"][site][layer][:].astype(np.float64)
            count = group["count"][()]
            check(count == len(data), f"{group.name}: count is {count}, not {len(data)}")
            # float16 activations are rounded after their statistics are computed.
            near = 1e-12 if capture.attrs["storage_dtype"] == "float32" else 1e-3
            check(np.allclose(group["mean"][:], data.mean(0), atol=near), f"{group.name}/mean")
            deviation = np.sqrt(group["m2"][:] / (count - 1))
            check(np.allclose(deviation, data.std(0, ddof=1), atol=near), f"{group.name}/m2")


def check_sequences(capture):
    offsets = capture["sequences/offset"][:]
    sequence = capture["rows/sequence"][:]
    check(offsets[0] == 0 and offsets[-1] == len(sequence), "offsets do not span the rows")
    for number, (first, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        check((sequence[first:end] == number).all(), f"rows of sequence {number}")
    texts = capture["sequences/text"][:]
    check(len(texts) == len(offsets) - 1, "one text per sequence")
    check(texts[7].decode() == "sequence 7 \u65e5", "text of sequence 7")


def main():
    expected = pathlib.Path(sys.argv[2])
    with h5py.File(sys.argv[1], "r") as capture:
        check(capture.attrs["format"] == "lime-capture", "format")
        check(capture.attrs["schema_version"] == 1, "schema_version")
        check(capture.attrs["complete"] == 1, "complete")
        check(json.loads(capture.attrs["config"])["model_type"] == "llama", "config")
        check(list(capture.attrs["sites"]) == ["values", "hidden"], "sites")
        found = check_activations(capture, expected)
        for column in ("sequence", "position", "token"):
            wanted = np.fromfile(expected / f"{column}.i32", np.int32)
            check(np.array_equal(capture["rows"][column][:], wanted), f"rows/{column} differs")
        check(list(capture["rows/class"].attrs["names"]) == [" is", " are"], "class names")
        check(set(capture["rows/class"][:]) <= {0, 1}, "classes")
        check_sequences(capture)
        check_statistics(capture)
        check(capture["router/001"].shape == (2, 4), "router")
        virtual = capture["activations/values/000"].is_virtual
    kind = "through virtual datasets" if virtual else "in one plain file"
    print(f"h5py {h5py.version.version} read {found} datasets {kind}")


if __name__ == "__main__":
    main()
