# SPDX-License-Identifier: Apache-2.0
"""Small random models of every decoder family, and their activations as transformers computes them.

Shared by make_family_goldens.py and bench/parity/check_families.py.

BRANCHES lists, per family, the keys of config.json whose value changes the computation, with values
for each branch. golden_settings() covers every value at least once; random_settings() draws.
beyond_settings() are models whose sequences are longer than max_position_embeddings.
"""

import contextlib
import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

NUM_TOKENS = 12
HEADS = [dict(num_key_value_heads=4), dict(num_key_value_heads=2), dict(num_key_value_heads=1)]
TIED = [dict(tie_word_embeddings=False), dict(tie_word_embeddings=True)]
ATTENTION_BIAS = [dict(attention_bias=False), dict(attention_bias=True)]
MLP_BIAS = [dict(mlp_bias=False), dict(mlp_bias=True)]
HEAD_DIM = [dict(), dict(head_dim=6), dict(head_dim=10)]
ROPES = [dict(rope=kind) for kind in
         ("default", "linear", "dynamic", "llama3", "yarn", "longrope", "dynamic-short",
          "yarn-mscale", "yarn-ramp", "longrope-short", "longrope-factor")]
NESTED_ROPES = [dict(rope=kind) for kind in
                ("default", "nested:default+default", "nested:yarn+default", "linear",
                 "nested:linear+linear", "nested:llama3+dynamic", "yarn-ramp",
                 "nested:longrope+default")]
EPSILON = [dict(rms_norm_eps=1e-6), dict(rms_norm_eps=1e-2)]


def some_ropes(*kinds):
    return [dict() if kind is None else dict(rope=kind) for kind in kinds]


def activations(key, *more):
    return [dict({key: name}) for name in ("silu", "gelu", *more, "gelu_pytorch_tanh", "relu")]


def windows_of_qwen(*_):
    return [dict(use_sliding_window=False), dict(use_sliding_window=True, sliding_window=3,
                                                 max_window_layers=1),
            dict(use_sliding_window=True, sliding_window=5, max_window_layers=0),
            dict(use_sliding_window=True, sliding_window=4,
                 layer_types=["sliding_attention", "full_attention", "sliding_attention"])]


LLAMA = dict(vocab_size=13, hidden_size=16, intermediate_size=10, num_hidden_layers=3,
             num_attention_heads=4, max_position_embeddings=64)
GEMMA_HEADS = [dict(num_key_value_heads=4, head_dim=6), dict(num_key_value_heads=2, head_dim=10),
               dict(num_key_value_heads=1, head_dim=4)]
