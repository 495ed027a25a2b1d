# SPDX-License-Identifier: Apache-2.0
"""Geometry of representations, as `lime-metrics geometry` and `similarity` compute it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Sequence, overload

import numpy as np

from ._calls import core as _core
from ._arrays import to_array, to_matrix, to_seed, to_sequence, to_sequences, to_whole
from ._lime_toolkit import RunningStatistics
from .capture import Capture
from .comparison import summarize
from .tables import LayerResults, Table, each_layer, where_of

_GROUPS = ("rank", "similarity", "curvature", "massive", "dimension", "first-token", "power-law", "views")
_NOT_DEFAULT = {"power-law", "views"}
_SIMILARITY_GROUPS = ("cka", "procrustes", "change", "neighbors")
_NO_MEASURES = (
    "points", "duplicates", "recall", "gride_scale", "alpha_r2", "alpha_head", "alpha_tail", "num_rows", "dim", "where",
)
_GROUP_OF = {
    **dict.fromkeys(("effective_rank", "rankme", "participation_ratio", "stable_rank", "numerical_rank"), "rank"),
    **dict.fromkeys(("anisotropy", "anisotropy_centred", "sequence_cosine", "mean_token_similarity",
                     "rank_one_residual", "rank_one_residual_1inf"), "similarity"),
    "curvature": "curvature",
    **dict.fromkeys(("massive_share", "massive_token_share", "largest_to_median"), "massive"),
    **dict.fromkeys(("two_nn", "mle", "gride"), "dimension"),
    **dict.fromkeys(("first_norm_ratio", "top_share", "top_share_rest"), "first-token"),
    "alpha_req": "power-law",
    **dict.fromkeys(("dime", "infonce", "lidar"), "views"),
}
_RANKME_EPSILON = {"paper": 1e-7, "stable-pretraining": 1e-5, "tensorflow-gnn": 1e-12, "none": 0.0}


@dataclass(frozen=True)
class Geometry(Table):
    """Measures of one layer. None: not requested; NaN: undefined for these rows.

    Numbers are of all rows together; arrays have one value per sequence, [num_sequences].
    """

    metric = "geometry"

    effective_rank: float | None = None
    rankme: float | None = None
    participation_ratio: float | None = None
    stable_rank: float | None = None
    numerical_rank: float | None = None
    sequence_ranks: dict[str, np.ndarray] | None = None  #: the five ranks of each sequence, by name
    anisotropy: float | None = None
    anisotropy_centred: float | None = None
    sequence_cosine: np.ndarray | None = None
    mean_token_similarity: np.ndarray | None = None
    rank_one_residual: np.ndarray | None = None
    rank_one_residual_1inf: np.ndarray | None = None
    curvature: np.ndarray | None = None  #: degrees
    massive_share: np.ndarray | None = None
    massive_token_share: np.ndarray | None = None
    largest_to_median: np.ndarray | None = None
    two_nn: float | None = None
    mle: float | None = None
    points: int | None = None  #: distinct rows used for two_nn and mle
    duplicates: int | None = None
    recall: float | None = None  #: of the neighbour search
    gride: float | None = None
    gride_scale: int | None = None  #: gride compares the neighbours 2 gride_scale and gride_scale
    first_norm_ratio: np.ndarray | None = None  #: norm of the first token over the median of the sequence
    top_share: np.ndarray | None = None  #: sigma_1^2 / sum sigma^2 of the sequence
    top_share_rest: np.ndarray | None = None  #: the same without the first token
    alpha_req: float | None = None  #: power law of the spectrum, with its fit and both halves of the range
    alpha_r2: float | None = None
    alpha_head: float | None = None
    alpha_tail: float | None = None
    dime: float | None = None  #: difference of entropies of two views of each text
    infonce: np.ndarray | None = None  #: of each text, nats
    lidar: float | None = None
    num_rows: int = 0
    dim: int = 0  #: of a row
    where: dict[str, Any] = field(default_factory=dict)  #: label, site and layer of activations

    def table(self) -> list[dict[str, Any]]:
        """Returns a row per measure, with the columns of `lime-metrics geometry`."""
        rows: list[dict[str, Any]] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value is None or one.name in _NO_MEASURES:
                continue
            if one.name == "sequence_ranks":
                rows += [self._row(name, own) for name, own in value.items()]
            else:
                rows.append(self._row(one.name, value))
        return rows

    def _row(self, measure: str, value: Any) -> dict[str, Any]:
        row = {**self.where, "group": _GROUP_OF.get(measure, ""), "measure": measure}
        if not isinstance(value, np.ndarray):
            count = self.points if measure in ("two_nn", "mle", "gride") else self.num_rows
            row |= {"over": "rows", "mean": float(value), "std": math.nan, "ci_low": math.nan, "ci_high": math.nan,
                    "n": count, "undefined": 0}
            return {**row, "ceiling": min(self.num_rows, self.dim)} if row["group"] == "rank" else row
        defined = value[np.isfinite(value)]
        row |= {"over": "sequences", "mean": math.nan, "std": math.nan, "ci_low": math.nan, "ci_high": math.nan, "n": 0,
                "undefined": len(value) - len(defined)}
        if len(defined):
            found = summarize(defined)
            row |= {"mean": found.mean, "std": found.std, "ci_low": found.ci_low, "ci_high": found.ci_high, "n": found.n}
        return row


@dataclass(frozen=True)
class Similarity(Table):
    """Similarity of two sets of representations of the same tokens. NaN: not requested or undefined."""

    metric = "similarity"

    cka: float  #: linear CKA, in [0, 1]
    cka_debiased: float  #: about 0 for unrelated rows; NaN with very few rows
    procrustes: float  #: orthogonal Procrustes distance, in [0, 2]
    influence: float = math.nan  #: block influence, 1 - mean cosine, in [0, 2]; NaN if the dims differ
    angle: float = math.nan  #: mean angle / pi, in [0, 1]; NaN if the dims differ
    mutual_knn: float = math.nan  #: fraction of common nearest neighbours, in [0, 1]
    imbalance: float = math.nan  #: information imbalance from x to y, about 0 to 1

    def table(self) -> list[dict[str, Any]]:
        """Returns one row."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return [{name: value for name, value in values.items() if not math.isnan(value)}]


