#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a LLaMA with random weights and random token ids for the capture benchmarks.

    make_checkpoint.py FOLDER [--layers 12 --hidden 768 --sequences 48 --length 512]

Needs numpy only. The same arguments give the same bytes.
"""
import argparse
import json
import pathlib
import struct

import numpy as np

SEED = 20260101


def parameter_shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (hidden,)
        for name in "qkvo":
            yield prefix + f"self_attn.{name}_proj.weight", (hidden, hidden)
        yield prefix + "post_attention_layernorm.weight", (hidden,)
        yield prefix + "mlp.gate_proj.weight", (inner, hidden)
        yield prefix + "mlp.up_proj.weight", (inner, hidden)
        yield prefix + "mlp.down_proj.weight", (hidden, inner)
    yield "model.norm.weight", (hidden,)


def write_safetensors(path, config):
    generator = np.random.default_rng(SEED)
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    shapes = list(parameter_shapes(config))
    for name, shape in shapes:
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in shapes:
            if len(shape) == 1:
                file.write(np.ones(shape, np.float32).tobytes())
            else:
                file.write((0.02 * generator.standard_normal(shape, np.float32)).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--sequences", type=int, default=48)
    parser.add_argument("--length", type=int, default=512)
    arguments = parser.parse_args()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": 50257,
        "hidden_size": arguments.hidden,
        "intermediate_size": arguments.hidden * 8 // 3,
        "num_hidden_layers": arguments.layers,
        "num_attention_heads": arguments.hidden // 64,
        "num_key_value_heads": arguments.hidden // 64,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    }
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(arguments.folder / "model.safetensors", config)
    (arguments.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    ids = np.random.default_rng(SEED + 1).integers(
        0, config["vocab_size"], (arguments.sequences, arguments.length), dtype=np.int32)
    np.save(arguments.folder / "ids.npy", ids)


if __name__ == "__main__":
    main()
