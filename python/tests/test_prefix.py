# SPDX-License-Identifier: Apache-2.0
"""Recordings of sequences with and without the tokens that their tokenizer puts before every text."""

import json
import warnings

import pytest

import lime_toolkit as lt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
h5py = pytest.importorskip("h5py")
tokenizers = pytest.importorskip("tokenizers")
from tiny_models import make_model


def make_tokenizer(template="<s> $A"):
    words = {"<s>": 0, "</s>": 1, "<unk>": 2, **{chr(97 + i): 3 + i for i in range(26)}}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if template:
        inner.post_processor = tokenizers.processors.TemplateProcessing(
            single=template, special_tokens=[("<s>", 0), ("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>",
                                                unk_token="<unk>")


def extra_of(path):
    with h5py.File(path) as file:
        return json.loads(file.attrs["extra"]), file.attrs["prepended"]


@torch.no_grad()
def record_texts(path, texts, tokenizer, with_bos=True, **options):
    model = make_model("llama")
    with lt.Recorder(path, model, tokenizer, sites=["hidden"], **options) as recorder:
        for text in texts[recorder.num_sequences :]:
            ids = tokenizer(text, add_special_tokens=with_bos and text != "no bos", return_tensors="pt").input_ids
            model(input_ids=ids)


def test_sequences_with_the_prefix_are_recorded_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record_texts(tmp_path / "run.h5", ["a b", "c", "a"], make_tokenizer())
    extra, prepended = extra_of(tmp_path / "run.h5")
    assert (extra["tokenizer_prefix"], extra["sequences_without_prefix"], prepended) == ("<s>", 0, "")


def test_sequences_that_lack_the_prefix_are_counted_and_warned_of(tmp_path, programs):
    path = tmp_path / "run.h5"
    with pytest.warns(UserWarning, match="^record: 2 of 5 sequences do not begin with '<s>', which the") as found:
        record_texts(path, ["a b", "no bos", "c", "no bos", "a"], make_tokenizer(), shard_sequences=2)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert extra_of(path)[0]["sequences_without_prefix"] == 2
    assert "2 of 5 sequences do not begin with '<s>'" in programs("lime-capture", "info", path)


@pytest.mark.parametrize("template", ["", "$A </s>"])
def test_tokenizers_without_a_prefix_have_none(tmp_path, template):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record_texts(tmp_path / "run.h5", ["a b"], make_tokenizer(template), with_bos=False)
    extra, _ = extra_of(tmp_path / "run.h5")
    assert not extra.keys() & {"tokenizer_prefix", "sequences_without_prefix"}


def test_a_prefix_of_several_tokens_counts_as_a_whole(tmp_path):
    with pytest.warns(UserWarning, match="1 of 2 sequences do not begin with '<s></s>'"):
        record_texts(tmp_path / "run.h5", ["a b", "no bos"], make_tokenizer("<s> </s> $A </s>"))


def test_a_resumed_recording_counts_all_sequences(tmp_path):
    texts = ["a b", "no bos", "c", "no bos", "a"]
    with pytest.warns(UserWarning, match="2 of 5"):
        record_texts(tmp_path / "whole.h5", texts, make_tokenizer(), shard_sequences=2)
    with pytest.raises(RuntimeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_model("llama")
        with lt.Recorder(tmp_path / "run.h5", model, make_tokenizer(), sites=["hidden"], shard_sequences=2):
            with torch.no_grad():
                for text in texts[:3]:
                    model(**make_tokenizer()(text, add_special_tokens=text != "no bos", return_tensors="pt"))
            raise RuntimeError
    with pytest.warns(UserWarning, match="2 of 5"):
        record_texts(tmp_path / "run.h5", texts, make_tokenizer(), shard_sequences=2, resume=True)
    assert extra_of(tmp_path / "run.h5") == extra_of(tmp_path / "whole.h5")


@torch.no_grad()
def test_sequences_of_embeddings_are_not_counted(tmp_path):
    model = make_model("llama")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with lt.Recorder(tmp_path / "run.h5", model, make_tokenizer(), sites=["hidden"]):
            model(inputs_embeds=torch.zeros(2, 3, 32))
    assert extra_of(tmp_path / "run.h5")[0]["sequences_without_prefix"] == 0
