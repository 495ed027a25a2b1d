# SPDX-License-Identifier: Apache-2.0
"""Interventions and sweeps on PyTorch models, against lime-capture and weights that are changed by hand."""

import json

import numpy as np
import pytest

import lime_toolkit as lt
from conftest import ROOT, real_model
from lime_toolkit import models, sweeps

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tiny_models import MODELS, make_batch, make_model

CAUSAL = [name for name in MODELS if name not in ("bert", "roberta", "electra", "distilbert", "mamba")]


def logits(model, batch):
    with torch.no_grad():
        return model(**batch, use_cache=False).logits


@pytest.mark.parametrize("model_type", CAUSAL)
def test_zeros_equal_weights_of_zero(model_type):
    """A head that is zeroed reads columns of zeros of the last projection; a sublayer adds nothing."""
    model, batch = make_model(model_type), make_batch(left=True)
    exists = batch["attention_mask"].bool()
    site = models.SITES[model_type]["attn.hook_z"]
    with lt.edit(model, "zero head layers=1 heads=2"):
        edited = logits(model, batch)[exists]
    (_, _, projection) = models.find_modules(model, {"z": site})["z"][1]
    before = projection.weight.detach().clone()
    weight = projection.weight.data if model_type != "gpt2" else projection.weight.data.T  # Conv1D
    weight[:, 16:24] = 0.0
    torch.testing.assert_close(edited, logits(model, batch)[exists], atol=1e-6, rtol=0)
    projection.weight.data = before
    assert not torch.allclose(edited, logits(model, batch)[exists], atol=1e-6)
    if model_type == "granite":
        return
    with lt.edit(model, "skip layers=1"):
        cached = lt.cache(model, **batch, sites=["hidden"])
    if model_type not in ("gemma3n",):
        assert np.allclose(cached["hidden", 1][:], cached["hidden", 0][:], atol=1e-6)
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in model.modules())


@pytest.mark.parametrize("model_type", ["llama", "gpt2", "gpt_neox", "bloom", "falcon", "phi3", "gemma2", "opt"])
def test_values_are_edited_where_they_are_recorded(model_type):
    model, batch = make_model(model_type), make_batch()
    clean = lt.cache(model, **batch, sites=["keys", "values"])
    with lt.edit(model, "scale=3 values layers=2 heads=1 positions=1-3", "zero keys layers=0 tokens=5-40"):
        edited = lt.cache(model, **batch, sites=["keys", "values"])
    expected = clean["values", 2].heads().copy()
    expected[np.isin(clean.rows.position, [1, 2, 3]), 1] *= 3
    same = clean["keys", 0][:] * ~((clean.rows.token >= 5) & (clean.rows.token <= 40))[:, None]
    assert np.array_equal(edited["keys", 0][:], same)
    with lt.edit(model, "scale=3 values layers=2 heads=1 positions=1-3"):
        own = lt.cache(model, **batch, sites=["values"])
    assert np.array_equal(own["values", 2].heads(), expected)


def test_patches_and_means_of_captures(tmp_path):
    model, batch, other = make_model("llama"), make_batch(), make_batch(lengths=(9, 5, 7))
    other["input_ids"] = other["input_ids"].flip(0)
    source = lt.cache(model, **other, sites=["hidden"])
    with lt.edit(model, "patch=clean hidden layers=1 positions=2,4", clean=source):
        cached = lt.cache(model, **batch, sites=["hidden"])
    chosen = np.isin(source.rows.position, [2, 4])
    assert np.array_equal(cached["hidden", 1][:][chosen], source["hidden", 1][:][chosen])
    with lt.edit(model, "mean=clean hidden layers=1", clean=source):
        means = lt.cache(model, **batch, sites=["hidden"])
    assert np.allclose(means["hidden", 1][:], source["hidden", 1].mean(axis=0), atol=1e-6)
    direction = np.arange(32.0)
    with lt.edit(model, "project=d hidden layers=0", d=direction):
        cached = lt.cache(model, **batch, sites=["hidden"])
    assert np.abs(cached["hidden", 0][:] @ direction).max() < 1e-4
    with lt.edit(model, "patch=clean hidden layers=1", clean=source):
        with pytest.raises(ValueError, match="sequence 0 has 5 tokens of 32 values, the capture contains 9 of 32"):
            model(batch["input_ids"][:1, :5])


def test_edits_apply_to_generation():
    model, batch = make_model("llama"), make_batch(left=True, lengths=(5, 3))
    options = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, min_new_tokens=4)
    with lt.edit(model, "zero head layers=1-2", "scale=2 hook_mlp_out layers=0 positions=4-"[:-1]):
        ids = model.generate(**batch, **options)
        whole = logits(model, {"input_ids": ids[:1, :-1]})
    assert whole[0, -4:].argmax(-1).tolist() == ids[0, -4:].tolist()
    with lt.edit(model, "mean hidden layers=1"), pytest.raises(ValueError, match="mean needs all tokens of a text"):
        model.generate(**batch, **options)