SOFTCAPS = [dict(attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
            dict(attn_logit_softcapping=None, final_logit_softcapping=1.5),
            dict(attn_logit_softcapping=1.0, final_logit_softcapping=None)]
ALTERNATING = ["full_attention", "sliding_attention", "full_attention"]

# Per family: fixed settings, then one list of alternatives per branch.
BRANCHES = {
    "llama": (LLAMA, [HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM, ROPES, EPSILON,
                      activations("hidden_act", "relu2")]),
    "mistral": (LLAMA, [
        HEADS, TIED, [dict(head_dim=4), dict(head_dim=10)], activations("hidden_act"),
        [dict(sliding_window=3), dict(sliding_window=None), dict(sliding_window=5),
         dict(sliding_window=4, layer_types=ALTERNATING), dict()],
        [dict(rope=kind) for kind in ("default", "yarn", "linear")]]),
    "qwen2": (LLAMA, [HEADS, TIED, activations("hidden_act"), windows_of_qwen(),
                      [dict(rope="default"), dict(rope="yarn"), dict(rope="dynamic")]]),
    "qwen3": (LLAMA, [HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"),
                      [dict(head_dim=4), dict(head_dim=10), dict(head_dim=6)], windows_of_qwen(),
                      [dict(rope="default"), dict(rope="yarn"), dict(rope="linear")], EPSILON]),
    "smollm3": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, activations("hidden_act"),
        [dict(), dict(no_rope_layer_interval=2), dict(no_rope_layers=[0, 1, 1]),
         dict(no_rope_layers=[0, 0, 0]),
         dict(no_rope_layer_interval=2, use_sliding_window=True, sliding_window=4),
         dict(use_sliding_window=True, sliding_window=3, layer_types=ALTERNATING)],
        [dict(rope="default"), dict(rope="theta-default"), dict(rope="yarn"),
         dict(rope="llama3")]]),
    "olmo2": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, ATTENTION_BIAS, HEAD_DIM, activations("hidden_act"), EPSILON,
        [dict(rope=kind) for kind in ("default", "linear", "yarn", "dynamic")]]),
    "olmo3": (dict(LLAMA, pad_token_id=0, num_hidden_layers=4), [
        HEADS, TIED, ATTENTION_BIAS, HEAD_DIM, activations("hidden_act"), NESTED_ROPES,
        [dict(sliding_window=3), dict(sliding_window=5, layer_types=ALTERNATING +
                                      ["full_attention"]), dict()]]),
    "phi3": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, activations("hidden_act"),
        [dict(), dict(sliding_window=3), dict(sliding_window=None)],
        [dict(rope="default"), dict(rope="longrope"), dict(rope="longrope-short"),
         dict(rope="longrope-factor")],
        [dict(), dict(hidden_size=32, partial_rotary_factor=0.5),
         dict(hidden_size=32, partial_rotary_factor=0.75)]]),
    "gemma": (LLAMA, [GEMMA_HEADS, TIED, ATTENTION_BIAS, EPSILON,
                      [dict(hidden_act="gelu", hidden_activation=None),
                       dict(hidden_act="gelu_pytorch_tanh"), dict(), dict(hidden_act="silu")],
                      [dict(rope="default"), dict(rope="linear"), dict(rope="yarn")]]),
    "gemma2": (LLAMA, [GEMMA_HEADS, TIED, ATTENTION_BIAS, SOFTCAPS,
                       activations("hidden_activation"),
                       [dict(sliding_window=3, query_pre_attn_scalar=16),
                        dict(sliding_window=5, query_pre_attn_scalar=3),
                        dict(sliding_window=4, layer_types=ALTERNATING)],
                       [dict(rope="default"), dict(rope="linear"), dict(rope="longrope")]]),
    "gemma3_text": (LLAMA, [
        GEMMA_HEADS, TIED, ATTENTION_BIAS, activations("hidden_activation"), NESTED_ROPES,
        [dict(sliding_window=3, sliding_window_pattern=2, query_pre_attn_scalar=16),
         dict(sliding_window=5, query_pre_attn_scalar=3, final_logit_softcapping=2.0),
         dict(sliding_window=4, layer_types=ALTERNATING), dict(rope_local_base_freq=50.0,
                                                               sliding_window_pattern=3)]]),
    "granite": (LLAMA, [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, activations("hidden_act"),
        [dict(embedding_multiplier=3.0, attention_multiplier=0.3, residual_multiplier=0.4,
              logits_scaling=2.5), dict(embedding_multiplier=12.0, logits_scaling=8.0),
         dict(attention_multiplier=0.0625, residual_multiplier=0.22), dict()],
        [dict(rope="default"), dict(rope="linear"), dict(rope="llama3")]]),
    "gpt_neox": (dict(LLAMA, hidden_size=32), [
        TIED, ATTENTION_BIAS, activations("hidden_act", "gelu_new", "gelu_fast"),
        [dict(use_parallel_residual=True), dict(use_parallel_residual=False)],
        [dict(layer_norm_eps=1e-5), dict(layer_norm_eps=1e-2)],
        [dict(rotary_pct=0.25), dict(rotary_pct=1.0, rotary_emb_base=500), dict(),
         dict(rotary_pct=0.5, rope="linear"), dict(rotary_pct=1.0, rope="yarn"),
         dict(hidden_size=40, rotary_pct=0.6)]]),
    "gpt2": (dict(vocab_size=13, n_embd=12, n_layer=3, n_head=4, n_positions=16, bos_token_id=1,
                  eos_token_id=2), [
        TIED, [dict(n_inner=None), dict(n_inner=10)],
        [dict(scale_attn_weights=True), dict(scale_attn_weights=False)],
        [dict(scale_attn_by_inverse_layer_idx=False), dict(scale_attn_by_inverse_layer_idx=True)],
        [dict(reorder_and_upcast_attn=False), dict(reorder_and_upcast_attn=True)],
        [dict(n_head=4), dict(n_head=2), dict(n_embd=10, n_head=2)],
        [dict(activation_function=name) for name in ("gelu_new", "gelu", "relu", "silu")],
        [dict(layer_norm_epsilon=1e-5), dict(layer_norm_epsilon=1e-2)]]),
    "opt": (dict(vocab_size=13, hidden_size=12, ffn_dim=10, num_hidden_layers=3,
                 num_attention_heads=4, max_position_embeddings=16, pad_token_id=1), [
        TIED, [dict(do_layer_norm_before=True), dict(do_layer_norm_before=False),
               dict(_remove_final_layer_norm=True)],
        [dict(), dict(word_embed_proj_dim=8), dict(word_embed_proj_dim=12)],
        [dict(enable_bias=True), dict(enable_bias=False)],
        [dict(layer_norm_elementwise_affine=True), dict(layer_norm_elementwise_affine=False)],
        [dict(num_attention_heads=4), dict(num_attention_heads=2)],
        [dict(activation_function=name) for name in ("relu", "gelu", "gelu_new")]]),
    "internlm3": (LLAMA, [
        HEADS, TIED, HEAD_DIM, activations("hidden_act"),
        [dict(rms_norm_eps=1e-2), dict()],
        [dict(qkv_bias=False, bias=False), dict(qkv_bias=True, bias=True),
         dict(attention_bias=True, mlp_bias=True), dict(head_dim=None)],
        [dict(rope=kind) for kind in ("default", "dynamic", "yarn")]]),
    "iquestcoder": (LLAMA, [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM, activations("hidden_act"),
        [dict(rms_norm_eps=1e-2), dict()],
        [dict(rope=kind) for kind in ("default", "linear", "llama3")]]),
    "exaone": (LLAMA, [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM, activations("hidden_act"),
        [dict(layer_norm_epsilon=1e-2), dict(rms_norm_eps=1e-3), dict()],
        some_ropes("default", "llama3", "dynamic", None)]),
    "exaone4": (dict(LLAMA, num_hidden_layers=4), [
        HEADS, TIED, activations("hidden_act"), EPSILON, [dict(), dict(head_dim=6)],
        [dict(sliding_window=3), dict(sliding_window=5, sliding_window_pattern=2),
         dict(sliding_window=None, layer_types=["full_attention"] * 4),
         dict(sliding_window=4, sliding_window_pattern="LLG",
              layer_types=ALTERNATING + ["full_attention"])],
        some_ropes("default", "llama3", "yarn")]),
    "seed_oss": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, MLP_BIAS, activations("hidden_act"), EPSILON,
        [dict(head_dim=4), dict(head_dim=6), dict(head_dim=None)],
        [dict(), dict(attention_bias=False), dict(attention_out_bias=True)],
        some_ropes("default", "yarn", "linear")]),
    "cwm": (dict(LLAMA, num_hidden_layers=5), [
        HEADS, TIED, MLP_BIAS, activations("hidden_act"),
        [dict(head_dim=4), dict(head_dim=6), dict(head_dim=10)],
        [dict(sliding_window=3), dict(), dict(sliding_window=4, layer_types=ALTERNATING + [
            "sliding_attention", "full_attention"])],
        some_ropes("default", "llama3", None)]),
    "arcee": (LLAMA, [HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM, EPSILON,
                      activations("hidden_act", "relu2"), some_ropes("default", "yarn")]),
    "jais2": (LLAMA, [HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM,
                      activations("hidden_act", "relu2"),
                      [dict(layer_norm_eps=1e-2), dict()], some_ropes("default", "linear")]),
    "starcoder2": (LLAMA, [
        HEADS, TIED, HEAD_DIM, activations("hidden_act"), [dict(), dict(use_bias=False)],
        [dict(sliding_window=3), dict(sliding_window=None), dict()],
        [dict(norm_epsilon=1e-2), dict()], some_ropes("default", "linear", None)]),
    "vaultgemma": (LLAMA, [GEMMA_HEADS, TIED, ATTENTION_BIAS, SOFTCAPS,
                           activations("hidden_activation"),
                           [dict(sliding_window=3, query_pre_attn_scalar=16),
                            dict(sliding_window=5, query_pre_attn_scalar=3),
                            dict(sliding_window=4, layer_types=ALTERNATING)],
                           some_ropes("default", "linear")]),
    "hyperclovax": (LLAMA, [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, HEAD_DIM, activations("hidden_act"),
        [dict(), dict(use_post_norm=False), dict(use_post_norm=True)],
        [dict(embedding_multiplier=3.0, attention_multiplier=0.3, residual_multiplier=0.4,
              logits_scaling=2.5), dict(attention_multiplier=None, logits_scaling=0.125),
         dict(residual_multiplier=0.22), dict()],
        some_ropes("default", "dynamic")]),
    "gpt_neo": (dict(vocab_size=13, hidden_size=12, num_layers=3, num_heads=4,
                     max_position_embeddings=16, bos_token_id=1, eos_token_id=2), [
        TIED, [dict(intermediate_size=None), dict(intermediate_size=10)],
        [dict(attention_types=[[["global", "local", "global"], 1]], window_size=3),
         dict(attention_types=[[["local"], 3]], window_size=5),
         dict(attention_types=[[["global", "local"], 1], [["global"], 1]])],
        [dict(num_heads=4), dict(num_heads=2)], activations("activation_function", "gelu_new"),
        [dict(layer_norm_epsilon=1e-5), dict(layer_norm_epsilon=1e-2)]]),
    "gpt_bigcode": (dict(vocab_size=13, n_embd=12, n_layer=3, n_head=4, n_positions=16,
                         bos_token_id=1, eos_token_id=2), [
        TIED, [dict(n_inner=None), dict(n_inner=10)], [dict(), dict(multi_query=False)],
        [dict(scale_attn_weights=True), dict(scale_attn_weights=False)],
        [dict(n_head=4), dict(n_head=2), dict(n_embd=10, n_head=2)],
        activations("activation_function", "gelu_new"),
        [dict(layer_norm_epsilon=1e-5), dict(layer_norm_epsilon=1e-2)]]),
    "biogpt": (dict(LLAMA, max_position_embeddings=16, pad_token_id=1), [
        TIED, [dict(), dict(scale_embedding=False)], [dict(), dict(layer_norm_eps=0.1)],
        [dict(num_attention_heads=4), dict(num_attention_heads=2)], activations("hidden_act")]),
    "olmo": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, ATTENTION_BIAS, HEAD_DIM, activations("hidden_act"),
        [dict(), dict(clip_qkv=0.7), dict(clip_qkv=None), dict(clip_qkv=8.0)],
        some_ropes("default", "yarn", "dynamic")]),
    "stablelm": (dict(LLAMA, hidden_size=32), [
        HEADS, TIED, activations("hidden_act"), [dict(layer_norm_eps=1e-2), dict()],
        [dict(), dict(use_qkv_bias=True)], [dict(), dict(use_parallel_residual=True)],
        [dict(), dict(partial_rotary_factor=0.5), dict(partial_rotary_factor=1.0),
         dict(partial_rotary_factor=0.25)],
        some_ropes("default", "linear", None)]),
    "helium": (dict(LLAMA, head_dim=4), [
        HEADS, TIED, ATTENTION_BIAS, MLP_BIAS, activations("hidden_act"), EPSILON,
        [dict(), dict(num_attention_heads=2, num_key_value_heads=1, head_dim=8)],
        some_ropes("default", "llama3", None)]),
    "ernie4_5": (LLAMA, [
        HEADS, TIED, activations("hidden_act"), EPSILON,
        [dict(head_dim=4), dict(head_dim=6), dict(head_dim=None)],
        [dict(), dict(use_bias=True)], some_ropes("default", "yarn", None)]),
    "glm": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, [dict(), dict(attention_bias=False)], activations("hidden_act"), EPSILON,
        [dict(head_dim=4), dict(head_dim=8), dict(head_dim=12)],
        [dict(), dict(partial_rotary_factor=1.0), dict(partial_rotary_factor=0.5)],
        some_ropes("default", "linear", None)]),
    "glm4": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, [dict(), dict(attention_bias=False)], activations("hidden_act"), EPSILON,
        [dict(head_dim=4), dict(head_dim=8), dict(head_dim=12)],
        [dict(), dict(partial_rotary_factor=1.0), dict(partial_rotary_factor=0.5)],
        some_ropes("default", "yarn", None)]),
    "falcon": (dict(vocab_size=13, hidden_size=16, num_hidden_layers=3, num_attention_heads=4,
                    max_position_embeddings=64), [
        TIED, [dict(), dict(bias=True)], [dict(), dict(ffn_hidden_size=10)],
        [dict(), dict(parallel_attn=False), dict(multi_query=False),
         dict(multi_query=False, parallel_attn=False, num_kv_heads=4),
         dict(new_decoder_architecture=True, num_kv_heads=2),
         dict(new_decoder_architecture=True, num_kv_heads=1, num_ln_in_parallel_attn=1),
         dict(new_decoder_architecture=True, multi_query=False, num_ln_in_parallel_attn=2)],
        activations("activation"), [dict(layer_norm_epsilon=1e-2), dict()],
        some_ropes("default", "linear", None)]),
    "phi": (dict(LLAMA, hidden_size=32), [
        HEADS, TIED, activations("hidden_act", "gelu_new"), [dict(layer_norm_eps=1e-2), dict()],
        [dict(), dict(qk_layernorm=True)],
        [dict(), dict(partial_rotary_factor=0.25), dict(partial_rotary_factor=1.0)],
        some_ropes("default", "linear", None)]),
    "cohere": (LLAMA, [
        HEADS, TIED, ATTENTION_BIAS, HEAD_DIM, activations("hidden_act"),
        [dict(), dict(use_qk_norm=True)], [dict(layer_norm_eps=1e-2), dict()],
        [dict(), dict(logit_scale=0.7), dict(logit_scale=0.25)],
        some_ropes("default", "dynamic", None)]),
    "cohere2": (dict(LLAMA, num_hidden_layers=4), [
        HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"), [dict(), dict(head_dim=6)],
        [dict(), dict(logit_scale=0.7)], [dict(layer_norm_eps=1e-2), dict()],
        [dict(), dict(sliding_window=3), dict(sliding_window=5, sliding_window_pattern=2),
         dict(sliding_window=4, layer_types=ALTERNATING + ["sliding_attention"])],
        some_ropes("default", "linear", None)]),
    "gptj": (dict(vocab_size=13, n_embd=16, n_layer=3, n_head=4, n_positions=16, bos_token_id=1,
                  eos_token_id=2), [
        TIED, [dict(n_inner=None), dict(n_inner=10)], [dict(rotary_dim=2), dict(rotary_dim=4)],
        [dict(n_head=4), dict(n_head=2), dict(n_head=1, rotary_dim=16)],
        activations("activation_function", "gelu_new"),
        [dict(layer_norm_epsilon=1e-5), dict(layer_norm_epsilon=1e-2)]]),
    "codegen": (dict(vocab_size=13, n_embd=16, n_layer=3, n_head=4, n_positions=16,
                     bos_token_id=1, eos_token_id=2), [
        TIED, [dict(n_inner=None), dict(n_inner=10)], [dict(rotary_dim=2), dict(rotary_dim=4)],
        [dict(n_head=4), dict(n_head=2), dict(n_embd=24, n_head=3, rotary_dim=6)],
        activations("activation_function", "gelu_new"),
        [dict(layer_norm_epsilon=1e-5), dict(layer_norm_epsilon=1e-2)]]),
    "hunyuan_v1_dense": (dict(LLAMA, pad_token_id=0), [
        HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"), EPSILON,
        [dict(head_dim=4), dict(head_dim=6), dict(head_dim=10)],
        some_ropes("default", "alpha", "dynamic", "linear", None)]),
}


