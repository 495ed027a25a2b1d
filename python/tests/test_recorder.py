# SPDX-License-Identifier: Apache-2.0
"""The recorder, on models of transformers with random weights."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import weakref

import numpy as np
import pytest

import lime_toolkit as lt
from conftest import ROOT
from lime_toolkit import _passes, models

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
h5py = pytest.importorskip("h5py")
from tiny_models import MODELS, NO_FINAL_NORM, WIDE, make_batch, make_model, record


@pytest.mark.parametrize("model_type", list(MODELS))
def test_known_models_are_recorded_by_name(tmp_path, model_type):
    model, batch = make_model(model_type), make_batch()
    path = tmp_path / "run.h5"
    record(path, model, batch, storage="float32")
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states
    mask = batch["attention_mask"].bool()
    with lt.Capture(path) as capture:
        assert capture.layers("hidden") == [0, 1, 2]
        first = 0 if model_type == "mamba" else 1  # the others begin with the embeddings
        for layer in range(2):
            assert np.array_equal(capture["hidden", layer][:], states[layer + first][mask].numpy())
        # The trap: the last of transformers' hidden states has the final norm applied.
        is_last = np.array_equal(capture["hidden", 2][:], states[-1][mask].numpy())
        assert is_last == (model_type in NO_FINAL_NORM)
        assert np.array_equal(capture.rows.token, batch["input_ids"][mask].numpy())
        if model_type != "mamba":
            assert capture.layers("values") == [0, 1, 2]
            heads = model.config.get_text_config().to_dict().get("num_key_value_heads") or 4
            assert capture["values", 0].shape[1] == heads * 8 or model_type == "falcon"


@pytest.mark.parametrize("model_type", ["gpt2", "gpt_neox", "bloom", "falcon", "mpt", "phi3"])
def test_fused_projections_are_split_as_the_model_does(tmp_path, model_type):
    """The recorded values, weighted by the model's own attention, give the output of its heads."""
    model, batch = make_model(model_type), make_batch(lengths=(6, 6))
    inputs = {}

    def keep(name):
        return lambda module, arguments: inputs.__setitem__(name, arguments[0].detach())

    names = {"gpt2": "attn.c_proj", "gpt_neox": "attention.dense", "bloom": "self_attention.dense",
             "falcon": "self_attention.dense", "mpt": "attn.out_proj", "phi3": "self_attn.o_proj"}
    (layer, _, module), *_ = models.find_modules(model, {"x": lt.Site("*." + names[model_type])})["x"]
    module.register_forward_pre_hook(keep("heads"))
    path = tmp_path / "run.h5"
    record(path, model, batch, sites=["queries", "keys", "values"])
    with torch.no_grad():
        patterns = model(**batch, output_attentions=True).attentions[layer]  # [batch, heads, query, key]
    with lt.Capture(path) as capture:
        values = capture["values", layer][:].reshape(2, 6, -1, 8).transpose(0, 2, 1, 3)
        assert capture["queries", layer].shape[1] == 32 and capture["keys", layer].shape[1] == values.shape[1] * 8
    values = np.repeat(values, 4 // values.shape[1], axis=1)
    expected = (patterns.numpy() @ values).transpose(0, 2, 1, 3).reshape(2, 6, 32)
    np.testing.assert_allclose(inputs["heads"].reshape(2, 6, 32).numpy(), expected, atol=1e-6)


WITH_PATTERNS = [name for name in MODELS if models.PATTERN_SITE in models.SITES[name]]


@pytest.mark.parametrize("model_type", WITH_PATTERNS)
def test_attention_patterns_are_recorded_by_name(tmp_path, model_type):
    model, batch = make_model(model_type), make_batch()
    record(tmp_path / "run.h5", model, batch, sites=["attn.hook_pattern"], max_length=10)
    with torch.no_grad():
        patterns = model(**batch, output_attentions=True).attentions
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert capture.layers("attn.hook_pattern") == [0, 1, 2]
        for layer, sequence, length in [(0, 0, 9), (1, 1, 5), (2, 2, 7)]:
            rows = capture["attn.hook_pattern", layer].sequence(sequence).reshape(length, 4, 10)
            expected = patterns[layer][sequence, :, :length, :length].numpy().transpose(1, 0, 2)
            np.testing.assert_allclose(rows[..., :length], expected, atol=1e-7)
            assert not rows[..., length:].any()


def test_attention_patterns_of_padded_and_generated_tokens(programs, tmp_path):
    model, path = make_model("qwen3"), tmp_path / "run.h5"
    batch = make_batch(left=True, lengths=(5, 3))
    with torch.no_grad(), lt.Recorder(path, model, sites=["attn.hook_pattern"], max_length=8) as recorder:
        ids = model.generate(**batch, max_new_tokens=4, do_sample=False, min_new_tokens=4, pad_token_id=0)
    with lt.Capture(path) as capture, torch.no_grad():
        for index, first in enumerate([0, 2]):
            whole = ids[index : index + 1, first:-1]
            expected = model(whole, output_attentions=True).attentions[1][0].numpy().transpose(1, 0, 2)
            rows = capture["attn.hook_pattern", 1].sequence(index).reshape(len(expected), 4, 8)
            np.testing.assert_allclose(rows[..., : whole.shape[1]], expected, atol=1e-5)
    assert programs.rows("attention", path)
    mixtral = tmp_path / "mixtral.h5"  # a model that the programs do not know
    record(mixtral, make_model("mixtral"), make_batch(), sites=["attn.hook_pattern"], max_length=9)
    assert programs.rows("attention", mixtral)
    with pytest.raises(ValueError, match="max_length: must be at least 9, the tokens of a sequence, got 8"):
        record(path, model, make_batch(), sites=["attn.hook_pattern"], max_length=8, overwrite=True)
    with pytest.raises(ValueError, match="max_length: attn.hook_pattern needs it"):
        lt.Recorder(path, model, sites=["attn.hook_pattern"], overwrite=True)
    model.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match="return attention weights with attn_implementation='eager'"):
        record(path, model, make_batch(), sites=["attn.hook_pattern"], max_length=9, overwrite=True)


