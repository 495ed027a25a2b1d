# SPDX-License-Identifier: Apache-2.0
"""Results files and checkpoints that are damaged, or made to hang or crash: refused as documented."""

import json
import os
import shutil

import numpy as np
import pytest
from conftest import ROOT

import lime_toolkit as lt
from lime_toolkit import _lime_toolkit as _core

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
LIME = ROOT / "data" / "aet-lime"


@pytest.fixture
def checkpoint(tmp_path):
    """A copy of a trained LIMe."""
    return shutil.copytree(LIME, tmp_path / "model")


def put_fifo(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def test_results_are_regular_files(tmp_path):
    put_fifo(tmp_path / "r.json")
    with pytest.raises(OSError, match="r.json': "):
        lt.Results(tmp_path / "r.json")
    with pytest.raises(OSError):
        lt.Results(tmp_path)
    with pytest.raises(FileNotFoundError, match="'.*none.json' does not exist"):
        lt.Results(tmp_path / "none.json")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000])
def test_nested_results_are_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="JSON is nested deeper than 512 levels"):
        lt.Results(path)


@pytest.mark.parametrize("changes, reason", [({"rows": {}}, "'rows' must be a list, got dict"),
                                             ({"rows": [{}, 3]}, "row 1 must be an object, got int"),
                                             ({"metric": 4}, "'metric' must be a string, got int"),
                                             ({"inputs": None}, "'inputs' must be a list, got NoneType")])
def test_results_have_the_types_of_the_format(tmp_path, changes, reason):
    content = {"schema": "lime-results/2", "metric": "x", "inputs": [], "options": {}, "provenance": {}, "rows": []}
    (tmp_path / "r.json").write_text(json.dumps(content | changes))
    with pytest.raises(ValueError, match=reason):
        lt.Results(tmp_path / "r.json")


def test_cells_may_be_objects(tmp_path):
    content = {"schema": "lime-results/2", "metric": "x", "inputs": [], "options": {}, "provenance": {},
               "rows": [{"a": {"b": 1}}, {"a": "nan"}, {"a": [1, "inf"]}]}
    (tmp_path / "r.json").write_text(json.dumps(content))
    assert lt.Results(tmp_path / "r.json").columns()["a"] == [{"b": 1}, "nan", [1, float("inf")]]


@pytest.mark.parametrize("path", sorted((CORPUS / "results").iterdir()), ids=lambda path: path.name)
def test_results_of_the_corpus_are_read_or_refused(path):
    try:
        lt.Results(path).columns()
    except ValueError:
        pass


def test_router_weights_are_those_of_the_file(checkpoint):
    from_file = pytest.importorskip("safetensors.numpy").load_file(checkpoint / "model.safetensors")
    for layer, weights in enumerate(lt.router_weights(checkpoint)):
        stored = from_file.get(f"model.layers.{layer}.self_attn.lime_router.static_weights")
        expected = np.eye(len(weights)) if stored is None else stored
        assert weights.dtype == np.float64 and np.array_equal(weights, expected)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_checkpoints_are_regular_files(checkpoint, name):
    put_fifo(checkpoint / name)
    with pytest.raises(OSError, match=name):
        lt.router_weights(checkpoint)


@pytest.mark.parametrize("path", sorted((CORPUS / "safetensors").iterdir()), ids=lambda path: path.name)
def test_weights_of_the_corpus_are_read_or_refused(checkpoint, path):
    shutil.copyfile(path, checkpoint / "model.safetensors")
    with pytest.raises(ValueError):
        lt.router_weights(checkpoint)


@pytest.mark.parametrize("length", [1 << 62, 1 << 40, 0])
def test_headers_are_inside_the_file(checkpoint, length):
    content = (checkpoint / "model.safetensors").read_bytes()
    (checkpoint / "model.safetensors").write_bytes(length.to_bytes(8, "little") + content[8:])
    with pytest.raises(ValueError, match="model.safetensors"):
        lt.router_weights(checkpoint)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"num_hidden_layers": 10**9}, "must have at most 16384 key-value heads in all layers"),
        ({"num_hidden_layers": "4"}, "'num_hidden_layers' in config.json must be a number >= 1, got '4'"),
        ({"num_hidden_layers": -1}, "'num_hidden_layers' in config.json must be a number >= 1, got -1"),
        ({"num_key_value_heads": True}, "'num_key_value_heads' in config.json must be a number"),
        ({"num_key_value_heads": None, "num_attention_heads": None}, "'num_key_value_heads' in config.json must"),
    ],
)
def test_sizes_of_configs_are_bounded(checkpoint, changes, reason):
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(ValueError, match=reason):
        lt.router_weights(checkpoint)


def test_configs_are_objects(checkpoint):
    (checkpoint / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="'num_hidden_layers' in config.json must be"):
        lt.router_weights(checkpoint)
    (checkpoint / "config.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="JSON is nested deeper than 512 levels"):
        lt.router_weights(checkpoint)


def test_checkpoints_that_do_not_exist_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="'.*none' does not exist"):
        lt.router_weights(tmp_path / "none")
    with pytest.raises(OSError, match="config.json"):
        lt.router_weights(tmp_path)


def test_a_damaged_manifest_is_refused(tmp_path):
    """Of a recording; see also test_recorder.py."""
    path, folder = tmp_path / "run.h5", tmp_path / "run.shards"
    assert _core.read_manifest(path) is None
    folder.mkdir()
    put_fifo(folder / "manifest.json")
    with pytest.raises(OSError):
        _core.read_manifest(path)
    put_fifo(folder / "00000.json")
    with pytest.raises(OSError):
        _core.finished_shard(path, 0)
