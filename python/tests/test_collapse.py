# SPDX-License-Identifier: Apache-2.0
"""Verdicts on captures and arrays, which are those of lime-metrics collapse."""

import math

import numpy as np
import pytest
from conftest import ROOT, real_model, write_capture

import lime_toolkit as lt

SAMPLE = ROOT.parent / "shared" / "text" / "fineweb-edu-sample.txt"


@pytest.fixture
def massive(tmp_path):
    """Three layers of eight sequences; in the last two the first token of every sequence is massive."""
    generator = np.random.default_rng(3)
    tokens = generator.integers(9, size=96)
    layers = {}
    for layer in range(3):
        rows = generator.normal(size=(96, 40)).astype(np.float32)
        rows[::12, 5] += 400 * (layer > 0)
        layers["hidden", layer] = rows
    path = tmp_path / "massive.h5"
    write_capture(path, layers, tokens, [12] * 8)
    return path, layers, tokens


def same(ours, theirs):
    """Numbers are equal to the last bit, NaN included."""
    if isinstance(theirs, str) and theirs in ("nan", "inf", "-inf"):
        return math.isnan(ours) if theirs == "nan" else ours == float(theirs)
    return ours == theirs


def check_rows(ours, theirs):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert list(one) == list(other)
        for name, value in other.items():
            assert same(one[name], value), (name, one[name], value)


def test_rows_are_those_of_lime_metrics(programs, massive, plain, tmp_path):
    path, layers, tokens = massive
    for capture, options in ((path, {}), (path, {"share": 0.999, "seed": 4}), (plain, {"bootstrap": 300})):
        arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
        check_rows(lt.collapse(lt.Capture(capture), **options).table(), programs.rows("collapse", capture, *arguments))
    random = tmp_path / "random.h5"
    other = {key: np.random.default_rng(9).normal(size=rows.shape).astype(np.float32) for key, rows in layers.items()}
    write_capture(random, other, tokens, [12] * 8)
    found = lt.collapse(lt.Capture(path), random=lt.Capture(random))
    check_rows(found.table(), programs.rows("collapse", path, "--random", random))
    assert "random weights show no massive tokens: training" in str(found)


def test_a_verdict_is_a_table_with_sentences(programs, massive, tmp_path):
    pandas = pytest.importorskip("pandas")
    path, _, _ = massive
    found = lt.collapse(lt.Capture(path), threads=2)
    assert isinstance(found, lt.Table) and isinstance(found.frame(), pandas.DataFrame)
    assert [found.verdict(layer) for layer in range(3)] == ["none", "massive tokens", "massive tokens"]
    with pytest.raises(KeyError, match="no layer 7"):
        found.verdict(7)
    assert found.sentences()[1].startswith("layers 1 to 2: massive tokens; the rest does not collapse")
    assert "What this cannot say" in found._repr_html_() and "all at position 0" in found._repr_html_()
    assert "(random=)" in str(found)
    found.save(tmp_path / "collapse.json")
    programs("lime-figure", tmp_path / "collapse.json", "-o", tmp_path / "collapse.svg")
    assert lt.Results(tmp_path / "collapse.json").metric == "collapse"


def test_captures_in_memory_and_arrays_give_the_same(massive):
    path, layers, tokens = massive
    expected = lt.collapse(lt.Capture(path)).layers
    cached = lt.Capture.from_arrays(layers, tokens=tokens, lengths=[12] * 8)
    for ours, theirs in zip(lt.collapse(cached).layers, expected):
        assert {**ours, "label": ""} == {**theirs, "label": ""}
    one = lt.collapse(layers["hidden", 2].reshape(8, 12, 40), tokens=tokens.reshape(8, 12)).layers[0]
    assert one["label"] == "arrays" and one["massive_share"] == expected[2]["massive_share"]
    assert lt.collapse(lt.Capture(path)["hidden", 2]).layers == expected[2:]
    assert [row["layer"] for row in lt.collapse(lt.Capture(path), layers=[0, 2]).layers] == [0, 2]

    class Names:
        def decode(self, ids):
            return f"<{ids[0]}>"

    named = lt.collapse(lt.Capture(path), tokenizer=Names()).layers[1]
    assert named["massive_text"] == f"<{named['massive_token']}>"


def test_what_cannot_be_measured_is_refused_in_a_line(massive, tmp_path):
    path, layers, tokens = massive
    rows = layers["hidden", 0]
    with pytest.raises(ValueError, match="sequence 1 has 1 token, but collapse needs at least 2"):
        lt.collapse(rows[:3], offsets=[0, 2, 3])
    bad = rows.copy()
    bad[30, 7] = np.inf
    with pytest.raises(ValueError, match="arrays: site 'arrays', layer 0: collapse: .*sequence 2.*finite, got inf"):
        lt.collapse(bad.reshape(8, 12, 40))
    with pytest.raises(ValueError, match="share: must be in .0, 1., got 2"):
        lt.collapse(rows, share=2)
    with pytest.raises(ValueError, match="tokens: must have an id per row, 96, got 2"):
        lt.collapse(rows, tokens=[1, 2])
    with pytest.raises(KeyError, match="has no site 'values'"):
        lt.collapse(lt.Capture(path), sites="values")
    other = tmp_path / "other.h5"
    write_capture(other, layers, tokens[::-1], [12] * 8)
    with pytest.raises(ValueError, match="random: must have the same tokens as 'massive'"):
        lt.collapse(lt.Capture(path), random=lt.Capture(other))


@pytest.mark.real
@pytest.mark.skipif(real_model() is None or not SAMPLE.exists(), reason="needs LIME_REAL_MODEL and a text")
def test_smollm2_is_as_the_program_says(programs, tmp_path):
    path = tmp_path / "smol.h5"
    programs("lime-capture", "--checkpoint", real_model(), "--text", SAMPLE, "--seq-len", 128, "--max-sequences", 20,
             "--sites", "hidden", "--layers", "3,10,11,12", "--quiet", "-o", path)
    found = lt.collapse(lt.Capture(path))
    check_rows(found.table(), programs.rows("collapse", path))
    assert found.verdict(11).startswith("massive tokens")
