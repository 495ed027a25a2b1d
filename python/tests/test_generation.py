# SPDX-License-Identifier: Apache-2.0
"""generate(), caches and masks: each sequence has the activations of one pass over its tokens, or is refused."""

import copy
import os
import warnings

import numpy as np
import pytest

import lime_toolkit as lt
from lime_toolkit import _caches, _passes, _provenance

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from conftest import real_model
from tiny_models import MODELS, NO_FINAL_NORM, WIDE, make_batch, make_model, record

CAUSAL = [name for name in MODELS if name not in NO_FINAL_NORM]
#: Their states include padding, so generation with padding differs from a single pass.
RECURRENT = ("mamba",)
GREEDY = dict(max_new_tokens=4, min_new_tokens=4, do_sample=False, pad_token_id=0, use_cache=True)


@torch.no_grad()
def generate(path, model, batch, recorded=None, **options):
    """Records generate(), and returns its sequences."""
    with lt.Recorder(path, recorded or model, sites={"hidden": "layers.*"}, overwrite=True):
        result = model.generate(**batch, **{**GREEDY, **options})
    return getattr(result, "sequences", result)


@torch.no_grad()
def check(path, model, sequences):
    """Compares the rows of each sequence with a pass over its tokens alone."""
    layers = [module for name, module in model.named_modules() if name.split(".")[-2:-1] in (["layers"], ["h"])]
    with lt.Capture(path) as capture:
        assert capture.num_sequences == len(sequences)
        (site,) = capture.sites
        for index, expected in enumerate(sequences):
            expected = [int(one) for one in expected]
            rows = slice(*capture.rows_of(index))
            assert capture.rows.token[rows].tolist() == expected
            assert capture.rows.position[rows].tolist() == list(range(len(expected)))
            found = {}
            hooks = [
                layer.register_forward_hook(lambda m, a, output, i=i: found.setdefault(
                    i, (output if torch.is_tensor(output) else output[0]).clone()))
                for i, layer in enumerate(layers)
            ]
            model(input_ids=torch.tensor([expected]), use_cache=False)
            for hook in hooks:
                hook.remove()
            for layer in capture.layers(site):
                np.testing.assert_allclose(capture[site, layer].sequence(index), found[layer][0].numpy(), atol=2e-5)


def without_padding(ids, lengths, last=1):
    """The tokens that were passed to the model: all but the padding on the left and the last one."""
    return [row[len(row) - length - 4 : -last] for row, length in zip(ids, lengths)]


@pytest.mark.parametrize("model_type", CAUSAL)
@pytest.mark.parametrize("left", [False, True])
def test_generation_extends_the_sequences(tmp_path, model_type, left):
    if left and model_type in RECURRENT:
        pytest.skip("generation with padding differs from a single pass")
    model, path = make_model(model_type), tmp_path / "run.h5"
    lengths = (5, 3, 4) if left else (4, 4)
    with torch.no_grad(), lt.Recorder(path, model, sites=["hidden"]) as recorder:
        ids = model.generate(**make_batch(left=True, lengths=lengths), **GREEDY)
        assert recorder.num_sequences == 0
        model(**make_batch(lengths=(3,)))
    hidden = lt.models.SITES[model_type]["hidden"]
    modules = lt.models.find_modules(model, {"hidden": hidden})["hidden"]
    with lt.Capture(path) as capture, torch.no_grad():
        assert np.diff(capture.offsets).tolist() == [*(one + 3 for one in lengths), 3]
        for index, whole in enumerate(without_padding(ids, lengths)):
            assert capture.rows.token[slice(*capture.rows_of(index))].tolist() == whole.tolist()
            assert capture.rows.position[slice(*capture.rows_of(index))].tolist() == list(range(len(whole)))
            found = []
            hooks = [m.register_forward_hook(lambda m, a, output: found.append(
                (output if torch.is_tensor(output) else output[0]).clone())) for _, _, m in modules]
            model(whole[None], use_cache=False)
            for hook in hooks:
                hook.remove()
            for layer in range(3):
                np.testing.assert_allclose(capture["hidden", layer].sequence(index), found[layer][0], atol=2e-5)


