# SPDX-License-Identifier: Apache-2.0
"""Results of arrays as tables, frames, HTML and files that the programs read."""

import dataclasses
import json
import math

import numpy as np
import pytest

import lime_toolkit as lt
from conftest import ROOT


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


def test_texts_of_results_are_short(plain):
    """In a terminal, where a result is not shown as a table."""
    with lt.Capture(plain) as capture:
        assert repr(lt.entropy(capture)) == "<LayerResults entropy: hidden 0-1>"
        assert repr(lt.collapse(capture)).startswith("<Collapse: layer") and len(repr(lt.collapse(capture))) < 800
    rows = [{"loss": 2.5}, {"effect": 0.001}, {"effect": -0.25}]
    sweep = lt.Sweep(rows, *3 * [np.zeros((3, 1))], options={"over": "layers"})
    assert repr(sweep) == "<Sweep over layers: loss 2.5, effects +0.001, -0.25 nats>"


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


def test_probes_measure_every_layer_of_a_capture(plain):
    with lt.Capture(plain) as capture:
        labels = capture.rows.token
        found = lt.probe(capture, labels, control="sequence", group="sequence")
        alone = lt.probe(
            capture["hidden", 1][:], labels, control="sequence", group="sequence", sequences=capture.rows.sequence
        )
        assert list(found) == [("hidden", 0), ("hidden", 1)]
        assert np.array_equal(found["hidden", 1].predictions, alone.predictions)
        assert [(row["layer"], row["labels"]) for row in found.table()] == [
            (0, "words"), (0, "sequence"), (1, "words"), (1, "sequence")]
        assert list(lt.lime_code_probe(capture, labels, sites="hidden")) == list(found)


def test_results_of_two_captures_are_compared(programs, plain, tmp_path):
    other = tmp_path / "other.h5"
    with lt.Capture(plain) as capture:
        rows = {key: capture[key][:] ** 3 for key in capture}
        changed = lt.Capture.from_arrays(rows, tokens=capture.rows.token, lengths=np.diff(capture.offsets))
        changed.save(other)
        found = lt.compare(lt.entropy(capture, preset="raw"), lt.entropy(changed, preset="raw"))
        same_layer = lt.compare(lt.entropy(capture["hidden", 1], preset="raw"), lt.entropy(changed["hidden", 1], preset="raw"))
        assert found["hidden", 1].difference == same_layer.difference and same_layer.p_holm is None
        with pytest.raises(ValueError, match="both must be results of captures"):
            lt.compare(lt.entropy(capture), lt.entropy(capture["hidden", 0]))
        with pytest.raises(ValueError, match="compare: results of geometry have no value per sequence"):
            lt.compare(lt.geometry(capture), lt.geometry(changed))
        with pytest.raises(ValueError, match="needs one order, got alpha"):
            lt.compare(*[lt.entropy(capture["hidden", 0], alpha=[1.0, 2.0])] * 2)
        pytest.importorskip("matplotlib").use("agg")
        from lime_toolkit import plots

        assert np.allclose(plots.layers(found).get_lines()[0].get_ydata(), [one.difference for one in found.values()])
    output = tmp_path / "compared.json"
    programs("lime-metrics", "entropy", plain, other, "--preset", "raw", "--compare", "first", "-o", output)
    expected = [row for row in json.loads(output.read_text())["rows"] if row.get("kind") == "comparison"]
    assert len(expected) == 2
    for ours, row in zip(found.table(), expected):
        for name in set(ours) - {"label"}:
            assert same(ours[name], row[name]), (name, ours[name], row[name])


def test_whole_captures_and_several_sequences_are_refused_by_name(plain):
    with lt.Capture(plain) as capture:
        for call in (lt.spectrum, lt.effective_rank, lt.statistics_of, lt.TSNE().fit):
            with pytest.raises(ValueError, match=r"rows: a Capture has several layers; select one, capture\['hidden', 3\]"):
                call(capture)
        for call in (lt.token_profile, lt.token_contributions):
            with pytest.raises(ValueError, match=r"rows: must be one sequence, got 12; select one, .*sequence\(0\)"):
                call(capture["hidden", 0])


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
        axes = plots.layers([lt.entropy(capture), lt.entropy(capture, preset="raw")])
        label = capture.label
        assert [one.get_text() for one in axes.get_legend().get_texts()] == [label, f"{label} (2)"]
        axes = plots.heatmap(lt.similarity_map(capture), layer_base=1)
        assert axes.get_xlim() == (0.5, 2.5)
    assert plots.heatmap(lt.router([np.eye(2), np.ones((2, 4))])).get_xlabel() == "source layer"
    rows = [{"part": "original"}, *({"part": "head", "layer": l, "head": h, "effect": l - h} for l in range(2) for h in range(3))]
    sweep = lt.Sweep(rows, np.zeros((7, 1)), np.zeros((7, 1)), np.zeros((7, 1)))
    assert plots.heatmap(sweep).get_xlabel() == "head"
    assert plots.pattern(np.eye(3), ["a", "b", "c"]).get_xticklabels()[2].get_text() == "c"
    with pytest.raises(ValueError, match="results must be Results"):
        plots.layers([1])


