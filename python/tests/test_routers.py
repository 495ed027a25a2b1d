# SPDX-License-Identifier: Apache-2.0
"""Sites that the recorder finds in a model: routers of experts, residual streams, the list of layers."""

import numpy as np
import pytest

import lime_toolkit as lt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("h5py")
from tiny_models import MIXTURE, SMALL, WIDE, make_batch, record

EXPERTS = dict(num_local_experts=4, num_experts_per_tok=2)
MIXTURES = {
    "mixtral": dict(WIDE, **EXPERTS),
    "olmoe": MIXTURE,
    "qwen2_moe": dict(MIXTURE, decoder_sparse_step=2),
    "qwen3_moe": dict(MIXTURE, head_dim=8),
    "granitemoe": dict(WIDE, **EXPERTS),
    "gpt_oss": dict(WIDE, head_dim=8, **EXPERTS),
    "phimoe": dict(WIDE, **EXPERTS),
    "deepseek_v3": dict(
        {**WIDE, "num_key_value_heads": 4}, moe_intermediate_size=24, n_routed_experts=4, num_experts_per_tok=2,
        n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8,
    ),
    "ernie4_5_moe": dict(WIDE, moe_intermediate_size=24, moe_num_experts=4, moe_k=2, moe_layer_start_index=1),
}
ROUTER = ("mlp.hook_router_logits", "mlp.hook_expert_weights", "mlp.hook_expert_indices")


def make(model_type, options):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **options)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():  # also those that begin empty
            parameter.copy_(0.2 * torch.randn(parameter.shape))
    return model


@pytest.mark.parametrize("model_type", list(MIXTURES))
def test_routers_of_experts_are_recorded_by_name(tmp_path, model_type):
    model, batch = make(model_type, MIXTURES[model_type]), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["router"])
    mask = batch["attention_mask"].bool().flatten()
    with torch.no_grad():
        expected = model(**batch, output_router_logits=True).router_logits
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert set(capture.sites) == set(ROUTER)
        layers = capture.layers(ROUTER[0])
        assert len(layers) == len(expected)
        for layer, logits in zip(layers, expected):
            logits = logits.reshape(-1, logits.shape[-1])[mask].numpy()
            assert np.array_equal(capture[ROUTER[0], layer][:], logits)
            indices = capture[ROUTER[2], layer][:].astype(int)
            weights = capture[ROUTER[1], layer][:]
            assert indices.shape == weights.shape == (mask.sum(), 2)
            if model_type == "ernie4_5_moe":
                continue  # its selection adds a bias to the probabilities
            assert (np.sort(indices) == np.sort(np.argsort(-logits)[:, :2])).all()
            if model_type == "phimoe":
                continue  # each of its weights is of a softmax of its own
            # A heavier expert has the larger logit, whatever the normalisation.
            chosen = np.take_along_axis(logits, indices, 1)
            assert ((chosen[:, 0] >= chosen[:, 1]) == (weights[:, 0] >= weights[:, 1])).all()


def test_programs_measure_recorded_routers(programs, tmp_path):
    model, batch = make("mixtral", MIXTURES["mixtral"]), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["router"])
    rows = programs.rows("experts", tmp_path / "run.h5")
    with lt.Capture(tmp_path / "run.h5") as capture:
        counts = np.bincount(capture[ROUTER[2], 1][:].astype(int).ravel(), minlength=4)
    row = next(row for row in rows if row.get("measure") == "max_violation" and row["layer"] == 1)
    assert row["mean"] == pytest.approx(counts.max() / counts.mean() - 1)


GEMMA3N = dict(
    WIDE, head_dim=8, vocab_size_per_layer_input=64, hidden_size_per_layer_input=8, altup_num_inputs=3, laurel_rank=4,
    num_kv_shared_layers=0, activation_sparsity_pattern=[0.0] * 3, layer_types=["full_attention"] * 3,
)


def test_streams_of_gemma3n(programs, tmp_path):
    model, batch = make("gemma3n_text", GEMMA3N), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["hidden", "streams"])
    mask = batch["attention_mask"].bool()
    states = {}
    hook = model.model.layers[1].register_forward_hook(lambda module, args, output: states.update(one=output))
    with torch.no_grad():
        model(**batch)
    hook.remove()
    with lt.Capture(tmp_path / "run.h5") as capture:
        expected = torch.stack([stream[mask] for stream in states["one"]], 1)
        assert np.array_equal(capture["hook_streams", 1][:], expected.flatten(1).numpy())
        assert np.array_equal(capture["hidden", 1][:], expected[:, model.config.altup_active_idx].numpy())
    rows = programs.rows("streams", tmp_path / "run.h5")
    assert sum(row.get("kind") == "stream" and row["layer"] == 1 for row in rows) == 3