@pytest.mark.parametrize(
    "text, message",
    [
        ("zer hidden", "edit 'zer hidden': unknown operation 'zer'; did you mean 'zero'?"),
        ("zero hiden", "edit 'zero hiden': unknown site of this model 'hiden'; did you mean 'hidden'?"),
        ("zero hidden layer=3", "unknown key 'layer'; did you mean 'layers'?"),
        ("zero hidden layers=7", "edit 'zero hidden layers=7': layers: .*7"),
        ("zero head heads=4", "edit 'zero head heads=4': heads: .*4"),
        ("zero hidden heads=1", "only head, queries, keys and values have heads"),
        ("zero hidden layers=1 layers=2", "layers is given twice"),
        ("zero hidden layers=x", "edit 'zero hidden layers=x': layers"),
        ("zero hidden values", "got two sites, 'hidden' and 'values'"),
        ("zero", "a site is missing"),
        ("scale=inf hidden", "scale: must be a finite number, got 'inf'"),
        ("scale hidden", "scale needs a value"),
        ("skip mpl", "unknown sublayer 'mpl'; did you mean 'mlp'?"),
        ("patch=none hidden", "'none' is neither a file nor an argument"),
        ("project=d hidden", "'d': a direction must be a list of finite numbers that are not all 0"),
        ("zero attn.hook_pattern", "'attn.hook_pattern' can be read, not edited"),
        ("zero route", "routes of LIMe models are edited by lime-capture"),
        ("zero hidden seed=1", "only resample has a seed"),
    ],
)
def test_invalid_edits_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        lt.edit(make_model("llama"), text, d=np.zeros(32))


def test_models_of_ones_own_name_their_modules():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(64, 8)
            self.blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

        def forward(self, input_ids):
            x = self.embed(input_ids)
            for block in self.blocks:
                x = block(x)
            return x

    model, sites = Model(), {"hidden": "blocks.*"}
    with pytest.raises(ValueError, match="model_type 'None' is unknown; name the modules"):
        lt.edit(model, "zero hidden")
    with lt.edit(model, "zero hidden layers=1 positions=2", sites=sites):
        cached = lt.cache(model, input_ids=torch.arange(10).view(2, 5), sites=sites)
    assert np.array_equal(np.flatnonzero(~cached["hidden", 1][:].any(axis=1)), [2, 7])


