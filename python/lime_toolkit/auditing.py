# SPDX-License-Identifier: Apache-2.0
"""Which measurements are properties of a model, and which of the coordinates of its weights."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from . import _lime_toolkit as _core
from . import _programs
from ._arrays import to_seed
from ._audit_memory import MemoryAudit
from ._audit_values import METRICS
from ._gauges import GAUGES
from .models import Site
from .results import Results, frame_of
from .tables import Table

#: Cells of measures that do not move.
_STILL = {"=", "~"}


@dataclass(frozen=True)
class Audit(Table):
    """How far each measure of a site moves under each transform, and the verdicts.

    print() shows the measures that move: changes divided by half of the width of the 95% interval, or in percent
    without an interval; `=` invariant by proof, `~` invariant in fact, `!` moves against the proof.
    """

    metric = "audit"

    rows: list[dict[str, Any]]  #: rows of kind `value` of every variant, then the changes, docs/invariance.md
    refused: dict[str, str] = field(default_factory=dict)  #: transforms that are not exact, with the reasons
    proofs: dict[str, float] = field(default_factory=dict)  #: largest difference of logits, relative, in memory
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        cells = self._cells().values()
        moving = sum(not set(own.values()) <= _STILL for own in cells)
        transforms = len({row["label"] for row in self.changes})
        return f"<Audit: {transforms} transforms, {moving} of {len(cells)} measures move; print() shows them>"

    def table(self) -> list[dict[str, Any]]:
        """Returns `rows`."""
        return self.rows

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The row of each transform and measure of a site: its largest change over layers, and the verdict."""
        return [row for row in self.rows if "kind" not in row]

    def frame(self, library: str = "pandas") -> Any:
        """Returns the changes as a frame of pandas (or "polars"), with a column `cell`, the text of the table."""
        rows = [{**row, "cell": _core.audit_cell(row)} for row in self.changes]
        names = dict.fromkeys(name for row in rows for name in row)
        return frame_of({name: [row.get(name) for row in rows] for name in names}, library)

    def still(self) -> dict[tuple[str, str], list[str]]:
        """Returns the measures that no transform moves, by site and measurement."""
        found: dict[tuple[str, str], list[str]] = {}
        for (site, quantity, measure), cells in self._cells().items():
            if set(cells.values()) <= _STILL:
                found.setdefault((site, quantity), []).append(measure)
        return found

    def _cells(self) -> dict[tuple[str, str, str], dict[str, str]]:
        """Returns the cells of each measure by transform."""
        found: dict[tuple[str, str, str], dict[str, str]] = {}
        for row in self.changes:
            key = row["site"], row["quantity"], row["measure"]
            found.setdefault(key, {})[row["label"]] = _core.audit_cell(row)
        return found

    def _lines(self) -> list[list[str]]:
        """Returns a heading and a line per measure that moves."""
        transforms = list(dict.fromkeys(row["label"] for row in self.changes))
        lines = [["site", "measurement", "measure", *transforms]]
        cells = self._cells()
        for site in dict.fromkeys(key[0] for key in cells):
            for key, own in cells.items():
                if key[0] == site and not set(own.values()) <= _STILL:
                    lines.append([*key, *(own.get(one, "") for one in transforms)])
        return lines

    def _remarks(self) -> list[str]:
        still = [f"{site}, {quantity}: {', '.join(measures)}" for (site, quantity), measures in self.still().items()]
        refused = [f"{name}: not exact: {reason}" for name, reason in self.refused.items()]
        return [*(["No transform moves:", *still] if still else []), *refused]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(one) for one in column) for column in zip(*lines)]
        table = ["  ".join(one.ljust(width) for one, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([*table, "", *self._remarks()])

    def _repr_html_(self) -> str:
        from html import escape

        head, *body = [[escape(one) for one in line] for line in self._lines()]
        rows = "".join(f"<tr>{''.join(f'<td>{one}</td>' for one in line)}</tr>" for line in body)
        return (
            "<table><caption>change / half-width of the interval; =: invariant by proof, ~: in fact</caption>"
            f"<tr>{''.join(f'<th>{one}</th>' for one in head)}</tr>{rows}</table>"
            f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in self._remarks())}</ul>"
        )

    def _options(self) -> dict[str, Any]:
        return self.options


