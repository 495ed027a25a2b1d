#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzzing corpora: small valid files of every kind that the readers accept,
and some that are nearly valid. Files named found-* are past findings of fuzzers and are kept.

    tests/fuzz/make_corpus.py        (requires numpy and h5py)
"""
import hashlib
import io
import json
import math
import pathlib
import struct
import zlib

import h5py
import numpy as np

CORPUS = pathlib.Path(__file__).parent / "corpus"


def save(folder, name, content):
    path = CORPUS / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


# --- safetensors -------------------------------------------------------------------------------


def safetensors(tensors, metadata=None):
    header, offset = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(offset)


def make_safetensors():
    save("safetensors", "empty", safetensors({}))
    save("safetensors", "one", safetensors({"a.weight": ("F32", [2, 3], 24)}))
    save("safetensors", "types", safetensors(
        {"a": ("F64", [1], 8), "b": ("BF16", [2, 2], 8), "c": ("F16", [], 2), "d": ("I64", [0, 3], 0),
         "e": ("F8_E4M3", [3], 3), "f": ("BOOL", [1, 1, 1], 1)}, {"format": "pt", "note": "\u00e9"}))


# --- GGUF ----------------------------------------------------------------------------------------


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_value(value):
    """A value with its type: a number, a boolean, a text, or a list of one of these."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_text(value)
    items = [gguf_value(item) for item in value]
    return struct.pack("<I", 9) + items[0][:4] + struct.pack("<Q", len(items)) + b"".join(
        item[4:] for item in items)


def gguf(metadata, tensors, version=3):
    """@param tensors  by name: type of ggml, shape with the innermost size first, bytes"""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += gguf_text(key) + gguf_value(value)
    data = b""
    for name, (kind, shape, size) in tensors.items():
        data += bytes(-len(data) % 32)
        head += gguf_text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", kind, len(data))
        data += bytes(size)
    return head + bytes(-len(head) % 32) + data


def gguf_model(architecture, eps):
    sizes = {"block_count": 1, "embedding_length": 8, "feed_forward_length": 6, "attention.head_count": 2,
             "attention.head_count_kv": [1], "context_length": 16, eps: 1e-5, "rope.freq_base": 1e4}
    metadata = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key}": value for key, value in sizes.items()}
    tensors = {"token_embd.weight": (0, [8, 5], 160), "output_norm.weight": (0, [8], 32),
               "blk.0.attn_norm.weight": (0, [8], 32), "blk.0.ffn_norm.weight": (0, [8], 32),
               "blk.0.attn_q.weight": (0, [8, 8], 256), "blk.0.attn_k.weight": (0, [8, 4], 128),
               "blk.0.attn_v.weight": (0, [8, 4], 128), "blk.0.attn_output.weight": (0, [8, 8], 256),
               "blk.0.ffn_gate.weight": (1, [8, 6], 96), "blk.0.ffn_up.weight": (30, [8, 6], 96),
               "blk.0.ffn_down.weight": (0, [6, 8], 192)}
    return metadata, tensors


def gguf_experts():
    """gpt-oss, with experts in MXFP4."""
    metadata, tensors = gguf_model("gpt-oss", "attention.layer_norm_rms_epsilon")
    sizes = {"embedding_length": 32, "feed_forward_length": 32, "expert_count": 2, "expert_used_count": 1,
             "expert_feed_forward_length": 32, "attention.key_length": 8, "attention.sliding_window": 4,
             "rope.scaling.type": "yarn", "rope.scaling.factor": 32.0,
             "rope.scaling.original_context_length": 4}
    metadata |= {f"gpt-oss.{key}": value for key, value in sizes.items()}
    shapes = {"token_embd.weight": [32, 5], "output_norm.weight": [32], "output.weight": [32, 5]}
    layer = {"attn_norm.weight": [32], "post_attention_norm.weight": [32], "attn_sinks.weight": [2],
             "attn_q.weight": [32, 16], "attn_q.bias": [16], "attn_k.weight": [32, 8], "attn_k.bias": [8],
             "attn_v.weight": [32, 8], "attn_v.bias": [8], "attn_output.weight": [16, 32],
             "attn_output.bias": [32], "ffn_gate_inp.weight": [32, 2], "ffn_gate_inp.bias": [2]}
    layer |= {f"ffn_{part}_exps.bias": [32, 2] for part in ("gate", "up", "down")}
    shapes |= {f"blk.0.{name}": shape for name, shape in layer.items()}
    tensors = {name: (0, shape, 4 * math.prod(shape)) for name, shape in shapes.items()}
    tensors |= {f"blk.0.ffn_{part}_exps.weight": (39, [32, 32, 2], 64 * 17) for part in ("gate", "up", "down")}
    return metadata, tensors