@dataclass(frozen=True)
class SimilarityMap(Table):
    """Similarity of each layer of one model with each layer of another, [num_layers, num_layers]."""

    metric = "similarity"

    cka: np.ndarray
    cka_debiased: np.ndarray
    procrustes: np.ndarray
    n: int  #: rows compared
    influence: np.ndarray
    angle: np.ndarray
    mutual_knn: np.ndarray
    imbalance: np.ndarray
    first: list[dict[str, Any]] = field(default_factory=list)  #: label, site and layer of activations
    second: list[dict[str, Any]] = field(default_factory=list)

    def table(self) -> list[dict[str, Any]]:
        """Returns a row per pair of layers, with the columns of `lime-metrics similarity`."""
        rows = []
        for i, j in np.ndindex(self.cka.shape):
            x, y = ((one[at] if one else {}) for one, at in ((self.first, i), (self.second, j)))
            row = {
                "label": x.get("label", "arrays"), "other_label": y.get("label", "arrays"), "site": x.get("site", "arrays"),
                "layer": x.get("layer", i), "other_layer": y.get("layer", j),
            }
            for name in ("cka", "cka_debiased", "procrustes", "influence", "angle", "mutual_knn", "imbalance"):
                value = float(getattr(self, name)[i, j])
                if not math.isnan(value):
                    row[name] = value
            rows.append({**row, "n": self.n})
        return rows


