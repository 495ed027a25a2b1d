# SPDX-License-Identifier: Apache-2.0
"""Writes tuned_lens.h5: a tuned lens of tests/golden/model/llama-plain, computed by numpy and transformers.

The residual streams of sequences whose ids count from 0 come from forward hooks of
LlamaForCausalLM in float64. Each layer's map to the last layer is numpy.linalg.lstsq of the centred
streams above sqrt(ridge) times the identity, fitted to the sequences of the other parity; its
distribution is softmax(lm_head(norm(stream @ A + b))); that of the last layer is the final one.

    python make_tuned_lens_goldens.py        # requires h5py, numpy, torch, transformers, safetensors
"""
import json
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from safetensors.torch import load_file

FOLDER = Path(__file__).parent
LENGTHS = [9, 6, 8, 7, 10, 5, 9, 6]
RIDGE = 0.01


def fit(x, y):
    """Returns the map [hidden, hidden] and the offset of the ridge regression."""
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    penalty = np.sqrt(RIDGE * (x**2).sum() / x.shape[1])
    above = np.concatenate([x, penalty * np.eye(x.shape[1])])
    matrix = np.linalg.lstsq(above, np.concatenate([y, np.zeros((x.shape[1], y.shape[1]))]), rcond=None)[0]
    return matrix, mean_y - mean_x @ matrix


def measures(stream, final, ids, model):
    """Returns the means of the six measures over the tokens that have a next one."""
    logs = torch.log_softmax(model.lm_head(model.model.norm(torch.tensor(stream))), -1)[:-1]
    last = torch.log_softmax(model.lm_head(model.model.norm(torch.tensor(final))), -1)[:-1]
    next_ids = torch.tensor(ids[1:])
    right = logs.gather(1, next_ids[:, None])
    ranks = (logs > right).sum(1).double() + 1
    return [
        torch.nn.functional.kl_div(logs, last, log_target=True, reduction="batchmean").item(),
        torch.distributions.Categorical(logits=logs).entropy().mean().item(),
        (logs.argmax(1) == last.argmax(1)).double().mean().item(),
        torch.nn.functional.nll_loss(logs, next_ids).item(),
        ranks.mean().item(),
        (ranks == 1).double().mean().item(),
    ]


def main():
    torch.set_default_dtype(torch.float64)
    folder = FOLDER / "model" / "llama-plain"
    model = LlamaForCausalLM(LlamaConfig(**json.loads((folder / "config.json").read_text()))).double().eval()
    model.load_state_dict({name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()})
    streams = {layer: [] for layer in range(len(model.model.layers))}
    for layer, block in enumerate(model.model.layers):
        block.register_forward_hook(
            lambda _, __, out, layer=layer: streams[layer].append(
                (out[0] if isinstance(out, tuple) else out).reshape(-1, 32).float().double().numpy()
            )
        )
    ends = np.cumsum(LENGTHS)
    ids = [list(range(end - length, end)) for length, end in zip(LENGTHS, ends)]
    with torch.no_grad():
        for own in ids:
            model(torch.tensor([own]))
        last = streams[len(streams) - 1]
        expected = np.zeros((len(streams), 6, len(ids)))
        for layer, x in streams.items():
            for i in range(len(ids)):
                others = range(1 - i % 2, len(ids), 2)
                matrix, offset = fit(np.concatenate([x[o] for o in others]), np.concatenate([last[o] for o in others]))
                mapped = last[i] if x is last else x[i] @ matrix + offset
                expected[layer, :, i] = measures(mapped, last[i], ids[i], model)
    with h5py.File(FOLDER / "tuned_lens.h5", "w") as file:
        file.attrs["made_by"] = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "transformers"))
        file["lengths"] = np.array(LENGTHS, dtype=np.int64)
        for layer, x in streams.items():
            file[f"hidden/{layer}"] = np.concatenate(x).astype(np.float32)
            file[f"expected/{layer}"] = expected[layer].mean(1)


if __name__ == "__main__":
    main()
