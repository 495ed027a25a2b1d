# SPDX-License-Identifier: Apache-2.0
"""Compares a folder of lime-train with what Hugging Face's libraries make of it.

usage: check_with_transformers.py FOLDER

FOLDER holds a LLaMA, its tokenizer, `expressions.txt` and `expected.safetensors` with
`ids` [rows, tokens], those of the lines of expressions.txt, and `logits` [rows, tokens, vocab].
Exit status 0 if ids and logits are equal, 77 if a library is missing, 1 otherwise.
"""
import sys

try:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def main(folder):
    expected = load_file(f"{folder}/expected.safetensors")
    ids = expected["ids"].long()
    with open(f"{folder}/expressions.txt", encoding="utf-8") as lines:
        texts = lines.read().splitlines()

    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.bos_token == "<s>"
    assert tokenizer.eos_token == "</s>"
    assert tokenizer.pad_token == "<pad>"
    for text, row in zip(texts, ids.tolist(), strict=True):
        encoded = tokenizer(text)["input_ids"]
        assert encoded == row, f"{text!r}: {encoded} in place of {row}"
        assert tokenizer.decode(row, skip_special_tokens=True) == text
    try:
        tokenizer("7 * 3")
        raise AssertionError("a word outside the vocabulary must be an error")
    except AssertionError:
        raise
    except Exception as error:
        assert "WordLevel" in str(error), error

    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32)
    with torch.no_grad():
        logits = model(ids).logits
    difference = (logits - expected["logits"]).abs().max().item()
    print(f"transformers: largest difference of logits {difference:.3g}")
    assert difference < 2e-5, difference


if __name__ == "__main__":
    main(sys.argv[1])
