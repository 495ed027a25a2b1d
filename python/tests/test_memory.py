# SPDX-License-Identifier: Apache-2.0
"""Captures in memory: of a model's passes, of arrays, and of what other libraries write."""

import json

import numpy as np
import pytest

import lime_toolkit as lt


@pytest.fixture
def arrays():
    generator = np.random.default_rng(3)
    return {("hidden", layer): generator.normal(size=(2, 6, 8)).astype(np.float32) for layer in range(3)}


def test_arrays_have_the_accessors_of_a_capture(arrays):
    ids = np.arange(12).reshape(2, 6)
    capture = lt.Capture.from_arrays(arrays, tokens=ids, texts=["a", "b"], provenance={"run": 7})
    x = capture["hidden", 1]
    assert np.shares_memory(np.asarray(x), arrays["hidden", 1]) and x.shape == (12, 8)
    assert np.array_equal(x.sequence(1), arrays["hidden", 1][1]) and capture.sequences.text == ["a", "b"]
    assert capture.rows.token.tolist() == list(range(12)) and capture.rows.position.tolist() == [*range(6)] * 2
    assert "hidden" in capture and ("hidden", 2) in capture and "values" not in capture and 3 not in capture
    assert list(capture) == [("hidden", 0), ("hidden", 1), ("hidden", 2)] and len(capture) == 3
    assert json.loads(capture.attributes["extra"]) == {"source": "arrays", "run": 7}
    assert lt.entropy(x).values.shape == (2, 1) and "in memory" in repr(capture) and "<table>" in capture._repr_html_()
    assert lt.Capture.from_arrays({"hidden": list(arrays.values())}).layers("hidden") == [0, 1, 2]


def test_metrics_of_memory_equal_those_of_a_file(plain):
    with lt.Capture(plain) as file:
        rows = {(site, layer): file[site, layer][:] for site, layer in file}
        memory = lt.Capture.from_arrays(rows, tokens=file.rows.token, lengths=np.diff(file.offsets))
        for preset in ("raw", "lime-code"):
            ours, theirs = (lt.entropy(one["hidden", 1], preset=preset).values for one in (memory, file))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12 if preset == "lime-code" else 0)
        assert np.array_equal(lt.geometry(memory["hidden", 0]).curvature, lt.geometry(file["hidden", 0]).curvature, equal_nan=True)
        assert lt.similarity(memory["hidden", 0], file["hidden", 1]) is not None


def test_activations_calculate_as_arrays(plain):
    with lt.Capture(plain) as file:
        x, y = file["hidden", 0], file["hidden", 1]
        difference = x - y
        assert isinstance(difference, lt.Activations) and np.array_equal(difference[:], x[:] - y[:])
        assert np.array_equal(difference.offsets, x.offsets) and len(lt.entropy(difference, preset="raw").values) == 12
        assert np.array_equal(x.T, x[:].T) and np.allclose(x.mean(axis=0), x[:].mean(0), atol=1e-5)
        assert np.allclose(x.norm(), np.linalg.norm(x[:], axis=1)) and np.array_equal((2 * x)[3], 2 * x[3])
        assert np.add.reduce(x, axis=0).shape == (24,) and (x > 0).dtype == bool
        assert (x + np.ones(24)).dtype == np.float64
        short = lt.Capture.from_arrays({("hidden", 0): x[:]}, lengths=[100, 66])
        with pytest.raises(ValueError, match="subtract: both must have the same sequences, got 12 and 2"):
            x - short["hidden", 0]


def test_layers_count_from_the_last(plain):
    with lt.Capture(plain) as capture:
        assert capture["hidden", -1] is capture["hidden", 1] and capture["hidden", -2] is capture["hidden", 0]
        with pytest.raises(KeyError, match="has no layer -3 of site 'hidden'"):
            capture["hidden", -3]
        x = capture["hidden", 0]
        assert x.max() == x[:].max() and np.array_equal(x.min(axis=0), x[:].min(axis=0))
        assert np.allclose(x.sum(axis=0), x[:].sum(axis=0), rtol=1e-4) and x.var() == pytest.approx(x[:].var(), rel=1e-5)