def make_gguf():
    metadata, tensors = gguf_model("llama", "attention.layer_norm_rms_epsilon")
    letters = ["<s>", "a", "b", "ab", "<0x41>"]
    sentencepiece = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": letters,
                     "tokenizer.ggml.scores": [0.0, -1.0, -2.0, -3.0, -4.0],
                     "tokenizer.ggml.token_type": [3, 1, 1, 1, 6], "tokenizer.ggml.bos_token_id": 0}
    bpe = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.tokens": letters,
           "tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.add_bos_token": True,
           "tokenizer.ggml.bos_token_id": 0}
    save("gguf", "llama", gguf(metadata | sentencepiece, tensors))
    save("gguf", "version-2", gguf(metadata | bpe, tensors, version=2))
    save("gguf", "phi3", gguf(*gguf_model("phi3", "attention.layer_norm_rms_epsilon")))
    save("gguf", "gptneox", gguf(*gguf_model("gptneox", "attention.layer_norm_epsilon")))
    save("gguf", "gpt-oss", gguf(*gguf_experts()))
    blocks = {2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 20: 18, 39: 17, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210,
              23: 136}
    save("gguf", "types", gguf({"general.alignment": 32}, {
        f"t{kind}": (kind, [256 if kind in (10, 11, 12, 13, 14, 23) else 32], size)
        for kind, size in blocks.items()}))
    save("gguf", "split", gguf({"general.architecture": "llama", "split.count": 2, "split.no": 0}, {}))


# --- config.json and the index ------------------------------------------------------------------

LLAMA = {
    "model_type": "llama", "vocab_size": 280, "hidden_size": 24, "intermediate_size": 40,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "max_position_embeddings": 64, "bos_token_id": 256, "eos_token_id": [257],
    "rms_norm_eps": 1e-6, "torch_dtype": "float32", "tie_word_embeddings": False,
}