EXPERTS = [dict(num_experts_per_tok=2), dict(num_experts_per_tok=1), dict(num_experts_per_tok=4),
           dict(num_experts_per_tok=3)]
NORMALIZED = [dict(), dict(norm_topk_prob=True), dict(norm_topk_prob=False)]
SPARSE = [dict(), dict(mlp_only_layers=[1]), dict(decoder_sparse_step=2),
          dict(decoder_sparse_step=2, mlp_only_layers=[0]), dict(mlp_only_layers=[])]

BRANCHES.update({
    "mixtral": (dict(LLAMA, num_local_experts=4), [
        HEADS, TIED, activations("hidden_act"), EXPERTS, [dict(head_dim=4), dict(head_dim=6)],
        [dict(), dict(rms_norm_eps=1e-2)],
        [dict(sliding_window=3), dict(sliding_window=None), dict()],
        some_ropes("default", "yarn", "linear", None)]),
    "olmoe": (dict(LLAMA, num_experts=5, pad_token_id=0), [
        HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"), EXPERTS, NORMALIZED,
        [dict(), dict(clip_qkv=0.7), dict(clip_qkv=None), dict(rms_norm_eps=1e-2)],
        some_ropes("default", "linear", "dynamic", None)]),
    "qwen2_moe": (dict(LLAMA, num_experts=4, moe_intermediate_size=6,
                       shared_expert_intermediate_size=8), [
        HEADS, TIED, activations("hidden_act"), EXPERTS, NORMALIZED, SPARSE,
        [dict(), dict(qkv_bias=False)],
        [dict(), dict(use_sliding_window=True, sliding_window=3),
         dict(use_sliding_window=True, sliding_window=4, max_window_layers=1),
         dict(use_sliding_window=True, sliding_window=5, layer_types=ALTERNATING)],
        some_ropes("default", "yarn", None)]),
    "qwen3_moe": (dict(LLAMA, num_experts=4, moe_intermediate_size=6), [
        HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"), EXPERTS, NORMALIZED, SPARSE,
        HEAD_DIM, [dict(), dict(use_sliding_window=True, sliding_window=3)],
        some_ropes("default", "yarn", "linear")]),
    "granitemoe": (dict(LLAMA, num_local_experts=4), [
        HEADS, TIED, ATTENTION_BIAS, activations("hidden_act"), EXPERTS,
        [dict(embedding_multiplier=3.0, attention_multiplier=0.3, residual_multiplier=0.4,
              logits_scaling=2.5), dict(embedding_multiplier=12.0, logits_scaling=8.0),
         dict(attention_multiplier=0.0625, residual_multiplier=0.22), dict()],
        some_ropes("default", "linear", "llama3")]),
    "gpt_oss": (dict(LLAMA, num_local_experts=4, head_dim=4), [
        HEADS, TIED, [dict(), dict(attention_bias=False)], EXPERTS, EPSILON,
        [dict(), dict(swiglu_limit=1.5), dict(swiglu_alpha=1.0, swiglu_limit=0.5)],
        [dict(head_dim=6), dict(head_dim=4), dict(head_dim=10)],
        [dict(), dict(sliding_window=3), dict(sliding_window=5, layer_types=ALTERNATING)],
        some_ropes("default", "yarn", "yarn-ramp", None)]),
})


