#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the ways to compute the eigenvalues of a batch of Gram matrices, one line of JSON per way.

    bench/gpu/eigenvalues.py [--device cuda] [--sizes 512x64 2048x16] [--toy]

`eigvalsh`: torch.linalg.eigvalsh on the batch. `xsyev_batched`: cusolverDnXsyevBatched, called
directly as liblime_gpu.so calls it. `xsyevd_streams`: cusolverDnXsyevd, one matrix at a time per
stream, on 8 streams. `numpy`: LAPACK on the CPU, one matrix. Seconds are per matrix, the median of
three; `difference` is the largest difference from numpy relative to the largest eigenvalue.
"""
import argparse
import concurrent.futures
import ctypes
import json
import pathlib
import statistics
import sys
import time

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "capture"))
from hooks_h5py import chosen_device, finish_on  # noqa: E402

CUDA_TYPES = {torch.float32: 0, torch.float64: 1}
VALUES_ONLY, UPPER = 0, 1
STREAMS = 8


def checked(status):
    if status != 0:
        raise RuntimeError(f"cuSOLVER status {status}")


class CuSolver:
    """A handle of cuSOLVER on one stream, with workspace that is kept between calls."""

    def __init__(self, device, stream):
        self.library = ctypes.CDLL("libcusolver.so.12")
        self.device = device
        self.handle, self.params = ctypes.c_void_p(), ctypes.c_void_p()
        checked(self.library.cusolverDnCreate(ctypes.byref(self.handle)))
        checked(self.library.cusolverDnCreateParams(ctypes.byref(self.params)))
        checked(self.library.cusolverDnSetStream(self.handle, ctypes.c_void_p(stream.cuda_stream)))
        self.on_device = self.on_host = None
        self.info = torch.zeros(4096, dtype=torch.int32, device=device)

    def eigenvalues(self, name, a, w, batch):
        """Calls cusolverDn{name}: overwrites a [batch, n, n], writes w [batch, n]."""
        n, kind = ctypes.c_int64(a.shape[-1]), CUDA_TYPES[a.dtype]
        last = [ctypes.c_int64(batch)] if name == "XsyevBatched" else []
        what = [self.handle, self.params, VALUES_ONLY, UPPER, n, kind, ctypes.c_void_p(a.data_ptr()),
                n, kind, ctypes.c_void_p(w.data_ptr()), kind]
        sizes = ctypes.c_size_t(), ctypes.c_size_t()
        checked(getattr(self.library, f"cusolverDn{name}_bufferSize")(
            *what, *map(ctypes.byref, sizes), *last))
        device_bytes, host_bytes = (size.value for size in sizes)
        if self.on_device is None or self.on_device.numel() < device_bytes:
            self.on_device = torch.empty(device_bytes, dtype=torch.uint8, device=self.device)
        if self.on_host is None or len(self.on_host) < host_bytes:
            self.on_host = ctypes.create_string_buffer(max(host_bytes, 1))
        info = ctypes.c_void_p(self.info.data_ptr())
        room = [ctypes.c_void_p(self.on_device.data_ptr()), sizes[0], self.on_host, sizes[1]]
        checked(getattr(self.library, f"cusolverDn{name}")(*what, *room, info, *last))


def batched(device):
    solver = CuSolver(device, torch.cuda.current_stream(device))

    def compute(gram):
        a, w = gram.clone(), gram.new_empty(gram.shape[:2])
        solver.eigenvalues("XsyevBatched", a, w, len(gram))
        return w
    return compute


def on_streams(device):
    streams = [torch.cuda.Stream(device) for _ in range(STREAMS)]
    solvers = [CuSolver(device, stream) for stream in streams]
    threads = concurrent.futures.ThreadPoolExecutor(STREAMS)

    def compute(gram):
        a, w = gram.clone(), gram.new_empty(gram.shape[:2])
        finish_on(device)

        def part(first):
            with torch.cuda.stream(streams[first]):
                for i in range(first, len(a), STREAMS):
                    solvers[first].eigenvalues("Xsyevd", a[i], w[i], 1)
                streams[first].synchronize()
        list(threads.map(part, range(STREAMS)))
        return w
    return compute


def report(name, gram, compute, expected):
    size = {"way": name, "dim": gram.shape[-1], "batch": len(gram),
            "dtype": str(gram.dtype).removeprefix("torch.")}
    try:
        seconds = []
        for _ in range(4):  # the first warms up
            finish_on(gram.device)
            start = time.perf_counter()
            found = compute(gram)
            finish_on(gram.device)
            seconds.append((time.perf_counter() - start) / len(gram))
        found = found[0].double().cpu().numpy()
        difference = numpy.abs(found - expected).max() / expected.max()
        line = size | {"seconds": statistics.median(seconds[1:]), "difference": difference}
    except (RuntimeError, OSError, AttributeError) as error:
        line = size | {"error": str(error).splitlines()[0]}
    print(json.dumps(line), flush=True)


def measure(device, dim, batch):
    torch.manual_seed(0)
    rows = torch.randn(batch, dim, dim, device=device, dtype=torch.float64)
    rows *= torch.logspace(0, -3, dim, device=device, dtype=torch.float64)
    wide = torch.bmm(rows, rows.transpose(1, 2))
    one = wide[0].cpu().numpy()
    start = time.perf_counter()
    expected = numpy.linalg.eigvalsh(one)
    print(json.dumps({"way": "numpy", "dim": dim, "batch": 1, "dtype": "float64",
                      "seconds": time.perf_counter() - start, "difference": 0.0}), flush=True)
    for dtype in (torch.float64, torch.float32):
        gram = wide.to(dtype)
        report("eigvalsh", gram, torch.linalg.eigvalsh, expected)
        if device.type != "cuda":
            continue
        report("xsyev_batched", gram, batched(device), expected)
        report("xsyevd_streams", gram, on_streams(device), expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--sizes", nargs="+", default=["512x64", "2048x16"], metavar="DIMxBATCH")
    parser.add_argument("--toy", action="store_true", help="small sizes, to try the program")
    arguments = parser.parse_args()
    device = chosen_device(arguments.device, "eigenvalues")
    for size in ["24x3"] if arguments.toy else arguments.sizes:
        measure(device, *map(int, size.split("x")))


if __name__ == "__main__":
    main()
