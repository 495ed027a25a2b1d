#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares random models of every decoder family with transformers.

    bench/parity/check_families.py [--build build/release] [--models 210] [--seed 1]

Draws configurations over the branches of tests/golden/family_models.py, computes hidden states,
queries, keys and values before and after rotation, attention patterns, MLP activations and logits
of every token with transformers in float64, and has the test program compare them with ours, in
float64 (relative 1e-9) and float32 (relative 2e-5), and decode with the cache. Prints the largest
relative deviation of each family as a Markdown table (docs/numerics.md). The rows beyond_KIND are
models with that kind of RoPE on sequences of 1.5 and 3 times max_position_embeddings. Exits with 1
if one exceeds its tolerance. Needs numpy, h5py, torch, transformers, safetensors.

In transformers, float32 is replaced by float64 everywhere, also where rotary angles are computed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

from family_models import (BEYOND, BRANCHES, NUM_TOKENS, beyond_settings,  # noqa: E402
                           random_settings)
from make_family_goldens import write_family  # noqa: E402


def compare(program, folder):
    """Returns whether all agree, and the largest error by (family, dtype)."""
    report = folder / "report.json"
    done = subprocess.run([program, "--gtest_filter=Families/*", f"--gtest_output=json:{report}"],
                          env=dict(os.environ, LIME_FAMILY_GOLDENS=str(folder)),
                          capture_output=True, text=True)
    errors = {}
    for suite in json.loads(report.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            if "largest_error" in test:
                family, dtype = test["name"].split("/")[-1].rsplit("_", 1)
                errors[family, dtype] = test["largest_error"]
    return done, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--models", type=int, default=210)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    each = -(-arguments.models // len(BRANCHES))
    drawn = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for family in BRANCHES:
            drawn[family] = [random_settings(family, rng) for _ in range(each)]
        for kind in BEYOND:
            draws = -(-each // len(beyond_settings(kind, rng)))
            drawn[f"beyond_{kind}"] = [one for _ in range(draws)
                                       for one in beyond_settings(kind, rng)]
        for family, settings in drawn.items():
            write_family(folder / f"{family}.h5", family, settings, range(NUM_TOKENS))
        done, errors = compare(arguments.build / "bin" / "lime_model_golden_tests", folder)
    print(f"{sum(map(len, drawn.values()))} models, seed {arguments.seed}, transformers "
          f"{transformers.__version__}, torch {torch.__version__}\n")
    print("| family | models | float64 | float32 |")
    print("|---|---|---|---|")
    for family, settings in drawn.items():
        print(f"| `{family}` | {len(settings)} | {errors[family, 'float64']} | "
              f"{errors[family, 'float32']} |")
    if done.returncode != 0:
        sys.exit(done.stdout[-8000:])


if __name__ == "__main__":
    main()
