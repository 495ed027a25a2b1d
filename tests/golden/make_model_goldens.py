# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/model/<name>/: small random checkpoints and the output of transformers.

Run:  python make_model_goldens.py [NAME...]      (numpy, h5py, torch, transformers, safetensors)

Each folder contains config.json, model.safetensors and golden.h5: ids [batch, seq]; logits [batch,
seq, vocab] and hidden [1 + layers, batch, seq, hidden] (embeddings, then the residual stream after
each layer, before the final norm) in float64; and logits_float32 of unmodified transformers. RMSNorm
and the rotary angles, which transformers always computes in float32, are replaced by the same
formulas in float64. A comparison with logits_float32 verifies that nothing else changes.
"""

import json
import pathlib
import sys

import h5py
import numpy as np
import torch
import transformers
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

SEED = 20261121
HERE = pathlib.Path(__file__).parent
SMALL = dict(vocab_size=61, hidden_size=32, intermediate_size=56, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5, torch_dtype="float32",
             hidden_act="silu", bos_token_id=1, eos_token_id=2)

CONFIGS = {
    "llama-plain": dict(SMALL, model_type="llama", num_key_value_heads=4, rope_theta=10000.0,
                        max_position_embeddings=64, tie_word_embeddings=False),
    "llama-llama3-rope": dict(
        SMALL, model_type="llama", rope_theta=500000.0, max_position_embeddings=512,
        tie_word_embeddings=True,
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                          high_freq_factor=4.0, original_max_position_embeddings=32)),
    "llama-linear-rope": dict(
        SMALL, model_type="llama", rope_theta=10000.0, max_position_embeddings=128,
        tie_word_embeddings=False, head_dim=12, attention_bias=True, mlp_bias=True,
        rope_scaling=dict(rope_type="linear", factor=4.0)),
    "mistral-window": dict(SMALL, model_type="mistral", rope_theta=10000.0, sliding_window=7,
                           max_position_embeddings=64, head_dim=8, tie_word_embeddings=False),
    # transformers 5 loads it as Ministral.
    "mistral-layer-types": dict(
        SMALL, model_type="mistral", rope_theta=10000.0, sliding_window=7,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        max_position_embeddings=64, head_dim=8, tie_word_embeddings=False),
    "qwen2-plain": dict(SMALL, model_type="qwen2", rope_theta=1000000.0, use_sliding_window=False,
                        max_position_embeddings=64, tie_word_embeddings=True),
    "qwen2-window": dict(SMALL, model_type="qwen2", rope_theta=1000000.0, use_sliding_window=True,
                         sliding_window=5, max_window_layers=1, max_position_embeddings=64,
                         tie_word_embeddings=False),
}


def make_float64(model):
    """Converts the model to float64, including RMSNorm and rotary angles."""
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = rms_norm(module)
    rotary = model.model.rotary_emb
    frequencies = exact_frequencies(model.config)
    assert np.allclose(rotary.inv_freq.numpy(), frequencies.numpy(), rtol=1e-5)

    def forward(x, position_ids, *_, **__):
        angles = position_ids[..., None].double() * frequencies
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos(), angles.sin()

    rotary.forward = forward
    return model.double()


def rms_norm(module):
    def forward(x):
        return module.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)
                                                + module.variance_epsilon))
    return forward


def exact_frequencies(config):
    """Returns the inverse frequencies in float64, as documented in modeling_rope_utils.py."""
    rope = config.rope_parameters
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    freq = rope["rope_theta"] ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    if rope["rope_type"] == "linear":
        return freq / rope["factor"]
    if rope["rope_type"] == "llama3":
        context = rope["original_max_position_embeddings"]
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        wavelength = 2 * np.pi / freq
        smooth = (context / wavelength - low) / (high - low)
        blended = (1 - smooth) * freq / rope["factor"] + smooth * freq
        stretched = torch.where(wavelength > context / low, freq / rope["factor"], freq)
        medium = (wavelength >= context / high) & (wavelength <= context / low)
        return torch.where(medium, blended, stretched)
    return freq


def run(model, ids):
    """Returns logits and the residual stream before the final norm."""
    hidden = []
    hooks = [model.model.embed_tokens.register_forward_hook(lambda *a: hidden.append(a[2]))]
    for layer in model.model.layers:
        hooks.append(layer.register_forward_hook(
            lambda *a: hidden.append(a[2][0] if isinstance(a[2], tuple) else a[2])))
    with torch.no_grad():
        logits = model(ids, use_cache=False).logits
    for hook in hooks:
        hook.remove()
    return logits.numpy(), torch.stack(hidden).numpy()


def randomise(model):
    """Sets weights, biases and gains large enough that every part matters."""
    generator = torch.Generator().manual_seed(SEED)
    for name, parameter in model.named_parameters():
        drawn = torch.randn(parameter.shape, generator=generator)
        if name.endswith("norm.weight"):
            parameter.data = 1 + 0.2 * drawn
        elif name.endswith("bias"):
            parameter.data = 0.3 * drawn
        else:
            parameter.data = drawn * 0.8 / parameter.shape[1] ** 0.5


def main():
    for name in sys.argv[1:] or CONFIGS:
        settings = CONFIGS[name]
        folder = HERE / "model" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n")
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa",
                                                 dtype=torch.float32).eval()
        randomise(model)
        weights = {key: value.numpy().copy() for key, value in model.state_dict().items()}
        if config.tie_word_embeddings:
            del weights["lm_head.weight"]
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

        ids = torch.randint(0, config.vocab_size, (2, 40),
                            generator=torch.Generator().manual_seed(SEED + 1))
        logits_float32, _ = run(model, ids)
        logits, hidden = run(make_float64(model), ids)
        error = np.abs(logits - logits_float32).max()
        print(f"{name}: float32 differs by {error:.2g}, logits up to {np.abs(logits).max():.2f}")
        assert error < 2e-4
        with h5py.File(folder / "golden.h5", "w") as file:
            file["ids"] = ids.numpy().astype(np.int32)
            file["logits"] = logits
            file["logits_float32"] = logits_float32
            file["hidden"] = hidden
            file.attrs["made_by"] = "tests/golden/make_model_goldens.py"
            file.attrs["seed"] = SEED
            file.attrs["versions"] = (f"transformers {transformers.__version__}, "
                                      f"torch {torch.__version__}, numpy {np.__version__}")
            file.attrs["layout"] = ("ids [batch, seq]; logits [batch, seq, vocab]; hidden "
                                    "[1 + layers, batch, seq, hidden]; float64")


if __name__ == "__main__":
    main()
