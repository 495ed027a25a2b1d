# SPDX-License-Identifier: Apache-2.0
"""Captures with sequences of one token, which no metric of whole sequences can measure: left out, as by lime-metrics."""

import numpy as np
import pytest
from conftest import write_capture

import lime_toolkit as lt

LENGTHS = [12, 1, 9, 7, 1, 14, 11, 10]
SKIPPED = "short: skipped 2 sequences of fewer than 2 tokens"


@pytest.fixture
def short(tmp_path):
    generator = np.random.default_rng(5)
    rows = {("hidden", layer): generator.normal(size=(sum(LENGTHS), 16)).astype(np.float32) for layer in range(2)}
    path = tmp_path / "short.h5"
    write_capture(path, rows, generator.integers(50, size=sum(LENGTHS)), LENGTHS)
    return path


def test_entropies_are_those_of_lime_metrics(programs, short):
    expected = programs.rows("entropy", short)
    with pytest.warns(UserWarning, match=SKIPPED):
        found = lt.entropy(lt.Capture(short)).table()
    assert [row["n"] for row in found] == [6, 6]
    for one, other in zip(found, expected, strict=True):
        assert {name: one[name] for name in ("mean", "std", "ci_low", "ci_high", "n")} == {
            name: other[name] for name in ("mean", "std", "ci_low", "ci_high", "n")}


def test_geometry_is_that_of_lime_metrics(programs, short):
    expected = {(row["layer"], row["measure"], row["over"]): row["mean"]
                for row in programs.rows("geometry", short)}
    with pytest.warns(UserWarning, match=SKIPPED):
        found = lt.geometry(lt.Capture(short)["hidden", 1], measure="rank")
    assert found.num_rows == sum(LENGTHS) - 2
    assert found.effective_rank == expected[1, "effective_rank", "rows"]


def test_verdicts_are_those_of_lime_metrics(programs, short):
    expected = programs.rows("collapse", short)
    with pytest.warns(UserWarning, match=SKIPPED):
        found = lt.collapse(lt.Capture(short)).table()
    names = ("verdict", "effective_rank", "num_rows")
    for one, other in zip(found, expected, strict=True):
        assert [one.get(name) for name in names] == [other.get(name) for name in names]


def test_a_text_is_left_out_with_all_of_its_views(programs, short):
    # As stored, every two sequences are the views of a text: the second and third text lack a view.
    with pytest.warns(UserWarning, match="short: skipped 2 texts of fewer than 2 tokens in a view"):
        found = lt.geometry(lt.Capture(short)["hidden", 0], measure="views", views=2)
    layer = lt.Capture(short)["hidden", 0]
    whole = [layer.sequence(i) for i in (2, 3, 6, 7)]
    assert found.dime == lt.geometry(whole, measure="views", views=2).dime


def test_a_capture_of_short_sequences_only_is_refused(tmp_path):
    path = tmp_path / "single.h5"
    write_capture(path, {("hidden", 0): np.ones((3, 4), np.float32)}, [1, 2, 3], [1, 1, 1])
    with pytest.raises(ValueError, match="single: must have a sequence of at least 2 tokens, got 3 shorter ones"):
        lt.entropy(lt.Capture(path))


def test_arrays_say_which_sequence_is_too_short():
    with pytest.raises(ValueError, match="sequence 1"):
        lt.entropy([np.ones((3, 4), np.float32), np.ones((1, 4), np.float32)], preset="raw")
