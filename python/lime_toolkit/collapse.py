# SPDX-License-Identifier: Apache-2.0
"""Why representations collapse, or do not, as `lime-metrics collapse` says it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import numpy as np

from ._calls import core as _core
from ._arrays import measured_sequences, to_column, to_options, to_seed, to_sequences, to_whole
from .activations import Activations
from .capture import Capture
from .tables import Table, layers_of

_DEFAULT_SITE = "hidden"


@dataclass(frozen=True)
class Collapse(Table):
    """Verdict on every layer, and a sentence for each range of layers with the same causes."""

    metric = "collapse"

    layers: list[dict[str, Any]]  #: a row per layer: verdict, numbers and intervals
    ranges: list[dict[str, Any]]  #: a row per range of layers: layer, last_layer, verdict, sentence
    caveats: list[str]  #: what the measurement cannot say
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Collapse: {'; '.join(self.sentences()[:2])}{'; ...' if len(self.ranges) > 2 else ''}>"

    def table(self) -> list[dict[str, Any]]:
        """Returns the rows of the layers, then those of the ranges, with the columns of `lime-metrics collapse`."""
        return [*self.layers, *self.ranges]

    def verdict(self, layer: int, site: str | None = None, label: str | None = None) -> str:
        """Returns the causes of one layer, e.g. "massive tokens, outlier dimensions", or "none".

        site, label: default: those of the first row. Raises KeyError if there is no such layer.
        """
        site, label = site or self.layers[0]["site"], label or self.layers[0]["label"]
        for row in self.layers:
            if (row["label"], row["site"], row["layer"]) == (label, site, layer):
                return str(row["verdict"])
        raise KeyError(f"collapse: no layer {layer} of site '{site}' of '{label}'")

    def sentences(self) -> list[str]:
        """Returns a sentence for each range of layers, with label and site where there are several."""
        names = [one for one in ("label", "site") if len({row[one] for row in self.ranges}) > 1]
        return [", ".join([*(row[one] for one in names), row["sentence"]]) for row in self.ranges]

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), "", "what this cannot say:", *(f"- {one}" for one in self.caveats)])

    def _repr_html_(self) -> str:
        from html import escape

        def lines(texts: Sequence[str]) -> str:
            return "".join(f"<li>{escape(one)}</li>" for one in texts)

        return (
            f"<ul>{lines(self.sentences())}</ul><p>What this cannot say:</p><ul>{lines(self.caveats)}</ul>"
            f"{super()._repr_html_()}"
        )

    def _options(self) -> dict[str, Any]:
        return self.options


def collapse(
    rows: Any,
    *others: Any,
    random: Any = None,
    offsets: Any = None,
    tokens: Any = None,
    sites: str | Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    tokenizer: Any = None,
    massive_ratio: float = 4.0,
    dimension_ratio: float = 4.0,
    share: float = 0.5,
    rank_share: float = 0.1,
    confidence: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 0,
    threads: int = 0,
) -> Collapse:
    """Says for each range of layers why representations collapse, or that they do not.

        print(collapse(Capture("model.h5")))
        collapse(cache(model, **batch), tokenizer=tokenizer).frame()

    rows, others: captures, of files or in memory; or `capture[site, layer]`, or the rows of one layer as for
        entropy(), with `offsets`, and `tokens` [num_rows], the ids. Sequences have >= 2 tokens; shorter ones of a
        capture are left out with a warning.
    random: capture of the same tokens by the same config with random weights: tells architecture from training.
    sites, layers: of captures; default: all layers of `hidden`, or of all sites if one lacks it.
    tokenizer: of transformers, names the massive tokens; default: the first tokens that a capture stores.
    massive_ratio: a token is massive from this multiple of the layer's median norm on, > 1.
    dimension_ratio: a dimension is an outlier from this multiple of the median root mean square on, > 1.
    share: a cause is present above this fraction of the trace or variance, in (0, 1).
    rank_share: dimensional collapse: effective rank below this fraction of its maximum, in (0, 1).
    confidence, bootstrap, seed: intervals over sequences. threads: 0 uses all CPUs.

    Verdicts, numbers and intervals are those of `lime-metrics collapse`, bit-identical for the same rows. Layers are
    read one at a time. Raises ValueError for invalid options, NaN or infinity, or captures without whole sequences;
    KeyboardInterrupt. Causes, thresholds and sources: docs/collapse.md.
    """
    seed, threads = to_seed(seed), to_whole(threads, "threads")
    given: dict[str, Any] = {
        "massive_ratio": massive_ratio, "dimension_ratio": dimension_ratio, "share": share, "rank_share": rank_share,
        "confidence": confidence, "bootstrap": bootstrap,
    }
    options = to_options(**given)
    inputs = [_Input(one, offsets, tokens, tokenizer) for one in (rows, *others)]
    if random is not None:
        inputs.append(_Input(random, offsets, tokens, tokenizer))
    sites = _sites_of(inputs, sites)
    if random is not None:
        _check_random(inputs, sites, layers)
    measured = [one.measure(sites, layers, options, seed, threads) for one in inputs]
    table: list[dict[str, Any]] = []
    ranges: list[dict[str, Any]] = []
    for index, (one, found) in enumerate(zip(inputs, measured)):
        is_random = random is not None and index + 1 == len(inputs)
        for site, facts in found.items():
            key = {"label": one.label, "site": site}
            texts = one.texts(facts)
            table += [{**key, "layer": layer, **_core.collapse_row(fact, texts)} for layer, fact in facts.items()]
            beside = measured[-1].get(site, {}) if random is not None and not is_random else {}
            ranges += _core.collapse_ranges(
                one.label, site, list(facts.values()), list(beside.values()), options, texts
            )
    first = next(iter(measured[0].values()))
    caveats = _core.collapse_caveats(list(first.values()), random is not None)
    return Collapse(table, ranges, caveats, {**given, "seed": seed})


class _Input:
    """A capture, or the rows of one layer."""

    def __init__(self, rows: Any, offsets: Any, tokens: Any, tokenizer: Any):
        self.capture = rows if isinstance(rows, Capture) else getattr(rows, "capture", None)
        self.layer = (rows.site, rows.layer) if isinstance(rows, Activations) else None
        self._rows, self._tokenizer = rows, tokenizer
        self._offsets = offsets if self.capture is None else None
        if self.capture is not None:
            self.label, self.tokens = self.capture.label, self.capture.rows.token
            self.positions = self.capture.rows.position
            _check_whole(self.capture)
            lengths = np.diff(self.capture.offsets)
            measured = measured_sequences(self.capture.offsets, self.label)
            self.offsets = np.cumsum([0, *lengths[measured]])
            self.tokens, self.positions = (one[np.repeat(measured, lengths)] for one in (self.tokens, self.positions))
        else:
            self.label, sequences = "arrays", to_sequences(rows, offsets)
            self.offsets = np.cumsum([0, *map(len, sequences)])
            self.positions = np.concatenate([np.arange(len(one), dtype=np.int32) for one in sequences])
            self.tokens = np.full(self.offsets[-1], -1, np.int32)
            if tokens is not None:
                self.tokens = to_column(np.asarray(tokens).reshape(-1), "tokens", np.int32)
                if len(self.tokens) != self.offsets[-1]:
                    raise ValueError(f"tokens: must have an id per row, {self.offsets[-1]}, got {len(self.tokens)}")
            for index, count in enumerate(np.diff(self.offsets)):
                if count < 2:
                    raise ValueError(
                        f"collapse: {self.label}: sequence {index} has {count} token{'' if count == 1 else 's'}, but "
                        "collapse needs at least 2; leave it out"
                    )

    def chosen(self, sites: Sequence[str] | None, layers: Sequence[int] | None) -> list[tuple[str, int]]:
        if self.capture is None:
            return [("arrays", 0)]
        if self.layer is not None:
            return [self.layer]
        return layers_of(self.capture, sites, layers)

    def measure(
        self, sites: Sequence[str] | None, layers: Sequence[int] | None, options: Any, seed: int, threads: int
    ) -> dict[str, dict[int, Any]]:
        """Returns the facts of each layer, by site."""
        tokens = self.tokens.tolist() if (self.tokens >= 0).all() else []
        found: dict[str, dict[int, Any]] = {}
        for site, layer in self.chosen(sites, layers):
            rows = self._rows if self.capture is None else self.capture[site, layer]
            sequences = [one.astype(np.float32, copy=False) for one in to_sequences(rows, self._offsets)]
            try:
                facts = _core.collapse_layer(sequences, tokens, self.positions.tolist(), layer, options, seed, threads)
            except ValueError as error:
                if str(error).startswith("collapse: "):
                    raise ValueError(f"{self.label}: site '{site}', layer {layer}: {error}") from None
                raise
            found.setdefault(site, {})[layer] = facts
        return found

    def texts(self, facts: Mapping[int, Any]) -> dict[int, str]:
        """Returns the texts of the tokens that the facts name."""
        wanted = {one.massive_token for one in facts.values()} - {-1}
        if self._tokenizer is not None:
            return {one: self._tokenizer.decode([one]) for one in wanted}
        if self.capture is None:
            return {}
        stored = self.capture.attributes
        ids, names = (_list(stored.get(name, "[]")) for name in ("first_ids", "first_tokens"))
        known: dict[int, str] = {}
        for token, text in zip(ids, names):
            known.setdefault(int(token), text)
        return {one: known[one] for one in wanted if one in known}


def _list(value: Any) -> list[Any]:
    """Returns a list of an attribute, which is JSON or an array."""
    return list(json.loads(value) if isinstance(value, str) else value)


def _check_whole(capture: Capture) -> None:
    kind = capture.attributes.get("rows", "tokens")
    if kind != "tokens":
        raise ValueError(
            f"collapse: {capture.label}: contains one row per sequence (--rows {kind}), but collapse needs every token "
            "of a sequence; capture again with --rows tokens"
        )
    if capture.classes:
        raise ValueError(
            f"collapse: {capture.label}: contains only some tokens ({', '.join(map(repr, capture.classes))}), but collapse needs "
            "every token of a sequence; capture again without --only"
        )
    if not capture.num_sequences:
        raise ValueError(f"collapse: {capture.label}: contains no sequences")


def _sites_of(inputs: list[_Input], sites: str | Sequence[str] | None) -> list[str] | None:
    if sites is not None:
        return [sites] if isinstance(sites, str) else list(sites)
    captures = [one.capture for one in inputs if one.capture is not None and one.layer is None]
    return [_DEFAULT_SITE] if captures and all(_DEFAULT_SITE in one for one in captures) else None


def _check_random(inputs: list[_Input], sites: list[str] | None, layers: Sequence[int] | None) -> None:
    """Refuses random weights on other tokens, or of other layers."""
    random = inputs[-1]
    there = random.chosen(sites, layers)
    for one in inputs[:-1]:
        if not np.array_equal(one.offsets, random.offsets) or not np.array_equal(one.tokens, random.tokens):
            raise ValueError(
                f"random: must have the same tokens as '{one.label}'; record both with the same text and tokenizer"
            )
        if one.chosen(sites, layers) != there:
            raise ValueError(f"random: must have the same sites and layers as '{one.label}'; record the same ones")
