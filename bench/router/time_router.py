#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time of lime-metrics router for a deep checkpoint.

usage: time_router.py [--program build/release/bin/lime-metrics] [--layers 128] [--hidden 64]
                      [--heads 8] [--repeats 5]

Writes a LIMe with random weights to a temporary folder and prints the median wall time for every
--detail. Requires numpy.
"""
import argparse
import json
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parameter_shapes(options):
    hidden, inner = options.hidden, 4 * options.hidden
    yield "model.embed_tokens.weight", (128, hidden)
    for layer in range(options.layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (hidden,)
        for name in "qkvo":
            yield prefix + f"self_attn.{name}_proj.weight", (hidden, hidden)
        if layer > 0:
            shape = (options.heads, (layer + 1) * options.heads)
            yield prefix + "self_attn.lime_router.static_weights", shape
        yield prefix + "post_attention_layernorm.weight", (hidden,)
        yield prefix + "mlp.gate_proj.weight", (inner, hidden)
        yield prefix + "mlp.up_proj.weight", (inner, hidden)
        yield prefix + "mlp.down_proj.weight", (hidden, inner)
    yield "model.norm.weight", (hidden,)


def write_checkpoint(folder, options):
    config = {"model_type": "lime", "vocab_size": 128, "hidden_size": options.hidden,
              "intermediate_size": 4 * options.hidden, "num_hidden_layers": options.layers,
              "num_attention_heads": options.heads, "num_key_value_heads": options.heads,
              "tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    generator = np.random.default_rng(1)
    header, offset, shapes = {}, 0, list(parameter_shapes(options))
    for name, shape in shapes:
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in shapes:
            file.write(generator.standard_normal(shape, np.float32).tobytes())
    return offset


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/bin/lime-metrics")
    parser.add_argument("--layers", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        size = write_checkpoint(folder, options)
        print(f"{options.layers} layers, {options.heads} heads, {size / 1e6:.0f} MB of weights")
        for detail in ["layers", "heads", "weights"]:
            for form in ["table", "json"]:
                seconds = []
                for _ in range(options.repeats):
                    start = time.perf_counter()
                    subprocess.run([options.program, "router", folder, "--detail", detail,
                                    "--format", form], check=True, stdout=subprocess.DEVNULL)
                    seconds.append(time.perf_counter() - start)
                print(f"--detail {detail} --format {form}: {statistics.median(seconds):.3f} s")


if __name__ == "__main__":
    main()