def rope_object(kind, rng, half):
    """`rope_scaling` of a kind for heads of which 2 * half dimensions rotate."""
    kind, _, variant = kind.partition("-")
    uniform = lambda low, high: round(float(rng.uniform(low, high)), 3)
    if kind in ("default", "theta"):
        return None
    if kind == "alpha":  # of HunYuan
        return dict(type="dynamic", alpha=uniform(2, 50), factor=1.0, beta_fast=32, beta_slow=1,
                    mscale=1.0, mscale_all_dim=1.0)
    if kind in ("linear", "dynamic"):
        return dict(rope_type=kind, factor=uniform(1.5, 5))
    if kind == "llama3":
        return dict(rope_type="llama3", factor=uniform(2, 9), low_freq_factor=uniform(0.5, 1.5),
                    high_freq_factor=uniform(2, 5), original_max_position_embeddings=16)
    if kind == "yarn":
        more = {"": dict(), "mscale": dict(mscale=0.7, mscale_all_dim=0.4),
                "ramp": dict(beta_fast=uniform(1, 3), beta_slow=uniform(0.05, 0.3), truncate=False,
                             attention_factor=1.3)}[variant]
        return dict(rope_type="yarn", factor=uniform(2, 6), original_max_position_embeddings=16,
                    **more)
    lists = dict(short_factor=[uniform(1, 2) for _ in range(half)],
                 long_factor=[uniform(2, 6) for _ in range(half)])
    more = {"": dict(), "short": dict(attention_factor=1.2), "factor": dict(factor=7.0)}[variant]
    return dict(rope_type="longrope", **lists, **more,
                original_max_position_embeddings=16 if variant == "short" else 8)


