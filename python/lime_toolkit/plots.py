# SPDX-License-Identifier: Apache-2.0
"""Figures of results with matplotlib, in the style of lime-figure. Needs the extra [plots]."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Sequence

import numpy as np

from .auditing import Audit
from .capture import Capture
from .geometry import SimilarityMap
from .results import Embeddings, Results
from .router import Router
from .sweeps import Sweep
from .tables import Table

#: Okabe & Ito's colours, which readers with colour-vision deficiencies tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442")


@contextmanager
def style() -> Iterator[None]:
    """Sets the fonts, lines and colours of lime-figure within a `with` block."""
    import matplotlib
    from cycler import cycler

    settings = {
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "figure.dpi": 150,
        "font.size": 8,
        "image.cmap": "viridis",
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 3,
        "svg.fonttype": "none",
    }
    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context(settings):
            yield
            interactive = matplotlib.is_interactive()
    finally:
        # The backend of notebooks sets this with the first figure, and shows no other one without it.
        matplotlib.interactive(interactive)


def layers(
    results: Results | Table | Sequence[Table],
    site: str | None = None,
    axes: Any = None,
    *,
    value: str = "mean",
    layer_base: int = 0,
    **where: Any,
) -> Any:
    """Plots a mean over layers, a line per model, with its interval as a band.

    results: of entropy, geometry (name `measure=`), separability, ...: a file, the results of a Capture, or a list of
        several models' results; several of one model are numbered. site: default: the first one. value: the column;
        "effect" of a sweep, and of compare() the difference.
    layer_base: number of the first layer, 0 or 1, as in lime-figure. where: values of other columns, e.g. alpha=0.5.
    Returns the axes. Raises ValueError if no row is left, or several have the same model and layer.
    """
    name, every = _rows_of(results)
    if value == "mean" and every and all(row.get("kind") == "comparison" for row in every):
        value = "difference"
    is_main = value in ("mean", "difference")
    low_name, high_name = ("ci_low", "ci_high") if is_main else (f"{value}_low", f"{value}_high")
    rows = [row for row in every if row.get(value) is not None and row.get("layer") is not None]
    site = site or (rows[0].get("site") if rows else None)
    rows = [row for row in rows if row.get("site") == site and all(row.get(k) == v for k, v in where.items())]
    if not rows:
        raise ValueError(f"plots: the results of {name} have no rows of site {site} with {where}")
    with style():
        axes = axes or _axes()
        for label in dict.fromkeys(row.get("label", "") for row in rows):
            own = sorted((row for row in rows if row.get("label", "") == label), key=lambda row: row["layer"])
            x = [row["layer"] + layer_base for row in own]
            if len(set(x)) < len(x):
                raise ValueError("plots: several rows have the same model and layer; select by alpha=, measure=, ...")
            (line,) = axes.plot(x, _column(own, value), marker="o", label=label)
            low, high = _column(own, low_name), _column(own, high_name)
            if np.isfinite(low).any():
                axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        ceiling = _column(own, "ceiling")
        if np.isfinite(ceiling).any():
            axes.plot(x, ceiling, linestyle="--", color="0.5", linewidth=0.8)
        axes.set(xlabel="layer", ylabel=where.get("measure", f"{name}, {site or value}"))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if len(axes.get_lines()) > 1:
            axes.legend()
    return axes


def heatmap(
    values: Any,
    axes: Any = None,
    *,
    label: str = "",
    xlabel: str = "layer",
    ylabel: str = "layer",
    value: str | None = None,
    layer_base: int = 0,
    model: str | None = None,
    **where: Any,
) -> Any:
    """Plots a map, [num_layers, num_layers], or the one of a result. Returns the axes.

    values: an array; or, as an object or a file, SimilarityMap (`value`: "cka_debiased"); Router, its mean map; Sweep
        over heads or positions, layers by heads (`value`: "effect", in colours around 0).
    model, where: label, and values of other columns, of the rows, e.g. other_label="b"; default: those of the first.
    Raises ValueError for other results.
    """
    centred = False
    if model is not None:
        where = {"label": model, **where}
    if isinstance(values, (Results, SimilarityMap, Router, Sweep)):
        metric = values.metric
        if metric not in _MAPS:
            raise ValueError(f"plots: a heatmap needs results of {', '.join(_MAPS)}, got {metric}; use plots.layers()")
        first = _second_key(values) if metric == "sweep" else _MAPS[metric][0]
        value = value or _MAPS[metric][1]
        centred = metric == "sweep"
        xlabel = first.replace("_", " ") if metric != "similarity" else xlabel
        label = label or (f"{value}, nats per token" if centred else value)
        values = _map_of(values, first, value, where)
    elif where:
        raise ValueError(f"plots: an array has no columns {', '.join(where)}")
    values = np.asarray(values)
    with style():
        axes = axes or _axes()
        bounds = {}
        if centred:
            largest = float(np.nanmax(np.abs(values)))
            bounds = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
        columns = layer_base if "layer" in xlabel else 0
        extent = (columns - 0.5, columns + values.shape[1] - 0.5, layer_base - 0.5, layer_base + values.shape[0] - 0.5)
        image = axes.imshow(values, origin="lower", aspect="auto", extent=extent, **bounds)
        axes.figure.colorbar(image, ax=axes, label=label)
        axes.set(xlabel=xlabel, ylabel=ylabel)
    return axes


def experts(capture: Capture, site: str = "mlp.hook_router", axes: Any = None, *, layer_base: int = 0) -> Any:
    """Plots the mean probability of each expert in each layer, from recorded logits of routers. Returns the axes."""
    rows = []
    for layer in capture.layers(site):
        logits = capture[site, layer][:].astype(np.float64)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        rows.append((weights / weights.sum(axis=1, keepdims=True)).mean(axis=0))
    return heatmap(np.stack(rows), axes, label="mean probability", xlabel="expert", layer_base=layer_base)


def pattern(weights: Any, tokens: Sequence[str] | None = None, axes: Any = None) -> Any:
    """Plots the attention of one head, [query, key], of Activations.patterns(). Returns the axes."""
    weights = np.asarray(weights)
    axes = heatmap(weights, axes, label="attention", xlabel="key", ylabel="query")
    axes.invert_yaxis()
    if tokens is not None:
        axes.set_xticks(range(len(tokens)), tokens, rotation=90)
        axes.set_yticks(range(len(tokens)), tokens)
    return axes


def audit(results: Results | Audit, site: str | None = None, axes: Any = None) -> Any:
    """Plots results of audit() or `lime-metrics audit`: measures that move, by transform or text. Returns the axes.

    Colours are changes in half-widths of the interval, from 0.1 to 100; empty cells do not move. Measures without an
    interval are omitted. site: default: the first with a measure that moves. Raises ValueError if nothing moves.
    """
    from matplotlib.colors import LogNorm

    still = ("invariant by proof", "invariant in fact", "does not depend on the text")
    changes = [row for row in results.rows if "kind" not in row and row.get("relative_change") is not None]
    moving = [row for row in changes if row["verdict"] not in still and row.get("half_widths") is not None]
    site = site or (moving[0]["site"] if moving else None)
    moving = [row for row in moving if row["site"] == site]
    if not moving:
        raise ValueError(f"plots: the results of {results.metric} have no measure of site {site} that moves")
    variants = list(dict.fromkeys(row["label"] for row in changes))
    measures = list(dict.fromkeys((row["quantity"], row["measure"]) for row in moving))
    values = np.full((len(measures), len(variants)), np.nan)
    for row in moving:
        at = measures.index((row["quantity"], row["measure"])), variants.index(row["label"])
        values[at] = np.clip(_number(row["half_widths"]), 0.1, 100)
    with style():
        axes = axes or _axes()
        image = axes.imshow(values, aspect="auto", norm=LogNorm(0.1, 100))
        axes.figure.colorbar(image, ax=axes, label="change (half-widths)")
        axes.set_xticks(range(len(variants)), variants, rotation=90)
        axes.set_yticks(range(len(measures)), [f"{quantity}: {measure}" for quantity, measure in measures])
        axes.set_title(site)
    return axes


#: Column of the horizontal axis, and of the values, of results that are maps over layers.
_MAPS = {"similarity": ("other_layer", "cka_debiased"), "router": ("source_layer", "weight"), "sweep": ("head", "effect")}


def _second_key(sweep: Results | Sweep) -> str:
    return "position" if any("position" in row for row in sweep.rows[-1:]) else "head"


def _map_of(results: Any, column: str, value: str, where: dict[str, Any]) -> np.ndarray:
    """Returns the map of results, layers by `column`."""
    lines = _lines_of(results)
    if results.metric == "router":
        where = {"kind": "mean_map", **where}
    rows = [row for row in lines if row.get(column) is not None and row.get(value) is not None]
    rows = [row for row in rows if all(row.get(name) == one for name, one in where.items())]
    if not rows:
        remedy = "; a sweep over layers is for plots.layers(sweep, value='effect')" if results.metric == "sweep" else ""
        raise ValueError(f"plots: the results of {results.metric} have no '{value}' by layer and {column}{remedy}")
    names = ("label", "other_label", "site", "other_site", "part")
    first = {name: rows[0].get(name) for name in names if name not in where}
    rows = [row for row in rows if all(row.get(name) == one for name, one in first.items())]
    shape = tuple(1 + int(max(row[name] for row in rows)) for name in ("layer", column))
    found = np.full(shape, np.nan)
    for row in rows:
        found[int(row["layer"]), int(row[column])] = _number(row[value])
    return found


def _lines_of(results: Any) -> list[dict[str, Any]]:
    """Returns the rows, with a line per element of a matrix."""
    if isinstance(results, Table):
        return results.table()
    columns = results.columns()
    return [dict(zip(columns, line)) for line in zip(*columns.values())]


def _rows_of(results: Any) -> tuple[str, list[dict[str, Any]]]:
    """Returns the metric, and the rows of results of one or several models."""
    if isinstance(results, Results):
        return results.metric, results.rows
    several = [results] if isinstance(results, Table) else list(results)
    if not several or not all(isinstance(one, Table) for one in several):
        raise ValueError("plots: results must be Results, a result of a Capture, or a list of them")
    rows: list[dict[str, Any]] = []
    times: dict[str, int] = {}
    for one in several:
        # Of one model, e.g. with and without an edit: a line each.
        own = one.table()
        for label in dict.fromkeys(row.get("label", "") for row in own):
            times[label] = times.get(label, 0) + 1
        rows += [
            {**row, "label": f"{label} ({times[label]})"} if times[label := row.get("label", "")] > 1 else row for row in own
        ]
    return several[0].metric, rows


def embedding(
    points: Any,
    label: str = "",
    site: str = "",
    layer: int = 0,
    axes: Any = None,
    *,
    classes: Any = None,
) -> Any:
    """Plots the points of one layer, coloured by their class. Returns the axes.

    points: Embeddings of a file, with label, site and layer; a fitted TSNE; or an array, [num_points, 2].
    classes: of the points, of any type that sorts; default: those of the file.
    Raises ValueError if there are not two values per point, or another number of classes; KeyError as Embeddings.
    """
    title, names = label, []
    if isinstance(points, Embeddings):
        title = f"{label}, {site}, layer {layer}"
        own = points.rows(label).get("class")
        if classes is None and own is not None and np.any(own >= 0):
            known = points.class_names[label]
            classes, names = own, ["other", *known]
        points = points[label, site, layer]
    points = np.asarray(getattr(points, "embedding_", points))
    if points.ndim != 2 or points.shape[1] != 2 or (classes is not None and len(classes) != len(points)):
        raise ValueError(
            f"plots: points must be [num_points, 2], with a class each, got {list(points.shape)} and "
            f"{0 if classes is None else len(classes)} classes; fit a TSNE first"
        )
    with style():
        axes = axes or _axes()
        if classes is None:
            axes.scatter(*points.T, s=2)
        else:
            for one in np.unique(classes):
                axes.scatter(*points[np.asarray(classes) == one].T, s=2, label=names[one + 1] if names else str(one))
            axes.legend(markerscale=3)
        axes.set(xticks=[], yticks=[], title=title)
    return axes


def _axes() -> Any:
    import matplotlib.pyplot as pyplot

    return pyplot.subplots(figsize=(3.4, 2.4), layout="constrained")[1]


def _column(rows: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([_number(row.get(name)) for row in rows])


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
