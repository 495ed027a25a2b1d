# SPDX-License-Identifier: Apache-2.0
"""Reads results and embeddings: docs/results_format.md."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from .errors import NoSuchNameError

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_VERSIONS = (1, 2, 3)
_FIELDS: dict[str, tuple[type, str]] = {
    "metric": (str, "a string"),
    "inputs": (list, "a list"),
    "options": (dict, "an object"),
    "provenance": (dict, "an object"),
    "rows": (list, "a list"),
}


class Results:
    """A results file of lime-metrics (JSON): `metric`, `inputs`, `options`, `provenance`, `rows`.

        Results("entropy.json").frame().groupby("layer")["mean"].mean()

    Raises FileNotFoundError; OSError if the system does not let it be read, or for a FIFO or device; ValueError if
    it is not a results file, of an unknown version, or nested deeper than 512 levels.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        content = _core.read_json(self.path)
        schema = content.get("schema", "") if isinstance(content, dict) else ""
        if schema not in [f"lime-results/{version}" for version in _VERSIONS]:
            raise ValueError(
                f"results: '{path}' has the schema '{schema}', this version reads lime-results/1 to 3"
            )
        for name, (kind, what) in _FIELDS.items():
            if name not in content:
                raise ValueError(f"results: '{path}' has no '{name}'")
            if not isinstance(content[name], kind):
                raise ValueError(f"results: '{path}': '{name}' must be {what}, got {type(content[name]).__name__}")
        for number, row in enumerate(content["rows"]):
            if not isinstance(row, dict):
                raise ValueError(f"results: '{path}': row {number} must be an object, got {type(row).__name__}")
        self.schema: str = schema
        self.metric: str = content["metric"]
        self.inputs: list[dict[str, Any]] = content["inputs"]
        self.options: dict[str, Any] = content["options"]
        self.provenance: dict[str, Any] = content["provenance"]
        self.rows: list[dict[str, Any]] = content["rows"]

    def __repr__(self) -> str:
        return f"<Results '{self.path}': {self.metric}, {len(self.rows)} rows>"

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return self.frame().to_html(index=False, max_rows=60)

    def columns(self) -> dict[str, list[Any]]:
        """Returns the table by column: keys in the order of their first appearance, None where a
        row has no such key, and numbers as numbers ("nan", "inf" and "-inf" of numeric columns). A matrix,
        an array with `axes`, has a line per element, as in CSV; np.array(row[...], float) of `rows` is whole."""
        lines = [line for row in self.rows for line in _lines(row)]
        names = dict.fromkeys(name for line in lines for name in line)
        return {name: _numbers([line.get(name) for line in lines]) for name in names}

    def frame(self, library: str = "pandas") -> Any:
        """Returns the table as a frame of pandas (or "polars").

        Whole numbers are int64, other numbers float64, truth values bool and texts string; lists stay
        lists. Where a row lacks a value, whole numbers are Int64 and truth values boolean (missing:
        <NA>); missing floats are NaN. Raises ImportError without the library.
        """
        return frame_of(self.columns(), library)


def frame_of(columns: dict[str, list[Any]], library: str) -> Any:
    """Returns columns as a frame, as Results.frame()."""
    if library == "polars":
        import polars

        return polars.DataFrame(columns, strict=False)
    if library != "pandas":
        raise ValueError(f"library: expected one of pandas, polars, got '{library}'")
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frame() needs pandas; pip install lime-toolkit[frames]") from error
    return pandas.DataFrame({name: pandas.Series(values, dtype=_dtype(values)) for name, values in columns.items()})


def _lines(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the lines of a row in a table: one, or one per element of an array over its `axes`."""
    axes = row.get("axes")
    if not isinstance(axes, list):
        return [row]
    names = list(row)
    value = names[names.index("axes") + 1 :][0] if names[-1] != "axes" else ""
    elements = np.array(row.get(value), dtype=object)
    if elements.ndim != len(axes):
        raise ValueError(f"results: '{value}' must be an array over {', '.join(map(str, axes))}")
    lines = []
    for index in np.ndindex(elements.shape):
        if elements[index] is None:
            continue
        line: dict[str, Any] = {}
        for name in names:
            if name == "axes":
                line.update(zip(axes, index))
            else:
                line[name] = elements[index] if name == value else row[name]
        lines.append(line)
    return lines


def _numbers(values: list[Any]) -> list[Any]:
    """Replaces the texts that stand for NaN and infinity in a column of numbers."""
    present = [value for value in values if value is not None]
    numeric = all(
        _is_number(value) or (isinstance(value, str) and value in _NUMBERS)
        for value in present
        if not isinstance(value, list)
    )
    if not numeric or any(isinstance(value, (list, dict)) for value in present):
        return [_in_list(value) for value in values]
    return [_NUMBERS.get(value, value) if isinstance(value, str) else value for value in values]


def _in_list(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [_NUMBERS.get(one, one) if isinstance(one, str) else _in_list(one) for one in value]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _dtype(values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    if not present:
        return "float64"
    is_whole = len(present) == len(values)
    if all(isinstance(value, bool) for value in present):
        return "bool" if is_whole else "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return "int64" if is_whole else "Int64"
    if all(_is_number(value) for value in present):
        return "float64"
    return "string" if all(isinstance(value, str) for value in present) else "object"


class Embeddings:
    """Embeddings of `lime-metrics tsne -o NAME.json`: the file NAME.embeddings.h5.

        embeddings = Embeddings("tsne.embeddings.h5")
        xy = embeddings["LIMe", "values", 3]           # f32 [num_points, 2]
        embeddings.rows("LIMe")["token"]

    Raises FileNotFoundError; OSError if the system does not let it be read; ValueError if it is not
    such a file, or damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"embeddings: '{path}' does not exist")
        self._points: dict[tuple[str, str, int], np.ndarray] = {}
        self._divergences: dict[tuple[str, str, int], float] = {}
        self._rows: dict[str, dict[str, np.ndarray]] = {}
        self.class_names: dict[str, list[str]] = {}
        for capture in _core.read_embeddings(self.path):
            label = capture["label"]
            self._rows[label] = capture["rows"]
            self.class_names[label] = capture["class_names"]
            for site, layer, points, divergence in capture["layers"]:
                self._points[label, site, layer] = points
                self._divergences[label, site, layer] = divergence

    def __repr__(self) -> str:
        return f"<Embeddings '{self.path}': {len(self._points)} of {self.labels}>"

    @property
    def labels(self) -> list[str]:
        return list(self._rows)

    def keys(self) -> list[tuple[str, str, int]]:
        """Label, site and layer of each embedding."""
        return list(self._points)

    def rows(self, label: str) -> dict[str, np.ndarray]:
        """Row, sequence, position, token (and class) of the points of a capture. Raises KeyError."""
        if label not in self._rows:
            raise NoSuchNameError(f"embeddings: '{self.path}' has no capture '{label}' (available: {self.labels})")
        return self._rows[label]

    def kl_divergence(self, label: str, site: str, layer: int) -> float:
        """Returns the Kullback-Leibler divergence of an embedding. Raises KeyError."""
        return self._divergences[self._key(label, site, layer)]

    def __getitem__(self, key: tuple[str, str, int]) -> np.ndarray:
        """Returns the points of (label, site, layer), f32 [num_points, 2]. Raises KeyError."""
        return self._points[self._key(*key)]

    def _key(self, label: str, site: str, layer: int) -> tuple[str, str, int]:
        if (label, site, layer) not in self._points:
            raise NoSuchNameError(
                f"embeddings: '{self.path}' has no embedding of {label}, {site}, layer {layer}"
            )
        return label, site, layer
