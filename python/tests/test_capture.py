# SPDX-License-Identifier: Apache-2.0
"""Reading captures, results and embeddings."""

import json

import numpy as np
import pytest

import lime_toolkit as lt

h5py = pytest.importorskip("h5py")


def test_reads_what_h5py_wrote(plain, sequences):
    with lt.Capture(plain) as capture:
        x = capture["hidden", 0]
        every = np.concatenate(sequences)
        assert x.shape == every.shape and x.dtype == np.float32 and len(x) == len(every)
        assert np.array_equal(x[:], every) and np.array_equal(np.asarray(x), every)
        assert np.array_equal(x[5:40, :3], every[5:40, :3]) and np.array_equal(x[-1], every[-1])
        assert np.array_equal(x[[9, 2, 2]], every[[9, 2, 2]]) and np.array_equal(x[::7], every[::7])
        assert np.array_equal(x[every[:, 0] > 1], every[every[:, 0] > 1]) and x[3:3].shape == (0, 24)
        for one, expected in zip(x.sequences(), sequences, strict=True):
            assert np.array_equal(one, expected)
        assert np.array_equal(np.stack(list(x)), every) and len(x) == len(every)
        assert np.array_equal(x.sequence(4), sequences[4])
        assert capture.sites == ["hidden"] and capture.layers("hidden") == [0, 1]
        assert ("hidden", 1) in capture and ("hidden", 2) not in capture
        assert capture.sequences.text is None and capture.config == {} and capture.classes == []
        assert np.array_equal(capture.rows.sequence, np.repeat(np.arange(12), [len(s) for s in sequences]))
        assert x.statistics.count == len(every)
        assert "<table>" in capture._repr_html_()


@pytest.mark.parametrize("arguments", [(), ("--compress", "deflate"), ("--store", "float16")])
def test_reads_shards_and_packed_captures_of_lime_capture(programs, tmp_path, arguments):
    from conftest import ROOT

    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{a} + {b} =\n" for a in range(9) for b in range(9)))
    path = tmp_path / "run.h5"
    programs("lime-capture", "--checkpoint", ROOT / "data" / "aet-lime", "--lines", lines, "--sites", "values,hidden",
             *arguments, "-o", path)
    packed = tmp_path / "packed.h5"
    programs("lime-capture", "pack", path, "-o", packed)
    with lt.Capture(path) as shards, lt.Capture(packed) as one, h5py.File(path) as file:
        assert shards.num_sequences == 81 and shards.config["model_type"] == "lime" and shards.complete
        for site in ("values", "hidden"):
            for layer in range(4):
                expected = file[f"activations/{site}/{layer:03}"][:].astype(np.float32)
                assert np.array_equal(shards[site, layer][:], expected)
                assert np.array_equal(one[site, layer][:], expected)
        assert shards.sequences.text == one.sequences.text and shards.sequences.text[0] == "0 + 0 ="
        assert shards.router(3).shape == (4, 16)
        assert [len(w.T) for w in lt.router_weights(shards)] == [4, 8, 12, 16]


def test_names_what_there_is(plain):
    with lt.Capture(plain) as capture:
        with pytest.raises(KeyError, match="has no site 'hiden' .available: hidden"):
            capture["hiden", 0]
        with pytest.raises(KeyError, match="has no layer 7 of site 'hidden' .available: 0-1"):
            capture["hidden", 7]
        with pytest.raises(IndexError):
            capture["hidden", 0].sequence(12)


def test_refuses_rows_that_it_does_not_have(plain):
    with lt.Capture(plain) as capture:
        x = capture["hidden", 0]
        with pytest.raises(IndexError, match="rows must be in .0, 166., got 166"):
            x[[3, 166]]
        with pytest.raises(IndexError, match="a mask must have the shape .166., got .167."):
            x[np.ones(167, bool)]
        with pytest.raises(KeyError, match="need a site and a layer"):
            capture["hidden"]
        assert np.array_equal(x[...], x[:])
    for use in (lambda: x[:], lambda: capture.attributes, lambda: capture.config):
        with pytest.raises(ValueError, match="was closed; open it again"):
            use()


