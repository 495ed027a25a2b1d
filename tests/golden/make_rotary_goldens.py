# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/rotary_frequencies.json: inverse frequencies of transformers in float32.

Run:  python make_rotary_goldens.py      (torch, transformers)

A list with one object per case: `config` (keys of a LLaMA's config.json), `length` of the sequence,
and `frequencies`, the values of ROPE_INIT_FUNCTIONS of modeling_rope_utils.py. They are float32,
printed with the digits that identify them.
"""

import json
import pathlib

import numpy as np
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

HERE = pathlib.Path(__file__).parent
HEAD_DIM = 64
HALF = HEAD_DIM // 2
CASES = [
    (dict(rope_type="default", rope_theta=100000.0), 512),
    (dict(rope_type="default", rope_theta=1000000.0), 512),
    (dict(rope_type="linear", rope_theta=10000.0, factor=2.7), 512),
    (dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0), 3000),
    (dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
          high_freq_factor=4.0, original_max_position_embeddings=512), 512),
    (dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
          original_max_position_embeddings=512), 512),
    (dict(rope_type="longrope", rope_theta=10000.0, factor=4.0,
          short_factor=[1.0 + 0.01 * i for i in range(HALF)],
          long_factor=[1.0 + 0.37 * i for i in range(HALF)],
          original_max_position_embeddings=512), 600),
]


def frequencies(config, length):
    """The buffer of the module after a forward pass over `length` tokens."""
    module = LlamaRotaryEmbedding(config)
    module(torch.zeros(1, length, 1), torch.arange(length)[None])
    return [float(str(value)) for value in module.inv_freq.numpy()]


def main():
    cases = []
    for rope, length in CASES:
        keys = dict(vocab_size=8, hidden_size=2 * HEAD_DIM, intermediate_size=8,
                    num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                    head_dim=HEAD_DIM, max_position_embeddings=2048, rms_norm_eps=1e-6)
        config = LlamaConfig(**keys, rope_parameters=dict(rope))
        values = frequencies(config, length)
        assert np.float32(values).dtype == np.float32 and len(values) == HALF
        cases.append(dict(config=dict(keys, model_type="llama", rope_parameters=rope),
                          length=length, frequencies=values))
    text = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "rotary_frequencies.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
