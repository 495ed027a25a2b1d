#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares writing and reading captures: lime-bench-store and h5py, in one run on the same data.

usage: store_side_by_side.py [--program build/release/bin/lime-bench-store] [--folder DIR]
                             [--rows 32768] [--dim 768] [--layers 8] [--repeats 5] [--cold]

h5py writes as forward hooks usually do: one resizable dataset per layer, appended batch by batch,
then flushed and synced. Rates count float32 input bytes, so float16 and float32 are comparable.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import h5py
import numpy as np

BATCH = 4096


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def drop_from_cache(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fdatasync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def write_h5py(path, options, dtype, checksums):
    batch = np.random.default_rng(1).uniform(-3, 3, (BATCH, options.dim)).astype(np.float32)

    def write():
        with h5py.File(path, "w") as file:
            datasets = [
                file.create_dataset(f"hidden/{layer:03}", (0, options.dim), dtype,
                                    maxshape=(None, options.dim), chunks=(341, options.dim),
                                    fletcher32=checksums)
                for layer in range(options.layers)
            ]
            for first in range(0, options.rows, BATCH):
                rows = batch[: min(BATCH, options.rows - first)].astype(dtype)
                for dataset in datasets:
                    dataset.resize(first + len(rows), axis=0)
                    dataset[first:] = rows
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    path.unlink(missing_ok=True)
    return options.rows * options.dim * 4 * options.layers / timed(write) * 1e-9


def read_h5py(path, name, options):
    for file in [path, *path.parent.glob(path.stem + ".shards/*.h5")] if options.cold else []:
        drop_from_cache(file)

    def read():
        with h5py.File(path, "r") as file:
            layer = file[name][:]
            if layer.dtype != np.float32:
                layer = layer.astype(np.float32)

    return options.rows * options.dim * 4 / timed(read) * 1e-9


def run_ours(options, folder):
    command = [options.program, "--folder", str(folder), "--repeats", "1", "--json", "--keep",
               "--rows", str(options.rows), "--dim", str(options.dim),
               "--layers", str(options.layers)] + (["--cold"] if options.cold else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/bin/lime-bench-store")
    parser.add_argument("--folder", default="bench-store", type=pathlib.Path)
    parser.add_argument("--rows", default=32768, type=int)
    parser.add_argument("--dim", default=768, type=int)
    parser.add_argument("--layers", default=8, type=int)
    parser.add_argument("--repeats", default=5, type=int)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    middle = f"{options.layers // 2:03}"
    rates = {}
    for _ in range(options.repeats):
        measured = run_ours(options, options.folder)
        for dtype, short in (("float32", "f32"), ("float16", "f16")):
            path = options.folder / f"h5py-{short}.h5"
            measured[f"write h5py {short}"] = write_h5py(path, options, dtype, False)
            measured[f"read layer h5py {short}"] = read_h5py(path, f"hidden/{middle}", options)
            checked = options.folder / f"h5py-fletcher-{short}.h5"
            measured[f"write h5py {short}, checksums"] = write_h5py(checked, options, dtype, True)
            measured[f"read layer h5py {short}, checksums"] = read_h5py(
                checked, f"hidden/{middle}", options)
            measured[f"h5py reads our {short}"] = read_h5py(
                options.folder / f"{short}.h5", f"activations/hidden/{middle}", options)
        for name, rate in measured.items():
            rates.setdefault(name, []).append(rate)
    shutil.rmtree(options.folder)
    print(f"medians of {options.repeats}, GB/s of float32; {options.rows} rows x {options.dim} x "
          f"{options.layers} layers; {'cold' if options.cold else 'warm'} page cache")
    for name in sorted(rates):
        plain = "read plain" if "read" in name else "write plain"
        rate = statistics.median(rates[name])
        share = rate / statistics.median(rates[plain])
        print(f"{name:<34} {rate:6.2f}  {share:5.0%} of {plain}")


if __name__ == "__main__":
    main()