def test_layers_on_several_devices(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    model, batch = make_model("llama"), make_batch()
    record(tmp_path / "whole.h5", model, batch)
    places = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk", "model.layers.2": "disk",
              "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "disk"}
    split = accelerate.dispatch_model(model, places, main_device="cpu", offload_dir=tmp_path / "offload")
    record(tmp_path / "split.h5", split, batch)
    with lt.Capture(tmp_path / "whole.h5") as whole, lt.Capture(tmp_path / "split.h5") as parts:
        for layer in range(3):
            assert np.array_equal(whole["hidden", layer][:], parts["hidden", layer][:])
            assert np.array_equal(whole["values", layer][:], parts["values", layer][:])


class OnGpu(torch.Tensor):
    """A tensor of the CPU that says it is on a GPU, and is copied from there only when an event is awaited."""

    copies: list = []

    @property
    def device(self):
        return torch.device("cuda", 0)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.copy_ and isinstance(args[1], cls):
            assert kwargs == {"non_blocking": True} and not isinstance(args[0], cls)
            cls.copies.append((args[0], args[1].as_subclass(torch.Tensor).clone(), weakref.ref(args[1])))
            return args[0]
        if function is torch.Tensor.to and isinstance(args[1], torch.device):
            return args[0]
        return super().__torch_function__(function, types, args, kwargs or {})


class GpuEvent:
    def record(self, stream):
        assert stream == "stream of cuda:0"
        self.copy = OnGpu.copies.pop()

    def synchronize(self):
        target, values, source = self.copy
        assert source() is not None  # else its memory would be reused before the copy
        target.copy_(values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_outputs_on_a_gpu_are_read_after_their_copy(tmp_path, monkeypatch, dtype):
    """The calls only: no GPU is needed. Masks index on the device of the output."""

    class Layer(torch.nn.Linear):
        def forward(self, x):
            y = super().forward(x)
            return y.as_subclass(OnGpu)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(64, 8)
            self.blocks = torch.nn.ModuleList(Layer(8, 8) for _ in range(2))

        def forward(self, input_ids, attention_mask=None):
            x = self.embed(input_ids)
            for block in self.blocks:
                x = block(x).as_subclass(torch.Tensor).clone()
            return x

    empty = torch.empty

    def pinned(shape, dtype, pin_memory):
        assert pin_memory
        return empty(shape, dtype=dtype).fill_(99.0)

    torch.manual_seed(0)
    model, batch = Model().to(dtype), make_batch()
    whole = batch["input_ids"]
    def index(self, device):
        return None if self.mask is None else self.mask.nonzero(as_tuple=True)

    monkeypatch.setattr(_passes.Pass, "index_on", index)
    monkeypatch.setattr(torch, "empty", pinned)
    monkeypatch.setattr(torch.cuda, "Event", GpuEvent)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")
    with torch.no_grad(), lt.Recorder(tmp_path / "run.h5", model, sites={"hidden": "blocks.*"}):
        model(**batch)
        model(whole)
    monkeypatch.undo()
    with lt.Capture(tmp_path / "run.h5") as capture, torch.no_grad():
        x = model.embed(whole)
        for layer, block in enumerate(model.blocks):
            x = torch.nn.functional.linear(x, block.weight, block.bias)
            expected = torch.cat([x[batch["attention_mask"].bool()], x.flatten(0, 1)]).float().numpy()
            assert np.array_equal(capture["hidden", layer][:], expected)


@pytest.mark.parametrize("left", [False, True])
def test_padding_is_not_recorded(tmp_path, left):
    model, batch = make_model("llama"), make_batch(left)
    record(tmp_path / "run.h5", model, batch)
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert np.diff(capture.offsets).tolist() == [9, 5, 7]
        assert capture.rows.position.tolist() == [*range(9), *range(5), *range(7)]
        for index, length in enumerate([9, 5, 7]):
            row = batch["attention_mask"][index].bool()
            assert capture.rows.token[capture.offsets[index] :][:length].tolist() == batch["input_ids"][index][row].tolist()


def test_copies_reuse_memory_for_batches_of_other_sizes(programs, tmp_path):
    """Also where passes change between no_grad and inference_mode, and shards end within a batch."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**dict(WIDE, hidden_size=64))
    model, batches = transformers.LlamaModel(config).eval(), []
    for lengths in ([64] * 8, [40] * 5 + [30, 1, 0], [64] * 8, list(range(73, 81)), [33] * 8):
        batches.append(make_batch(left=len(batches) % 2 == 1, lengths=lengths))
    with lt.Recorder(tmp_path / "run.h5", model, shard_sequences=7) as recorder:
        for number, batch in enumerate(batches):
            with torch.inference_mode() if number % 2 else torch.no_grad():
                model(**batch, use_cache=number % 3 > 0)
    with torch.no_grad():
        expected = [model(**batch, output_hidden_states=True).hidden_states[1][batch["attention_mask"].bool()]
                    for batch in batches]
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert np.array_equal(capture["hidden", 0][:], torch.cat(expected).numpy())
        assert capture.num_sequences == 40 and recorder.num_sequences == 40
    assert "is intact" in programs("lime-capture", "verify", tmp_path / "run.h5")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_exact_in_float32(tmp_path, dtype):
    model, batch = make_model("qwen2").to(getattr(torch, dtype)), make_batch()
    record(tmp_path / "run.h5", model, batch)
    with torch.no_grad():
        states = model(**batch, output_hidden_states=True).hidden_states[1]
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert np.array_equal(capture["hidden", 0][:], states[batch["attention_mask"].bool()].float().numpy())
        assert capture.attributes["compute_dtype"] == dtype


@pytest.mark.parametrize("options", [{}, {"compression": "deflate"}, {"storage": "float16"}])
def test_programs_accept_and_verify_recordings(programs, tmp_path, options):
    model = make_model("gpt_neox")
    path = tmp_path / "run.h5"
    record(path, model, *[make_batch(lengths=(n, n + 3, 4)) for n in range(3, 9)], shard_sequences=4, **options)
    assert len(list((tmp_path / "run.shards").glob("*.h5"))) == 5
    assert "is intact" in programs("lime-capture", "verify", path)
    programs("lime-capture", "pack", path, "-o", tmp_path / "packed.h5")
    assert "is intact" in programs("lime-capture", "verify", tmp_path / "packed.h5")
    rows = programs.rows("entropy", path, "--site", "values")
    with lt.Capture(path) as capture, lt.Capture(tmp_path / "packed.h5") as packed:
        assert lt.entropy(capture["values", 1]).summary().mean == rows[1]["mean"]
        assert np.array_equal(capture["hidden", 2][:], packed["hidden", 2][:])
    for metric in ("geometry", "similarity"):
        assert programs.rows(metric, path, "--site", "hidden", *(["--k", 5] if metric == "geometry" else []))
    with h5py.File(path) as master:  # without our readers, through the virtual datasets
        assert np.array_equal(master["activations/hidden/002"][:].astype("f4"), lt.Capture(path)["hidden", 2][:])


def test_equals_lime_capture_on_the_same_checkpoint(programs, tmp_path):
    """Activations are equal up to rounding, so are entropies; texts and tokens are equal."""
    checkpoint = ROOT / "data" / "aet-llama"
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{a} + {b} =\n" for a in range(10, 20) for b in range(3, 9)))
    path = tmp_path / "ours.h5"
    programs("lime-capture", "--checkpoint", checkpoint, "--lines", lines, "--sites", "hidden,values", "-o", path)
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    with lt.Capture(path) as ours:
        tokens = [ours.rows.token[slice(*ours.rows_of(i))] for i in range(ours.num_sequences)]
        with torch.no_grad(), lt.Recorder(tmp_path / "theirs.h5", model) as recorder:
            for text, ids in zip(ours.sequences.text, tokens):
                recorder.describe(texts=[text])
                model(torch.tensor(ids[None].astype(int)))
        with lt.Capture(tmp_path / "theirs.h5") as theirs:
            assert theirs.sequences.text == ours.sequences.text
            assert np.array_equal(theirs.rows.token, ours.rows.token)
            for site in ("hidden", "values"):
                for layer in range(4):
                    x, y = ours[site, layer][:], theirs[site, layer][:]
                    assert np.abs(x - y).max() <= 2e-5 * np.abs(x).max(), (site, layer)
                    a, b = (lt.entropy(one[site, layer]).mean for one in (ours, theirs))
                    np.testing.assert_allclose(a, b, atol=2e-4)
    assert "is intact" in programs("lime-capture", "verify", tmp_path / "theirs.h5")


SCRIPT = """
    import sys, time, torch, lime_toolkit as lt
    sys.path.insert(0, {tests!r})
    from tiny_models import make_model, make_batch
    model = make_model("llama")
    with torch.no_grad(), lt.Recorder({path!r}, model, shard_sequences=4, resume=True) as recorder:
        for n in range(recorder.num_sequences, 22):
            model(**make_batch(lengths=(3 + n % 7,)))
            print(n, flush=True)
            time.sleep({pause})
"""


def test_a_killed_recording_resumes_with_equal_bytes(programs, tmp_path):
    tests = os.path.dirname(__file__)

    def start(path, pause=0.0):
        code = textwrap.dedent(SCRIPT).format(tests=tests, path=str(path), pause=pause)
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)

    whole, path = tmp_path / "whole.h5", tmp_path / "run.h5"
    assert start(whole).wait(timeout=120) == 0
    child = start(path, 0.2)
    while "11" not in child.stdout.readline():
        pass
    time.sleep(0.3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not path.exists() and (tmp_path / "run.shards" / "00001.json").exists()
    with pytest.raises(FileNotFoundError, match=r"unfinished run \(\d finished shards\); resume it"):
        lt.Capture(path)
    with pytest.raises(FileExistsError, match="finished shards of an earlier run; use resume=True"):
        lt.Recorder(path, make_model("llama"))
    with pytest.raises(ValueError, match="was started with different options: storage_dtype was .*; use the same ones, or another output file"):
        record(path, make_model("llama"), make_batch(lengths=(4,)), shard_sequences=4, resume=True, storage="float16")
    assert start(path).wait(timeout=120) == 0
    assert "is intact" in programs("lime-capture", "verify", path)
    for shard in sorted((tmp_path / "whole.shards").glob("*.h5")):
        assert (tmp_path / "run.shards" / shard.name).read_bytes() == shard.read_bytes(), shard.name
    assert not list(tmp_path.rglob(".*.part-*"))


def test_processes_share_a_capture(programs, tmp_path):
    model, path = make_model("qwen2"), tmp_path / "run.h5"
    batches = [make_batch(lengths=(3 + n % 5,)) for n in range(10)]
    record(tmp_path / "one.h5", model, *batches, shard_sequences=2, total=10)
    for process in (1, 0):
        with torch.no_grad(), lt.Recorder(path, model, shard_sequences=2, total=10, process=process,
                                          num_processes=2) as recorder:
            assert [part.start for part in recorder.remaining()] == ([2, 6] if process else [0, 4, 8])
            for part in recorder.remaining():
                for n in part:
                    model(**batches[n])
        assert path.exists() == (process == 0)
    for name in ("00000.h5", "00004.h5"):
        assert (tmp_path / "run.shards" / name).read_bytes() == (tmp_path / "one.shards" / name).read_bytes()
    assert "is intact" in programs("lime-capture", "verify", path)


def test_an_interrupted_recording_is_marked_as_incomplete(tmp_path):
    model, path = make_model("llama"), tmp_path / "run.h5"
    with pytest.raises(RuntimeError, match="stop here"), torch.no_grad(), lt.Recorder(path, model, shard_sequences=2):
        for _ in range(5):
            model(**make_batch(lengths=(4,)))
        raise RuntimeError("stop here")
    with lt.Capture(path) as capture:
        assert not capture.complete and capture.num_sequences == 4
    record(path, model, make_batch(lengths=(4,)), shard_sequences=2, resume=True)
    with lt.Capture(path) as capture:
        assert capture.complete and capture.num_sequences == 5


def test_sites_of_a_model_of_ones_own(tmp_path):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x):
            return x.add_(self.linear(x)), {"cache": None}  # in place, and a tuple

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(20, 8)
            self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.blocks:
                x, _ = block(x)
            return x

    torch.manual_seed(0)
    model = Model()
    ids = torch.randint(20, (2, 6))
    with torch.no_grad(), lt.Recorder(tmp_path / "run.h5", model, sites={"hidden": "blocks.*", "ff": "blocks.*.linear",
                                                                         "embed": "embed"}) as recorder:
        recorder.describe(texts=["one", "two"], labels=[1, 0], pairs=[0, 0])
        output = model(ids)
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert np.array_equal(capture["hidden", 1][:], output.reshape(-1, 8).numpy())
        assert np.array_equal(capture["embed", 0][:], model.embed(ids).reshape(-1, 8).detach().numpy())
        assert capture.sequences.text == ["one", "two"] and capture.sequences.label.tolist() == [1, 0]


def test_options_and_misuse(tmp_path):
    model, path = make_model("llama"), tmp_path / "run.h5"
    with pytest.raises(KeyError, match=r"no module matches 'model.layer.\*' of 'hidden' .near: model.layers.\*"):
        lt.Recorder(path, model, sites={"hidden": "model.layer.*"})
    with pytest.raises(ValueError, match="storage: expected one of float32, float16, got 'int8'"):
        lt.Recorder(path, model, storage="int8")
    with pytest.raises(FileNotFoundError, match="the folder .* does not exist"):
        lt.Recorder(tmp_path / "no" / "run.h5", model)
    with pytest.raises(ValueError, match="nothing was recorded"):
        record(path, model)
    with pytest.raises(ValueError, match="must be called with input_ids or inputs_embeds"), lt.Recorder(path, model):
        model()
    with pytest.raises(ValueError, match="not a row for each of the 3 x 9 tokens"):
        record(path, model, make_batch(), sites={"hidden": "model.rotary_emb"})
    with pytest.raises(ValueError, match="describe: texts must have one entry for each of the 3 sequences, got 1"):
        with torch.no_grad(), lt.Recorder(path, model) as recorder:
            recorder.describe(texts=["a"])
            model(**make_batch())
    record(path, model, make_batch(), overwrite=True)
    with pytest.raises(FileExistsError, match="already exists; use resume=True"):
        lt.Recorder(path, model)
    with pytest.raises(FileExistsError, match="is finished and cannot be resumed"):
        lt.Recorder(path, model, resume=True)
    record(path, model, make_batch(), overwrite=True)
    with pytest.raises(ValueError, match="expected total=9 sequences, got 3"):
        record(path, model, make_batch(), overwrite=True, total=9)
    model.config.model_type = "new"
    with pytest.raises(ValueError, match="sites: model_type 'new': expected one of hidden, got 'values'"):
        lt.Recorder(path, model, sites=["values"], overwrite=True)
    with pytest.raises(ValueError, match="layers: the model has none of"):
        lt.Recorder(tmp_path / "x.h5", model, sites={"hidden": "layers.*"}, layers=[9])


def test_refuses_what_the_programs_would_refuse(tmp_path):
    model, path = make_model("llama"), tmp_path / "run.h5"
    recorder = lt.Recorder(path, model)
    for described, message in ((dict(labels=[2]), "labels must be 1, 0 or -1"), (dict(pairs=[1 << 31]), "pairs must be"),
                               (dict(texts="abc"), "texts must be a list"), (dict(texts=[None]), "texts must be a list")):
        with pytest.raises(ValueError, match=message):
            recorder.describe(**described)
    for options, message in ((dict(total=0), "total: must be >= 1"), (dict(sites={}), "must name at least one site"),
                             (dict(tokenizer="gpt2"), "must be a tokenizer"), (dict(extra={"a": model}), "extra: must be"),
                             (dict(config=[1]), "config: must be a JSON object")):
        with pytest.raises(ValueError, match=message):
            lt.Recorder(path, model, **options)
    with pytest.raises(ValueError, match=r"with a batch, .batch, tokens., got .9."), recorder:
        model(torch.arange(9))
    with pytest.raises(ValueError, match="create a new one"), recorder:
        pass
    first = {"hidden": lt.Site("layers.*", part=lambda output, config: output[:, 0])}
    with pytest.raises(ValueError, match="the part of 'model.layers.0' has the shape .3, 32., not .3, 9, dim."):
        record(path, model, make_batch(), sites=first)
    model.model.embed_tokens.weight.data *= 1e7
    with pytest.raises(ValueError, match='must stay below 65520 to be stored as float16, got .*; use storage="float32"'):
        record(path, model, make_batch(), storage="float16")


def test_infinity_in_the_config_is_text(programs, tmp_path):
    path = tmp_path / "run.h5"
    record(path, make_model("llama"), make_batch(), config={"limit": [0.0, float("inf")]}, extra={"x": np.float32("nan")})
    assert "is intact" in programs("lime-capture", "verify", path)
    with lt.Capture(path) as capture:
        assert capture.config == {"limit": [0.0, "inf"]} and json.loads(capture.attributes["extra"])["x"] == "nan"


def test_training_goes_on_while_it_is_recorded(tmp_path):
    model, batch = make_model("llama"), make_batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    with lt.Recorder(tmp_path / "run.h5", model, sites=["hidden"]):
        for _ in range(2):
            loss = model(**batch, labels=batch["input_ids"]).loss
            loss.backward()
            optimizer.step()
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert capture.num_sequences == 6
        assert not np.array_equal(capture["hidden", 0].sequence(0), capture["hidden", 0].sequence(3))