OPTIONS = {
    "sampling": dict(do_sample=True),
    "several": dict(do_sample=True, num_return_sequences=2),
    "outputs": dict(return_dict_in_generate=True, output_hidden_states=True, output_attentions=True),
    "static": dict(cache_implementation="static"),
    "offloaded": dict(cache_implementation="offloaded"),
    "chunks": dict(prefill_chunk_size=2),
    "one": dict(max_new_tokens=1, min_new_tokens=1),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("left", [False, True])
def test_strategies_and_caches(tmp_path, options, window, left):
    """Also with a cache of a sliding window, which has fewer tokens than were recorded."""
    if options == "offloaded" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    torch.manual_seed(0)
    config = transformers.MistralConfig(**WIDE, sliding_window=window)
    model = transformers.MistralForCausalLM(config).eval()
    lengths = (6, 4, 5) if left else (6, 6)
    batch, chosen = make_batch(left=True, lengths=lengths), OPTIONS[options]
    if not hasattr(transformers.GenerationConfig(), next(iter(chosen))):
        pytest.skip("not in this version of transformers")
    if options == "chunks" and int(transformers.__version__.split(".")[1]) in (0, 57):
        pytest.skip("transformers 4.57 does not call the model for chunks, and 5.0 gives them no cache")
    ids = generate(tmp_path / "run.h5", model, batch, **chosen)
    repeats = chosen.get("num_return_sequences", 1)
    lengths = [one for one in lengths for _ in range(repeats)]
    new = chosen.get("max_new_tokens", 4)
    check(tmp_path / "run.h5", model, [row[len(row) - n - new : -1] for row, n in zip(ids, lengths)])


@pytest.mark.parametrize("inner", [False, True])
def test_assisted_generation_leaves_rejected_tokens_out(tmp_path, inner):
    model, batch = make_model("llama"), {"input_ids": torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8, 5, 6]])}
    torch.manual_seed(3)
    assistant = make_model("llama")
    assistant.model.layers[0].self_attn.o_proj.weight.data += 0.05 * torch.randn(32, 32)
    recorded = model.model if inner else model
    for options in (dict(prompt_lookup_num_tokens=3), dict(assistant_model=assistant)):
        for new in (1, 2, 5, 9):
            ids = generate(tmp_path / "run.h5", model, batch, recorded, max_new_tokens=new, min_new_tokens=None,
                           eos_token_id=63, **options)
            check(tmp_path / "run.h5", model, [ids[0, :-1]])


@pytest.mark.parametrize("pad", [0, 2])
def test_padding_after_the_end_of_a_sequence_is_not_recorded(tmp_path, pad):
    """Sequences end at different tokens; the model is called until the last one ends."""
    model, batch, path = make_model("llama"), make_batch(left=True, lengths=(5, 3, 4, 5)), tmp_path / "run.h5"
    with torch.no_grad():
        ids = model.generate(**batch, **{**GREEDY, "max_new_tokens": 9, "min_new_tokens": 9})
    end = int(ids[1, -7])  # what the second sequence generates third
    options = dict(max_new_tokens=9, min_new_tokens=1, eos_token_id=[end, 63], pad_token_id=pad if pad == 0 else end)
    ids = generate(path, model, batch, **options)
    expected = []
    for row, length in zip(ids, (5, 3, 4, 5)):
        tokens = row[5 - length :].tolist()
        ends = [i for i, one in enumerate(tokens[length:]) if one in options["eos_token_id"]]
        stop = length + ends[0] + 1 if ends else len(tokens)
        expected.append(tokens[: min(stop, len(tokens) - 1)])  # the last token of the last step is never an input
    assert len({len(one) - length for one, length in zip(expected, (5, 3, 4, 5))}) > 1
    check(path, model, expected)


def test_sequences_that_end_by_another_rule_are_not_padded(tmp_path):
    model, batch, path = make_model("llama"), make_batch(left=True, lengths=(5, 3, 4)), tmp_path / "run.h5"

    def is_long(ids, scores, **options):
        limits = torch.tensor([2, 9, 5])  # tokens that each sequence generates
        return ids.shape[1] - 5 >= limits

    ids = generate(path, model, batch, max_new_tokens=8, min_new_tokens=8, eos_token_id=63, pad_token_id=62,
                   stopping_criteria=[is_long])
    check(path, model, [row[5 - n : 5 + new] for row, n, new in zip(ids, (5, 3, 4), (2, 7, 5))])


