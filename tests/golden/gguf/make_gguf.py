# SPDX-License-Identifier: Apache-2.0
"""Writes the goldens of GGUF files: blocks.json, and ARCHITECTURE.gguf beside ARCHITECTURE/ with the same model.

blocks.json has, per quantised type, random blocks and the float32 values that the package `gguf` gives,
both as hexadecimal bytes.
The models with experts in blocks of a quantised type have weights that this type represents exactly.
The models are random and tiny, made by transformers, and written to GGUF as llama.cpp's
convert_hf_to_gguf.py would. Where transformers itself reads the architecture from GGUF, the script checks
that its weights are those of the folder.

    pip install torch transformers gguf
    python make_gguf.py [OUTPUT [ARCHITECTURE...]]
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

OUTPUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
PROVENANCE = f"make_gguf.py, gguf {version('gguf')}, numpy {np.__version__}, " \
    f"transformers {transformers.__version__}, torch {torch.__version__}"
NUM_BLOCKS = 8

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
         "IQ4_NL", "IQ4_XS", "MXFP4"]
# Where a block has its float16 numbers, which random bytes would make infinite.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
          "MXFP4": []}


def write_blocks():
    generator = np.random.default_rng(7)
    result = {"provenance": PROVENANCE}
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = generator.integers(0, 256, (NUM_BLOCKS, size), dtype=np.uint8)
        for place in HALVES[name]:
            scales = (generator.standard_normal(NUM_BLOCKS) * 0.05).astype(np.float16)
            scales[0] = np.float16(6e-8)  # the smallest subnormal number
            blocks[:, place:place + 2] = scales.view(np.uint8).reshape(NUM_BLOCKS, 2)
        if name == "MXFP4":
            blocks[:, 0] = generator.integers(100, 140, NUM_BLOCKS)
            blocks[:3, 0] = [0, 1, 2]
        values = gguf.quants.dequantize(blocks, kind).astype("<f4")
        result[name] = {"blocks": blocks.tobytes().hex(), "values": values.tobytes().hex()}
    (OUTPUT / "blocks.json").write_text(json.dumps(result, indent=1) + "\n")


SIZES = dict(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
             pad_token_id=None, tie_word_embeddings=False)
HEADS = dict(head_dim=8)
ROPE = {"rope_type": "default", "rope_theta": 50000.0}
# transformers' config of each architecture, and the metadata that its sizes do not give.
MODELS = {
    "llama": ("llama", dict(SIZES, rope_parameters=ROPE, rms_norm_eps=1e-5), {}),
    "qwen2": ("qwen2", dict(SIZES, rope_parameters=ROPE, tie_word_embeddings=True), {}),
    "qwen3": ("qwen3", dict(SIZES, head_dim=12, rope_parameters=ROPE), {}),
    "smollm3": ("smollm3", dict(SIZES, num_hidden_layers=4, rope_parameters=ROPE), {}),
    "olmo2": ("olmo2", dict(SIZES, rope_parameters=ROPE), {}),
    "phi3": ("phi3", dict(SIZES, sliding_window=16, original_max_position_embeddings=32,
                          rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0,
                                           "short_factor": [1.0, 1.5, 2.0, 3.0],
                                           "long_factor": [1.0, 2.5, 4.0, 8.0]}),
             {"attention.sliding_window": 16, "rope.scaling.original_context_length": 32}),
    "gemma": ("gemma", dict(SIZES, **HEADS, rope_parameters=ROPE, tie_word_embeddings=True), {}),
    "gemma2": ("gemma2", dict(SIZES, **HEADS, rope_parameters=ROPE, tie_word_embeddings=True, sliding_window=8,
                              query_pre_attn_scalar=8),
               {"attention.sliding_window": 8, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}),
    "gemma3": ("gemma3_text", dict(SIZES, **HEADS, tie_word_embeddings=True, sliding_window=8,
                                   query_pre_attn_scalar=8,
                                   rope_parameters={"full_attention": ROPE, "sliding_attention":
                                                    {"rope_type": "default", "rope_theta": 10000.0}}),
               {"attention.sliding_window": 8}),
    "granite": ("granite", dict(SIZES, rope_parameters=ROPE, attention_multiplier=0.25, embedding_multiplier=6.0,
                                residual_multiplier=0.5, logits_scaling=4.0),
                {"attention.scale": 0.25, "embedding_scale": 6.0, "residual_scale": 0.5, "logit_scale": 4.0}),
    "gptneox": ("gpt_neox", dict(SIZES, rope_parameters={**ROPE, "partial_rotary_factor": 0.5}),
                {"use_parallel_residual": True}),
    "gpt2": ("gpt2", dict(vocab_size=40, n_embd=32, n_inner=48, n_layer=2, n_head=4, n_positions=64,
                          bos_token_id=1, eos_token_id=2), {}),
    "olmo": ("olmo", dict(SIZES, rope_parameters=ROPE, clip_qkv=8.0), {"attention.clamp_kqv": 8.0}),
    "phi2": ("phi", dict(SIZES, rope_parameters={**ROPE, "partial_rotary_factor": 0.5}), {}),
    "exaone": ("exaone", dict(SIZES, rope_parameters=ROPE), {}),
    "exaone4": ("exaone4", dict(SIZES, rope_parameters=ROPE, sliding_window=8,
                                layer_types=["sliding_attention", "full_attention"]),
                {"attention.sliding_window": 8, "attention.sliding_window_pattern": [True, False]}),
    "seed_oss": ("seed_oss", dict(SIZES, **HEADS, rope_parameters=ROPE), {}),
    "arcee": ("arcee", dict(SIZES, rope_parameters=ROPE), {}),
    "jais2": ("jais2", dict(SIZES, rope_parameters=ROPE), {}),
    "starcoder2": ("starcoder2", dict(SIZES, rope_parameters=ROPE), {}),
    "hunyuan-dense": ("hunyuan_v1_dense", dict(SIZES, **HEADS, rope_parameters=ROPE), {}),
    "ernie4_5": ("ernie4_5", dict(SIZES, **HEADS, rope_parameters=ROPE, tie_word_embeddings=True), {}),
    "glm4": ("glm4", dict(SIZES, **HEADS, rope_parameters={**ROPE, "partial_rotary_factor": 0.5}), {}),
    "command-r": ("cohere", dict(SIZES, rope_parameters=ROPE, logit_scale=0.25, use_qk_norm=True,
                                 tie_word_embeddings=True), {"logit_scale": 0.25}),
    "cohere2": ("cohere2", dict(SIZES, num_hidden_layers=4, rope_parameters=ROPE, logit_scale=0.25,
                                sliding_window=8, tie_word_embeddings=True),
                {"logit_scale": 0.25, "attention.sliding_window": 8}),
    "stablelm": ("stablelm", dict(SIZES, rope_parameters={**ROPE, "partial_rotary_factor": 0.25},
                                  use_qkv_bias=True), {"use_parallel_residual": False}),
    "falcon": ("falcon", dict(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                              num_kv_heads=2, new_decoder_architecture=True, max_position_embeddings=2048,
                              bos_token_id=1, eos_token_id=2), {}),
    "starcoder": ("gpt_bigcode", dict(vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1,
                                      eos_token_id=2), {}),
    "mixtral": ("mixtral", dict(SIZES, rope_parameters=ROPE, num_local_experts=4, num_experts_per_tok=2),
                {"expert_count": 4, "expert_used_count": 2}),
    "olmoe": ("olmoe", dict(SIZES, rope_parameters=ROPE, num_experts=4, num_experts_per_tok=3),
              {"expert_count": 4, "expert_used_count": 3}),
    "qwen2moe": ("qwen2_moe", dict(SIZES, rope_parameters=ROPE, num_experts=4, num_experts_per_tok=2,
                                   moe_intermediate_size=32, shared_expert_intermediate_size=64),
                 {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32,
                  "expert_shared_feed_forward_length": 64}),
    "qwen3moe": ("qwen3_moe", dict(SIZES, head_dim=12, rope_parameters=ROPE, num_experts=4, num_experts_per_tok=2,
                                   moe_intermediate_size=16, norm_topk_prob=True),
                 {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 16}),
    "granitemoe": ("granitemoe", dict(SIZES, rope_parameters=ROPE, attention_multiplier=0.25, residual_multiplier=0.5,
                                      embedding_multiplier=6.0, logits_scaling=4.0, num_local_experts=4,
                                      num_experts_per_tok=2, tie_word_embeddings=True),
                   {"attention.scale": 0.25, "embedding_scale": 6.0, "residual_scale": 0.5, "logit_scale": 4.0,
                    "expert_count": 4, "expert_used_count": 2}),
    "gpt-oss": ("gpt_oss", dict(SIZES, **HEADS, num_hidden_layers=3, intermediate_size=32, sliding_window=8,
                                num_local_experts=4, num_experts_per_tok=2,
                                rope_parameters={"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
                                                 "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                                                 "original_max_position_embeddings": 4096}),
                {"attention.sliding_window": 8, "rope.scaling.type": "yarn", "rope.scaling.factor": 32.0,
                 "rope.scaling.original_context_length": 4096, "expert_count": 4, "expert_used_count": 2,
                 "expert_feed_forward_length": 32}),
}
# Names of general.architecture, where it is not that of the file.
ARCHITECTURES = {"mixtral": "llama"}
# Types of the experts.
QUANTISED = {"qwen2moe": gguf.GGMLQuantizationType.Q8_0, "gpt-oss": gguf.GGMLQuantizationType.MXFP4}
# Architectures whose tensors have the names that the package gguf maps those of transformers to.
MAPPED = list(MODELS)[list(MODELS).index("olmo"):]
NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "self_attn.qkv_proj": "attn_qkv", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm", "embed_out": "output",
    "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down", "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}


def rounded_to_blocks(kind, value):
    return gguf.quants.dequantize(gguf.quants.quantize(value, kind), kind).astype(np.float32)


def quantise_experts(architecture, model):
    """Replaces the experts' weights by those that their quantised type has; blocks run along the inputs."""
    for name, parameter in model.named_parameters():
        if ".experts." not in name and ".shared_expert." not in name or name.endswith("bias"):
            continue
        is_transposed = architecture == "gpt-oss"
        rows = parameter.transpose(-1, -2) if is_transposed else parameter
        rounded = torch.from_numpy(rounded_to_blocks(QUANTISED[architecture], rows.contiguous().numpy()))
        parameter.copy_(rounded.transpose(-1, -2) if is_transposed else rounded)