def place_rope(settings, rng):
    """Replaces the alternative `rope` by the keys of config.json."""
    kind = settings.pop("rope", None)
    if kind is None:
        return settings
    is_phi, is_neox = settings["model_type"] == "phi3", settings["model_type"] == "gpt_neox"
    head = settings.get("head_dim") or settings["hidden_size"] // settings["num_attention_heads"]
    fraction = settings.get("rotary_pct", settings.get("partial_rotary_factor", 1.0))
    half = int(head * fraction) // 2
    theta = float(rng.choice([10000.0, 500.0, 50.0]))
    if kind.startswith("dynamic"):
        settings["max_position_embeddings"] = 64 if kind.endswith("short") else 8
    if kind.startswith("nested:"):
        full, sliding = (rope_object(part, rng, half) or dict(rope_type="default")
                         for part in kind[len("nested:"):].split("+"))
        for rope in (full, sliding):
            rope.pop("truncate", None)
        settings["rope_parameters"] = dict(full_attention=dict(full, rope_theta=theta),
                                           sliding_attention=dict(sliding, rope_theta=30.0))
        if "dynamic" in kind:
            settings["max_position_embeddings"] = 8
        return settings
    if kind == "theta-default":
        return settings
    rope = rope_object(kind, rng, half)
    if not is_neox:
        settings["rope_theta"] = 500000.0 if settings["model_type"] == "olmo3" else theta
    if rope is None:
        return settings
    if settings["model_type"] in ("olmo3", "gemma3_text"):
        rope.pop("truncate", None)
    if is_phi:
        settings["original_max_position_embeddings"] = rope.pop("original_max_position_embeddings")
        rope["type"] = rope.pop("rope_type")
    settings["rope_scaling"] = rope
    return settings