def test_heatmaps_of_files_are_those_of_objects(programs, plain, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    from lime_toolkit import plots

    programs.rows("similarity", plain)
    programs("lime-metrics", "router", ROOT / "data" / "lm-lime", "-o", tmp_path / "router.json")
    with lt.Capture(plain) as capture:
        for stored, made in (
            (lt.Results(plain.with_suffix(".similarity.json")), lt.similarity_map(capture)),
            (lt.Results(tmp_path / "router.json"), lt.router(lt.router_weights(ROOT / "data" / "lm-lime"))),
        ):
            ours, theirs = plots.heatmap(made), plots.heatmap(stored)
            assert ours.get_xlabel() == theirs.get_xlabel()
            assert np.allclose(*(axes.images[0].get_array().filled(9) for axes in (ours, theirs)), atol=1e-6)
        rows = plots.heatmap(stored, value="weight", model="lm-lime").images[0].get_array()
        assert np.allclose(rows.sum(axis=1), 1.0)
        with pytest.raises(ValueError, match="have no 'weight' by layer and source_layer"):
            plots.heatmap(stored, model="another")
        with pytest.raises(ValueError, match="needs results of similarity, router, sweep, got entropy"):
            lt.entropy(capture).save(tmp_path / "entropy.json")
            plots.heatmap(lt.Results(tmp_path / "entropy.json"))


def test_audits_are_plotted_from_files(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    from lime_toolkit import plots

    def row(label, measure, half_widths, verdict):
        return {"label": label, "quantity": "geometry", "site": "values", "measure": measure, "relative_change": 0.5,
                "half_widths": half_widths, "verdict": verdict}

    rows = [
        {"label": "original", "kind": "value", "site": "values", "measure": "rank", "mean": 1.0},
        row("value-scale", "rank", 200.0, "matter of coordinates"),
        row("value-scale", "curvature", 0.0, "invariant in fact"),
        row("value-rotation", "rank", 0.0, "invariant by proof"),
        row("value-rotation", "curvature", 3.0, "matter of coordinates"),
    ]
    content = {"schema": "lime-results/3", "metric": "audit", "inputs": [], "options": {}, "provenance": {}, "rows": rows}
    (tmp_path / "audit.json").write_text(json.dumps(content))
    axes = plots.audit(lt.Results(tmp_path / "audit.json"))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["value-scale", "value-rotation"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["geometry: rank", "geometry: curvature"]
    assert axes.images[0].get_array().filled(-1).tolist() == [[100.0, -1.0], [-1.0, 3.0]]
    with pytest.raises(ValueError, match="no measure of site keys that moves"):
        plots.audit(lt.Results(tmp_path / "audit.json"), "keys")


def test_embeddings_are_plotted_from_objects():
    pytest.importorskip("matplotlib").use("agg")
    from lime_toolkit import plots

    points = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    tsne = lt.TSNE(perplexity=5, max_iter=20).fit(points)
    axes = plots.embedding(tsne, classes=["a", "b"] * 20)
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["a", "b"]
    assert len(plots.embedding(tsne.embedding_, "model").collections[0].get_offsets()) == 40
    with pytest.raises(ValueError, match="points must be .*num_points, 2"):
        plots.embedding(points)


def test_routers_of_experts_are_plotted():
    pytest.importorskip("matplotlib").use("agg")
    tiny = pytest.importorskip("tiny_models")
    from lime_toolkit import plots

    for model_type in ("mixtral", "qwen3_moe", "olmoe"):
        cached = lt.cache(tiny.make_model(model_type), **tiny.make_batch(), sites=["mlp.hook_router"])
        assert cached["mlp.hook_router", 1].shape == (21, 4)
        assert plots.experts(cached).get_xlabel() == "expert"