def with_experts_apart(architecture, tensors):
    """What the conversion makes of the packed experts of transformers: a tensor for gate, up and down each."""
    result = {}
    for name, value in tensors.items():
        name = name.replace("block_sparse_moe.router.", "block_sparse_moe.router.layer.") \
            .replace("block_sparse_moe.experts", "mlp.experts")
        if name.endswith("self_attn.sinks"):
            name += ".weight"
        if ".mlp.experts." not in name:
            result[name] = value
            continue
        ending = "bias" if name.endswith("_bias") else "weight"
        stem = name.removesuffix("_bias").rsplit(".", 1)[0]
        is_interleaved = architecture == "gpt-oss"
        if is_interleaved and ending == "weight":
            value = value.transpose(1, 2)
        if ".gate_up_proj" not in name:
            result[f"{stem}.down_proj.{ending}"] = value
            continue
        half = value.shape[1] // 2
        gate, up = (value[:, 0::2], value[:, 1::2]) if is_interleaved else (value[:, :half], value[:, half:])
        result[f"{stem}.gate_proj.{ending}"], result[f"{stem}.up_proj.{ending}"] = gate, up
    return result


def add_weights(writer, architecture, name, array):
    if architecture in QUANTISED and name.endswith(("exps.weight", "_shexp.weight")) and array.ndim > 1:
        kind = QUANTISED[architecture]
        assert np.array_equal(rounded_to_blocks(kind, array), array), name
        writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name, array if array.ndim == 1 or name.endswith(".bias") else array.astype(np.float16))


