# SPDX-License-Identifier: Apache-2.0
"""attn.hook_result and attn.hook_value_result: z and values of each head through its part of W_O."""

import numpy as np
import pytest

import lime_toolkit as lt
from conftest import real_model
from lime_toolkit import models

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tiny_models import MODELS, make_batch, make_model

WITH_HEADS = [name for name in MODELS if name != "mamba"]
SITES = ["attn.hook_result", "attn.hook_value_result", "attn.hook_z", "values"]


@pytest.mark.parametrize("model_type", WITH_HEADS)
def test_results_of_heads_are_parts_of_the_projection(model_type):
    """Their sum over heads is the output of W_O without its bias; values of equal tokens are their own z."""
    model, batch = make_model(model_type), make_batch(left=True)
    site = models.SITES[model_type]["attn.hook_z"]
    cached = lt.cache(model, **batch, sites=SITES)
    output = lt.cache(model, **batch, sites={"output": site.pattern})
    (_, _, projection) = models.find_modules(model, {"z": site})["z"][1]
    weight = projection.weight.detach() if model_type != "gpt2" else projection.weight.detach().T
    bias = 0.0 if projection.bias is None else projection.bias.detach().numpy()
    result = cached["attn.hook_result", 1][:].reshape(len(cached.rows.token), 4, -1)
    np.testing.assert_allclose(result.sum(1) + bias, output["output", 1][:], atol=1e-5)
    z, values = torch.from_numpy(cached["attn.hook_z", 1][:]), torch.from_numpy(cached["values", 1][:])
    dim = weight.shape[1] // 4
    own = z[:, dim : 2 * dim] @ weight[:, dim : 2 * dim].T
    np.testing.assert_allclose(result[:, 1], own.numpy(), atol=1e-5)
    group = 4 * dim // values.shape[1]
    offered = cached["attn.hook_value_result", 1][:].reshape(len(result), 4, -1)
    for head in range(4):
        source = values[:, head // group * dim : (head // group + 1) * dim]
        own = source @ weight[:, head * dim : (head + 1) * dim].T
        np.testing.assert_allclose(offered[:, head], own.numpy(), atol=1e-5)


def test_the_first_token_attends_to_itself():
    """So that what it writes is what it offers, in a model with causal attention."""
    cached = lt.cache(make_model("llama"), **make_batch(), sites=SITES)
    first = cached.rows.position == 0
    np.testing.assert_allclose(
        cached["attn.hook_result", 2][:][first], cached["attn.hook_value_result", 2][:][first], atol=1e-6
    )


def test_they_are_read_only():
    with pytest.raises(ValueError, match="'attn.hook_result' can be read, not edited"):
        lt.edit(make_model("llama"), "zero attn.hook_result")


def _compare(programs, folder, ids, tmp_path, layers):
    np.save(tmp_path / "ids.npy", ids.astype(np.int32))
    programs("lime-capture", "--checkpoint", folder, "--tokens", tmp_path / "ids.npy", "--sites",
             "attn.hook_result,attn.hook_value_result", "--layers", layers, "--dtype", "float64", "-o", tmp_path / "run.h5")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    ours = lt.cache(model, input_ids=torch.from_numpy(ids.astype(int)), sites=SITES[:2])
    with lt.Capture(tmp_path / "run.h5") as theirs:
        for key in theirs:
            assert theirs[key].shape == ours[key].shape
            largest = np.abs(theirs[key][:]).max()
            assert np.abs(theirs[key][:] - ours[key][:]).max() < 1e-6 * largest, key
        assert len(list(theirs)) >= 4


def test_equal_lime_capture(programs, tmp_path):
    make_model("llama").save_pretrained(tmp_path / "model")
    _compare(programs, tmp_path / "model", np.random.default_rng(0).integers(3, 60, (3, 16)), tmp_path, "0,2")


@pytest.mark.real
@pytest.mark.skipif(real_model() is None, reason="needs SmolLM2 in LIME_REAL_MODEL")
def test_equal_lime_capture_on_a_released_model(programs, tmp_path):
    _compare(programs, real_model(), np.random.default_rng(0).integers(100, 20000, (2, 16)), tmp_path, "0,15")
