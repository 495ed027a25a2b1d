# SPDX-License-Identifier: Apache-2.0
"""The language of `--edit`: docs/interventions.md."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import to_array, to_whole
from .capture import Capture

OPERATIONS = ("zero", "mean", "resample", "patch", "scale", "project", "skip")
_KEYS = ("layers", "heads", "positions", "tokens", "sources", "source_heads", "seed")

#: Names of lime-capture and short ones.
ALIASES = {
    "head": "attn.hook_z",
    "hook_resid_post": "hidden",
    "attn.hook_q": "queries",
    "attn.hook_k": "keys",
    "attn.hook_v": "values",
}
SUBLAYERS = {"attention": "hook_attn_out", "mlp": "hook_mlp_out"}
_READ_ONLY = (
    "attn.hook_route", "attn.hook_profile", "hook_depth_weights", "logit_lens", "attn.hook_pattern", "attn.hook_result",
    "attn.hook_value_result",
)
#: Ids and positions that a list can select.
_MAX_ITEMS = 1 << 20


@dataclass
class Edit:
    """A replacement of activations: `OPERATION[=VALUE] SITE [KEY=LIST ...]`."""

    text: str
    operation: str
    sites: list[str]  #: one; two of a skipped layer
    lists: dict[str, str] = field(default_factory=dict)
    factor: float = 0.0  #: of scale
    resamples_sequences: bool = False
    seed: int = 0
    source: Capture | None = None  #: of mean and patch
    direction: np.ndarray | None = None  #: of project

    @property
    def needs_whole_texts(self) -> bool:
        """Whether the replacement depends on all tokens of a text, which generation lacks."""
        return self.operation in ("resample", "patch") or (self.operation == "mean" and self.source is None)

    def selects(self, key: str, count: int) -> np.ndarray | None:
        """Returns which of 0 ... count - 1 a list selects; None for all. Raises ValueError if one is missing."""
        if key not in self.lists:
            return None
        try:
            return _core.select(self.lists[key], count, key)
        except ValueError as error:
            raise ValueError(f"edit '{self.text}': {error}") from None

    def items(self, key: str) -> np.ndarray | None:
        """Returns the positions or token ids that a list selects; None for all."""
        return self.selects(key, _MAX_ITEMS)


def read_edits(specs: Sequence[str], known: Sequence[str], sources: Mapping[str, Any]) -> list[Edit]:
    """Reads edits, or files {"format": "lime-edit/1", "edits": [...]}.

    known: sites of the model. sources: captures and directions by the names that edits use as values.
    Raises ValueError that names the edit and its first fault, and the nearest name.
    """
    edits: list[Edit] = []
    for spec in specs:
        if not isinstance(spec, str):
            raise ValueError(f"edit: must be a text such as 'zero head layers=10 heads=3', got {type(spec).__name__}")
        for text in _texts_of(spec):
            try:
                edits.append(_parse(text, known, sources))
            except ValueError as error:
                raise ValueError(f"edit '{text}': {error}") from None
    if not edits:
        raise ValueError("edit: name at least one, e.g. 'zero head layers=10 heads=3'")
    return edits


def _texts_of(spec: str) -> list[str]:
    if not spec.endswith(".json") or " " in spec or "=" in spec:
        return [spec]
    content = _core.read_json(spec)
    texts = content.get("edits") if isinstance(content, dict) and content.get("format") == "lime-edit/1" else None
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise ValueError(f"edit: '{spec}' must be {{\"format\": \"lime-edit/1\", \"edits\": [\"zero hidden\", ...]}}")
    return texts


def _refuse(what: str, word: str, known: Sequence[str]) -> None:
    closest = _core.closest_word(word, list(known))
    remedy = f"; did you mean '{closest}'?" if closest else f" (supported: {', '.join(known)})"
    raise ValueError(f"unknown {what} '{word}'{remedy}")


def _parse(text: str, known: Sequence[str], sources: Mapping[str, Any]) -> Edit:
    words = text.split()
    name, _, value = (words or [""])[0].partition("=")
    if name not in OPERATIONS:
        _refuse("operation", name, OPERATIONS)
    edit = Edit(text, name, [])
    site = ""
    given: set[str] = set()
    for word in words[1:]:
        key, equal, chosen = word.partition("=")
        if not equal:
            if site:
                raise ValueError(f"got two sites, '{site}' and '{word}'")
            site = word
        elif key in given:
            raise ValueError(f"{key} is given twice; give one list, such as layers=1,3")
        elif key == "seed":
            if name != "resample":
                raise ValueError("only resample has a seed")
            edit.seed = _whole(chosen, "seed")
        elif key in ("sources", "source_heads"):
            raise ValueError("only route has sources, and routes are edited by lime-capture --edit")
        elif key in _KEYS:
            _core.select(chosen, _MAX_ITEMS, key)  # refuses what is no list
            edit.lists[key] = chosen
        else:
            _refuse("key", key, _KEYS)
        given.add(key)
    _set_value(edit, value, sources)
    edit.sites = _sites_of(name, site, known)
    return edit


def _whole(text: str, name: str) -> int:
    try:
        return to_whole(int(text), name, most=(1 << 63) - 1)
    except ValueError:
        raise ValueError(f"{name}: must be a whole number >= 0, got '{text}'") from None


def _sites_of(operation: str, site: str, known: Sequence[str]) -> list[str]:
    if operation == "skip":
        if site and site not in SUBLAYERS:
            _refuse("sublayer", site, tuple(SUBLAYERS))
        wanted = [SUBLAYERS[site]] if site else list(SUBLAYERS.values())
    elif not site:
        raise ValueError("a site is missing, e.g. 'zero attn.hook_z'")
    else:
        wanted = [ALIASES.get(site, site)]
    for one in wanted:
        if one == "route":
            raise ValueError("routes of LIMe models are edited by lime-capture --edit, not in PyTorch models")
        if one in _READ_ONLY:
            raise ValueError(f"'{one}' can be read, not edited, in PyTorch models")
        editable = [name for name in known if name not in _READ_ONLY]
        if one not in editable:
            _refuse("site of this model", one, [*editable, *(a for a, b in ALIASES.items() if b in editable)])
    return wanted


def _set_value(edit: Edit, value: str, sources: Mapping[str, Any]) -> None:
    name = edit.operation
    if name in ("zero", "skip") and value:
        raise ValueError(f"{name} has no value")
    if name in ("patch", "scale", "project") and not value:
        raise ValueError(f"{name} needs a value: patch=CAPTURE.h5, scale=FACTOR or project=DIRECTION.json")
    if name == "scale":
        try:
            edit.factor = float(value)
        except ValueError:
            edit.factor = np.nan
        if not np.isfinite(edit.factor):
            raise ValueError(f"scale: must be a finite number, got '{value}'")
    elif name == "resample":
        if value not in ("", "tokens", "sequences"):
            raise ValueError(f"resample: must be tokens or sequences, got '{value}'")
        edit.resamples_sequences = value == "sequences"
    elif name == "project":
        edit.direction = _direction(value, sources.get(value))
    elif value:
        edit.source = _capture(value, sources)


def _capture(value: str, sources: Mapping[str, Any]) -> Capture:
    if value in sources:
        if not isinstance(sources[value], Capture):
            raise ValueError(f"'{value}' must be a Capture, as cache() returns, got {type(sources[value]).__name__}")
        return sources[value]
    if not Path(value).exists():
        given = f" (given: {', '.join(sources)})" if sources else f"; give the capture as {value}=..., or a file"
        raise ValueError(f"'{value}' is neither a file nor an argument{given}")
    return Capture(value)


def _direction(value: str, given: Any) -> np.ndarray:
    if given is None:
        try:
            given = np.array(_core.read_json(value), dtype=np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, json.JSONDecodeError) or "JSON" in str(error):
                raise
            given = np.zeros(0)
        except FileNotFoundError:
            raise ValueError(f"'{value}' is neither a file nor an argument; give the direction as {value}=...") from None
    direction = np.asarray(to_array(given), dtype=np.float64)
    if direction.ndim != 1 or not np.isfinite(direction).all() or not direction.any():
        raise ValueError(f"'{value}': a direction must be a list of finite numbers that are not all 0")
    return direction