@pytest.mark.parametrize("strategy", [dict(), dict(do_sample=True), dict(use_cache=False), dict(max_new_tokens=1)])
@pytest.mark.parametrize("model_type", ["llama", "gpt2", "mamba"])
def test_beam_search_is_refused(tmp_path, model_type, strategy):
    model, batch = make_model(model_type), make_batch(lengths=(4, 4))
    beams = {**dict(num_beams=3, max_new_tokens=6, do_sample=False, pad_token_id=0), **strategy}
    with pytest.raises(ValueError, match="generate first, then record a pass"):
        with torch.no_grad(), lt.Recorder(tmp_path / "run.h5", model):
            model.generate(**batch, **beams)
    assert model.generate(**batch, **beams).shape[0] == 2  # the model is as before
    assert "generate" not in vars(model) and not (tmp_path / "run.h5").exists()


@pytest.mark.parametrize("inner", [False, True])
def test_other_passes_of_generate_are_refused(tmp_path, inner):
    model, batch = make_model("llama"), make_batch(lengths=(4, 4))
    for options in (dict(guidance_scale=1.5), dict(num_beams=2)):
        with pytest.raises(ValueError, match="generate first, then record|begin with an empty cache"):
            generate(tmp_path / "run.h5", model, batch, model.model if inner else model, **options)


def test_generation_without_a_cache_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"without the cache of its first pass \(use_cache=False"):
        generate(tmp_path / "run.h5", make_model("llama"), make_batch(lengths=(4, 4)), use_cache=False)


def test_a_cache_with_another_name_is_refused(tmp_path, monkeypatch):
    """As cache= in place of past_key_values= was for the recorder before it knew that name."""
    monkeypatch.setattr(_caches, "NAMES", ("other",))
    for batch in (make_batch(lengths=(4, 4)), make_batch(left=True, lengths=(4, 3))):
        with pytest.raises(ValueError, match="generate first, then record a pass|call the model on whole sequences"):
            generate(tmp_path / "run.h5", make_model("llama"), batch)


def test_the_base_model_is_recorded_while_the_whole_one_generates(tmp_path):
    model, batch = make_model("llama"), make_batch(left=True, lengths=(5, 3))
    ids = generate(tmp_path / "run.h5", model, batch, model.model)
    check(tmp_path / "run.h5", model, without_padding(ids, (5, 3)))


def test_embeddings_are_continued_by_tokens(tmp_path):
    model, ids = make_model("llama"), make_batch(lengths=(4, 4))["input_ids"]
    new = generate(tmp_path / "run.h5", model, {"inputs_embeds": model.model.embed_tokens(ids)})
    with lt.Capture(tmp_path / "run.h5") as capture, torch.no_grad():
        assert np.diff(capture.offsets).tolist() == [7, 7]
        assert capture.rows.token[:7].tolist() == [-1] * 4 + new[0, -4:-1].tolist()
        whole = torch.cat([ids, new[:, -4:-1]], dim=1)
        states = model(whole, output_hidden_states=True).hidden_states[1]
        np.testing.assert_allclose(capture["hidden", 0][:], states.flatten(0, 1).numpy(), atol=1e-5)


def cache_of(output):
    return _caches.find(output)


def pass_cache(model, cache, first=4):
    """The argument for a cache, in this version of transformers."""
    names = _passes.parameters(model)
    position = {"cache_position": torch.tensor([first])} if "cache_params" in names else {}
    return {next(name for name in _caches.NAMES if name in names): cache, **position}


@torch.no_grad()
def test_a_conversation_extends_its_sequence(tmp_path):
    """The second call of generate() gets the cache of the first, with all tokens so far."""
    model, ids, path = make_model("llama"), make_batch(lengths=(4, 4))["input_ids"], tmp_path / "run.h5"
    with lt.Recorder(path, model, sites=["hidden"]):
        for _ in range(2):
            options = {} if ids.shape[1] == 4 else pass_cache(model, cache_of(result))
            result = model.generate(ids, attention_mask=torch.ones_like(ids), return_dict_in_generate=True, **GREEDY,
                                    **options)
            ids = torch.cat([result.sequences, make_batch(lengths=(3, 3))["input_ids"]], dim=1)
    check(path, model, result.sequences[:, :-1])


