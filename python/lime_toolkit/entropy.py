# SPDX-License-Identifier: Apache-2.0
"""Matrix-based Renyi entropy, as `lime-metrics entropy` computes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from ._calls import core as _core
from ._arrays import to_array, to_column, to_matrix, to_options, to_sequence, to_sequences, to_whole
from ._lime_toolkit import RunningStatistics
from .capture import Capture
from .comparison import Summary, summarize
from .tables import LayerResults, Table, each_layer, where_of


@dataclass(frozen=True)
class Entropies(Table):
    """Entropies of sequences, in `unit`."""

    metric = "entropy"

    values: np.ndarray  #: [num_sequences, num_orders]; with top_k the middle of the bounds
    alpha: np.ndarray  #: orders, [num_orders]
    num_tokens: np.ndarray  #: [num_sequences]
    ceiling: np.ndarray  #: largest possible value of each sequence, [num_sequences]
    unit: str  #: "nats"; "ratio" for layer-by-layer and matrix-entropy; "rank" for diff-erank
    preset: str
    lower: np.ndarray | None = None  #: with top_k: bounds, [num_sequences, num_orders]
    upper: np.ndarray | None = None
    left_out: np.ndarray | None = None  #: with top_k: fraction of the trace in the omitted eigenvalues
    dim: int = 0  #: of a row
    where: dict[str, Any] = field(default_factory=dict)  #: label, site and layer of activations

    def summary(
        self, alpha: float | None = None, *, resamples: int = 10000, confidence: float = 0.95, seed: int = 0
    ) -> Summary:
        """Summarizes one order over the sequences: the columns of `lime-metrics entropy`.

        Without `alpha` there must be a single order. Raises ValueError for an order that was not computed.
        """
        if alpha is None and len(self.alpha) == 1:
            return summarize(self.values[:, 0], resamples=resamples, confidence=confidence, seed=seed)
        (found,) = np.nonzero(self.alpha == alpha)
        if not found.size:
            raise ValueError(f"alpha: must be one of {self.alpha.tolist()}, got {alpha}")
        return summarize(self.values[:, found[0]], resamples=resamples, confidence=confidence, seed=seed)

    def table(self) -> list[dict[str, Any]]:
        """Returns a row per order, with the columns of `lime-metrics entropy`."""
        rows = []
        for index, alpha in enumerate(self.alpha):
            found = self.summary(float(alpha))
            row = {
                **self.where, "alpha": float(alpha), "preset": self.preset, "unit": self.unit, "mean": found.mean,
                "std": found.std, "ci_low": found.ci_low, "ci_high": found.ci_high, "n": found.n,
                "tokens": float(np.mean(self.num_tokens)), "tokens_min": int(np.min(self.num_tokens)), "dim": self.dim,
                "ceiling": float(np.mean(self.ceiling)), "ceiling_min": float(np.min(self.ceiling)),
            }
            if self.lower is not None and self.upper is not None and self.left_out is not None:
                row |= {"lower": float(self.lower[:, index].mean()), "upper": float(self.upper[:, index].mean()),
                        "left_out": float(self.left_out.mean())}
            rows.append(row)
        return rows

    def _options(self) -> dict[str, Any]:
        return {"preset": self.preset, "alpha": self.alpha.tolist()}

    @property
    def mean(self) -> np.ndarray:
        """Mean over the sequences, [num_orders]."""
        return self.values.mean(axis=0)

    def samples(self) -> np.ndarray:
        """Returns the values of the sequences, [num_sequences]. Raises ValueError for several orders."""
        if len(self.alpha) != 1:
            raise ValueError(f"compare: needs one order, got alpha {self.alpha.tolist()}; compute one, entropy(..., alpha=0.5)")
        return self.values[:, 0]

    def __float__(self) -> float:
        return float(self.values.item())


@overload
def entropy(rows: Capture, *, sites: Any = ..., **options: Any) -> LayerResults[Entropies]: ...


@overload
def entropy(rows: Any, **options: Any) -> Entropies: ...


def entropy(
    rows: Any,
    *,
    offsets: Any = None,
    statistics: RunningStatistics | None = None,
    preset: str = "lime-code",
    alpha: float | list[float] | None = None,
    normalization: str = "maxEntropy",
    top_k: int | None = None,
    threads: int = 0,
    sites: Any = None,
) -> Entropies | LayerResults[Entropies]:
    """Computes the matrix-based Renyi entropy of sequences.

        K = Z Z^T / tr(Z Z^T),    S_alpha(Z) = log(sum_i lambda_i(K)^alpha) / (1 - alpha)

    Near 0 all tokens are collinear (representation collapse); at `ceiling` the spectrum is flat.

    rows: one sequence [num_tokens, dim], a batch [num_sequences, num_tokens, dim], a list of
        sequences, `capture[site, layer]`, or with `offsets` [num_sequences + 1] the concatenation
        of all sequences. float16 and float32 are used as float32, float64 is not rounded. Arrays of
        other libraries are accepted through DLPack or the buffer protocol. Sequences have >= 2 tokens.
        Of a Capture: every layer of `sites` (default: all), as LayerResults by (site, layer). Its shorter
        sequences are left out with a warning: values are of the others, in their order.
    statistics: of the dataset, for the preset lime-code, which standardises with them. Default:
        those stored with `capture[site, layer]`, else (also if sequences are left out) those of `rows`.
    preset: lime-code, raw, seq-vcr, layer-by-layer, matrix-entropy or diff-erank (see
        `lime-metrics entropy --help` and docs/numerics.md).
    alpha: orders, > 0; `math.inf` is the min-entropy. Default: 0.5 for lime-code and raw, else 1.
    normalization: divisor of the preset layer-by-layer.
    top_k: compute only the leading eigenvalues, and bounds of the entropy.
    threads: 0 uses all CPUs. Results are bit-identical for any number of them, and equal to those of
        `lime-metrics entropy` for the same float32 rows and statistics.

    Raises ValueError for invalid options, shapes, NaN or infinity (names the first), and for
    sequences of one token in arrays or of zeros; KeyboardInterrupt.
    Source: Sanchez Giraldo, Rao & Principe (2015), arXiv:1211.2459; the presets name theirs.
    """
    if isinstance(rows, Capture):
        return each_layer(
            rows, sites,
            lambda one: entropy(
                one, statistics=statistics, preset=preset, alpha=alpha, normalization=normalization, top_k=top_k,
                threads=threads,
            ),
        )
    sequences = to_sequences(rows, offsets)
    if statistics is None and _core.needs_statistics(preset):
        # Those stored with a capture are of all sequences.
        is_whole = hasattr(rows, "statistics") and len(sequences) == len(rows.offsets) - 1
        statistics = (rows.statistics if is_whole else None) or statistics_of(sequences)
    options = to_options(
        preset=preset,
        alpha=alpha,
        normalization=None if normalization == "maxEntropy" else normalization,
        top_k=top_k,
    )
    compute = _core.entropies if sequences[0].dtype == np.float32 else _core.double_entropies
    # Each sequence has one thread.
    threads = 1 if len(sequences) == 1 else to_whole(threads, "threads")
    found = compute(sequences, statistics, options, threads)
    return Entropies(preset=preset, dim=sequences[0].shape[1], where=where_of(rows), **found)


def statistics_of(rows: Any, offsets: Any = None) -> RunningStatistics:
    """Computes count, mean and sum of squared deviations of every dimension, in double.

    rows: as for entropy(). Returns RunningStatistics with `count`, `mean` [dim] and `m2` [dim]; the
    unbiased variance is m2 / (count - 1). Source: Chan, Golub & LeVeque (1979), eq. 2.1.
    """
    sequences = to_sequences(rows, offsets)
    if sequences[0].dtype == np.float64:
        every = np.concatenate(sequences)
        mean = every.mean(axis=0)
        return RunningStatistics(len(every), mean, np.square(every - mean).sum(axis=0))
    statistics = RunningStatistics()
    for one in sequences:
        statistics.add(one)
    return statistics


def spectrum(rows: Any) -> np.ndarray:
    """Returns the eigenvalues of Z Z^T, descending, [min(num_tokens, dim)]: squared singular values.

    rows: Z, [num_tokens, dim]. In double. Raises ValueError if a value is not finite.
    """
    return _core.spectrum(to_matrix(rows, double=True))


def entropy_of_spectrum(eigenvalues: Any, alpha: float = 1.0, trace: float | None = None) -> float:
    """Computes the Renyi entropy in nats of p_i = max(lambda_i, 0) / trace; `trace` defaults to their sum.

    Raises ValueError if there are none, one is not finite, or alpha is not > 0.
    """
    values = to_column(eigenvalues, "eigenvalues")
    return _core.entropy_of_spectrum(values, float(values.sum()) if trace is None else trace, alpha)


def token_contributions(rows: Any, alpha: float = 0.5, *, threads: int = 0) -> tuple[float, np.ndarray]:
    """Computes the decrease of a sequence's entropy when each token is left out.

    rows: Z, [num_tokens, dim], num_tokens >= 2, standardised beforehand (standardize()).
    Returns the entropy of the whole sequence and the contributions [num_tokens], both in nats.
    Raises ValueError, KeyboardInterrupt.
    """
    return _core.token_contributions(to_sequence(rows, double=True), alpha, to_whole(threads, "threads"))


def standardize(rows: Any, statistics: RunningStatistics) -> np.ndarray:
    """Returns (x - mean) / (std + 1e-5), [num_tokens, dim] in float64, as the LIMe analysis does.

    Raises ValueError if the dimensions differ. Source: corl-team/lime, src/analysis/entropy.py.
    """
    return _core.standardize(to_matrix(to_array(rows)), statistics)