class Stack(torch.nn.Module):
    """Streams of a model of one's own, [batch, tokens, streams, dim]."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(64, 8)
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8)) for _ in range(3))

    def forward(self, input_ids, attention_mask=None):
        x = self.embedding(input_ids).unsqueeze(2).repeat(1, 1, 2, 1)
        for block in self.blocks:
            x = x + block(x)
        return x


def test_a_part_selects_of_several_streams(tmp_path):
    torch.manual_seed(0)
    model, batch = Stack(), make_batch()
    with pytest.raises(ValueError, match=r"gives \[3, 9, 2, 8\], not a row for each of the 3 x 9 tokens; select one"):
        record(tmp_path / "a.h5", model, batch)
    site = lt.models.Site("blocks.*", part=lambda output, config: output[:, :, 1])
    record(tmp_path / "b.h5", model, batch, sites={"hidden": site})
    with lt.Capture(tmp_path / "b.h5") as capture:
        assert capture["hidden", 2][:].shape == (21, 8)
    wrong = lt.models.Site("blocks.*", part=lambda output, config: output[0])
    with pytest.raises(ValueError, match=r"the part of 'blocks.0' has the shape \[9, 2, 8\], not \[3, 9, dim\]"):
        record(tmp_path / "c.h5", model, batch, sites={"hidden": wrong})


def test_an_unknown_model_is_recognised_by_its_list_of_layers(tmp_path):
    model, batch = make("llama", WIDE), make_batch()
    expected = tmp_path / "known.h5"
    record(expected, model, batch)
    type(model.config).model_type, before = "novel", type(model.config).model_type
    try:
        record(tmp_path / "novel.h5", model, batch)
    finally:
        type(model.config).model_type = before
    with lt.Capture(expected) as known, lt.Capture(tmp_path / "novel.h5") as found:
        assert list(found.sites) == ["hidden"]
        assert np.array_equal(known["hidden", 2][:], found["hidden", 2][:])


class TwoTowers(Stack):
    def __init__(self):
        super().__init__()
        self.others = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8)) for _ in range(2))


def test_the_error_names_the_lists_of_a_model(tmp_path):
    with pytest.raises(ValueError, match=r"its lists: blocks \(3 Sequential\), others \(2 Sequential\)$"):
        lt.Recorder(tmp_path / "run.h5", TwoTowers())


DEEPSEEK_V4 = dict(
    SMALL, num_key_value_heads=1, head_dim=16, q_lora_rank=8, o_lora_rank=8, o_groups=2, moe_intermediate_size=24,
    n_routed_experts=4, num_experts_per_tok=2, hc_mult=3, index_n_heads=2, index_head_dim=16, index_topk=8,
    layer_types=["sliding_attention"] * 3, mlp_layer_types=["hash_moe", "moe", "moe"], sliding_window=16,
    partial_rotary_factor=0.5,
)


def test_streams_and_routers_of_deepseek_v4(programs, tmp_path):
    model, batch = make("deepseek_v4", DEEPSEEK_V4), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["streams", "router"])
    mask = batch["attention_mask"].bool()
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert capture["hook_streams", 2][:].shape == (mask.sum(), 3 * 32)
        assert capture.layers(ROUTER[2]) == [0, 1, 2]
        weights = capture["hook_stream_weights", 1][:].reshape(-1, 2, 3, 5)
    assert any(row.get("measure") == "dominance" for row in programs.rows("streams", tmp_path / "run.h5"))
    # Both parts: what they read is the sum of the streams with the recorded weights, and mixing is doubly stochastic.
    seen = {}
    layer = model.model.layers[1]
    hooks = [
        module.register_forward_hook(lambda _, args, output, name=name: seen.update({name: (args[0], output)}))
        for name, module in (("attn", layer.attn_hc), ("mlp", layer.ffn_hc))
    ]
    with torch.no_grad():
        model(**batch)
    for hook in hooks:
        hook.remove()
    for part, name in enumerate(("attn", "mlp")):
        streams, (post, comb, collapsed) = seen[name]
        read = np.einsum("ti,tid->td", weights[:, part, :, 0], streams[mask].numpy())
        assert np.allclose(read, collapsed[mask].numpy(), atol=1e-5)
        assert np.allclose(weights[:, part, :, 1], post[mask].numpy())
        assert np.allclose(weights[:, part, :, 2:], comb[mask].transpose(-1, -2).numpy())
    rows = programs.rows("streams", tmp_path / "run.h5")
    assert any(row.get("measure") == "identity_distance" and row.get("read") == "mlp" for row in rows)
    record(tmp_path / "default.h5", model, batch)
    with lt.Capture(tmp_path / "default.h5") as capture:
        assert list(capture.sites) == ["hook_streams"]
    with pytest.raises(ValueError, match="'hook_stream_weights' can be recorded, not edited; use lime-capture"):
        lt.edit(model, "zero hook_stream_weights")


INKLING2 = dict(
    SMALL, num_key_value_heads=2, head_dim=8, moe_intermediate_size=24, n_layers_per_attn_res_block=2,
)


def test_attention_over_depth_of_inkling2(tmp_path):
    model, batch = make("inkling2_text", INKLING2), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["attn.hook_depth_weights", "mlp.hook_depth_weights"])
    mask = batch["attention_mask"].bool()
    seen = {}
    hook = model.model.layers[2].mlp_input.register_forward_hook(
        lambda _, args, output: seen.update(args=args, output=output[0])
    )
    with torch.no_grad():
        model(**batch)
    hook.remove()
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert capture.layers("attn.hook_depth_weights") == [1, 2]
        weights = capture["mlp.hook_depth_weights", 2][:]
    blocks, partial = seen["args"]
    states = torch.cat([blocks, partial.unsqueeze(-2)], -2)[mask].double().numpy()
    normalised = states / np.sqrt((states**2).mean(-1, keepdims=True) + 1e-6)
    assert np.allclose(weights.sum(-1), 1, atol=1e-5)
    assert np.allclose(np.einsum("tn,tnd->td", weights, normalised), seen["output"][mask].numpy(), atol=1e-3)


def test_sites_of_edits_are_those_of_the_recorder():
    model, batch = make("mixtral", MIXTURES["mixtral"]), make_batch()
    with pytest.raises(ValueError, match="'mlp.hook_router_logits' can be recorded, not edited; use lime-capture"):
        lt.edit(model, "zero mlp.hook_router_logits")
    type(model.config).model_type, before = "novel", type(model.config).model_type
    try:
        with lt.edit(model, "zero hidden layers=1"), torch.no_grad():
            edited = model(**batch).logits
    finally:
        type(model.config).model_type = before
    with torch.no_grad():
        assert not torch.equal(edited, model(**batch).logits)
