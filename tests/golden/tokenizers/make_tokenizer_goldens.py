# SPDX-License-Identifier: Apache-2.0
"""Writes one <name>.json per kind of tokenizer: a small tokenizer.json, and the ids and texts that
Hugging Face's `tokenizers` produces with it for difficult texts.

The vocabularies are trained on the few texts below; patterns, normalizers, post-processors and
decoders are those of the named checkpoints. Requires the Python package tokenizers.

    python3 make_tokenizer_goldens.py

{"provenance": {...}, "tokenizer": <tokenizer.json>,
 "cases": [{"text", "ids", "with_special": ids with BOS and EOS, "decoded": of "ids"}, ...]}

"decoded" is absent if a text contains a token that Hugging Face matches in its normalized form: it
decodes to that form, and our tokenizer to the token.
"""
import json
import pathlib
import random
import unicodedata

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import trainers

from texts import HARD_TEXTS, PARTS, TRAINING_TEXTS

SEED = 20261121
RANDOM_TEXTS = 120

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
          r"|\s*[\r\n]|\s+(?!\S)|\s+")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(use_regex=False, add_prefix_space=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)


def train_byte_level(pre_tokenizer, special=("<|endoftext|>",), normalizer=None, size=640):
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TRAINING_TEXTS, trainer)
    return json.loads(tokenizer.to_str())


def train_byte_fallback(pre_tokenizer, size=900):
    """Returns a vocabulary as converted from SentencePiece: <unk>, <s>, </s>, bytes, then the rest."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if pre_tokenizer is None:
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
    else:
        tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False,
                                  special_tokens=["<unk>", "<s>", "</s>"] + BYTE_TOKENS)
    # Other scripts are out of vocabulary and encoded as bytes.
    known = [text for text in TRAINING_TEXTS if max(map(ord, text)) < 0x500]
    tokenizer.train_from_iterator(known, trainer)
    made = json.loads(tokenizer.to_str())
    made["added_tokens"] = made["added_tokens"][:3]
    add_merge(made, "▁", "▁")
    add_merge(made, "▁▁", "▁▁")
    made["normalizer"] = made["pre_tokenizer"] = None
    made["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    made["post_processor"] = template(made, before=["<s>"])
    return made


def add_merge(made, left, right):
    vocab = made["model"]["vocab"]
    vocab.setdefault(left + right, len(vocab))
    made["model"]["merges"].append([left, right])


def template(made, before=(), after=()):
    ids = {token["content"]: token["id"] for token in made["added_tokens"]}
    piece = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    single = [piece(n) for n in before] + [{"Sequence": {"id": "A", "type_id": 0}}]
    single += [piece(n) for n in after]
    pair = single + [{"Sequence": {"id": "B", "type_id": 1}}]
    names = {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in [*before, *after]}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": names}


def add_token(made, content, **flags):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": True, **flags}
    known = made["model"]["vocab"].get(content)
    vocab = made["model"]["vocab"].values()
    ids = [*vocab, *(token["id"] for token in made["added_tokens"])]
    made["added_tokens"].append(
        {"id": max(ids) + 1 if known is None else known, "content": content, **flags})


def gpt2():
    made = train_byte_level(byte_level(use_regex=True))
    made["model"]["merges"] = [" ".join(pair) for pair in made["model"]["merges"]]
    for spaces in (2, 3, 8):  # as in GPT-2 files converted for code
        add_token(made, " " * spaces, normalized=True, special=False)
    return made


def llama3():
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    made = train_byte_level(
        pre_tokenizers.Sequence([split(LLAMA3), byte_level()]), special)
    # Whole words that no merge produces; ignore_merges finds them.
    made["model"]["ignore_merges"] = True
    made["model"]["merges"] = made["model"]["merges"][:-60]
    made["post_processor"] = {"type": "Sequence", "processors": [
        made["post_processor"], template(made, before=["<|begin_of_text|>"])]}
    return made


def qwen2():
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    made = train_byte_level(pre_tokenizers.Sequence([split(QWEN2), byte_level()]), special,
                            normalizers.NFC())
    add_token(made, "<tool_call>", special=False)
    return made


def smollm2():
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return train_byte_level(pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), byte_level(use_regex=True)]), special)


def prefix_space():
    made = train_byte_level(byte_level(use_regex=True, add_prefix_space=True))
    made["post_processor"] = template(made, before=["<|endoftext|>"], after=["<|endoftext|>"])
    return made


def llama2():
    made = train_byte_fallback(pre_tokenizers.Metaspace())
    made["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    return made


def mistral():
    made = train_byte_fallback(pre_tokenizers.Metaspace())
    made["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                             "split": False}
    for name in ("[INST]", "[/INST]"):
        add_token(made, name)
    return made


def metaspace():
    """Metaspace that splits, its own decoder, and unknown characters without byte tokens."""
    made = train_byte_fallback(pre_tokenizers.Metaspace())
    made["model"]["byte_fallback"] = False
    made["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                             "split": True}
    made["decoder"] = made["pre_tokenizer"]
    return made


def phrases():
    """Merges across spaces, without a pre-tokenizer: words cannot be encoded separately."""
    made = train_byte_fallback(None, size=1100)
    made["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    return made


def gemma():
    made = train_byte_fallback(pre_tokenizers.Metaspace())
    made["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    made["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "},
                             "behavior": "MergedWithPrevious", "invert": False}
    made["decoder"]["decoders"].pop()
    add_token(made, "\n\n", normalized=False, special=False)
    return made


def deepseek():
    return train_byte_level(pre_tokenizers.Sequence(
        [split(r"\p{N}{1,3}"), split(r"[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level()]))


def behaviors():
    """The other pre-tokenizers in sequence, and added tokens with every flag."""
    made = train_byte_level(pre_tokenizers.Sequence([
        split("[xyz]+", "merged_with_previous"), split(r"-", "merged_with_next"),
        split(r"[,;]", "contiguous"), split(r"\p{Han}", "merged_with_next", True),
        split("qu?", "removed"), pre_tokenizers.Punctuation("isolated"),
        pre_tokenizers.Digits(individual_digits=False), byte_level()]),
        normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]))
    add_token(made, "<mask>", lstrip=True)
    add_token(made, "<sep>", rstrip=True)
    add_token(made, "Hello", single_word=True, special=False)
    add_token(made, "WORLD", normalized=True, special=False)
    add_token(made, "world wide", normalized=True, special=False)
    add_token(made, "<|wide|>", lstrip=True, rstrip=True, single_word=True)
    return made


def words():
    """Whitespace as in BERT-like tokenizers, after a clean-up by patterns."""
    made = train_byte_level(pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), byte_level()]))
    made["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "NFKD"}, {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": r"\p{Mn}+"}, "content": ""},
        {"type": "Replace", "pattern": {"Regex": r"\d\d"}, "content": "#"}]}
    return made


def word_level():
    """Whole words only, as in synthetic tasks."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(TRAINING_TEXTS, trainers.WordLevelTrainer(
        vocab_size=150, show_progress=False, special_tokens=["<unk>", "<s>"]))
    made = json.loads(tokenizer.to_str())
    made["post_processor"] = template(made, before=["<s>"])
    return made