def combine(family, alternatives, rng):
    settings = dict(BRANCHES[family][0], model_type=family)
    for alternative in alternatives:
        settings.update(alternative)
    return place_rope(settings, rng)


def golden_settings(family, seed=1):
    """At least six settings that contain every alternative of every branch."""
    branches = BRANCHES[family][1]
    rng = np.random.default_rng([seed, list(BRANCHES).index(family)])
    count = max(6, *map(len, branches))
    columns = [[branch[i % len(branch)] for i in rng.permutation(count)] for branch in branches]
    return [combine(family, row, rng) for row in zip(*columns)]


def random_settings(family, rng):
    return combine(family, [branch[rng.integers(len(branch))] for branch in BRANCHES[family][1]],
                   rng)


# Per kind of RoPE: families and variants whose models run sequences beyond their context.
BEYOND = {
    "default": [("llama", "default")],
    "linear": [("llama", "linear")],
    "dynamic": [("llama", "dynamic"), ("gemma3_text", "nested:llama3+dynamic")],
    "llama3": [("llama", "llama3")],
    "yarn": [("llama", "yarn"), ("llama", "yarn-mscale"), ("llama", "yarn-ramp")],
    "longrope": [(family, kind) for family in ("llama", "phi3")
                 for kind in ("longrope", "longrope-short", "longrope-factor")],
}
CONTEXTS = (8, 4)  # NUM_TOKENS is 1.5 and 3 times as many
OWN_KEYS = {"gemma3_text": dict(GEMMA_HEADS[1], sliding_window=5, sliding_window_pattern=2,
                                query_pre_attn_scalar=16)}


def with_context(settings, context):
    """Replaces max_position_embeddings, and the original context of scaled RoPEs by half of it."""
    settings["max_position_embeddings"] = context
    nested = settings.get("rope_parameters", {})
    for place in (settings, settings.get("rope_scaling") or {}, *nested.values()):
        if "original_max_position_embeddings" in place:
            place["original_max_position_embeddings"] = context // 2
    return settings


def beyond_settings(kind, rng):
    """Models with RoPE of this kind, each with every context of CONTEXTS."""
    return [with_context(place_rope(dict(BRANCHES[family][0], model_type=family, rope=variant,
                                         **OWN_KEYS.get(family, {})), rng), context)
            for family, variant in BEYOND[kind] for context in CONTEXTS]