@dataclass(frozen=True)
class TokenProfile(Table):
    """Measures of each token of a sequence."""

    metric = "tokens"

    norm: np.ndarray  #: [num_tokens]
    relative_norm: np.ndarray  #: over the median of the sequence, [num_tokens]
    next_cosine: np.ndarray  #: of a token and the next one, [num_tokens - 1]

    def table(self) -> list[dict[str, Any]]:
        """Returns a row per token."""
        return [
            {"sequence": 0, "position": at, "norm": float(self.norm[at]), "relative_norm": float(self.relative_norm[at]),
             "next_cosine": float(self.next_cosine[at]) if at < len(self.next_cosine) else math.nan}
            for at in range(len(self.norm))
        ]


@overload
def geometry(rows: Capture, *, sites: Any = ..., **options: Any) -> LayerResults[Geometry]: ...


@overload
def geometry(rows: Any, **options: Any) -> Geometry: ...


def geometry(
    rows: Any,
    *,
    offsets: Any = None,
    statistics: RunningStatistics | None = None,
    measure: Sequence[str] | None = None,
    ranks: str = "rows",
    centering: str = "as-defined",
    rankme: str = "paper",
    rank_tolerance: float | None = None,
    power_law_first: int = 11,
    power_law_last: int = 50,
    massive_threshold: float = 100.0,
    massive_ratio: float = 1000.0,
    neighbor_rows: int = 10000,
    k: int = 20,
    two_nn_fit: str = "linear",
    two_nn_discard: float = 0.1,
    mle_average: str = "inverse",
    duplicate_tolerance: float = 1e-6,
    views: int | None = None,
    view_preset: str = "layer-by-layer",
    normalization: str = "maxEntropy",
    temperature: float = 0.1,
    permutations: int = 10,
    lidar_delta: float = 1e-4,
    seed: int = 0,
    threads: int = 0,
    sites: Any = None,
) -> Geometry | LayerResults[Geometry]:
    """Measures the geometry of one layer: options and values of `lime-metrics geometry`.

    rows, offsets, sites: as for entropy(), used as float32; of a Capture every layer. Sequences have >= 2 tokens
        (curvature: >= 3); shorter ones of a Capture are left out with a warning.
    statistics: of exactly these rows, whose mean is then not computed again.
    measure: of rank, similarity, curvature, massive, dimension, first-token, power-law and views;
        default: all but power-law and views.
    ranks: ranks of all rows together ("rows"), of each sequence ("sequences"), or "both".
    views: number of views of each text, for views: the sequences are the views, text by text.
    The other options, and the source of each measure: docs/geometry.md.

    Raises ValueError for invalid options, shapes, NaN or infinity; KeyboardInterrupt.
    """
    if isinstance(rows, Capture):
        given = {name: value for name, value in locals().items() if name not in ("rows", "sites", "offsets")}
        return each_layer(rows, sites, lambda one: geometry(one, **given))
    wanted = _wanted(measure, _GROUPS, _NOT_DEFAULT)
    law = to_whole(power_law_first, "power_law_first", 1), to_whole(power_law_last, "power_law_last", 1)
    seed, threads, k = to_seed(seed), to_whole(threads, "threads"), to_whole(k, "k")
    neighbor_rows = to_whole(neighbor_rows, "neighbor_rows", 1)
    permutations = to_whole(permutations, "permutations", 1)
    if ranks not in ("rows", "sequences", "both"):
        raise ValueError(f"ranks: expected one of rows, sequences, both, got '{ranks}'")
    if rankme not in _RANKME_EPSILON:
        raise ValueError(f"rankme: expected one of {', '.join(_RANKME_EPSILON)}, got '{rankme}'")
    of_text = views if "views" in wanted and views is not None else 1
    sequences = [one.astype(np.float32, copy=False) for one in to_sequences(rows, offsets, to_whole(of_text, "views", 1))]
    num_rows = sum(len(one) for one in sequences)
    statistics = statistics or getattr(rows, "statistics", None)
    values = _core.geometry(
        sequences,
        statistics.mean if statistics is not None and statistics.count == num_rows else None,
        rank_of_rows="rank" in wanted and ranks != "sequences",
        rank_of_sequences="rank" in wanted and ranks != "rows",
        similarity="similarity" in wanted,
        curvature="curvature" in wanted,
        massive="massive" in wanted,
        first_token="first-token" in wanted,
        power_law=law if "power-law" in wanted else None,
        centering=centering,
        rankme_epsilon=_RANKME_EPSILON[rankme],
        rank_tolerance=rank_tolerance,
        massive_threshold=massive_threshold,
        massive_ratio=massive_ratio,
        threads=threads,
    )
    if "dimension" in wanted:
        if measure is not None and num_rows <= k:
            raise ValueError(f"k: must be < {num_rows}, the number of rows, got {k}")
        values |= _core.intrinsic_dimension(
            np.concatenate(sequences)[_core.draw_rows(num_rows, neighbor_rows, seed)],
            k,
            two_nn_fit,
            two_nn_discard,
            mle_average,
            duplicate_tolerance,
            threads,
        )
    if "views" in wanted:
        num_views = 0 if views is None else to_whole(views, "views")
        if num_views < 2 or len(sequences) % num_views:
            raise ValueError(
                f"views: must be >= 2 and divide the number of sequences, {len(sequences)}, got {views}"
            )
        values |= _core.views(
            sequences, num_views, view_preset, normalization, temperature, permutations, lidar_delta, seed, threads
        )
    return Geometry(**values, num_rows=num_rows, dim=sequences[0].shape[1], where=where_of(rows))