def cl100k():
    return train_byte_level(pre_tokenizers.Sequence([split(CL100K), byte_level()]),
                            normalizer=normalizers.NFD())


def o200k():
    return train_byte_level(pre_tokenizers.Sequence([split(O200K), byte_level()]))


def random_texts():
    rng = random.Random(SEED)

    def character():
        while True:
            code = rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x300, 0xD800),
                               rng.randrange(0xE000, 0x30000)])
            # Letters of Unicode 15 and later are not in every PCRE2.
            if unicodedata.category(chr(code)) != "Cn":
                return chr(code)

    return ["".join(rng.choice(PARTS) if rng.random() < 0.9 else character()
                    for _ in range(rng.randrange(1, 14))) for _ in range(RANDOM_TEXTS)]


def write(name, made, texts):
    tokenizer = Tokenizer.from_str(json.dumps(made))
    lowered = {token["id"] for token in made["added_tokens"] if token["content"] == "WORLD"}
    cases = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        case = {"text": text, "ids": ids, "with_special": tokenizer.encode(text).ids}
        if not lowered.intersection(ids):
            case["decoded"] = tokenizer.decode(ids)
        cases.append(case)
    provenance = {"script": pathlib.Path(__file__).name, "seed": SEED,
                  "tokenizers": tokenizers.__version__, "unicode": unicodedata.unidata_version}
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path = pathlib.Path(__file__).with_name(f"{name}.json")
    path.write_text(
        f'{{"provenance": {json.dumps(provenance)},\n'
        f'"tokenizer": {json.dumps(made, ensure_ascii=False)},\n"cases": [\n{lines}\n]}}\n',
        encoding="utf-8", newline="\n")
    print(f"{path.name}: {len(made['model']['vocab'])} tokens, {path.stat().st_size >> 10} KiB")


def main():
    texts = HARD_TEXTS + random_texts()
    for make in (gpt2, llama3, qwen2, smollm2, prefix_space, llama2, mistral, metaspace, phrases,
                 gemma, deepseek, behaviors, words, word_level, cl100k, o200k):
        write(make.__name__, make(), texts)


if __name__ == "__main__":
    main()
