#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of the capture benchmark: what a researcher writes with PyTorch hooks and h5py.

    hooks_h5py.py CHECKPOINT IDS.npy OUTPUT.h5 [--batch-size 8 --threads 4]

A LLaMA as transformers' eager implementation computes it, forward hooks on every v_proj and every
decoder layer, each batch appended to HDF5 with h5py. Prints one JSON line: tokens per second from
the first pass until the file is closed, and the peak memory. Needs torch (any version), numpy,
h5py; no transformers.
"""
import argparse
import json
import pathlib
import resource
import struct
import time

import h5py
import numpy as np
import torch
from torch import nn


def load_tensors(path):
    data = np.memmap(path, np.uint8, "r")
    size = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8:8 + size].tobytes())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end].tobytes(), np.float32).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(size, size, bias=False) for _ in range(4))

    def forward(self, x, cos, sin, mask):
        batch, length, size = x.shape
        split = (batch, length, self.heads, size // self.heads)
        q, k, v = (projection(x).view(split).transpose(1, 2)
                   for projection in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (y * cos + rotate_half(y) * sin for y in (q, k))
        if hasattr(nn.functional, "scaled_dot_product_attention"):
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / split[-1] ** 0.5 + mask
            out = scores.softmax(-1) @ v
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, size))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        size, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = nn.Linear(size, inner, bias=False)
        self.up_proj = nn.Linear(size, inner, bias=False)
        self.down_proj = nn.Linear(inner, size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), MLP(config)
        self.input_layernorm, self.post_attention_layernorm = (
            RMSNorm(config["hidden_size"], config["rms_norm_eps"]) for _ in range(2))

    def forward(self, x, cos, sin, mask):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])

    def forward(self, ids):
        length = ids.shape[1]
        dim = self.config["hidden_size"] // self.config["num_attention_heads"]
        inverse = self.config["rope_theta"] ** (-torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(length).float(), inverse)
        angles = torch.cat((angles, angles), -1)
        mask = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin(), mask)
        return nn.functional.linear(self.norm(x), self.embed_tokens.weight)


def load_model(folder):
    config = json.loads((folder / "config.json").read_text())
    model = Model(config)
    tensors = load_tensors(folder / "model.safetensors")
    model.load_state_dict({name[len("model."):]: value for name, value in tensors.items()})
    return model.eval()


class Recorder:
    """Forward hooks on values and hidden states, and the datasets they go to."""

    def __init__(self, model, file):
        self.datasets, self.rows, size = {}, {}, model.config["hidden_size"]
        for index, layer in enumerate(model.layers):
            for site, module in (("values", layer.self_attn.v_proj), ("hidden", layer)):
                name = f"activations/{site}/{index:03}"
                self.datasets[name] = file.create_dataset(
                    name, (0, size), "f4", maxshape=(None, size), chunks=(341, size))
                module.register_forward_hook(
                    lambda _module, _inputs, output, name=name: self.keep(name, output))

    def keep(self, name, output):
        self.rows[name] = output.flatten(0, 1).numpy()

    def write(self):
        for name, rows in self.rows.items():
            dataset = self.datasets[name]
            dataset.resize(len(dataset) + len(rows), 0)
            dataset[-len(rows):] = rows
        self.rows.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("ids", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=4)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = load_model(arguments.checkpoint)
    ids = torch.from_numpy(np.load(arguments.ids).astype(np.int64))
    with torch.no_grad():
        model(ids[:1])  # first-use costs are not the peer's fault
        with h5py.File(arguments.output, "w") as file:
            recorder = Recorder(model, file)
            start = time.perf_counter()
            for batch in ids.split(arguments.batch_size):
                model(batch)
                recorder.write()
        seconds = time.perf_counter() - start
    print(json.dumps({
        "tokens_per_second": ids.numel() / seconds,
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
