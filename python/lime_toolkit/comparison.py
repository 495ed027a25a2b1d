# SPDX-License-Identifier: Apache-2.0
"""Summaries of samples and paired comparisons, as `lime-metrics ... --compare` computes them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable, overload

import numpy as np

from ._calls import core as _core
from ._arrays import to_column, to_seed, to_sequences, to_whole
from .tables import LayerResults, Table


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
    baseline_mean: float = math.nan  #: mean of first
    mean: float = math.nan  #: mean of second
    p_holm: float | None = None  #: p_value after Holm's correction over the layers
    where: dict[str, Any] = field(default_factory=dict)  #: label, baseline, site and layer of results

    def table(self) -> list[dict[str, Any]]:
        """Returns one row, with the columns of `lime-metrics ... --compare`."""
        row = {
            "kind": "comparison", **self.where, "baseline_mean": self.baseline_mean, "mean": self.mean,
            "difference": self.difference, "std": self.std, "ci_low": self.ci_low, "ci_high": self.ci_high, "n": self.n,
            "p": self.p_value, "p_exact": self.exact,
        }
        return [row if self.p_holm is None else {**row, "p_holm": self.p_holm}]


def summarize(values: Any, *, resamples: int = 10000, confidence: float = 0.95, seed: int = 0) -> Summary:
    """Computes mean, standard deviation (ddof 0) and the percentile bootstrap interval of the mean.

    values: [n], finite. resamples: 100 to 10,000,000, or 0 for no interval.
    Raises ValueError. Source: Efron & Tibshirani (1993), ch. 13.
    """
    resamples = to_whole(resamples, "resamples", most=10_000_000)
    return Summary(**_core.summarize(to_column(values, "values"), resamples, confidence, to_seed(seed)))


@overload
def compare(
    first: LayerResults[Any], second: LayerResults[Any], *, confidence: float = ..., resamples: int = ..., seed: int = ...
) -> LayerResults[PairedComparison]: ...


@overload
def compare(
    first: Any, second: Any, *, confidence: float = ..., resamples: int = ..., seed: int = ...
) -> PairedComparison: ...


def compare(
    first: Any, second: Any, *, confidence: float = 0.95, resamples: int = 10000, seed: int = 0
) -> PairedComparison | LayerResults[PairedComparison]:
    """Compares two paired samples: the mean of second - first, its interval and p-value.

        compare(entropy(capture), entropy(other)).frame()

    first, second: [n] each, or results with a value per sequence or fold: Entropies, Probe, LimeCodeProbe. Of the
        results of two captures: every layer, with `p_holm` over the layers of a site.
    Raises ValueError if they are empty, differ in length or in layers, or are not finite.
    Source: Fisher (1935), ch. 3; Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.
    """
    options = (confidence, to_whole(resamples, "resamples", most=10_000_000), to_seed(seed))
    if not isinstance(first, LayerResults) and not isinstance(second, LayerResults):
        return _compare(first, second, options)
    if not isinstance(first, LayerResults) or not isinstance(second, LayerResults) or list(first) != list(second):
        raise ValueError("compare: both must be results of captures with the same sites and layers")
    found = {key: _compare(first[key], second[key], options) for key in first}
    for site in {site for site, _ in found}:
        own = [key for key in found if key[0] == site]
        adjusted = holm_adjusted([found[key].p_value for key in own])
        found.update({key: replace(found[key], p_holm=float(p)) for key, p in zip(own, adjusted)})
    return LayerResults(found)


def _compare(first: Any, second: Any, options: tuple[float, int, int]) -> PairedComparison:
    x, y = (
        to_column(one.samples() if isinstance(one, Table) else one, name)
        for one, name in ((first, "first"), (second, "second"))
    )
    found = _core.compare_paired(x, y, *options)
    before, after = (getattr(one, "where", {}) for one in (first, second))
    where = {"label": after["label"], "baseline": before["label"], **after} if before and after else {}
    return PairedComparison(**found, baseline_mean=float(np.mean(x)), mean=float(np.mean(y)), where=where)


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