def test_refuses_captures_that_lack_something(plain):
    with h5py.File(plain, "r+") as file:
        del file["rows/sequence"]
    with pytest.raises(ValueError, match="has no 'rows/sequence'; 'rows' contains position, token"):
        lt.Capture(plain)
    with h5py.File(plain, "r+") as file:
        file.attrs["config"] = "{"
    with pytest.raises(ValueError, match="attribute 'config': is not valid JSON"):
        lt.Capture(plain)
    with pytest.raises(ValueError, match="must be of format lime-embeddings"):
        lt.Embeddings(plain)
    plain.write_text("no HDF5 here")
    with pytest.raises(ValueError, match="is not an HDF5 file"):
        lt.Embeddings(plain)


def test_refuses_other_files(tmp_path, plain):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        lt.Capture(tmp_path / "none.h5")
    text = tmp_path / "text.h5"
    text.write_text("no HDF5 here")
    with pytest.raises(ValueError, match="is not an HDF5 file"):
        lt.Capture(text)
    with h5py.File(plain, "r+") as file:
        file.attrs["schema_version"] = 7
    with pytest.raises(ValueError, match="has schema version 7, this build reads 1"):
        lt.Capture(plain)


def test_finds_damage(programs, plain, tmp_path):
    packed = tmp_path / "packed.h5"
    programs("lime-capture", "pack", plain, "-o", packed)
    content = bytearray(packed.read_bytes())
    at = content.find(b"lime-capture")
    content[at] ^= 1
    packed.write_bytes(content)
    with pytest.raises(ValueError, match="does not match its digest"):
        lt.Capture(packed)


def results_file(path, rows, version=1):
    content = {"schema": f"lime-results/{version}", "metric": "entropy", "inputs": [], "options": {},
               "provenance": {}, "rows": rows}
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_frames_have_the_right_types(tmp_path, version):
    pandas = pytest.importorskip("pandas")
    rows = [{"label": "a", "layer": 0, "mean": 1.5, "alpha": "inf", "converged": True, "folds": [1.0, "nan"]},
            {"label": "b", "layer": None, "mean": "nan", "alpha": 2, "extra": 1}]
    path = tmp_path / "r.json"
    results = lt.Results(results_file(path, rows, version))
    frame = results.frame()
    assert list(frame.columns) == ["label", "layer", "mean", "alpha", "converged", "folds", "extra"]
    assert str(frame.dtypes["layer"]) == "Int64" and str(frame.dtypes["converged"]) == "boolean"
    assert str(lt.Results(results_file(path, rows[:1], version)).frame().dtypes["layer"]) == "int64"
    assert frame["alpha"].tolist() == [np.inf, 2.0] and np.isnan(frame["mean"][1])
    assert frame["layer"].isna().tolist() == [False, True] and frame["folds"][0][0] == 1.0
    assert isinstance(frame, pandas.DataFrame) and "<table" in results._repr_html_()


def test_reads_results_of_lime_metrics(programs, plain):
    rows = programs.rows("entropy", plain)
    results = lt.Results(plain.with_suffix(".entropy.json"))
    assert results.metric == "entropy" and len(results) == len(rows)
    assert results.columns()["mean"] == [row["mean"] for row in rows]


def test_refuses_other_results(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("{")
    with pytest.raises(ValueError, match="is not valid JSON at line 1"):
        lt.Results(path)
    with pytest.raises(ValueError, match="has the schema 'lime-results/9', this version reads"):
        lt.Results(results_file(path, [], 9))
    path.write_text('{"schema": "lime-results/2"}')
    with pytest.raises(ValueError, match="has no 'metric'"):
        lt.Results(path)