def make_config():
    save("config", "llama", json.dumps(LLAMA))
    save("config", "lime", json.dumps(LLAMA | {
        "model_type": "lime", "lime": {"router": "first", "j": 2, "head_mixing": False,
                                       "per_dimension": True, "dynamic": False}}))
    save("config", "denseformer", json.dumps(LLAMA | {
        "model_type": "denseformer", "denseformer": {"dilation": 2, "period": 1}}))
    save("config", "hyper", json.dumps(LLAMA | {
        "model_type": "hyper_connections", "hyper_connections": {"rate": 2, "dynamic": True}}))
    save("config", "resformer", json.dumps(LLAMA | {
        "model_type": "resformer", "resformer": {"first_layer_only": True}}))
    save("config", "mistral", json.dumps(LLAMA | {"model_type": "mistral", "sliding_window": 5}))
    save("config", "qwen2", json.dumps(LLAMA | {
        "model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 1}))
    save("config", "rope", json.dumps(LLAMA | {"rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}}))
    save("config", "large", json.dumps(LLAMA | {"num_hidden_layers": 2**40, "vocab_size": 2**62}))
    tensors = {"model.embed_tokens.weight": "part.safetensors", "lm_head.weight": "part.safetensors"}
    save("config", "index", json.dumps(LLAMA) + "\0" + json.dumps({"weight_map": tensors}))
    save("config", "index-outside", json.dumps(LLAMA) + "\0" + json.dumps(
        {"weight_map": {"lm_head.weight": "../part.safetensors"}}))


# --- tokenizers -----------------------------------------------------------------------------------


def tokenizer(**changes):
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 3, "content": "<s>", "special": True, "single_word": False,
                          "lstrip": False, "rstrip": False, "normalized": False}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    } | changes


def make_tokenizer_json():
    def put(name, text="", **changes):
        save("tokenizer_json", name, json.dumps(tokenizer(**changes)) + ("\0" + text if text else ""))

    put("bytes", "abba <s>ab")
    put("split", "don't 12", pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},
         "behavior": "Isolated", "invert": False},
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    put("nested-regex", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", pre_tokenizer={
        "type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Removed", "invert": False})
    put("metaspace", "a b\u2581", pre_tokenizer={
        "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
        decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True})
    put("normalizers", "\u00c5 e\u0301", normalizer={"type": "Sequence", "normalizers": [
        {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}, {"type": "StripAccents"}]})
    put("fallback", "\u00e9", decoder={"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        pre_tokenizer=None, added_tokens=[],
        model={"type": "BPE", "unk_token": "a", "byte_fallback": True, "fuse_unk": True,
               "vocab": {"a": 0, "b": 1, "<0xC3>": 2}, "merges": []})
    put("words", "a b c", added_tokens=[], pre_tokenizer={"type": "Whitespace"}, decoder=None,
        model={"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2}, "unk_token": "[UNK]"})
    put("template", "ab", post_processor={
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}})


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, kind, content):
    return varint(number << 3 | kind) + content


def message(number, content):
    return field(number, 2, varint(len(content)) + content)


def piece(text, score, kind):
    return message(1, message(1, text.encode()) + field(2, 5, struct.pack("<f", score)) +
                   field(3, 0, varint(kind)))


def sentencepiece_model(kind, byte_fallback):
    """Returns a ModelProto of SentencePiece; kind 1: unigram, 2: BPE."""
    normal, unknown, control, byte = 1, 2, 3, 6
    pieces = piece("<unk>", 0, unknown) + piece("<s>", 0, control) + piece("</s>", 0, control)
    if byte_fallback:
        pieces += b"".join(piece(f"<0x{i:02X}>", 0, byte) for i in range(256))
    for i, text in enumerate(["\u2581", "a", "b", "ab", "\u2581ab", "t", "h", "e", "th", "the"]):
        pieces += piece(text, -float(i), normal)
    trainer = field(3, 0, varint(kind)) + field(35, 0, varint(int(byte_fallback)))
    normalizer = message(1, b"identity") + field(3, 0, varint(1)) + field(4, 0, varint(0)) + \
        field(5, 0, varint(1))
    return pieces + message(2, trainer) + message(3, normalizer)


def make_sentencepiece():
    save("sentencepiece", "bpe", sentencepiece_model(2, False))
    save("sentencepiece", "unigram", sentencepiece_model(1, False))
    save("sentencepiece", "bytes", sentencepiece_model(2, True))


def make_merges():
    vocab = {text: i for i, text in enumerate(["a", "b", "ab", "\u0120", "\u0120ab", "<|endoftext|>"])}
    merges = "#version: 0.2\na b\n\u0120 ab\n"
    save("merges", "gpt2", json.dumps(vocab) + "\0" + merges)
    save("merges", "special", json.dumps(vocab) + "\0" + merges + "\0" + json.dumps(
        {"bos_token": "<|endoftext|>", "eos_token": {"content": "<|endoftext|>"}, "add_bos_token": True}))
    save("merges", "no-merges", json.dumps(vocab) + "\0")


# --- inputs ---------------------------------------------------------------------------------------


def make_npy():
    def put(name, array, version):
        out = io.BytesIO()
        np.lib.format.write_array(out, array, version=version)
        save("npy", name, out.getvalue())

    put("int32", np.arange(6, dtype="<i4").reshape(2, 3), (1, 0))
    put("uint64", np.array([1, 2**63], dtype="<u8"), (2, 0))
    put("big-endian", np.array([-1, 300], dtype=">i2"), (1, 0))
    put("bytes", np.array([[0], [255]], dtype="u1"), (3, 0))
    put("none", np.zeros((0, 4), dtype="<i8"), (1, 0))
    put("structured", np.zeros(2, dtype=[("a", "<i4"), ("b", "<i4")]), (1, 0))
    put("fortran", np.asfortranarray(np.ones((2, 3), dtype="<i4")), (1, 0))


def make_pairs():
    pair = {"sentence_good": "The cat is old.", "sentence_bad": "The cat are old.",
            "UID": "agreement", "field": "syntax", "linguistics_term": "agreement"}
    save("pairs", "two", json.dumps(pair) + "\n\n" + json.dumps(pair | {"UID": "npi"}) + "\r\n")
    save("pairs", "no-task", '{"sentence_good": "a", "sentence_bad": "b"}')
    save("pairs", "escapes", '{"sentence_good": "\\u00e9\\ud83d\\udc31", "sentence_bad": "\u00e9"}\n')
    save("pairs", "at-odds", json.dumps(pair) + "\n" + json.dumps(pair | {"field": "semantics"}))


def make_views():
    save("views", "two", "The cat is old.\tA cat is old.\n\nThe dog.\tDogs.\r\n")
    save("views", "three", "a\tb\tc\nd\te\tf\ng\th\ti")
    save("views", "one", "a\nb\n")
    save("views", "at-odds", "a\tb\nc\td\te\n")
    save("views", "empty-view", "a\t\n")
    save("views", "long", "a\t" + "ab " * 600)
    save("views", "not-utf8", b"a\t\xff\n")


# --- lime-eval and --edit -------------------------------------------------------------------------


def make_tasks():
    own = "prompt: 'Q: {{q.text}}?'\nchoices: '{{c}}'\ngold: a\n"
    rows = [{"q": {"text": "x"}, "c": ["1", "2"], "a": 1}, {"q": {"text": "y"}, "c": ["3", 4], "a": "0"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    save("task", "own", own + "\0" + lines)
    save("task", "labels", own + "labels: [p, q]\n\0" + lines.replace('"a": 1', '"a": "q"'))
    save("task", "yaml", own + "\0" + lines + "\0" +
         "- &first {q: {text: x}, c: [&one '1', 2], a: 1}\n- *first\n- q: {text: |-\n    two\n    lines}\n"
         "  c: [*one, no]\n  a: !!str 0\n")
    save("task", "self-alias", "prompt: &a [*a]\nchoices: '{{c}}'\ngold: a\n\0" + lines + "\0- &a [*a]\n")
    names = "abcdefghij"
    save("task", "nested-aliases", own + "\0\0a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n" for before, name in zip(names, names[1:])))
    save("task", "deep", own + "\0\0" + "[" * 600)
    save("task", "deep-aliases", own + "\0\0- &a " + "[" * 400 + "]" * 400 + "\n- " + "[" * 200 + "*a" + "]" * 200)
    save("task", "jinja", own.replace("{{q.text}}", "{% if q %}{{q|upper}}{{a~b}}{{c.99999999999999999999}}{{q")
         + "\0" + lines)
    save("task", "twice", own + "gold: b\n---\n" + own + "\0" + lines)
    choices = {"text": ["water", "sand"], "label": ["A", "B"]}
    of_harness = {
        "arc_easy": {"question": "What is ice?", "choices": choices, "answerKey": "B"},
        "commonsense_qa": {"id": 5, "question": {"stem": "Ice?", "choices": [{"text": "water", "label": "A"}] * 30},
                           "answerKey": "A"},
        "hellaswag": {"activity_label": "Cooking", "ctx_a": "Boil [step] it", "ctx_b": "the cook",
                      "endings": ["eats", "sleeps"], "label": "1"},
        "copa": {"premise": "Es regnet\u3002", "question": "effect", "choice1": "A.", "choice2": "B.", "label": 1},
        "multirc": {"idx": 4, "passage": {"text": "A.", "questions": [{"question": "Q?", "answers": [
            {"text": "x", "label": 1}]}]}},
        "wic": {"sentence1": "Das \u00e4rmste Wort", "sentence2": "Wort", "start1": 4, "end1": 10, "label": False},
        "winogrande": {"sentence": "It beat _ out.", "option1": "a", "option2": "b", "answer": "2"},
        "qnli": {"question": "Q?", "sentence": "S.", "label": "entailment"},
        "mmlu_anatomy": {"question": " 1+1? ", "choices": ["1", "2", "3", "4"], "answer": "B"},
        "bigbench_x": {"inputs": "2+2?", "targets": ["4"], "multiple_choice_targets": ["5", "4"]},
        "lambada_openai": {"text": "the last word"},
        "gsm8k": {"question": "1+1?", "answer": "#### 2"},
    }
    for name, row in of_harness.items():
        save("task", name, f"{name}\0" + json.dumps(row) + "\n")
    save("task", "passage-without-questions", "multirc\0\0" + json.dumps([{"passage": {"text": "A", "questions": []}}]))
    save("task", "big-bench", "bigbench_x\0\0" + json.dumps({
        "task_prefix": "P", "append_choices_to_input": True, "examples": [
            {"input": "2+2?", "target_scores": {"4": 1, "5": 0}}, {"input": "free"}]}))


def make_samples():
    line = {"doc_id": 0, "doc": {"answer": "1"}, "target": "1", "arguments": [["The cats", " are"], ["The cats", " is"]],
            "filtered_resps": [["-1.5", "True"], ["-2.0", "False"]], "filter": "none", "acc": 0.0, "acc_norm": 1.0}
    save("samples", "harness", json.dumps(line) + "\n" + json.dumps(line | {"doc_id": 1}) + "\n")
    save("samples", "lime", json.dumps(line | {
        "task": "choices", "gold": 1, "tokenizer_sha256": "00", "arguments": {
            "gen_args_0": {"arg_0": "The cats", "arg_1": " are"}, "gen_args_1": {"arg_0": "The cats", "arg_1": " is"}},
        "layers": [{"layer": 0, "log_likelihoods": [-1.0, -2.0], "probe": [-0.5, -1.5]}]}) + "\n")
    text = {"doc_id": 0, "doc": {}, "target": "#### 2", "exact_match": 1.0, "arguments": {
        "gen_args_0": {"arg_0": "1+1?", "arg_1": {"until": ["Question:"], "max_gen_toks": 8}}}}
    save("samples", "text", "".join(json.dumps(text | {"filter": name}) + "\n" for name in ("strict", "flexible")))
    save("samples", "bad-filter", json.dumps(line | {"filter": 5}) + "\n")


def checked_line(text):
    return f"{text}\t{hashlib.sha256(text.encode()).hexdigest()[:16]}\n"


def make_parts():
    lines = [checked_line(json.dumps({"doc_id": i, "resps": [[str(-1.5 * i), "True"]]})) for i in range(3)]
    whole = "".join(lines)
    save("part", "whole", whole)
    save("part", "cut", whole[:-30])
    save("part", "no-checksums", '{"doc_id": 0}\n{"doc_id": 1}\n')
    save("part", "digit", whole.replace('"-1.5"', '"-4.5"'))
    save("part", "not-json", checked_line("x") + checked_line(""))


def make_edits():
    texts = ["zero hidden layers=1", "mean hidden", "resample=sequences hidden seed=3", "skip mlp layers=0-1",
             "scale=0.5 attn.hook_z heads=0,2 positions=1-3 tokens=5", "skip", "zero route layers=2 sources=0 heads=0",
             "skip mlp layers=1 layers=2", "zero route layers=0-1023 heads=0-1023 sources=0-1023",
             "zero route positions=3", "scale=nan hidden", "zero hidden layers=9999999999"]
    for number, text in enumerate(texts):
        save("edits", f"text-{number:02}", text)
    save("edits", "direction", "project=FILE hidden\0" + json.dumps([0.5] * 24))
    save("edits", "patch", "patch=FILE hidden\0")
    save("edits", "file", "FILE\0" + json.dumps({"format": "lime-edit/1", "edits": texts[:2]}))
    save("edits", "router", "FILE\0" + json.dumps({"format": "lime-router-edit/1", "edits": [{"layer": 1, "scale": 0}]}))


# --- results --------------------------------------------------------------------------------------


def of_model(**row):
    return {"label": "a", "site": "values"} | row


# Minimal rows for figures.
FIGURE_ROWS = {
    "router": ("router", [
        of_model(kind=kind, layer=layer, weighting="none", head=0, source_layer=source, source_head=0,
                 weight=0.5)
        for kind in ("mean_map", "head_map", "weight") for layer in (1, 2)
        for source in range(layer + 1)]),
    "similarity": ("similarity", [
        of_model(layer=layer, other_label="b", other_layer=other, cka_debiased=0.5)
        for layer in range(2) for other in range(2)]),
    "attention": ("attention", [
        of_model(kind="token", position=t, token=t, text="x") for t in range(2)] + [
        of_model(kind="weight", layer=0, head=0, query=q, key=k, weight=0.5)
        for q in range(2) for k in range(q + 1)] + [
        of_model(kind="routed", layer=0, head=0, query=1, source_layer=0, key=k, share=0.5)
        for k in range(2)] + [
        of_model(kind="head", layer=0, head=0, measure="entropy", mean=1.0)]),
    "tokens": ("tokens", [
        of_model(layer=layer, position=t, text="x", norm=1.0, entropy_contribution=0.5)
        for layer in range(2) for t in range(2)]),
    "blimp": ("blimp", [
        of_model(layer=layer, level=level, name=level, mean=0.5)
        for layer in range(2) for level in ("all", "field", "linguistics_term", "task")]),
    "counterfactual": ("counterfactual", [
        of_model(layer=layer, router=router, quantity="entropy", alpha=1.0, mean=0.5)
        for layer in range(2) for router in ("trained", "identity")]),
    "geometry": ("geometry", [
        of_model(layer=layer, measure="rankme", over="rows", mean=0.5) for layer in range(2)]),
    "separability": ("separability", [
        of_model(layer=layer, method="svm", labels="words", mean=0.5, std=0.1)
        for layer in range(2)]),
    "compared": ("entropy", [
        of_model(kind="comparison", layer=layer, baseline="b", quantity="entropy", difference=0.5,
                 ci_low=0.4, ci_high=0.6, p_holm=0.01) for layer in range(2)]),
    "cost": ("cost", [of_model(decoder="lime", sequence_length=512, parameters=1e6)]),
}


def make_results():
    results = {"schema": "lime-results/1", "metric": "entropy",
               "inputs": [{"path": "a.h5", "sha256": "00", "label": "a", "text_sha256": "11"}],
               "options": {"alpha": [1.0], "nested": {"a": None}}, "provenance": {"tool": "t"},
               "rows": [{"label": "a", "layer": 0, "mean": 1.5}, {"label": "a", "layer": 1, "mean": "nan"},
                        {"text": "a, \"b\"\n", "flag": True, "none": None}]}
    save("results", "rows", json.dumps(results))
    save("results", "no-rows", json.dumps(results | {"rows": [], "inputs": []}))
    save("results", "later", json.dumps(results | {"schema": "lime-results/9"}))
    lists = {"label": "a", "fold_accuracies": [0.5, "nan", 1], "confusion": [[3, 1], [0, 4]]}
    save("results", "arrays", json.dumps(results | {"schema": "lime-results/2", "rows": [lists]}))
    texts = lists | {"fold_accuracies": "0.5; 1", "confusion": "3 1; 0 4"}
    save("results", "lists-as-text", json.dumps(results | {"rows": [texts]}))
    for name, (metric, rows) in FIGURE_ROWS.items():
        save("results", name, json.dumps(results | {"metric": metric, "rows": rows}))
    # Numbers of layers, heads and tokens that were once used without a range check.
    for name, value in {"negative": -1000000, "null": None, "nan": "nan", "huge": 1e308,
                        "large": 9999, "fraction": 0.5}.items():
        for figure, key in (("router", "source_layer"), ("router", "layer"), ("similarity", "layer"),
                            ("attention", "query"), ("attention", "position"), ("tokens", "layer"),
                            ("blimp", "layer")):
            metric, rows = FIGURE_ROWS[figure]
            spoilt = [row | {key: value} if key in row else row for row in rows]
            save("results", f"found-{figure}-{key}-{name}",
                 json.dumps(results | {"metric": metric, "rows": spoilt}))


# --- captures -------------------------------------------------------------------------------------

ROWS = 5
IDENTITY = "00" * 32
SITE = "activations/values/000"


def put_column(file, name, values, dtype, checksum=True):
    data = np.asarray(values, dtype=dtype)
    if checksum:
        return file.create_dataset(name, data=data, chunks=data.shape, fletcher32=True)
    return file.create_dataset(name, data=data)


def put_tables(file):
    put_column(file, "sequences/offset", [0, 3, ROWS], "<i8")
    file.create_dataset("sequences/text", data=["one", "t\u00e9xt"], dtype=h5py.string_dtype())
    put_column(file, "statistics/values/000/count", ROWS, "<i8", checksum=False)
    put_column(file, "statistics/values/000/mean", [0.5, 1.0], "<f8")
    put_column(file, "statistics/values/000/m2", [2.0, 1.0], "<f8")
    put_column(file, "statistics/values/000/rms", [1.0], "<f8")


def put_rows(file, dtype="<f4"):
    put_column(file, "rows/sequence", [0, 0, 0, 1, 1], "<i4")
    put_column(file, "rows/position", [0, 1, 2, 0, 1], "<i4")
    put_column(file, "rows/token", [5, 6, 7, 8, 9], "<i4")
    values = np.arange(2 * ROWS).reshape(ROWS, 2)
    file.create_dataset(SITE, data=values.astype(dtype), chunks=(3, 2), fletcher32=True)
    file[SITE].attrs["hook"] = "blocks.0.attn.hook_v"


def put_attributes(file, shards, storage="float32"):
    text = {"format": "lime-capture", "tool": "lime 0.1", "command": "lime-capture",
            "created_utc": "2026-01-02T03:04:05Z", "config": "{\"model_type\": \"llama\"}",
            "options": "{}", "checkpoint_sha256": "", "tokenizer_sha256": "", "input_sha256": "",
            "compute_dtype": "float32", "storage_dtype": storage, "rows": "tokens", "prepended": "",
            "first_ids": "[5]", "extra": "{}", "shards": json.dumps(shards),
            "identity_sha256": IDENTITY}
    for name, value in text.items():
        file.attrs[name] = value
    file.attrs["schema_version"] = np.int64(1)
    file.attrs["seed"] = np.uint64(1)
    file.attrs["complete"] = np.int64(1)
    file.attrs.create("first_tokens", ["a"], dtype=h5py.string_dtype())
    file.attrs.create("sites", ["values"], dtype=h5py.string_dtype())


def hdf5(build, version="v110"):
    memory = io.BytesIO()
    with h5py.File(memory, "w", libver=(version, version if version != "earliest" else "v110"),
                   track_times=False) as file:
        build(file)
    return memory.getvalue()


def with_trailer(file):
    body = json.dumps({"data": [[0, 16]], "sha256": hashlib.sha256(file[16:]).hexdigest()}).encode()
    return file + body + struct.pack("<Q", len(body)) + b"LIMEEND1"


def packed(file, dtype="<f4"):
    put_rows(file, dtype)
    put_tables(file)
    put_attributes(file, [], "float16" if dtype == "<f2" else "float32")
    file.create_dataset("router/000", data=np.ones((1, 1), "<f4"))


def shard(file):
    put_rows(file)
    put_tables(file)
    file.attrs["format"] = "lime-capture-shard"
    file.attrs["schema_version"] = np.int64(1)
    file.attrs["shard"] = np.int64(0)
    file.attrs["first_sequence"] = np.int64(0)
    file.attrs["identity_sha256"] = IDENTITY


def master(file, shard_bytes):
    name = "capture.shards/00000.h5"

    def put_virtual(path, shape, dtype):
        layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
        layout[:] = h5py.VirtualSource(name, "/" + path, shape=shape)
        file.create_virtual_dataset(path, layout)

    for column in ("sequence", "position", "token"):
        put_virtual(f"rows/{column}", (ROWS,), "<i4")
    put_virtual(SITE, (ROWS, 2), "<f4")
    file[SITE].attrs["hook"] = "blocks.0.attn.hook_v"
    put_tables(file)
    put_attributes(file, [{"shard": 0, "file": name, "first_sequence": 0, "num_sequences": 2,
                           "num_rows": ROWS, "bytes": shard_bytes}])


def put_filtered(file):
    """Writes activations with a filter that HDF5 would search among its plug-ins."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((ROWS, 2))
    properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    space = h5py.h5s.create_simple((ROWS, 2))
    data = h5py.h5d.create(file["activations/values"].id, b"000", h5py.h5t.IEEE_F32LE, space,
                           properties)
    data.write_direct_chunk((0, 0), bytes(8 * ROWS), 0)
    file[SITE].attrs["hook"] = "blocks.0.attn.hook_v"


def put_deflated(file, cut=0):
    """Writes shuffled and deflated activations; `cut`: bytes missing from their first stream."""
    values = np.arange(2 * ROWS, dtype="<f4").reshape(ROWS, 2)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((3, 2))
    properties.set_shuffle()
    properties.set_deflate(1)
    properties.set_fletcher32()
    space = h5py.h5s.create_simple((ROWS, 2))
    data = h5py.h5d.create(file["activations/values"].id, b"000", h5py.h5t.IEEE_F32LE, space,
                           properties)
    padded = np.zeros((6, 2), "<f4")
    padded[:ROWS] = values
    for first in (0, 3):
        planes = padded[first:first + 3].reshape(-1, 1).view("u1").T.tobytes()
        stream = zlib.compress(planes, 1)
        stream = stream[:len(stream) - (cut if first == 0 else 0)]
        data.write_direct_chunk((first, 0), stream + struct.pack("<I", fletcher32(stream)), 0)
    file[SITE].attrs["hook"] = "blocks.0.attn.hook_v"
    file.attrs["compression"] = "deflate"


def fletcher32(content):
    first = second = 0
    for high, low in zip(content[::2], content[1::2] + b"\0"):
        first = (first + (high << 8 | low)) % 65535
        second = (second + first) % 65535
    # A sum that is 0 modulo 65535 is 0 only if all words are.
    return (second or 65535) << 16 | (first or 65535)


def put_virtual_mean(file):
    layout = h5py.VirtualLayout(shape=(2,), dtype="<f8")
    layout[:] = h5py.VirtualSource("../outside.h5", "/mean", shape=(2,))
    file.create_virtual_dataset("statistics/values/000/mean", layout)


def put_external_mean(file):
    file.create_dataset("statistics/values/000/mean", (2,), "<f8", external=[("../outside.h5", 0, 16)])


def hostile(names, put):
    """Writes a packed capture with the objects `names` replaced."""
    def build(file):
        packed(file)
        for name in names:
            del file[name]
        put(file)
    return hdf5(build)


def make_hostile_captures():
    """Writes captures with links to other files; tests/store/hostile_file_test.cpp reads them too."""
    mean = "statistics/values/000/mean"

    def link(name, target):
        def put(file):
            file[name] = target
        return put

    save("capture", "hostile-external-link",
         hostile(["router/000"], link("router/000", h5py.ExternalLink("../outside.h5", "/mean"))))
    save("capture", "hostile-external-group",
         hostile(["statistics"], link("statistics", h5py.ExternalLink("../outside.h5", "/"))))
    save("capture", "hostile-soft-link",
         hostile(["router/000"], link("router/000", h5py.SoftLink("/" + mean))))
    save("capture", "hostile-virtual", hostile([mean], put_virtual_mean))
    save("capture", "hostile-external-data", hostile([mean], put_external_mean))
    save("capture", "hostile-filter", hostile([SITE], put_filtered))
    save("capture", "hostile-deflate", hostile([SITE], lambda file: put_deflated(file, cut=5)))


def with_odd_site(file):
    """A capture whose site has a name that a terminal would obey."""
    packed(file)
    odd = "v\x1b[31m\n"
    for group in ("activations", "statistics"):
        file.move(f"{group}/values", f"{group}/{odd}")
    file.attrs.create("sites", [odd], dtype=h5py.string_dtype())


def make_captures():
    make_hostile_captures()
    save("capture", "odd-site", hdf5(with_odd_site))
    whole = hdf5(packed)
    save("capture", "packed", whole)
    save("capture", "half", hdf5(lambda file: packed(file, "<f2")))
    save("capture", "deflate", hostile([SITE], put_deflated))
    save("capture", "trailer", with_trailer(whole))
    save("capture", "wrong-trailer", with_trailer(whole)[:-100] + b"0" + with_trailer(whole)[-99:])
    save("capture", "early-format", hdf5(packed, "earliest"))
    part = hdf5(shard)
    over = hdf5(lambda file: master(file, len(part)))
    save("shards", "plain", struct.pack("<I", len(over)) + over + part)
    sealed = with_trailer(part)
    over = with_trailer(hdf5(lambda file: master(file, len(sealed))))
    save("shards", "trailers", struct.pack("<I", len(over)) + over + sealed)


def put_embeddings(file, points=4):
    file.attrs["format"] = "lime-embeddings"
    file.attrs["schema_version"] = np.int64(1)
    capture = file.create_group("captures/0")
    capture.attrs["label"] = "LIMe"
    rows = capture.create_group("rows")
    rows.create_dataset("row", data=np.arange(points, dtype="<i8"))
    for name in ("sequence", "position", "token"):
        rows.create_dataset(name, data=np.arange(points, dtype="<i4"))
    rows.create_dataset("class", data=np.array([0, 1, -1, 0], "<i2"))
    rows["class"].attrs.create("names", [" is", " are"], dtype=h5py.string_dtype())
    for layer in range(2):
        name = f"values/{layer:03}"
        capture.create_dataset(name, data=np.full((points, 2), layer, "<f4"))
        capture[name].attrs["kl_divergence"] = 0.5


def make_embeddings():
    save("embeddings", "two-layers", hdf5(put_embeddings))
    save("embeddings", "early-format", hdf5(put_embeddings, "earliest"))
    save("embeddings", "trailer", with_trailer(hdf5(put_embeddings)))


def make_chat_templates():
    """Those of the golden files, and what bounds must stop."""
    golden = CORPUS.parent.parent / "golden" / "chat_templates.json"
    for name, template in json.loads(golden.read_text())["templates"].items():
        save("chat_template", name.replace(" ", "-"), template)
    save("chat_template", "endless-macro",
         "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
    save("chat_template", "doubling",
         "{% set n = namespace(t='a') %}{% for i in range(99) %}{% set n.t = n.t ~ n.t %}{% endfor %}")
    save("chat_template", "brackets", "{{ " + "(" * 500 + "1" + ")" * 500 + " }}")


if __name__ == "__main__":
    make_safetensors()
    make_gguf()
    make_config()
    make_tokenizer_json()
    make_sentencepiece()
    make_merges()
    make_npy()
    make_pairs()
    make_views()
    make_tasks()
    make_samples()
    make_parts()
    make_edits()
    make_results()
    make_captures()
    make_embeddings()
    make_chat_templates()