def test_captures_in_memory_are_saved(programs, plain, arrays, tmp_path):
    memory = lt.Capture.from_arrays(arrays, tokens=np.arange(12).reshape(2, 6), texts=["a", "b"], config={"model_type": "x"})
    path = tmp_path / "run.h5"
    memory.save(path)
    assert "is intact" in programs("lime-capture", "verify", path)
    with lt.Capture(path) as file:
        assert list(file) == list(memory) and file.config == {"model_type": "x"} and file.sequences.text == ["a", "b"]
        assert all(np.array_equal(file[key][:], memory[key][:]) for key in memory)
        assert np.array_equal(file.rows.token, memory.rows.token) and np.array_equal(file.offsets, memory.offsets)
        rows = programs.rows("entropy", path)
        assert [row["mean"] for row in rows] == [one.summary().mean for one in lt.entropy(file).values()]
        with pytest.raises(ValueError, match="'run.h5' is a file; copy it"):
            file.save(tmp_path / "other.h5")
    with pytest.raises(FileExistsError, match="already exist; use overwrite=True"):
        memory.save(path)
    memory.save(path, overwrite=True)


def test_padding_is_left_out(arrays):
    mask = np.array([[1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1]])
    capture = lt.Capture.from_arrays(arrays, mask=mask, tokens=np.arange(12).reshape(2, 6))
    assert np.diff(capture.offsets).tolist() == [4, 5] and capture.rows.token.tolist() == [0, 1, 2, 3, 7, 8, 9, 10, 11]
    assert np.array_equal(capture["hidden", 0].sequence(1), arrays["hidden", 0][1, 1:])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(tokens=np.zeros((2, 5), int)), "activations: '.*' must be .batch, tokens|tokens: must have the shape"),
        (dict(tokens=np.zeros((2, 6))), "tokens: must be whole numbers, got float64"),
        (dict(lengths=[3, 4]), "must have 7 rows, those of all lengths"),
        (dict(texts=["one"]), "texts: must have one entry for each of the 2 sequences, got 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, arguments, message):
    with pytest.raises(ValueError, match=message):
        lt.Capture.from_arrays(arrays, **arguments)


def test_names_of_arrays(arrays):
    values = arrays["hidden", 0]
    names = {
        "blocks.3.hook_resid_post": ("hidden", 3), "blocks.3.attn.hook_z": ("attn.hook_z", 3),
        "model.layers.4.output[0]": ("hidden", 4), "transformer.h.2": ("hidden", 2),
        "model.layers.1.self_attn.v_proj": ("values", 1), "my_layers.5.mix": ("my_layers.mix", 5), "hook_embed": ("hook_embed", 0),
    }
    for name, key in names.items():
        assert list(lt.Capture.from_arrays({name: values})) == [key]
    for name in ("hidden", "a.1.b.2", 7):
        with pytest.raises(ValueError, match="must contain one number|must be texts"):
            lt.Capture.from_arrays({name: values})
    with pytest.raises(ValueError, match="are both layer 4 of site 'hidden'"):
        lt.Capture.from_arrays({"model.layers.4": values, ("hidden", 4): values})
    with pytest.raises(ValueError, match="must be float16, bfloat16 or float32, got int64"):
        lt.Capture.from_arrays({("hidden", 0): np.zeros((2, 3, 4), int)})


def test_heads_and_patterns():
    generator = np.random.default_rng(0)
    patterns = generator.random((2, 3, 5, 5)).astype(np.float32)
    values = generator.random((2, 5, 3, 4)).astype(np.float32)
    capture = lt.Capture.from_arrays(
        {"blocks.0.attn.hook_pattern": patterns, "blocks.0.attn.hook_v": values},
        config={"num_attention_heads": 3},
    )
    assert np.array_equal(capture["attn.hook_pattern", 0].patterns(1), patterns[1])
    assert np.array_equal(capture["values", 0].heads()[5:], values[1])
    with pytest.raises(ValueError, match="num_heads: must divide the 12 values of a row, got 5"):
        capture["values", 0].heads(5)


def test_reads_activations_of_vllm(tmp_path):
    save = pytest.importorskip("safetensors.numpy").save_file
    generator = np.random.default_rng(0)
    states = [generator.normal(size=(n, 3, 8)).astype(kind) for n, kind in ((4, "f4"), (7, "f2"))]
    for number, one in enumerate(states):
        save({"hidden_states": one, "token_ids": np.arange(len(one))}, tmp_path / f"request-{number}.safetensors")
    capture = lt.Capture.from_vllm(tmp_path, layers=[0, 2, 3])
    assert list(capture) == [("hook_embed", 0), ("hidden", 1), ("hidden", 2)] and capture.num_sequences == 2
    assert np.array_equal(capture["hidden", 2].sequence(1), states[1][:, 2].astype(np.float32))
    assert capture.rows.token.tolist() == [*range(4), *range(7)]
    with pytest.raises(ValueError, match=r"must have \[tokens, 2 layers, dim\]"):
        lt.Capture.from_vllm(tmp_path, layers=[1, 2])
    (tmp_path / "request-0.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(ValueError, match="request-0.safetensors"):
        lt.Capture.from_vllm(tmp_path, layers=[0, 2, 3])
    with pytest.raises(FileNotFoundError):
        lt.Capture.from_vllm(tmp_path / "none", layers=[1])
    (tmp_path / "online").mkdir()
    packed = tmp_path / "online" / "request.safetensors.zst"  # of its OnlineHiddenStatesConnector
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    for path in (packed, packed.parent):
        with pytest.raises(ValueError, match="request.safetensors.zst' is compressed; decompress it with zstd -d"):
            lt.Capture.from_vllm(path, layers=[1])


def test_reads_activations_of_sae_lens(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    rows = np.random.default_rng(0).normal(size=(3, 4, 8)).astype(np.float32)
    ids = np.arange(12, dtype=np.int32).reshape(3, 4)
    table = pyarrow.table({"blocks.5.hook_resid_post": pyarrow.array(rows.tolist(), pyarrow.list_(pyarrow.list_(pyarrow.float32()))),
                           "token_ids": pyarrow.array(ids.tolist(), pyarrow.list_(pyarrow.int32()))})
    for part in range(2):
        with pyarrow.OSFile(str(tmp_path / f"{part}.arrow"), "wb") as file:
            with pyarrow.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table.slice(part * 2, 2))
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "0.arrow"}, {"filename": "1.arrow"}]}))
    capture = lt.Capture.from_sae_lens(tmp_path)
    assert np.array_equal(capture["hidden", 5][:], rows.reshape(12, 8)) and capture.rows.token.tolist() == [*range(12)]
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../0.arrow"}]}))
    with pytest.raises(ValueError, match="lists no data files in its folder"):
        lt.Capture.from_sae_lens(tmp_path)


