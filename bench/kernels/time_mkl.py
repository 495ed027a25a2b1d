#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of MKL, as the wheel of PyTorch has it, at the shapes of lime-bench-kernels, on one thread.

Run it in the same minute as `OMP_NUM_THREADS=1 lime-bench-kernels`: prints milliseconds, medians of 5 turns. A
Gram matrix is a whole product here: PyTorch has no dsyrk.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import statistics
import time
from typing import Callable

import torch

TURNS = 5
#: A turn repeats what is fast for as long, in seconds.
LEAST = 0.05


def milliseconds(run: Callable[[], object]) -> float:
    """Returns the median CPU time of a run."""
    run()
    times = []
    for _ in range(TURNS):
        count, start = 0, time.process_time()
        while (spent := time.process_time() - start) < LEAST or count == 0:
            run()
            count += 1
        times.append(1000.0 * spent / count)
    return statistics.median(times)


def show(kernel: str, shape: str, run: Callable[[], object]) -> None:
    print(f"{kernel:<32} {shape:<28} {milliseconds(run):10.4g} ms", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    if not torch.backends.mkl.is_available():
        raise SystemExit("time_mkl: this PyTorch has no MKL")
    for size in (128, 512, 1024, 2048):
        rows = drawn(size, size + 64, dtype=torch.float64)
        gram = rows @ rows.T
        show("eigenvalues, float64", str(size), lambda gram=gram: torch.linalg.eigvalsh(gram))
    for count, dim in ((512, 576), (128, 2048), (2048, 512), (2048, 2048)):
        rows = drawn(count, dim, dtype=torch.float64)
        smaller = rows if count <= dim else rows.T.contiguous()
        show("Gram matrix, float64", f"{count} x {dim}", lambda own=smaller: own @ own.T)
    for count, dim, columns in ((6672, 2048, 4), (12288, 576, 20)):
        rows, weights, residuals = drawn(count, dim), drawn(dim, columns), drawn(count, columns)
        shape = f"{count} x {dim}, {columns} columns"
        show("scores of a probe", shape, lambda a=rows, b=weights: a @ b)
        show("gradient of a probe", shape, lambda a=rows, b=residuals: a.T @ b)
        show("Gram matrix of a probe, float32", f"{count} x {dim}", lambda a=rows: a.T @ a)
    for tokens in (1, 512, 2048):
        for inputs, outputs in ((576, 1536), (1536, 576), (576, 576), (576, 192)):
            rows, weight = drawn(tokens, inputs), drawn(outputs, inputs)
            show("linear layer", f"{tokens} tokens, {inputs} to {outputs}", lambda a=rows, w=weight: a @ w.T)


if __name__ == "__main__":
    main()