@torch.no_grad()
@pytest.mark.parametrize("model_type", ["llama", "mamba", "gpt2"])
def test_tokens_that_nothing_recorded_are_refused(tmp_path, model_type):
    model, path = make_model(model_type), tmp_path / "run.h5"
    ids = make_batch(lengths=(4, 4))["input_ids"]
    step = ids[:, -1:]

    def start():
        return pass_cache(model, cache_of(model(ids, use_cache=True)))

    message = "tokens that were not recorded as the beginning of its sequences; begin with an empty cache"
    before = start()
    with pytest.raises(ValueError, match=message), lt.Recorder(path, model, overwrite=True):
        model(step, **before)
    with pytest.raises(ValueError, match=message), lt.Recorder(path, model, overwrite=True):
        start()
        model(step, **before)  # of other sequences, with as many tokens
    with pytest.raises(ValueError, match=message), lt.Recorder(path, model, overwrite=True):
        first = start()
        start()
        model(step, **first)  # the sequences are already written
    with pytest.raises(ValueError, match=message), lt.Recorder(path, model, overwrite=True):
        first = start()
        model(step, **copy.deepcopy(first))
    if model_type == "llama":
        with pytest.raises(ValueError, match=message), lt.Recorder(path, model, overwrite=True):
            first = start()
            model.model(step, **first)  # not a pass of the recorded model
            model(step, **first)
    with lt.Recorder(path, model, sites=["hidden"], overwrite=True):  # as it should be
        first = start()
        copied = copy.deepcopy(first)
        model(step, **first)
    model(step, **copied)  # a copy is as without a recorder
    with lt.Capture(path) as capture:
        assert np.diff(capture.offsets).tolist() == [5, 5]


@torch.no_grad()
def test_an_empty_cache_begins_new_sequences(tmp_path):
    for model_type in ("llama", "mamba"):
        model = make_model(model_type)
        ids = make_batch(lengths=(4, 4))["input_ids"]
        cache = cache_of(model(ids, use_cache=True))
        if hasattr(cache, "reset"):
            cache.reset()
        if not hasattr(cache, "get_seq_length") or _caches.num_tokens(cache) != 0:
            continue  # in this version of transformers it keeps its length, or needs positions
        with lt.Recorder(tmp_path / "run.h5", model, sites=["hidden"], overwrite=True):
            for _ in range(2):
                cache.reset()
                model(ids, use_cache=True, **pass_cache(model, cache, 0))
        with lt.Capture(tmp_path / "run.h5") as capture:
            assert np.diff(capture.offsets).tolist() == [4, 4, 4, 4]
            assert np.array_equal(capture["hidden", 2].sequence(1), capture["hidden", 2].sequence(3))


@torch.no_grad()
def test_a_mask_of_queries_and_keys_tells_padding(tmp_path):
    """The mask that generate() makes for a static cache, also added to the scores."""
    torch.manual_seed(0)
    config = transformers.Gemma3TextConfig(**MODELS["gemma3_text"])
    model, batch = transformers.Gemma3ForCausalLM(config).eval(), make_batch(left=True)
    exists = batch["attention_mask"].bool()
    square = exists[:, None, None, :] & exists[:, None, :, None] & torch.ones(9, 9, dtype=torch.bool).tril()
    added = torch.zeros(square.shape).masked_fill(~square, torch.finfo(torch.float32).min)
    position_ids = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
    record(tmp_path / "expected.h5", model, dict(batch, position_ids=position_ids))
    for mask in (square, added, {"full_attention": added, "sliding_attention": added}):
        record(tmp_path / "run.h5", model, dict(batch, position_ids=position_ids, attention_mask=mask), overwrite=True)
        with lt.Capture(tmp_path / "run.h5") as capture, lt.Capture(tmp_path / "expected.h5") as expected:
            assert np.diff(capture.offsets).tolist() == [9, 5, 7]
            np.testing.assert_allclose(capture["hidden", 2][:], expected["hidden", 2][:], atol=1e-5)


def test_masks_and_positions_that_cannot_be_interpreted_are_refused(tmp_path):
    model, batch, path = make_model("llama"), make_batch(), tmp_path / "run.h5"
    short = dict(batch, attention_mask=batch["attention_mask"][:, 1:])
    packed = {"input_ids": batch["input_ids"][:1], "position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])}
    longer = dict(batch, attention_mask=torch.ones(3, 12))
    for call, message in (
        (short, r"attention_mask \[3, 8\] does not fit the 3 x 9 tokens"),
        (dict(batch, attention_mask="causal"), "attention_mask must be a tensor with 2 to 4 dimensions, got str"),
        (packed, r"a row of the batch contains several sequences \(position_ids start again"),
        (dict(batch, cu_seq_lens_q=torch.tensor([0, 4, 9])), "a row of the batch contains several sequences"),
        (longer, "attention_mask includes 3 earlier tokens that were not recorded"),
    ):
        with pytest.raises(ValueError, match=message):
            record(path, model, call, overwrite=True)


ENCODER_DECODER = {
    "t5": dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4, decoder_start_token_id=0,
               pad_token_id=0, dropout_rate=0.0),
    "bart": dict(vocab_size=64, d_model=32, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
                 decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, decoder_start_token_id=2),
}


