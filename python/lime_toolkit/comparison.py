# SPDX-License-Identifier: Apache-2.0
"""Summaries of samples and paired comparisons, as `lime-metrics ... --compare` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import to_column


@dataclass(frozen=True)
class Summary:
    """Mean of a sample with a bootstrap interval of the mean."""

    n: int
    mean: float
    std: float  #: ddof 0
    ci_low: float  #: NaN if n < 2 or without resamples
    ci_high: float


@dataclass(frozen=True)
class PairedComparison:
    """Difference of two paired samples."""

    n: int
    difference: float  #: mean of second - first
    std: float  #: of the differences, ddof 0
    ci_low: float
    ci_high: float
    p_value: float  #: two-sided, of the sign-flip test
    exact: bool  #: whether all 2^n sign flips were tried


def summarize(values: Any, *, resamples: int = 10000, confidence: float = 0.95, seed: int = 0) -> Summary:
    """Computes mean, standard deviation (ddof 0) and the percentile bootstrap interval of the mean.

    values: [n], finite. resamples: 100 to 10,000,000, or 0 for no interval.
    Raises ValueError. Source: Efron & Tibshirani (1993), ch. 13.
    """
    return Summary(**_core.summarize(to_column(values, "values"), resamples, confidence, seed))


def compare(
    first: Any, second: Any, *, confidence: float = 0.95, resamples: int = 10000, seed: int = 0
) -> PairedComparison:
    """Compares two paired samples, [n] each: the mean of second - first, its interval and p-value.

    Raises ValueError if they are empty, differ in length or are not finite.
    Source: Fisher (1935), ch. 3; Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.
    """
    return PairedComparison(
        **_core.compare_paired(
            to_column(first, "first"), to_column(second, "second"), confidence, resamples, seed
        )
    )


def holm_adjusted(p_values: Any) -> np.ndarray:
    """Corrects p-values for multiple testing (Holm 1979), in their order, [n].

    Raises ValueError if a value is outside [0, 1].
    """
    return _core.holm_adjusted(to_column(p_values, "p_values"))
