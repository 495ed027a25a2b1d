# SPDX-License-Identifier: Apache-2.0
"""Results of arrays as tables: frames, HTML of notebooks, and files of the results format."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, ClassVar, Generic, TypeVar

import numpy as np

from . import _lime_toolkit as _core
from ._provenance import version_of

_SCHEMA = "lime-results/3"
_MOST_HTML_ROWS = 60


class Table:
    """A result with rows of the results format (docs/results_format.md)."""

    metric: ClassVar[str] = ""

    def table(self) -> list[dict[str, Any]]:
        """Returns the rows, as `lime-metrics` names their columns."""
        raise NotImplementedError

    def samples(self) -> np.ndarray:
        """Returns a value per sequence or fold, for compare(). Raises ValueError for results without them."""
        raise ValueError(f"compare: results of {self.metric} have no value per sequence; give arrays of values")

    def frame(self, library: str = "pandas") -> Any:
        """Returns the rows as a frame of pandas (or "polars"), with types as in Results.frame()."""
        from .results import frame_of

        rows = self.table()
        names = dict.fromkeys(name for row in rows for name in row)
        return frame_of({name: [row.get(name) for row in rows] for name in names}, library)

    def _repr_html_(self) -> str:
        from html import escape

        rows = self.table()
        names = list(dict.fromkeys(name for row in rows for name in row))
        shown = rows[:_MOST_HTML_ROWS]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(row.get(name)))}</td>' for name in names)}</tr>" for row in shown)
        rest = f"<caption>{len(rows)} rows, the first {len(shown)}</caption>" if len(shown) < len(rows) else ""
        return f"<table>{rest}<tr>{head}</tr>{body}</table>"

    def save(self, path: str | Path, *, label: str | None = None, overwrite: bool = False) -> None:
        """Writes the rows as a results file, which lime-figure, lime-explorer and Results read.

        label: of rows that have none; default: that of the capture, else "arrays". Raises FileExistsError.
        """
        path = Path(path)
        if path.exists() and not overwrite:
            raise FileExistsError(f"results: '{path}' already exists; use overwrite=True, or another name")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"results: the folder '{path.parent}' does not exist")
        rows = [{"label": label or row.get("label") or "arrays", **{k: v for k, v in row.items() if k != "label"}}
                for row in self.table()]
        labels = dict.fromkeys(row["label"] for row in rows)
        content = {
            "schema": _SCHEMA,
            "metric": self.metric,
            "inputs": [{"path": "", "sha256": "", "label": one} for one in labels],
            "options": _plain(self._options()),
            "provenance": {
                "tool": f"lime-toolkit {version_of('lime-toolkit')} (Python)",
                "command": shlex.join(sys.argv),
                "created_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
            "rows": _plain(rows),
        }
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        _core.write_file(path, text.encode("utf-8", "replace"))

    def _options(self) -> dict[str, Any]:
        return {}


Result = TypeVar("Result", bound=Table)


class LayerResults(Table, Mapping[tuple[str, int], Result], Generic[Result]):
    """The results of every site and layer of a capture, by (site, layer)."""

    def __init__(self, results: dict[tuple[str, int], Result]):
        self._results = results
        self.metric = next((one.metric for one in results.values()), "")  # type: ignore[misc]

    def __getitem__(self, key: tuple[str, int]) -> Result:
        return self._results[key]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        layers: dict[str, list[int]] = {}
        for site, layer in self:
            layers.setdefault(site, []).append(layer)
        return f"<LayerResults {self.metric}: {', '.join(f'{site} {_ranges(own)}' for site, own in layers.items())}>"

    def table(self) -> list[dict[str, Any]]:
        """Returns the rows of all layers."""
        return [row for one in self._results.values() for row in one.table()]

    def _options(self) -> dict[str, Any]:
        return next(iter(self._results.values()))._options()


def each_layer(capture: Any, sites: Any, measure: Callable[[Any], Result]) -> LayerResults[Result]:
    """Measures every layer of the sites of a capture, as layers_of() selects them."""
    return LayerResults({(site, layer): measure(capture[site, layer]) for site, layer in layers_of(capture, sites)})


def layers_of(capture: Any, sites: Any = None, layers: Any = None) -> list[tuple[str, int]]:
    """Returns (site, layer) of the sites of a capture, by default of all that have a row of values per token.

    layers: only these. Raises KeyError if a site, or one of its layers, does not exist.
    """
    chosen = [sites] if isinstance(sites, str) else sites
    if chosen is None:
        chosen = [one for one in capture.sites if one not in ("attn.hook_pattern", "attn.hook_profile", "logit_lens")]
    return [(site, layer) for site in chosen for layer in (capture.layers(site) if layers is None else layers)
            if capture[site, layer] is not None]


def where_of(rows: Any) -> dict[str, Any]:
    """Returns label, site and layer of activations of a capture; nothing of arrays."""
    if not hasattr(rows, "capture"):
        return {}
    return {"label": rows.capture.label, "site": rows.site, "layer": rows.layer}


def _ranges(layers: list[int]) -> str:
    """Returns ascending numbers as "0-3, 8"."""
    parts: list[list[int]] = []
    for one in layers:
        if parts and one == parts[-1][-1] + 1:
            parts[-1].append(one)
        else:
            parts.append([one])
    return ", ".join(str(own[0]) if len(own) == 1 else f"{own[0]}-{own[-1]}" for own in parts)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return str(value)


def _plain(value: Any) -> Any:
    """Returns JSON in which NaN and infinity are texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
