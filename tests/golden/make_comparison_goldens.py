#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes comparison.json: paired samples and their statistics by SciPy and statsmodels.

Exact sign-flip p-values (scipy.stats.permutation_test over all 2^n samples), percentile bootstrap
intervals of the mean difference (scipy.stats.bootstrap, 100,000 resamples) and Holm's correction
(statsmodels multipletests). Run it in this folder.
"""
import json
import platform

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

SEED = 20261121


def mean_difference(first, second, axis):
    return np.mean(second - first, axis=axis)


def case(name, first, second, rng):
    resamples = np.inf if len(first) <= 13 else 200_000
    test = stats.permutation_test(
        (first, second), mean_difference, permutation_type="samples", vectorized=True,
        n_resamples=resamples, batch=20_000, alternative="two-sided", rng=rng)
    interval = stats.bootstrap(
        (first, second), mean_difference, paired=True, vectorized=True, n_resamples=100_000,
        batch=5_000, confidence_level=0.95, method="percentile", rng=rng).confidence_interval
    return {"name": name, "first": first.tolist(), "second": second.tolist(),
            "exact": bool(np.isinf(resamples)), "p_value": float(test.pvalue),
            "ci_low": float(interval.low), "ci_high": float(interval.high)}


def main():
    rng = np.random.default_rng(SEED)
    cases = []
    for n, shift in [(2, 1.0), (5, 0.4), (8, 0.3), (12, 0.0), (13, 0.5)]:
        first = rng.normal(size=n)
        cases.append(case(f"normal{n}", first, first + shift + 0.5 * rng.normal(size=n), rng))
    ties = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    cases.append(case("ties", ties, ties + np.array([1.0, -1.0, 1.0, 1.0, 0.0, 1.0]), rng))
    first = rng.normal(size=60)
    cases.append(case("many", first, first + 0.15 + 0.5 * rng.normal(size=60), rng))
    p_values = [rng.uniform(size=n).tolist() for n in (1, 4)] + [
        [0.01, 0.01, 0.04, 0.03, 0.5, 1.0, 0.0005], [0.0, 1.0, 0.2], [0.04] * 5]
    holm = [{"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()} for p in p_values]
    with open("comparison.json", "w", encoding="utf-8") as out:
        json.dump({"provenance": {"script": "make_comparison_goldens.py", "seed": SEED,
                                  "python": platform.python_version(), "numpy": np.__version__,
                                  "scipy": scipy.__version__,
                                  "statsmodels": statsmodels.__version__},
                   "paired": cases, "holm": holm}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
