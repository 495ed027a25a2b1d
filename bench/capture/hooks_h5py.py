#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures with PyTorch hooks and h5py, as a researcher would, for compare_capture.py.

    hooks_h5py.py CHECKPOINT IDS.npy OUTPUT.h5 [--batch-size 8 --threads 4]
                  [--device cpu --dtype float32] [--transformers] [--bare-pass]

Runs a LLaMA as in transformers' eager implementation, with forward hooks on every v_proj and every
decoder layer, and appends each batch to HDF5 as float32 with h5py. On a GPU the hooks start copies
to pinned memory, which is reused for each batch, and wait for them after the pass. Prints one JSON
line: tokens per second from the first pass until the file is closed, and the peak memory (of
tensors on a GPU). Requires torch (any version), numpy and h5py, but not transformers.

--transformers runs transformers' own model (without its head, attention "sdpa") in place of that
LLaMA. --bare-pass also times the passes without hooks, before the others.
"""
import argparse
import json
import pathlib
import re
import resource
import struct
import sys
import time

import h5py
import numpy as np
import torch
from torch import nn


def chosen_device(name, program):
    """Returns the device of that name; exits with one line if it does not exist."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        sys.exit(f"{program}: device: must be cpu, cuda or cuda:N, got '{name}'")
    if name == "cpu":
        return torch.device("cpu")
    index = int(name.partition(":")[2] or 0)
    gpus = torch.cuda.device_count()
    if index >= gpus:
        sys.exit(f"{program}: device: '{name}' does not exist, torch has {gpus} GPUs; use cpu")
    return torch.device("cuda", index)


def finish_on(device):
    """Waits until the device has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory_bytes(device):
    """Returns the peak memory of tensors on a GPU, else of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def load_file(path):
    data = np.memmap(path, np.uint8, "r")
    size = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8:8 + size].tobytes())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        is_bfloat16 = entry["dtype"] == "BF16"
        values = np.frombuffer(data[begin:end].tobytes(), np.int16 if is_bfloat16 else np.float32)
        tensor = torch.from_numpy(values.reshape(entry["shape"]).copy())
        tensors[name] = tensor.view(torch.bfloat16) if is_bfloat16 else tensor
    return tensors


def load_tensors(folder):
    index = folder / "model.safetensors.index.json"
    files = ["model.safetensors"]
    if index.exists():
        files = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    return {name: tensor for file in files for name, tensor in load_file(folder / file).items()}


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(x.dtype)


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.dim = size // self.heads
        key_value_heads = config.get("num_key_value_heads", self.heads)
        self.heads_per_key = self.heads // key_value_heads
        self.q_proj, self.o_proj = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(size, key_value_heads * self.dim, bias=False)
                                    for _ in range(2))

    def forward(self, x, cos, sin, mask):
        batch, length, size = x.shape
        q, k, v = (projection(x).view(batch, length, -1, self.dim).transpose(1, 2)
                   for projection in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (y * cos + rotate_half(y) * sin for y in (q, k))
        if self.heads_per_key > 1:
            k, v = (y.repeat_interleave(self.heads_per_key, 1) for y in (k, v))
        if hasattr(nn.functional, "scaled_dot_product_attention"):
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / self.dim ** 0.5 + mask
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
        steps = torch.arange(0, dim, 2, device=ids.device).float()
        inverse = self.config["rope_theta"] ** (-steps / dim)
        angles = torch.outer(torch.arange(length, device=ids.device).float(), inverse)
        angles = torch.cat((angles, angles), -1)
        x = self.embed_tokens(ids)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        lowest = torch.finfo(x.dtype).min
        mask = torch.full((length, length), lowest, dtype=x.dtype, device=ids.device).triu(1)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return nn.functional.linear(self.norm(x), self.embed_tokens.weight)


def load_model(folder, device, dtype):
    config = json.loads((folder / "config.json").read_text())
    model = Model(config).to(device, dtype)
    tensors = load_tensors(folder)
    model.load_state_dict({name[len("model."):]: value for name, value in tensors.items()})
    return model.eval()


class Transformers(nn.Module):
    """transformers' model of a folder, with the members of Model that the recorder needs."""

    def __init__(self, folder, device, dtype):
        super().__init__()
        import transformers
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="sdpa").to(device).eval()
        self.inner, self.layers = model.model, model.model.layers
        self.config = model.config.to_dict()

    def forward(self, ids):
        return self.inner(input_ids=ids, use_cache=False)


class Recorder:
    """Forward hooks on values and hidden states, and their datasets."""

    def __init__(self, model, file):
        self.datasets, self.rows, self.pinned = {}, {}, {}
        for index, layer in enumerate(model.layers):
            v_proj = layer.self_attn.v_proj
            for site, module, size in (("values", v_proj, v_proj.out_features),
                                       ("hidden", layer, model.config["hidden_size"])):
                name = f"activations/{site}/{index:03}"
                self.datasets[name] = file.create_dataset(
                    name, (0, size), "f4", maxshape=(None, size), chunks=(341, size))
                module.register_forward_hook(
                    lambda _module, _inputs, output, name=name: self.keep(name, output))

    def keep(self, name, output):
        hidden = output[0] if isinstance(output, tuple) else output
        rows = hidden.flatten(0, 1).float()
        self.rows[name] = self.copied(name, rows) if rows.is_cuda else rows

    def copied(self, name, rows):
        """Returns a copy in pinned memory, valid once the GPU has reached this point."""
        host = self.pinned.get(name)
        if host is None or host.shape != rows.shape:
            host = self.pinned[name] = torch.empty(rows.shape, pin_memory=True)
        return host.copy_(rows, non_blocking=True)

    def write(self):
        """Appends the batch. Call after the device has finished the pass."""
        for name, rows in self.rows.items():
            dataset = self.datasets[name]
            dataset.resize(len(dataset) + len(rows), 0)
            dataset[-len(rows):] = rows.numpy()
        self.rows.clear()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("ids", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--transformers", action="store_true", help="run transformers' model")
    parser.add_argument("--bare-pass", action="store_true", help="also time passes without hooks")
    return parser.parse_args()


def bare_seconds(model, ids, batch_size, device):
    start = time.perf_counter()
    for batch in ids.split(batch_size):
        model(batch.to(device, non_blocking=True))
    finish_on(device)
    return time.perf_counter() - start


def main():
    arguments = parse_arguments()
    device = chosen_device(arguments.device, "hooks_h5py")
    torch.set_num_threads(arguments.threads)
    load = Transformers if arguments.transformers else load_model
    model = load(arguments.checkpoint, device, getattr(torch, arguments.dtype))
    ids = torch.from_numpy(np.load(arguments.ids).astype(np.int64))
    if device.type == "cuda":
        ids = ids.pin_memory()
    with torch.no_grad():
        model(ids[:arguments.batch_size].to(device))  # exclude one-time costs
        finish_on(device)
        bare = {}
        if arguments.bare_pass:
            seconds = bare_seconds(model, ids, arguments.batch_size, device)
            bare["bare_tokens_per_second"] = ids.numel() / seconds
        with h5py.File(arguments.output, "w") as file:
            recorder = Recorder(model, file)
            start = time.perf_counter()
            for batch in ids.split(arguments.batch_size):
                model(batch.to(device, non_blocking=True))
                finish_on(device)
                recorder.write()
        seconds = time.perf_counter() - start
    print(json.dumps({
        "tokens_per_second": ids.numel() / seconds,
        **bare,
        "peak_memory_bytes": peak_memory_bytes(device),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
