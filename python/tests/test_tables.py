# SPDX-License-Identifier: Apache-2.0
"""Results of arrays as tables, frames, HTML and files that the programs read."""

import dataclasses
import json
import math

import numpy as np
import pytest

import lime_toolkit as lt


def same(ours, theirs):
    if isinstance(theirs, str) and theirs in ("nan", "inf"):
        return math.isnan(ours) if theirs == "nan" else math.isinf(ours)
    return ours == pytest.approx(theirs, rel=1e-12, abs=1e-12) if isinstance(theirs, float) else ours == theirs


@pytest.mark.parametrize("metric, options", [("entropy", {}), ("geometry", {"k": 5}), ("similarity", {})])
def test_rows_of_a_capture_are_those_of_lime_metrics(programs, plain, tmp_path, metric, options):
    arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
    expected = programs.rows(metric, plain, *arguments)
    with lt.Capture(plain) as capture:
        result = (lt.similarity_map if metric == "similarity" else getattr(lt, metric))(capture, **options)
        table = {tuple(row.get(k) for k in ("layer", "other_layer", "measure")): row for row in result.table()}
        for row in expected:
            ours = table[tuple(row.get(k) for k in ("layer", "other_layer", "measure"))]
            for name in set(row) & set(ours):
                assert same(ours[name], row[name]), (name, ours[name], row[name])
            if metric == "entropy":
                assert list(ours) == list(row)
        assert len(table) == len(expected)
        result.save(tmp_path / "ours.json")
        with pytest.raises(FileExistsError, match="ours.json' already exists"):
            result.save(tmp_path / "ours.json")
    programs("lime-figure", tmp_path / "ours.json", "-o", tmp_path / "ours.svg")
    stored = lt.Results(tmp_path / "ours.json")
    assert stored.metric == metric and [row["label"] for row in stored.rows] == [row["label"] for row in expected]


def test_results_of_layers_are_a_mapping(plain):
    with lt.Capture(plain) as capture:
        results = lt.entropy(capture, preset="raw")
        assert list(results) == [("hidden", 0), ("hidden", 1)] and len(results) == 2
        assert np.array_equal(results["hidden", 1].values, lt.entropy(capture["hidden", 1], preset="raw").values)
        assert "hidden 0" in repr(results) and results.metric == "entropy"


def test_every_result_has_a_frame_and_html(plain):
    pandas = pytest.importorskip("pandas")
    with lt.Capture(plain) as capture:
        x, labels = capture["hidden", 0], capture.rows.token
        found = [
            lt.entropy(x), lt.entropy(x).summary(), lt.geometry(x, k=5), lt.similarity(x, x), lt.similarity_map([x, x]),
            lt.token_profile(x.sequence(3)), lt.compare([1.0, 2.0, 4.0], [2.0, 2.5, 3.0]), lt.probe(x, labels, control="shuffled"),
            lt.lime_code_probe(x, labels), lt.router([np.eye(2), np.ones((2, 4))]),
            lt.jackknife(lambda rows: float(sum(map(len, rows))), x),
        ]
    for one in found:
        assert dataclasses.is_dataclass(one) and isinstance(one, lt.Table)
        assert isinstance(one.frame(), pandas.DataFrame) and len(one.frame()) > 0
        assert one._repr_html_().startswith("<table>") and one.metric


def test_numbers_that_json_lacks_are_texts(tmp_path):
    found = lt.entropy(np.eye(4, dtype=np.float32), preset="raw", alpha=[1.0, math.inf])
    found.save(tmp_path / "r.json", label="identity")
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert rows[1]["alpha"] == "inf" and rows[0]["ci_low"] == "nan" and rows[0]["label"] == "identity"
    assert lt.Results(tmp_path / "r.json").columns()["alpha"] == [1.0, math.inf]


def test_plots_take_objects(plain):
    pytest.importorskip("matplotlib").use("agg")
    from lime_toolkit import plots

    with lt.Capture(plain) as capture:
        axes = plots.layers(lt.entropy(capture), layer_base=1)
        assert axes.get_lines()[0].get_xdata().tolist() == [1, 2]
        assert plots.layers(lt.geometry(capture, measure="rank"), measure="effective_rank") is not None
        axes = plots.heatmap(lt.similarity_map(capture), layer_base=1)
        assert axes.get_xlim() == (0.5, 2.5)
    assert plots.heatmap(lt.router([np.eye(2), np.ones((2, 4))])).get_xlabel() == "source layer"
    rows = [{"part": "original"}, *({"part": "head", "layer": l, "head": h, "effect": l - h} for l in range(2) for h in range(3))]
    sweep = lt.Sweep(rows, np.zeros((7, 1)), np.zeros((7, 1)), np.zeros((7, 1)))
    assert plots.heatmap(sweep).get_xlabel() == "head"
    assert plots.pattern(np.eye(3), ["a", "b", "c"]).get_xticklabels()[2].get_text() == "c"
    with pytest.raises(ValueError, match="results must be Results"):
        plots.layers([1])


def test_routers_of_experts_are_plotted():
    pytest.importorskip("matplotlib").use("agg")
    tiny = pytest.importorskip("tiny_models")
    from lime_toolkit import plots

    for model_type in ("mixtral", "qwen3_moe", "olmoe"):
        cached = lt.cache(tiny.make_model(model_type), **tiny.make_batch(), sites=["mlp.hook_router"])
        assert cached["mlp.hook_router", 1].shape == (21, 4)
        assert plots.experts(cached).get_xlabel() == "expert"