def _wanted(measure: Sequence[str] | None, groups: Sequence[str], not_default: set[str]) -> set[str]:
    if measure is None:
        return set(groups) - not_default
    names = {measure} if isinstance(measure, str) else set(measure)
    for name in names - set(groups):
        raise ValueError(f"measure: expected one of {', '.join(groups)}, got '{name}'")
    return names


def effective_rank(rows: Any) -> float:
    """Returns exp of the entropy of the normalised singular values of `rows`, [num_rows, dim].

    Raises ValueError for zero or non-finite rows. Source: Roy & Vetterli (2007), eq. 3.
    """
    values = np.sqrt(np.maximum(_core.spectrum(to_matrix(rows, double=True)), 0.0))
    if not values.sum() > 0:
        raise ValueError("rows: must not be all zero")
    return float(np.exp(_core.entropy_of_spectrum(values, float(values.sum()), 1.0)))


def token_profile(rows: Any) -> TokenProfile:
    """Measures norm, norm relative to the median, and cosine with the next token of each token.

    rows: one sequence in text order, [num_tokens, dim]. Raises ValueError if a value is not finite.
    """
    return TokenProfile(**_core.token_profile(to_sequence(rows)))


def similarity(
    x: Any, y: Any, *, measure: Sequence[str] | None = None, k: int = 10, threads: int = 0
) -> Similarity:
    """Compares two sets of representations of the same tokens.

    x, y: [num_rows, dim], used as float32; row i is the same token in both; dims may differ.
    measure: of cka, procrustes, change (influence and angle) and neighbors; default: all but neighbors.
    k: nearest neighbours of the measure neighbors. threads: of neighbors; 0 uses all CPUs.
    Raises ValueError if the numbers of rows differ, are below 4, or a value is not finite.
    Source: Kornblith et al. (2019), eq. 2 to 4; Song et al. (2012), eq. 5; Ding, Denain &
    Steinhardt (2021), section 2; docs/geometry.md for the others.
    """
    wanted = _wanted(measure, _SIMILARITY_GROUPS, {"neighbors"})
    layers = [_layer(x, "x", wanted, k, threads), _layer(y, "y", wanted, k, threads)]
    return Similarity(*_compare(*layers, wanted, threads))