class TestOfModels:
    """Needs PyTorch."""

    @pytest.fixture(autouse=True)
    def _tools(self):
        tiny = pytest.importorskip("tiny_models")
        self.torch, self.make_model, self.make_batch, self.record = (
            tiny.torch, tiny.make_model, tiny.make_batch, tiny.record
        )

    @pytest.mark.parametrize("model_type", ["llama", "gpt2", "falcon", "bloom", "opt", "mamba", "bert", "mixtral", "gemma2"])
    def test_cache_equals_a_recording(self, tmp_path, model_type):
        model, batch = self.make_model(model_type), self.make_batch(left=True)
        # The cache of keys changes the last bits of some.
        options = {} if model_type == "bert" else {"use_cache": False}
        self.record(tmp_path / "run.h5", model, {**batch, **options})
        cached = lt.cache(model, **batch)
        assert not any(one._forward_hooks or one._forward_pre_hooks for one in model.modules())
        with lt.Capture(tmp_path / "run.h5") as file:
            assert list(cached) == list(file) and np.array_equal(cached.offsets, file.offsets)
            for key in file:
                assert np.array_equal(cached[key][:], file[key][:]) and cached[key].hook == file[key].hook
            for name in ("position", "token", "sequence"):
                assert np.array_equal(getattr(cached.rows, name), getattr(file.rows, name))
            cached.save(tmp_path / "cached.h5")
            with lt.Capture(tmp_path / "cached.h5") as saved:
                assert list(saved) == list(file) and saved.config == file.config
                assert np.array_equal(saved["hidden", 1][:], file["hidden", 1][:])

    def test_the_head_is_not_computed_unless_it_is_asked_for(self):
        model, batch, calls = self.make_model("llama"), self.make_batch(), []
        model.lm_head.register_forward_hook(lambda *_: calls.append(1))
        lt.cache(model, **batch)
        assert not calls
        lt.cache(model, **batch, output_hidden_states=True)
        assert calls

    def test_several_batches_and_positions(self):
        model, batches = self.make_model("llama"), [self.make_batch(), self.make_batch(left=True, lengths=(4, 6))]
        every = lt.cache(model, *batches)
        assert np.diff(every.offsets).tolist() == [9, 5, 7, 4, 6]
        last = lt.cache(model, *batches, positions=[0, -1])
        assert last.rows.position.tolist() == [0, 8, 0, 4, 0, 6, 0, 3, 0, 5]
        assert np.array_equal(last["hidden", 1][1], every["hidden", 1].sequence(0)[-1])
        assert lt.cache(model, *batches, positions="1-2").num_rows == 10
        with pytest.raises(ValueError, match="positions: must be whole numbers or a text"):
            lt.cache(model, *batches, positions=[0.5])
        with pytest.raises(ValueError, match="cache: give the arguments of the model"):
            lt.cache(model)

    def test_gradients_and_changes_in_place_do_not_reach_it(self):
        model, batch = self.make_model("llama"), self.make_batch()
        cached = lt.cache(model, **batch)
        before = cached["hidden", 0][:].copy()
        model(**batch, labels=batch["input_ids"]).loss.backward()
        assert np.array_equal(cached["hidden", 0][:], before) and not cached["hidden", 0].torch().requires_grad
        assert np.shares_memory(cached["hidden", 0].torch().numpy(), cached["hidden", 0].numpy())

    def test_models_without_tokens_are_refused_by_name(self):
        import transformers

        torch = self.torch
        config = transformers.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8,
                                        image_size=8, patch_size=4)
        model, images = transformers.ViTModel(config).eval(), torch.zeros(1, 3, 8, 8)
        with pytest.raises(ValueError, match="model_type 'vit' is unknown; models of images have no tokens"):
            lt.cache(model, pixel_values=images)
        with pytest.raises(ValueError, match="pixel_values are no tokens: .* use Capture.from_arrays"):
            lt.cache(model, pixel_values=images, sites={"hidden": "layers.*"})
        states = model(images, output_hidden_states=True).hidden_states
        assert lt.Capture.from_arrays({"hidden": list(states[1:])})["hidden", 1].shape == (5, 16)

    def test_encoders_and_decoders_are_cached_apart(self):
        import transformers

        config = transformers.T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2)
        model, ids = transformers.T5ForConditionalGeneration(config).eval(), self.torch.arange(10).view(2, 5)
        with pytest.raises(ValueError, match="T5ForConditionalGeneration is an encoder-decoder model; cache model.get_enc"):
            lt.cache(model, input_ids=ids, decoder_input_ids=ids, sites={"hidden": "encoder.block.*"})
        with pytest.raises(ValueError, match="model_type 't5' is unknown; use model.get_encoder"):
            lt.cache(model, input_ids=ids)
        cached = lt.cache(model.get_encoder(), input_ids=ids)  # its list of layers
        expected = model.get_encoder()(ids, output_hidden_states=True).hidden_states
        np.testing.assert_allclose(cached["hidden", 0][:], expected[1].detach().reshape(10, -1).numpy(), atol=1e-5)