@pytest.fixture(scope="module")
def double(programs, tmp_path_factory):
    """A checkpoint in float64, and texts of different lengths."""
    folder = tmp_path_factory.mktemp("edits")
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{a} + {b} =\n" for a in range(4, 9) for b in (3, "5 + 2")))
    checkpoint = ROOT / "data" / "aet-llama"
    programs("lime-capture", "--checkpoint", checkpoint, "--lines", lines, "--sites", "hidden", "-o", folder / "plain.h5")
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float64).eval()
    with lt.Capture(folder / "plain.h5") as capture:
        tokens = [capture.rows.token[slice(*capture.rows_of(i))] for i in range(capture.num_sequences)]
    ids = torch.zeros(len(tokens), max(map(len, tokens)), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, own in enumerate(tokens):
        ids[row, : len(own)], mask[row, : len(own)] = torch.from_numpy(own.astype(int)), 1
    return folder, model, {"input_ids": ids, "attention_mask": mask}


#: transformers rounds norms and rotary embeddings to float32 also in models of float64; logits are about 20.
ROUNDING = 5e-6
EDITS = [
    "zero attn.hook_z layers=1 heads=3", "mean hook_mlp_out layers=2", "resample attn.hook_z layers=1 heads=0-2 seed=7",
    "resample=sequences hidden layers=1", "scale=0.5 values layers=0,2-3 positions=1-2", "skip layers=2",
    "skip attention layers=1", "patch=PLAIN hidden layers=1 positions=1", "mean=PLAIN hidden layers=0",
    "zero mlp.hook_post layers=1", "zero keys layers=2 heads=1",
]


@pytest.mark.parametrize("text", EDITS)
def test_edits_equal_those_of_lime_capture(programs, double, tmp_path, text):
    folder, model, batch = double
    text = text.replace("PLAIN", str(folder / "plain.h5"))
    output = tmp_path / "sweep.json"
    programs("lime-capture", "sweep", "--checkpoint", ROOT / "data" / "aet-llama", "--lines", folder / "lines.txt",
             "--edit", text, "--dtype", "float64", "--batch-size", 6, "-o", output)
    batches = [{name: values[part] for name, values in batch.items()} for part in (slice(0, 6), slice(6, None))]
    ours = lt.sweep(model, *batches, edits=text)
    for row, own in zip(json.loads(output.read_text())["rows"], ours.rows, strict=True):
        for name in set(row) - {"label", "edit", "part"}:
            assert own[name] == pytest.approx(row[name], abs=ROUNDING), name


@pytest.mark.parametrize("over, ablation", [("layers", "zero"), ("sublayers", "mean"), ("heads", "zero"), ("positions", "scale=0.5")])
def test_sweeps_equal_those_of_lime_capture(programs, double, tmp_path, over, ablation):
    folder, model, batch = double
    output = tmp_path / "sweep.json"
    programs("lime-capture", "sweep", "--checkpoint", ROOT / "data" / "aet-llama", "--lines", folder / "lines.txt",
             "--over", over, "--ablation", ablation, "--dtype", "float64", "--batch-size", 16, "-o", output)
    ours = lt.sweep(model, batch, over=over, ablation=ablation)
    for row, own in zip(json.loads(output.read_text())["rows"], ours.rows, strict=True):
        assert row.keys() == own.keys()
        for name in set(row) - {"label"}:
            assert own[name] == (pytest.approx(row[name], abs=ROUNDING) if isinstance(row[name], float) else row[name])


@pytest.mark.parametrize("model_type", CAUSAL)
def test_layers_below_an_edit_are_shared(model_type, monkeypatch):
    import contextlib

    model, batch = make_model(model_type), make_batch()
    has_experts = "mlp.hook_post" not in models.SITES[model_type]
    if not has_experts:  # PyTorch's products of experts have no float64
        model.double()
    over = "heads" if model_type in ("granite", "granitemoe") else "layers"
    shared = lt.sweep(model, batch, over=over, resamples=0)
    assert not any("forward" in vars(one) for one in model.modules())
    monkeypatch.setattr(sweeps._Batch, "_from", lambda *_: contextlib.nullcontext())
    whole = lt.sweep(model, batch, over=over, attribution=False, resamples=0)
    np.testing.assert_allclose(shared.loss, whole.loss, atol=1e-5 if has_experts else 1e-12)
    assert np.abs(shared.column("effect")).max() > 1e-5 and np.isfinite(shared.attribution).all()


def test_sweeps_refuse_what_they_cannot_measure():
    model = make_model("llama")
    with pytest.raises(ValueError, match="over: expected one of edits, layers, sublayers, heads, positions, got 'routes'"):
        lt.sweep(model, make_batch(), over="routes")
    with pytest.raises(ValueError, match="edits: belong to over='edits'"):
        lt.sweep(model, make_batch(), over="layers", edits="zero hidden")
    with pytest.raises(ValueError, match="BertForMaskedLM must return logits of the next token"):
        lt.sweep(make_model("bert"), make_batch(), over="layers")
    with pytest.raises(ValueError, match="must return logits of the next token"):
        lt.sweep(model.model, make_batch(), over="layers")


@pytest.mark.real
@pytest.mark.skipif(real_model() is None, reason="needs SmolLM2 in LIME_REAL_MODEL")
def test_edits_of_a_released_model_equal_those_of_lime_capture(programs, tmp_path):
    """In float64, so that rounding does not hide a difference; in float32 hidden states are equal up to rounding."""
    folder = real_model()
    ids = np.random.default_rng(0).integers(100, 20000, size=(3, 16)).astype(np.int32)
    np.save(tmp_path / "ids.npy", ids)
    source = ["--checkpoint", folder, "--tokens", tmp_path / "ids.npy"]
    programs("lime-capture", *source, "--sites", "hidden", "-o", tmp_path / "run.h5")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    batch = {"input_ids": torch.from_numpy(ids.astype(int))}
    with lt.Capture(tmp_path / "run.h5") as theirs:
        ours = lt.cache(model, **batch, sites=["hidden"])
        for key in theirs:
            # Rounding differs in the last bits of 30 layers.
            assert np.abs(theirs[key][:] - ours[key][:]).max() < 1e-5 * np.abs(theirs[key][:]).max()
    for text in ("zero attn.hook_z layers=10 heads=3", "skip layers=11"):
        output = tmp_path / f"{len(text)}.json"
        programs("lime-capture", "sweep", *source, "--edit", text, "--dtype", "float64", "--batch-size", 16, "-o", output)
        own = lt.sweep(model.double(), batch, edits=text.replace("attn.hook_z", "head"))
        for row, mine in zip(json.loads(output.read_text())["rows"], own.rows, strict=True):
            for name in ("loss", "effect", "effect_low", "effect_high", "attribution", "logit_effect"):
                if name in row:
                    assert mine[name] == pytest.approx(row[name], abs=1e-6), name