def fill_formula(name, shape):
    """(offset, scale) of the weights of a tensor; large enough that every part matters."""
    if name.endswith("bias"):
        return 0.0, 0.5
    if len(shape) == 1:  # overwritten for norms of 1 + weight
        return 1.0, 0.5
    return 0.0, max(1, round(64 * 1.6 / shape[-1] ** 0.5)) / 64


def fill(seed_text, shape, offset, scale):
    """float32(offset + scale * u), u uniform in [-1, 1) from splitmix64 seeded by FNV-1a."""
    seed = 0xCBF29CE484222325
    for byte in seed_text.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2 ** 64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    uniform = (z >> np.uint64(40)).astype(np.float64) * 2.0 ** -23 - 1
    return (offset + scale * uniform).astype(np.float32).reshape(shape)


@contextlib.contextmanager
def double_everywhere():
    """Where transformers computes in float32 whatever the dtype, it computes in float64."""
    single, cast, default = torch.float32, torch.Tensor.float, torch.get_default_dtype()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32 = torch.float = single
        torch.Tensor.float = cast
        torch.set_default_dtype(default)


def layers_of(model):
    base = model.base_model
    base = getattr(base, "decoder", base)
    return base.h if hasattr(base, "h") else base.layers


def attention_of(layer):
    attention = child(layer, "self_attn", "self_attention", "attention", "attn")
    return getattr(attention, "attention", attention)


def child(module, *names):
    return next(getattr(module, name) for name in names if hasattr(module, name))


