# SPDX-License-Identifier: Apache-2.0
"""Audits of models in memory and of checkpoint folders, against lime-capture gauge and lime-metrics audit."""

import os

import numpy as np
import pytest

import lime_toolkit as lt
from conftest import real_model
from lime_toolkit import _gauges, plots
from lime_toolkit._double import double_copy, double_precision

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tiny_models import make_model

#: Transforms that a model type lacks; all others are exact.
LACKS = {
    "llama": (), "mistral": (), "qwen2": (), "qwen3": (), "stablelm": (), "granite": (),
    "gemma2": ("residual-rotation",), "gemma3_text": ("residual-rotation",),
    "olmo2": ("norm-fold", "norm-scale", "residual-rotation"),
    "cohere": ("query-key-scale",),  # dimensions that rotate together are neighbours
    "mixtral": ("unit-scale", "unit-permutation", "norm-fold", "norm-scale", "residual-rotation", "residual-permutation"),
}


def any_model(model_type):
    """A model with gains and biases that are not 1 and 0."""
    model = make_model(model_type)
    generator = torch.Generator().manual_seed(5)
    for name, one in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            one.data += 0.2 * torch.randn(one.shape, generator=generator)
    return model


def any_batch(num_sequences=6, length=12, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return {"input_ids": torch.randint(3, 60, (num_sequences, length), generator=generator)}


@pytest.fixture(scope="module")
def llama():
    return any_model("llama")


@pytest.fixture(scope="module")
def found(llama):
    return lt.audit(llama, any_batch(), seed=3, metrics=["entropy-lime-code", "entropy-raw", "geometry"])


@pytest.mark.parametrize("model_type", LACKS)
def test_transforms_are_exact_or_refused(model_type):
    model = any_model(model_type)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    audit = lt.audit(model, any_batch(5, 8), metrics="entropy-raw", layers=[1])
    assert set(audit.refused) == set(LACKS[model_type])
    assert set(audit.proofs) == set(_gauges.GAUGES) - set(LACKS[model_type])
    assert 0.0 < max(audit.proofs.values()) < 1e-13
    assert not any(row["verdict"] == "contradicts the proof" for row in audit.changes)
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())


@pytest.mark.parametrize("transform", _gauges.GAUGES)
@pytest.mark.parametrize("model_type", ["llama", "qwen3", "gemma2", "olmo2"])
def test_weights_equal_those_of_lime_capture(programs, tmp_path, model_type, transform):
    """With the same random numbers, so that audits of both have the same numbers."""
    if transform in LACKS[model_type]:
        return
    model = any_model(model_type)
    model.save_pretrained(tmp_path / "original")
    strength = ["--strength", 0.7] if _gauges.GAUGES[transform].has_strength else []
    programs("lime-capture", "gauge", tmp_path / "original", "--transform", transform, *strength, "--seed", 9, "-o",
             tmp_path / "copy")
    changed = double_copy(model)
    with double_precision(), torch.no_grad():
        _gauges.GAUGES[transform].apply(_gauges.Weights(changed), _gauges.Draws(9, 0.7))
    from safetensors.torch import load_file

    theirs = load_file(tmp_path / "copy" / "model.safetensors")
    ours = changed.state_dict()
    for name, expected in theirs.items():
        torch.testing.assert_close(ours[name], expected, rtol=1e-10, atol=1e-12)
    assert len(theirs) >= 20


def test_equals_the_program(programs, llama, tmp_path, monkeypatch):
    """The same values, changes and verdicts; activations differ by rounding to float32."""
    llama.save_pretrained(tmp_path / "model")
    ids = any_batch()["input_ids"]
    np.save(tmp_path / "ids.npy", ids.numpy().astype(np.int32))
    monkeypatch.setenv("PATH", f"{programs.folder}{os.pathsep}{os.environ['PATH']}")
    options = dict(seed=3, transforms=["value-scale", "residual-rotation"], layers=[0, 2], sites=["values", "hidden"])
    metrics = ["entropy-lime-code", "entropy-raw", "entropy-matrix-entropy", "geometry", "dimension", "similarity"]
    theirs = lt.audit(
        tmp_path / "model", tokens=tmp_path / "ids.npy", seq_len=12, max_sequences=6, metrics=metrics, **options
    )
    ours = lt.audit(llama, {"input_ids": ids}, metrics=metrics, **options)

    def key(row):
        names = ("label", "site", "layer", "other_layer", "scale", "quantity", "measure", "kind")
        return tuple((name, row.get(name)) for name in names)

    numbers = ("mean", "ci_low", "ci_high")
    expected = {key(row): row for row in theirs.rows if row.get("kind") == "value"}
    values = {key(row): row for row in ours.rows if row.get("kind") == "value"}
    assert values.keys() == expected.keys() and len(values) > 300
    for place, row in values.items():
        for name in numbers:
            if name in expected[place]:
                # Similarities of a layer with itself are rounding.
                assert row[name] == pytest.approx(expected[place][name], rel=1e-6, abs=1e-6), (place, name)
    verdicts = [{(r["label"], r["site"], r["quantity"], r["measure"]): r["verdict"] for r in one.changes} for one in (theirs, ours)]
    assert verdicts[0] == verdicts[1]
    assert {"residual-permutation", "route-scale"} - set(theirs.refused) == {"residual-permutation"}