def name_in_gguf(architecture, name):
    stem, ending = name.rsplit(".", 1)
    if architecture in MAPPED:
        known_as = ARCHITECTURES.get(architecture, architecture)
        kind = next(kind for kind, known in gguf.MODEL_ARCH_NAMES.items() if known == known_as)
        return gguf.get_tensor_name_map(kind, 8).get_name(name, (".weight", ".bias"))
    if ".layers." in stem or ".h." in stem:
        layer, stem = stem.split(".layers." if ".layers." in stem else ".h.")[1].split(".", 1)
        places = {"post_attention_layernorm": "ffn_norm"}
        if architecture in ("gemma2", "gemma3", "olmo2"):
            places = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                      "post_feedforward_layernorm": "post_ffw_norm"}
        return f"blk.{layer}.{places.get(stem) or NAMES[stem]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def converted(architecture, name, value, config):
    """The changes of convert_hf_to_gguf.py: modify_tensors() and permute() of each class."""
    heads = config.num_attention_heads
    if ".ffn_gate_inp_shexp." in name:
        return value.reshape(-1)
    if architecture in ("llama", "granite", "smollm3", "olmo", "arcee", "mixtral", "granitemoe") and \
            (".attn_q." in name or ".attn_k." in name):
        count = heads if ".attn_q." in name else config.num_key_value_heads
        return value.reshape(count, 2, value.shape[0] // count // 2, *value.shape[1:]) \
            .swapaxes(1, 2).reshape(value.shape)
    if architecture.startswith("gemma") and name.endswith("norm.weight"):
        return value + 1
    if architecture == "gptneox" and ".attn_qkv." in name:
        return value.reshape(heads, 3, -1, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)
    if architecture == "falcon" and ".attn_qkv." in name:
        groups = value.reshape(config.num_kv_heads, heads // config.num_kv_heads + 2, config.head_dim, -1)
        parts = groups[:, :-2], groups[:, -2:-1], groups[:, -1:]
        return np.concatenate([part.reshape(-1, value.shape[1]) for part in parts])
    if architecture == "gpt2" and name.startswith("blk.") and value.ndim == 2:
        return value.T
    return value


def write_gguf(architecture, config, tensors, extra, path):
    known_as = ARCHITECTURES.get(architecture, architecture)
    writer = gguf.GGUFWriter(path, known_as)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(getattr(config, "intermediate_size", None) or
                                   getattr(config, "n_inner", None) or 4 * config.hidden_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    kv_heads = getattr(config, "num_key_value_heads", None) or getattr(config, "num_kv_heads", None)
    if kv_heads:
        writer.add_head_count_kv(kv_heads)
    if getattr(config, "head_dim", None) and architecture != "falcon":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if hasattr(config, "rms_norm_eps"):
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    elif architecture == "olmo":
        writer.add_layer_norm_eps(1e-5)
    else:
        keys = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
        writer.add_layer_norm_eps(next(getattr(config, key) for key in keys if hasattr(config, key)))
    rope = getattr(config, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    if "rope_theta" in rope:
        writer.add_rope_freq_base(rope["rope_theta"])
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        writer.add_rope_dimension_count(int(size * rope.get("partial_rotary_factor", 1.0)))
    for key, value in extra.items():
        add = writer.add_array if isinstance(value, list) else writer.add_bool if isinstance(value, bool) else \
            writer.add_uint32 if isinstance(value, int) else writer.add_string if isinstance(value, str) else \
            writer.add_float32
        add(f"{known_as}.{key}", value)
    for kind in ("long", "short"):
        if f"{kind}_factor" in rope:
            writer.add_tensor(f"rope_factors_{kind}.weight", np.array(rope[f"{kind}_factor"], np.float32))
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    for name, value in with_experts_apart(architecture, tensors).items():
        target = name_in_gguf(architecture, name)
        array = np.ascontiguousarray(converted(architecture, target, value.numpy().astype(np.float32), config))
        add_weights(writer, architecture, target, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_model(architecture):
    model_type, fields, extra = MODELS[architecture]
    torch.manual_seed(3)
    config = AutoConfig.for_model(model_type, **fields)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():  # float16 numbers, so that both files have the same
            parameter.copy_((torch.randn_like(parameter) * 0.2).half().float())
        if architecture.startswith("gemma"):
            for name, parameter in model.named_parameters():
                if "norm" in name:
                    parameter.copy_(torch.round(parameter * 64) / 64)
        if architecture in QUANTISED:
            quantise_experts(architecture, model)
    folder = OUTPUT / architecture
    (model if architecture in QUANTISED else model.half()).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tensors = {name: value.float() for name, value in model.state_dict().items()
               if not (config.tie_word_embeddings and name == "lm_head.weight")}
    path = OUTPUT / f"{architecture}.gguf"
    write_gguf(architecture, config, tensors, extra, path)
    check(architecture, path, tensors)


def check(architecture, path, tensors):
    try:
        read = AutoModelForCausalLM.from_pretrained(OUTPUT, gguf_file=path.name, dtype=torch.float32).state_dict()
    except Exception as error:  # noqa: BLE001: transformers refuses in many ways
        print(f"{architecture}: not read by transformers: {type(error).__name__} {str(error)[:100]}")
        return
    wrong = [name for name, value in tensors.items() if name not in read or not torch.equal(value, read[name])]
    print(f"{architecture}: {'equal in transformers' if not wrong else f'differs in transformers: {wrong[:5]}'}")


if __name__ == "__main__":
    write_blocks()
    for architecture in sys.argv[2:] or MODELS:
        write_model(architecture)
