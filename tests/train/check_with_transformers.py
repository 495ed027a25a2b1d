# SPDX-License-Identifier: Apache-2.0
"""Compares the ids and logits of a lime-train folder with those of Hugging Face's libraries.

usage: check_with_transformers.py FOLDER words|pieces

FOLDER contains a model, its tokenizer, `texts.json` and `expected.safetensors` with, for each text I,
`ids.I` [1, tokens] and `logits.I` [1, tokens, vocab]. A word-level tokenizer refuses unknown words.
Exit status 0 if ids and logits are equal, 77 if a library is missing, 1 otherwise.
"""
import json
import sys

try:
    import torch
    import transformers
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def main(folder, kind):
    expected = load_file(f"{folder}/expected.safetensors")
    with open(f"{folder}/texts.json", encoding="utf-8") as file:
        texts = json.load(file)

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32)
    assert tokenizer.bos_token == "<s>"
    assert tokenizer.eos_token == "</s>"
    difference = 0.0
    wrong = []
    for index, text in enumerate(texts):
        ids = expected[f"ids.{index}"].long()
        encoded = tokenizer(text)["input_ids"]
        if encoded != ids[0].tolist():
            wrong.append(f"{text!r}: {encoded} instead of {ids[0].tolist()}")
        if kind == "words":
            assert tokenizer.decode(ids[0], skip_special_tokens=True) == text
        with torch.no_grad():
            logits = model(ids).logits
        difference = max(difference, (logits - expected[f"logits.{index}"]).abs().max().item())
    assert not wrong, f"{len(wrong)} of {len(texts)} texts differ:\n" + "\n".join(wrong)
    if kind == "words":
        assert tokenizer.pad_token == "<pad>"
        try:
            tokenizer("not-a-word")
        except Exception as error:
            assert "WordLevel" in str(error), error
        else:
            raise AssertionError("a word outside the vocabulary must be an error")
    print(f"transformers: largest difference of logits {difference:.3g}")
    assert difference < 2e-5, difference


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