@torch.no_grad()
@pytest.mark.parametrize("model_type", ENCODER_DECODER)
def test_encoder_and_decoder_are_recorded_apart(tmp_path, model_type):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **ENCODER_DECODER[model_type])
    model = transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
    batch, path, blocks = make_batch(lengths=(6, 4)), tmp_path / "run.h5", "block.*" if model_type == "t5" else "layers.*"
    greedy = dict(max_new_tokens=5, min_new_tokens=5, do_sample=False)
    with pytest.raises(ValueError, match=r"is not in its encoder, .* record model.get_decoder\(\)"):
        lt.Recorder(path, model, sites={"hidden": f"decoder.{blocks}"})
    with lt.Recorder(path, model, sites={"hidden": f"encoder.{blocks}"}):
        model(**batch, labels=batch["input_ids"])
    with lt.Capture(path) as capture:
        assert np.diff(capture.offsets).tolist() == [6, 4]
    with pytest.raises(ValueError, match=r"record model.get_encoder\(\) or model.get_decoder\(\)"):
        with lt.Recorder(path, model, sites={"hidden": f"encoder.{blocks}"}, overwrite=True):
            model.generate(**batch, **greedy)
    with lt.Recorder(path, model.get_decoder(), sites={"hidden": blocks}, overwrite=True):
        ids = model.generate(**batch, **greedy)
    with lt.Capture(path) as capture:
        assert np.diff(capture.offsets).tolist() == [5, 5]
        assert capture.rows.token.tolist() == ids[:, :-1].flatten().tolist()
    with pytest.raises(ValueError, match="exchange recorded sequences"):
        with lt.Recorder(path, model.get_decoder(), sites={"hidden": blocks}, overwrite=True):
            model.generate(**batch, **greedy, num_beams=2)


@torch.no_grad()
def test_models_of_images_are_refused(tmp_path):
    config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                                    image_size=8, patch_size=4)
    model = transformers.ViTModel(config).eval()
    site = {"hidden": next(f"{name[:-1]}*" for name, _ in model.named_modules() if name.endswith(".0"))}
    with pytest.raises(ValueError, match="must be called with input_ids or inputs_embeds"):
        with lt.Recorder(tmp_path / "run.h5", model, sites=site):
            model(pixel_values=torch.zeros(1, 3, 8, 8))


def test_other_versions_of_transformers_are_named_once(tmp_path, monkeypatch):
    model = make_model("llama")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lt.Recorder(tmp_path / "run.h5", model)
    monkeypatch.setattr(_provenance, "version_of", lambda package: "99.1.0.dev0")
    with pytest.warns(UserWarning, match="not tested with transformers 99.1.0.dev0, only with 4.57 to"):
        lt.Recorder(tmp_path / "run.h5", model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lt.Recorder(tmp_path / "run.h5", model)  # once
        lt.Recorder(tmp_path / "run.h5", torch.nn.Linear(2, 2), sites={"hidden": ""})  # not of transformers


REAL = real_model()


@pytest.mark.real
@pytest.mark.skipif(REAL is None, reason="no config.json of SmolLM2 in the folder LIME_REAL_MODEL")
@torch.no_grad()
def test_a_chat_of_a_real_model_is_one_sequence(tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(REAL)
    model = transformers.AutoModelForCausalLM.from_pretrained(REAL, dtype=torch.float32).eval()
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    if tokenizer.chat_template is None:
        tokenizer.chat_template = "{% for one in messages %}<|im_start|>{{ one['role'] }}\n{{ one['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    batch = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with lt.Recorder(tmp_path / "run.h5", model, tokenizer, sites=["hidden"]):
        ids = model.generate(**batch, max_new_tokens=6, do_sample=False)
    with lt.Capture(tmp_path / "run.h5") as capture:
        assert capture.num_sequences == 1
        assert capture.rows.token.tolist() == ids[0, :-1].tolist()
        states = model(ids[:, :-1], output_hidden_states=True).hidden_states
        for layer in range(0, len(states) - 2, 7):
            x, y = capture["hidden", layer][:], states[layer + 1][0].numpy()
            assert np.abs(x - y).max() <= 1e-4 * np.abs(y).max()
