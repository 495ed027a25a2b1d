#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a device reaches with PyTorch, as one line of JSON: the upper bounds of run.py's report.

    bench/gpu/ceilings.py [--device cuda] [--toy]

`copy`: GB/s of a copy within the device's memory, bytes read and written. `to_host`: GB/s of a copy
to pinned memory. `product`: TFLOP/s of a square matrix product of random numbers, per type. Each is
the median of five, after two that warm up.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "capture"))
from hooks_h5py import chosen_device, finish_on  # noqa: E402


def median_seconds(device, action):
    for _ in range(2):
        action()
    seconds = []
    for _ in range(5):
        finish_on(device)
        start = time.perf_counter()
        action()
        finish_on(device)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def copy_rates(device, numbers):
    here = torch.empty(numbers, device=device)
    there, host = torch.empty_like(here), torch.empty(numbers, pin_memory=device.type == "cuda")
    return {"copy": 8e-9 * numbers / median_seconds(device, lambda: there.copy_(here)),
            "to_host": 4e-9 * numbers / median_seconds(
                device, lambda: host.copy_(here, non_blocking=True))}


def product_rate(device, dtype, size):
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2e-12 * size**3 / median_seconds(device, lambda: a @ b)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--toy", action="store_true", help="small sizes, to try the program")
    arguments = parser.parse_args()
    device = chosen_device(arguments.device, "ceilings")
    numbers, size = (1 << 20, 256) if arguments.toy else (1 << 30, 8192)
    result = {"torch": torch.__version__, "cuda": torch.version.cuda,
              "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
              **copy_rates(device, numbers)}
    result["product"] = {str(dtype).removeprefix("torch."): product_rate(device, dtype, size)
                         for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