def test_tables_say_what_moves(found):
    cells = {(row.label, row.site, row.quantity, row.measure): row.cell for row in found.frame().itertuples()}
    assert cells["value-scale", "hidden", "entropy-raw", "entropy"] == "="
    assert cells["value-rotation", "values", "entropy-raw", "entropy"] == "="
    assert float(cells["value-scale", "values", "entropy-raw", "entropy"].rstrip(" %")) > 0
    assert cells["value-scale", "values", "entropy-lime-code", "entropy"] == "="
    assert repr(found).startswith("<Audit: 10 transforms, ") and len(repr(found)) < 100
    text = str(found)
    assert text.startswith("site") and "No transform moves:\n" in text and "hidden, entropy-raw: entropy" in text
    assert "<td>" in found._repr_html_() and "hidden, entropy-raw: entropy" in found._repr_html_()
    assert ("hidden", "entropy-raw") in found.still()


def test_results_are_saved_and_drawn(found, tmp_path):
    found.save(tmp_path / "audit.json")
    stored = lt.Results(tmp_path / "audit.json")
    assert stored.metric == "audit" and len(stored.rows) == len(found.rows)
    for results in (found, stored):
        axes = plots.audit(results, "values")
        labels = [one.get_text() for one in axes.get_yticklabels()]
        assert "entropy-raw: entropy" in labels and "entropy-lime-code: entropy" in labels


def test_bad_input_is_one_line(llama, tmp_path, monkeypatch):
    batch = any_batch()
    for error, text, call in [
        (ValueError, "transforms: expected one of value-scale, .* got 'value-scal'; did you mean 'value-scale'",
         lambda: lt.audit(llama, batch, transforms="value-scal")),
        (ValueError, "metrics: expected one of entropy-lime-code, .*, got 'cka'", lambda: lt.audit(llama, batch, metrics=["cka"])),
        (ValueError, "needs at least 5 sequences of 8 tokens for intervals, got 3", lambda: lt.audit(llama, any_batch(3))),
        (ValueError, "needs at least one batch", lambda: lt.audit(llama)),
        (ValueError, "sites: expected some of hidden, .*, got 'logits'", lambda: lt.audit(llama, batch, sites=["logits"])),
        (ValueError, "strength: must be > 0 and at most 5, got 0", lambda: lt.audit(llama, batch, strength=0)),
        (ValueError, "text: belongs to a checkpoint folder", lambda: lt.audit(llama, batch, text="a.txt")),
        (ValueError, "must return logits", lambda: lt.audit(llama.model, batch)),
        (ValueError, "GPT2LMHeadModel must have one list of layers with the names of LLaMA", lambda: lt.audit(make_model("gpt2"), batch)),
        (ValueError, "'query-key-scale' is not exact for CohereForCausalLM: logits differ by",
         lambda: lt.audit(any_model("cohere"), batch, transforms="query-key-scale")),
    ]:
        with pytest.raises(error, match=text):
            call()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="lime-metrics and lime-capture are not in one folder of PATH"):
        lt.audit(tmp_path, text="a.txt")


def test_errors_of_the_programs_are_shown(programs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs.folder}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ValueError, match="does not exist|cannot be"):
        lt.audit(tmp_path / "nothing", text="a.txt")


@pytest.mark.real
@pytest.mark.skipif(real_model() is None, reason="needs SmolLM2 in LIME_REAL_MODEL")
def test_a_released_model_is_audited_in_memory():
    """The massive token of SmolLM2 has one dimension, which lime-code shrinks; a rotation spreads it."""
    folder = real_model()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = np.random.default_rng(0).integers(100, 20000, size=(5, 16))
    audit = lt.audit(
        model, {"input_ids": torch.from_numpy(ids)}, layers=[15], metrics=["entropy-lime-code", "entropy-raw"],
        transforms=["value-scale", "residual-rotation"],
    )
    assert max(audit.proofs.values()) < 1e-12
    cells = {(row["label"], row["site"], row["quantity"]): row for row in audit.changes}
    assert cells["residual-rotation", "hidden", "entropy-raw"]["verdict"] == "invariant by proof"
    assert cells["residual-rotation", "hidden", "entropy-lime-code"]["verdict"] == "matter of coordinates"
    assert cells["value-scale", "values", "entropy-lime-code"]["verdict"] == "invariant by proof"
