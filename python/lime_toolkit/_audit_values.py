# SPDX-License-Identifier: Apache-2.0
"""The measurements of an audit, with the names, options and intervals of `lime-metrics audit`."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ._calls import core as _core
from .capture import Capture
from .comparison import summarize
from .entropy import entropy
from .geometry import geometry, similarity_map

_RESAMPLES = 1000
#: Blocks of the jackknife.
FEWEST_SEQUENCES = 5
_PRESETS = ("lime-code", "raw", "seq-vcr", "layer-by-layer", "matrix-entropy")
_GEOMETRY = ("rank", "similarity", "curvature", "massive", "first-token")
_DIMENSIONS = ("two_nn", "mle", "gride")
_NEIGHBORS = 10
_SIMILARITIES = ("cka", "cka_debiased", "procrustes", "influence", "angle")
#: A part of the measurements of lime-metrics audit.
METRICS = (*(f"entropy-{name}" for name in _PRESETS), "geometry", "dimension", "similarity")

#: Places within a site with what the measure is over, measures and their numbers.
_Measured = Iterator[tuple[dict[str, Any], str, dict[str, float]]]


def values_of(capture: Capture, variant: str, metrics: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """Yields the rows of kind `value` of a variant. seed: of bootstrap intervals and drawn rows."""
    for metric in metrics:
        for site in capture.sites:
            for place, measure, numbers in _measure(capture, site, metric, seed):
                yield {
                    "label": variant, "site": site, **place, "quantity": metric, "kind": "value", "measure": measure,
                    **numbers,
                }


def _measure(capture: Capture, site: str, metric: str, seed: int) -> _Measured:
    if metric == "similarity":
        yield from _similarities(capture, site, seed)
        return
    for layer in capture.layers(site):
        rows, place = capture[site, layer], {"layer": layer}
        if metric == "geometry":
            yield from _geometry_of(rows, place, seed)
        elif metric == "dimension":
            yield from _dimensions_of(rows, place, seed)
        else:
            found = entropy(rows, preset=metric.removeprefix("entropy-"))
            yield place, "entropy", _summary(found.values[:, 0], seed)


def _geometry_of(rows: Any, place: dict[str, Any], seed: int) -> _Measured:
    """Yields measures of sequences with bootstrap intervals, and those of all rows with the jackknife's."""
    found = geometry(rows, measure=_GEOMETRY, ranks="sequences")
    of_rows = _jackknifed(rows, "similarity", seed, [row["measure"] for row in found.table() if row["over"] == "rows"])
    for row in found.table():
        name = row["measure"]
        if name in of_rows:
            yield {**place, "over": "rows"}, name, of_rows[name]
            continue
        values = (found.sequence_ranks or {}).get(name)
        yield place, name, _summary(getattr(found, name) if values is None else values, seed)


def _dimensions_of(rows: Any, place: dict[str, Any], seed: int) -> _Measured:
    scale = geometry(rows, measure=["dimension"], k=_NEIGHBORS, seed=seed).gride_scale
    for name, numbers in _jackknifed(rows, "dimension", seed, _DIMENSIONS).items():
        own = {**place, "scale": int(scale or 0)} if name == "gride" else place
        yield {**own, "over": "rows"}, name, numbers


def _jackknifed(rows: Any, group: str, seed: int, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Returns measures of all rows, with the intervals of the jackknife over blocks of sequences."""
    sequences = list(rows.sequences())
    blocks = _core.cut_into_blocks(len(sequences), FEWEST_SEQUENCES)

    def measured(chosen: list[np.ndarray]) -> np.ndarray:
        found = geometry(chosen, measure=[group], k=_NEIGHBORS, seed=seed)
        return np.array([getattr(found, name) for name in names], dtype=np.float64)

    whole = measured(sequences)
    without = np.array([measured(sequences[:first] + sequences[last:]) for first, last in blocks])
    return {name: _interval(float(whole[at]), without[:, at]) for at, name in enumerate(names)}


def _similarities(capture: Capture, site: str, seed: int) -> _Measured:
    """Yields the similarities of each layer with each layer, and the intervals of the jackknife."""
    layers = capture.layers(site)
    split = [list(capture[site, layer].sequences()) for layer in layers]
    blocks = _core.cut_into_blocks(capture.num_sequences, FEWEST_SEQUENCES)

    def maps_of(chosen: Callable[[list[Any]], list[Any]]) -> Any:
        return similarity_map(
            [np.concatenate(chosen(one)) for one in split], measure=["cka", "procrustes", "change"], seed=seed
        )

    whole = maps_of(lambda own: own)
    without = [maps_of(lambda own, a=first, b=last: own[:a] + own[b:]) for first, last in blocks]
    for i, layer in enumerate(layers):
        for j, other in enumerate(layers):
            if i == j:
                continue
            for name in _SIMILARITIES:
                value = float(getattr(whole, name)[i, j])
                if not math.isnan(value):  # influence and angle of layers of one dim only
                    place = {"layer": layer, "other_layer": other}
                    yield place, name, _interval(value, np.array([getattr(one, name)[i, j] for one in without]))


def _interval(value: float, without: np.ndarray) -> dict[str, float]:
    """Returns a value and the interval of the jackknife."""
    if not (math.isfinite(value) and np.isfinite(without).all()):
        return {"mean": value}
    found = _core.jackknife(value, without, 0.95)
    return _numbers(value, found["ci_low"], found["ci_high"])


def _summary(values: np.ndarray, seed: int) -> dict[str, float]:
    defined = values[np.isfinite(values)]
    if not len(defined):
        return {"mean": math.nan}
    found = summarize(defined, resamples=_RESAMPLES, seed=seed)
    return _numbers(found.mean, found.ci_low, found.ci_high)


def _numbers(mean: float, low: float, high: float) -> dict[str, float]:
    interval = {"ci_low": float(low), "ci_high": float(high)} if math.isfinite(low) and math.isfinite(high) else {}
    return {"mean": float(mean), **interval}
