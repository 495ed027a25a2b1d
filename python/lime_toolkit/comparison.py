# SPDX-License-Identifier: Apache-2.0
"""Summaries of samples and paired comparisons, as `lime-metrics ... --compare` computes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable

import numpy as np

from ._calls import core as _core
from ._arrays import to_column, to_seed, to_sequences, to_whole
from .tables import Table


@dataclass(frozen=True)
class Summary(Table):
    """Mean of a sample with a bootstrap interval of the mean."""

    metric = "summary"

    n: int
    mean: float
    std: float  #: ddof 0
    ci_low: float  #: NaN if n < 2 or without resamples
    ci_high: float

    def table(self) -> list[dict[str, Any]]:
        """Returns one row."""
        return [asdict(self)]


@dataclass(frozen=True)
class PairedComparison(Table):
    """Difference of two paired samples."""

    metric = "compare"

    n: int
    difference: float  #: mean of second - first
    std: float  #: of the differences, ddof 0
    ci_low: float
    ci_high: float
    p_value: float  #: two-sided, of the sign-flip test
    exact: bool  #: whether all 2^n sign flips were tried

    def table(self) -> list[dict[str, Any]]:
        """Returns one row."""
        return [asdict(self)]


def summarize(values: Any, *, resamples: int = 10000, confidence: float = 0.95, seed: int = 0) -> Summary:
    """Computes mean, standard deviation (ddof 0) and the percentile bootstrap interval of the mean.

    values: [n], finite. resamples: 100 to 10,000,000, or 0 for no interval.
    Raises ValueError. Source: Efron & Tibshirani (1993), ch. 13.
    """
    resamples = to_whole(resamples, "resamples", most=10_000_000)
    return Summary(**_core.summarize(to_column(values, "values"), resamples, confidence, to_seed(seed)))


def compare(
    first: Any, second: Any, *, confidence: float = 0.95, resamples: int = 10000, seed: int = 0
) -> PairedComparison:
    """Compares two paired samples, [n] each: the mean of second - first, its interval and p-value.

    Raises ValueError if they are empty, differ in length or are not finite.
    Source: Fisher (1935), ch. 3; Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.
    """
    return PairedComparison(
        **_core.compare_paired(
            to_column(first, "first"),
            to_column(second, "second"),
            confidence,
            to_whole(resamples, "resamples", most=10_000_000),
            to_seed(seed),
        )
    )


@dataclass(frozen=True)
class Jackknife(Table):
    """An estimate from sequences, and its uncertainty."""

    metric = "jackknife"

    value: float  #: from all sequences
    standard_error: float
    ci_low: float
    ci_high: float
    pseudo_values: np.ndarray  #: of each block, [num_blocks]; their mean has no bias of order 1 / n

    def table(self) -> list[dict[str, Any]]:
        """Returns one row."""
        return [{"value": self.value, "stderr": self.standard_error, "ci_low": self.ci_low, "ci_high": self.ci_high}]


def jackknife(
    estimator: Callable[[list[np.ndarray]], float],
    rows: Any,
    *,
    offsets: Any = None,
    num_blocks: int = 10,
    confidence: float = 0.95,
) -> Jackknife:
    """Estimates the uncertainty of a measure over all rows, leaving out one block of sequences at a time.

        jackknife(lambda sequences: geometry(sequences, measure="rank").effective_rank, rows)

    estimator: returns a finite number for a list of sequences, [num_tokens, dim] each.
    rows, offsets: as for entropy(), of at least `num_blocks` sequences. num_blocks: >= 5. The interval uses
        Student's t-distribution with num_blocks - 1 degrees of freedom. Values are those of
        `lime-metrics geometry --jackknife`.
    Raises ValueError. Source: Efron & Tibshirani (1993), ch. 11; Kuensch (1989), Ann. Stat. 17.
    """
    sequences = to_sequences(rows, offsets)
    blocks = _core.cut_into_blocks(len(sequences), to_whole(num_blocks, "num_blocks"))
    value = float(estimator(sequences))
    without = [float(estimator(sequences[:first] + sequences[last:])) for first, last in blocks]
    return Jackknife(value, **_core.jackknife(value, np.array(without), confidence))


def holm_adjusted(p_values: Any) -> np.ndarray:
    """Corrects p-values for multiple testing (Holm 1979), in their order, [n].

    Raises ValueError if a value is outside [0, 1].
    """
    return _core.holm_adjusted(to_column(p_values, "p_values"))