def split_projections(layer, attention, recorded, config, head_dim):
    """Hooks that record q, k and v [seq, heads, head_dim] before norm and rotation."""
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", heads)
    by_head = lambda x: x.reshape(x.shape[-2], -1, head_dim)

    def store(name):
        return lambda *args: recorded[name].append(by_head(args[2]))

    if hasattr(attention, "q_proj"):
        return [getattr(attention, f"{name}_proj").register_forward_hook(store(name))
                for name in "qkv"]

    def fused(_, __, output):
        if config.model_type == "falcon":
            queries, *others = attention._split_heads(output)
            parts = [queries[0], *(part[0] for part in others)]
            if config.new_decoder_architecture:  # keys are repeated for each query head
                parts[1:] = [part[:, ::heads // config.num_kv_heads] for part in parts[1:]]
        elif hasattr(attention, "query_key_value") or not getattr(config, "multi_query", True):
            parts = output.reshape(-1, heads, 3, head_dim).unbind(2)
        elif config.model_type == "codegen":
            shards = output.reshape(output.shape[-2], 4, 3, -1).unbind(2)
            queries, values, keys = (shard.reshape(-1, heads, head_dim) for shard in shards)
            parts = [queries, keys, values]
        else:
            sizes = [heads * head_dim, kv_heads * head_dim, kv_heads * head_dim]
            parts = [by_head(part) for part in output.split(sizes, dim=-1)]
        for name, part in zip("qkv", parts):
            recorded[name].append(part)

    return [child(attention, "qkv_proj", "query_key_value", "c_attn").register_forward_hook(fused)]


def heads_per_key(config):
    return (config.num_attention_heads // config.num_kv_heads
            if config.new_decoder_architecture else 1)


ROUTER_ACTIVATIONS = ("router_logits", "expert_weights", "expert_indices")


def record_router(layer, number, recorded):
    """Hooks that record the router of a layer, if it has one; experts by descending logit."""
    mlp = child(layer, "mlp", "block_sparse_moe")
    if not hasattr(mlp, "experts"):
        return []

    def store(_, __, output):
        logits, weights, indices = output
        order = logits.double().gather(1, indices).argsort(dim=1, descending=True, stable=True)
        parts = (logits, weights.gather(1, order), indices.gather(1, order).double())
        for name, part in zip(ROUTER_ACTIVATIONS, parts):
            recorded[name].append(part)
        recorded["expert_layers"].append(torch.tensor(float(number), dtype=torch.float64))

    return [child(mlp, "gate", "router").register_forward_hook(store)]


def record(model, ids):
    """Activations of one sequence, without the batch dimension; per layer in dimension 0.

    hidden [1 + layers, seq, hidden]: input of the first layer, then the output of each layer;
    q, k, v, rot_q, rot_k [layers, seq, heads, head_dim]; pattern [layers, heads, seq, seq];
    mlp [layers, seq, intermediate]: input of the down projection; logits [seq, vocab].
    Of a mixture of experts instead of mlp, for the layers that have one: router_logits [., seq,
    experts], expert_weights and expert_indices [., seq, experts per token], and as expert_layers
    the numbers of the layers.
    """
    config = model.config
    names = ("hidden", "q", "k", "v", "rot_q", "rot_k", "pattern", "mlp", "layers",
             *ROUTER_ACTIVATIONS, "expert_layers")
    recorded, hooks = {name: [] for name in names}, []
    layers = layers_of(model)
    hooks.append(layers[0].register_forward_pre_hook(
        lambda _, args, kwargs: recorded["hidden"].append(
            (args[0] if args else kwargs["hidden_states"])[0]), with_kwargs=True))
    for layer in layers:
        attention = attention_of(layer)
        head_dim = child(attention, "head_dim", "head_size")
        hooks += split_projections(layer, attention, recorded, config, head_dim)
        hooks.append(attention.register_forward_hook(
            lambda _, __, output: recorded["pattern"].append(output[1][0])))
        if hasattr(config, "num_experts_per_tok"):
            hooks += record_router(layer, len(recorded["layers"]), recorded)
            recorded["layers"].append(layer)
        else:
            down = (layer.fc2 if hasattr(layer, "fc2") else
                    child(layer.mlp, "down_proj", "dense_4h_to_h", "c_proj", "fc2", "fc_out"))
            hooks.append(down.register_forward_pre_hook(
                lambda _, args: recorded["mlp"].append(args[0].reshape(len(ids), -1))))
        hooks.append(layer.register_forward_hook(
            lambda _, __, output: recorded["hidden"].append(
                (output[0] if isinstance(output, tuple) else output)[0])))
    modeling = sys.modules[type(attention_of(layers[0])).__module__]
    place = "apply_rotary_pos_emb" if config.model_type == "falcon" else "eager_attention_forward"
    original = getattr(modeling, place, None)

    def rotate(*args):
        query, key = original(*args)
        recorded["rot_q"].append(query[0].transpose(0, 1))
        groups = heads_per_key(config)
        recorded["rot_k"].append(key[0].transpose(0, 1)[:, ::groups])
        return query, key

    def attend(module, query, key, *args, **kwargs):
        scaled = query / module.scaling if config.model_type == "opt" else query
        recorded["rot_q"].append(scaled[0].transpose(0, 1))
        recorded["rot_k"].append(key[0].transpose(0, 1))
        return original(module, query, key, *args, **kwargs)

    setattr(modeling, place, rotate if config.model_type == "falcon" else attend)
    try:
        with torch.no_grad():
            logits = model(torch.tensor([list(ids)]), use_cache=False).logits[0]
    finally:
        setattr(modeling, place, original)
        for hook in hooks:
            hook.remove()
    for name in "qk":  # GPT-Neo and GPT-2's reorder_and_upcast_attn do not call it, nor rotate
        recorded[f"rot_{name}"] = recorded[f"rot_{name}"] or recorded[name]
    del recorded["layers"]
    return dict({name: torch.stack(parts).numpy() for name, parts in recorded.items() if parts},
                logits=logits.numpy())


def write_json(folder, config):
    pathlib.Path(folder, "config.json").write_text(json.dumps(config, indent=2) + "\n")


# Attention and experts in Python, of any shape and dtype.
EAGER = dict(attn_implementation="eager", experts_implementation="eager")


class SmallModel:
    """A random model: config.json, the tensors of its file and its activations."""

    def __init__(self, label, settings, as_version):
        """as_version: 4 keeps the settings as config.json; 5 has transformers write it."""
        self.config = settings
        with tempfile.TemporaryDirectory() as folder:
            write_json(folder, settings)
            config = AutoConfig.from_pretrained(folder)
            AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
            if as_version == 5:
                self.config = json.loads(pathlib.Path(folder, "config.json").read_text())
            with safe_open(pathlib.Path(folder, "model.safetensors"), "np") as file:
                shapes = {key: file.get_slice(key).get_shape() for key in file.keys()}
        self.tensors = {}
        for key in sorted(shapes):
            offset, scale = fill_formula(key, shapes[key])
            if key.endswith("norm.weight") and "gemma" in settings["model_type"]:
                offset = 0.0
            self.tensors[key] = (shapes[key], offset, scale)
        self.weights = {key: fill(f"{label}/{key}", *formula)
                        for key, formula in self.tensors.items()}

    def save(self, folder):
        write_json(folder, self.config)
        save_file(self.weights, pathlib.Path(folder, "model.safetensors"), {"format": "pt"})

    def activations(self, ids):
        """record() in float64; checked against transformers' own float32."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            single = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, **EAGER).eval()
        reference = record(single, ids)
        with double_everywhere():
            model = AutoModelForCausalLM.from_config(
                single.config, dtype=torch.float64, **EAGER).eval()
            model.load_state_dict(single.state_dict())
            double = record(model, ids)
        for name, values in double.items():
            assert values.dtype == np.float64, (name, values.dtype)
            if name == "expert_indices":
                assert (values == reference[name]).all()
                continue
            error = np.abs(values - reference[name]).max() / max(1.0, np.abs(values).max())
            assert error < 3e-4, (name, error)
        return double
