#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a random checkpoint for benchmarks of speed and memory. Requires only NumPy.

Default: 1.1 billion parameters, as the paper's large model: width 2048, 16 layers, feed-forward
8192, 32 heads, 8 key-value heads, vocabulary 50257, tied embeddings, bfloat16, in shards of at most
1 GiB. --ids also writes random token ids. The same arguments give the same bytes.

    python3 bench/make_checkpoint.py out/scale/llama
    python3 bench/make_checkpoint.py out/scale/first-4 --decoder lime --router first-4
    python3 bench/make_checkpoint.py out/small --hidden 768 --inner 2048 --layers 12 --heads 12 \\
        --kv-heads 12 --dtype float32 --ids 48 512
"""
import argparse
import json
import os
import struct

import numpy


DTYPES = {"bfloat16": ("BF16", 2), "float32": ("F32", 4)}


def encode(values, dtype):
    """Returns float32 as little-endian bytes of the file; bfloat16 rounds to nearest even."""
    if dtype == "float32":
        return values.astype("<f4").tobytes()
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def tensor_shapes(args):
    """Returns names and shapes in Hugging Face's order."""
    head_dim = args.hidden // args.heads
    kv = args.kv_heads * head_dim
    yield "model.embed_tokens.weight", (args.vocab, args.hidden)
    for layer in range(args.layers):
        name = f"model.layers.{layer}."
        yield name + "self_attn.q_proj.weight", (args.hidden, args.hidden)
        yield name + "self_attn.k_proj.weight", (kv, args.hidden)
        yield name + "self_attn.v_proj.weight", (kv, args.hidden)
        yield name + "self_attn.o_proj.weight", (args.hidden, args.hidden)
        if args.decoder == "lime" and layer > 0:
            yield name + "self_attn.lime_router.static_weights", (
                args.kv_heads, num_sources(args, layer) * args.kv_heads)
        yield name + "mlp.gate_proj.weight", (args.inner, args.hidden)
        yield name + "mlp.up_proj.weight", (args.inner, args.hidden)
        yield name + "mlp.down_proj.weight", (args.hidden, args.inner)
        yield name + "input_layernorm.weight", (args.hidden,)
        yield name + "post_attention_layernorm.weight", (args.hidden,)
    yield "model.norm.weight", (args.hidden,)


def num_sources(args, layer):
    """Returns the buffers that a layer's router reads."""
    kind, _, number = args.router.partition("-")
    if kind == "full":
        return layer + 1
    if kind == "last":
        return min(int(number), layer + 1)
    if kind == "first":  # the first J layers and the previous one
        return min(int(number) + 1, layer + 1)
    raise SystemExit(f"--router: expected full, last-J or first-J, got '{args.router}'")


def draw(name, shape, random):
    if "norm" in name:
        return numpy.ones(shape, numpy.float32)
    return random.standard_normal(shape, numpy.float32) * numpy.float32(0.02)


def write_shard(path, tensors, dtype, random):
    name_in_file, width = DTYPES[dtype]
    header, offset = {}, 0
    for name, shape in tensors:
        size = width * int(numpy.prod(shape))
        header[name] = {"dtype": name_in_file, "shape": list(shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors:
            file.write(encode(draw(name, shape, random), dtype))
    return offset


def split(tensors, width, limit):
    shards, size = [[]], 0
    for name, shape in tensors:
        bytes_ = width * int(numpy.prod(shape))
        if shards[-1] and size + bytes_ > limit:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += bytes_
    return shards


def write_config(args):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": args.decoder, "hidden_act": "silu",
        "hidden_size": args.hidden, "intermediate_size": args.inner,
        "num_hidden_layers": args.layers, "num_attention_heads": args.heads,
        "num_key_value_heads": args.kv_heads, "vocab_size": args.vocab,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "torch_dtype": args.dtype}
    if args.decoder == "lime":
        kind, _, number = args.router.partition("-")
        config["lime"] = {"router": kind, "j": int(number or 0)}
    with open(os.path.join(args.folder, "config.json"), "w") as file:
        json.dump(config, file, indent=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--decoder", choices=["llama", "lime"], default="llama")
    parser.add_argument("--router", default="full", help="full, last-J or first-J")
    for name, default in (("hidden", 2048), ("inner", 8192), ("layers", 16), ("heads", 32),
                          ("kv-heads", 8), ("vocab", 50257), ("seed", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bfloat16")
    parser.add_argument("--shard-bytes", type=int, default=1 << 30)
    parser.add_argument("--ids", type=int, nargs=2, metavar=("SEQUENCES", "LENGTH"),
                        help="write ids.npy of this shape")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    write_config(args)
    random = numpy.random.default_rng(args.seed)
    width = DTYPES[args.dtype][1]
    shards = split(list(tensor_shapes(args)), width, args.shard_bytes)
    index, total = {}, 0
    for i, tensors in enumerate(shards):
        whole = len(shards) == 1
        file = f"model{'' if whole else f'-{i + 1:05d}-of-{len(shards):05d}'}.safetensors"
        total += write_shard(os.path.join(args.folder, file), tensors, args.dtype, random)
        index.update({name: file for name, _ in tensors})
    if len(shards) > 1:
        with open(os.path.join(args.folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"metadata": {"total_size": total}, "weight_map": index}, file)
    if args.ids:
        ids = numpy.random.default_rng(args.seed + 1).integers(0, args.vocab, args.ids, numpy.int32)
        numpy.save(os.path.join(args.folder, "ids.npy"), ids)
    print(f"{args.folder}: {total // width:,} parameters in {len(shards)} files, {total / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