def audit(
    model: Any,
    *batches: Mapping[str, Any],
    text: str | Path | Sequence[str | Path] | None = None,
    tokens: str | Path | None = None,
    seq_len: int = 64,
    max_sequences: int = 8,
    transforms: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    sites: Mapping[str, str | Site] | Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    strength: float = 0.5,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Audit:
    """Measures a model and copies that compute the same function with other weights.

        print(audit(model, tokenizer(texts, return_tensors="pt", padding=True)))
        audit("CHECKPOINT", text="text.txt").frame()

    model: a PyTorch model with the names of LLaMA (layers.*.self_attn.q_proj, ...) and logits; or the folder of a
        checkpoint, for which `lime-metrics audit` and `lime-capture` of PATH run, with all of their measurements.
    batches: for a model in memory, arguments of passes: input_ids [batch, tokens], attention_mask. Five sequences or
        more, of eight tokens or more.
    text, tokens, seq_len, max_sequences, folder: for a checkpoint, as for `lime-metrics audit`; default of `folder`, of
        its captures: a temporary one.
    transforms: names of `lime-capture gauge`; default: all that are exact. metrics: measurements; default: all. sites,
        layers: default: all.
    strength, seed: of the transforms, whose random numbers are those of the programs.

    A model in memory is copied to float64, twice (16 bytes per weight), and not changed. Each transform is proven: the
    logits of the batches equal those of the original to 1e-12 of the largest. One that does not is left out with its
    reason (`refused`), and a ValueError if `transforms` names it. Intervals and verdicts are those of the program.

    Raises ValueError for unknown names, too few sequences and models without these modules; FileNotFoundError without
    the programs; KeyboardInterrupt. Guide: docs/invariance.md.
    """
    to_seed(seed)
    if not 0.0 < strength <= 5.0:
        raise ValueError(f"strength: must be > 0 and at most 5, got {strength}")
    if isinstance(model, (str, Path)):
        if batches:
            raise ValueError("audit: a checkpoint folder needs text= or tokens=, not batches")
        return _audit_folder(
            Path(model), text=text, tokens=tokens, seq_len=seq_len, max_sequences=max_sequences, transform=transforms,
            metric=metrics, site=None if sites is None else list(sites), layer=layers, strength=strength, seed=seed,
            folder=folder,
        )
    for name, value in {"text": text, "tokens": tokens, "folder": folder}.items():
        if value is not None:
            raise ValueError(f"{name}: belongs to a checkpoint folder; a model in memory needs batches")
    own = MemoryAudit(model, batches, sites, layers, to_seed(seed), strength)
    wanted = _names("metrics", metrics, METRICS)
    values = own.run(_names("transforms", transforms, tuple(GAUGES)), wanted, must_be_exact=transforms is not None)
    options = {"over": "coordinates", "transform": list(own.proofs), "metric": wanted, "strength": strength, "seed": seed}
    return Audit([*values, *_core.audit_changes(values)], own.refused, own.proofs, options)


def _names(name: str, given: str | Sequence[str] | None, known: Sequence[str]) -> list[str]:
    chosen = list(known) if given is None else [given] if isinstance(given, str) else list(given)
    for one in chosen:
        if one not in known:
            closest = _core.closest_word(one, list(known))
            remedy = f"; did you mean '{closest}'?" if closest else ""
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got '{one}'{remedy}")
    return chosen


def _audit_folder(checkpoint: Path, **given: Any) -> Audit:
    """Runs the programs."""
    programs = _programs.folder_with("lime-metrics", "lime-capture")
    with tempfile.TemporaryDirectory(prefix="lime-audit-") as temporary:
        output = Path(temporary) / "audit.json"
        given["folder"] = given["folder"] or Path(temporary) / "captures"
        arguments: list[object] = ["audit", checkpoint, "--output", output, "--quiet"]
        for name, value in given.items():
            if value is None:
                continue
            option = f"--{name.replace('_', '-')}"
            if name == "text":
                arguments += [option, *([value] if isinstance(value, (str, Path)) else value)]
            elif isinstance(value, (list, tuple, range)):
                arguments += [option, ",".join(map(str, value))]
            else:
                arguments += [option, value]
        _programs.run(programs / "lime-metrics", arguments)
        found = Results(output)
        transforms = Path(given["folder"]) / "transforms.json"
        refused = {one["name"]: one["reason"] for one in _core.read_json(transforms) if one["reason"]}
    return Audit([_plain_row(row) for row in found.rows], refused, {}, found.options)


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with numbers in place of the texts that stand for NaN and infinity."""
    numbers = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    return {name: numbers.get(value, value) if isinstance(value, str) else value for name, value in row.items()}
