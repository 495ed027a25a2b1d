#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares encoding text: lime-bench-tokenizer and Hugging Face's tokenizers, in one run.

usage: compare_tokenizer.py [--program build/release/bin/lime-bench-tokenizer]
                            [--tokenizer ../shared/tokenizers/gpt2] [--repeats 5] TEXT...

First compares the ids of every text with `tokenizers` and fails if one differs. Then measures
alternately, with one thread each. `tokenizers` receives the texts in pieces of a document's length,
which it encodes faster than whole books; encode_batch_fast, with its own threads, is its fastest
mode. Requires the Python package tokenizers.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path("build/release/bin/lime-bench-tokenizer")
TOKENIZER = pathlib.Path("../shared/tokenizers/gpt2")
PIECE = 4000  # characters


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=pathlib.Path, metavar="TEXT")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=TOKENIZER)
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def run(options, *more):
    command = [options.program, "--checkpoint", options.tokenizer, *more, "--texts", *options.texts]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def our_ids(options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ids"
        run(options, "--repeats", "1", "--ids", path)
        data = path.read_bytes()
    offset = 0
    while offset < len(data):
        (count,) = struct.unpack_from("<i", data, offset)
        yield list(struct.unpack_from(f"<{count}i", data, offset + 4))
        offset += 4 + 4 * count


def compare(options, tokenizer, texts):
    """Prints the first token that differs; returns True if none does."""
    equal = True
    for path, text, ids in zip(options.texts, texts, our_ids(options), strict=True):
        expected = tokenizer.encode(text, add_special_tokens=False).ids
        if ids == expected:
            continue
        equal = False
        place = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b),
                     min(len(ids), len(expected)))
        print(f"{path}: ids differ from token {place} on: {ids[place:place + 4]} here, "
              f"{expected[place:place + 4]} in tokenizers", file=sys.stderr)
    return equal


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    options = parse_arguments()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(options.tokenizer / "tokenizer.json"))
    texts = [path.read_bytes().decode() for path in options.texts]
    megabytes = sum(path.stat().st_size for path in options.texts) * 1e-6
    if not compare(options, tokenizer, texts):
        return 1
    print(f"ids of {len(texts)} texts, {megabytes:.1f} MB: equal to tokenizers "
          f"{tokenizers.__version__}")
    pieces = [text[i:i + PIECE] for text in texts for i in range(0, len(text), PIECE)]
    speeds = {"lime, first call": [], "lime": [], "tokenizers, one thread": [],
              "tokenizers, its threads": []}
    for _ in range(options.repeats):
        ours = json.loads(run(options, "--repeats", "1", "--json"))
        speeds["lime, first call"].append(ours["first_megabytes_per_second"])
        speeds["lime"].append(ours["megabytes_per_second_and_thread"])
        speeds["tokenizers, one thread"].append(
            megabytes / timed(lambda: [tokenizer.encode(piece) for piece in pieces]))
        speeds["tokenizers, its threads"].append(
            megabytes / timed(lambda: tokenizer.encode_batch_fast(pieces)))
    for name, values in speeds.items():
        print(f"{name:<24} {statistics.median(values):7.1f} MB/s "
              f"(median of {len(values)}, {min(values):.1f} to {max(values):.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