def _layer(rows: Any, name: str, wanted: set[str], k: int, threads: int) -> tuple[Any, Any, int]:
    """Returns comparable rows, their neighbours if they are wanted, and their dim."""
    matrix = to_matrix(rows, name)
    comparable = _core.comparable_rows(matrix)
    neighbors = None
    if "neighbors" in wanted:
        if not to_whole(k, "k", 1) < len(matrix):
            raise ValueError(f"k: must be < {len(matrix)}, the number of rows, got {k}")
        neighbors = _core.neighborhood_of(comparable, k, to_whole(threads, "threads"))
    return comparable, neighbors, matrix.shape[1]


def _compare(x: tuple[Any, Any, int], y: tuple[Any, Any, int], wanted: set[str], threads: int) -> list[float]:
    """Returns the values of Similarity, in their order."""
    values = [math.nan] * 7
    if wanted & {"cka", "procrustes"}:
        values[:3] = _core.compare_rows(x[0], y[0], "procrustes" in wanted)
        if "cka" not in wanted:
            values[:2] = [math.nan] * 2
    if "change" in wanted and x[2] == y[2]:
        values[3:5] = _core.change_of(x[0], y[0])
    if "neighbors" in wanted:
        values[5:] = _core.compare_neighborhoods(x[1], y[1], threads)
    return values


def cka(x: Any, y: Any, *, debiased: bool = False) -> float:
    """Returns linear CKA of similarity(); `debiased` uses the unbiased estimate of HSIC."""
    found = similarity(x, y, measure="cka")
    return found.cka_debiased if debiased else found.cka


def procrustes(x: Any, y: Any) -> float:
    """Returns the orthogonal Procrustes distance of similarity(), in [0, 2]."""
    return similarity(x, y, measure="procrustes").procrustes


def similarity_map(
    layers: Any,
    other: Any = None,
    *,
    site: str | None = None,
    measure: Sequence[str] | None = None,
    k: int = 10,
    max_rows: int = 4096,
    seed: int = 0,
    threads: int = 0,
) -> SimilarityMap:
    """Compares each layer with each layer of `other` (default: the same ones).

    layers, other: sequences of [num_rows, dim]; row i is the same token in all of them. At most
    `max_rows` rows, drawn as `lime-metrics similarity` draws them, are compared. Of a Capture: the layers of
    `site` (default: its first).
    measure, k, threads, and errors: as similarity(). The imbalance is that from `layers` to `other`.
    """
    wanted = _wanted(measure, _SIMILARITY_GROUPS, {"neighbors"})
    layers, other = _layers_of(layers, site), _layers_of(other, site)
    places = [[where_of(one) for one in own] for own in (layers, layers if other is None else other)]
    first = [to_array(one) for one in layers]
    second = first if other is None else [to_array(one) for one in other]
    if not first or not second:
        raise ValueError("layers: must contain at least one layer")
    counts = {len(one) for one in [*first, *second]}
    if len(counts) > 1:
        raise ValueError(f"layers: all must have the same rows, got {sorted(counts)} rows")
    chosen = _core.draw_rows(counts.pop(), to_whole(max_rows, "max_rows", 1), to_seed(seed))
    x = [_layer(one[chosen], "layers", wanted, k, threads) for one in first]
    y = x if other is None else [_layer(one[chosen], "other", wanted, k, threads) for one in second]
    maps = np.empty((7, len(x), len(y)))
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            # A map within a model is symmetric, but for the imbalance.
            is_mirrored = other is None and j < i
            found = _compare(a, b, wanted & {"neighbors"} if is_mirrored else wanted, threads)
            maps[:, i, j] = np.where(np.arange(7) < 5, maps[:, j, i], found) if is_mirrored else found
    cka, debiased, procrustes, influence, angle, knn, imbalance = maps
    return SimilarityMap(cka, debiased, procrustes, len(chosen), influence, angle, knn, imbalance, *places)


def _layers_of(layers: Any, site: str | None) -> Any:
    if not isinstance(layers, Capture):
        return layers
    chosen = site or layers.sites[0]
    return [layers[chosen, layer] for layer in layers.layers(chosen)]
