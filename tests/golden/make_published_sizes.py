# SPDX-License-Identifier: Apache-2.0
"""Writes published_sizes.json: config.json and number of parameters of released models.

Run:  python make_published_sizes.py      (torch, transformers)

The configs are those of the repositories on the Hugging Face Hub (the key `repository`), without
keys for generation and task heads. The numbers are those that the Hub or the named table publishes,
tied embeddings counted once; each must equal the number of parameters of transformers' model, which
is built on the meta device.
"""

import json
import pathlib
import tempfile

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

HUB = "Hugging Face Hub, safetensors metadata"
UNTIED = HUB + ", less the copy of the tied embedding"
PYTHIA = "EleutherAI/pythia, README and model cards, total parameters"


def gpt2(width, layers, heads):
    return dict(architectures=["GPT2LMHeadModel"], model_type="gpt2",
                activation_function="gelu_new", attn_pdrop=0.1, bos_token_id=50256, embd_pdrop=0.1, eos_token_id=50256,
                initializer_range=0.02, layer_norm_epsilon=1e-5, n_ctx=1024, n_embd=width,
                n_head=heads, n_layer=layers, n_positions=1024, resid_pdrop=0.1,
                summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True,
                summary_type="cls_index", summary_use_proj=True,
                task_specific_params={"text-generation": dict(do_sample=True, max_length=50)},
                vocab_size=50257)


def pythia(width, layers, heads, vocab_size=50304):
    return dict(architectures=["GPTNeoXForCausalLM"], model_type="gpt_neox", bos_token_id=0,
                eos_token_id=0, hidden_act="gelu", hidden_size=width, initializer_range=0.02,
                intermediate_size=4 * width, layer_norm_eps=1e-5, max_position_embeddings=2048,
                num_attention_heads=heads, num_hidden_layers=layers, rotary_emb_base=10000,
                rotary_pct=0.25, tie_word_embeddings=False, torch_dtype="float16",
                transformers_version="4.24.0", use_cache=True, use_parallel_residual=True,
                vocab_size=vocab_size)


def llama32(width, layers, heads, head_dim):
    return dict(architectures=["LlamaForCausalLM"], model_type="llama", attention_bias=False,
                attention_dropout=0.0, bos_token_id=128000, eos_token_id=128001, head_dim=head_dim,
                hidden_act="silu", hidden_size=width, initializer_range=0.02,
                intermediate_size=8192, max_position_embeddings=131072, mlp_bias=False,
                num_attention_heads=heads, num_hidden_layers=layers, num_key_value_heads=8,
                pretraining_tp=1, rms_norm_eps=1e-5,
                rope_scaling=dict(factor=32.0, high_freq_factor=4.0, low_freq_factor=1.0,
                                  original_max_position_embeddings=8192, rope_type="llama3"),
                rope_theta=500000.0, tie_word_embeddings=True, torch_dtype="bfloat16",
                transformers_version="4.45.0.dev0", use_cache=True, vocab_size=128256)


def qwen3(width, inner, layers, heads, tied):
    return dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", attention_bias=False,
                attention_dropout=0.0, bos_token_id=151643, eos_token_id=151645, head_dim=128,
                hidden_act="silu", hidden_size=width, initializer_range=0.02,
                intermediate_size=inner, max_position_embeddings=40960, max_window_layers=layers,
                num_attention_heads=heads, num_hidden_layers=layers, num_key_value_heads=8,
                rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000, sliding_window=None,
                tie_word_embeddings=tied, torch_dtype="bfloat16", transformers_version="4.51.0",
                use_cache=True, use_sliding_window=False, vocab_size=151936)


def opt(width, inner, layers, heads, embedding, norm_before):
    return dict(architectures=["OPTForCausalLM"], model_type="opt", _remove_final_layer_norm=False,
                activation_function="relu", attention_dropout=0.0, bos_token_id=2,
                do_layer_norm_before=norm_before, dropout=0.1, eos_token_id=2, ffn_dim=inner,
                hidden_size=width, init_std=0.02, layerdrop=0.0, max_position_embeddings=2048,
                num_attention_heads=heads, num_hidden_layers=layers, pad_token_id=1, prefix="</s>",
                torch_dtype="float16", transformers_version="4.21.0.dev0", use_cache=True,
                vocab_size=50272, word_embed_proj_dim=embedding)


GEMMA = dict(attention_bias=False, attention_dropout=0.0, bos_token_id=2,
             cache_implementation="hybrid", eos_token_id=1, head_dim=256,
             hidden_activation="gelu_pytorch_tanh", initializer_range=0.02, pad_token_id=0,
             query_pre_attn_scalar=256, rms_norm_eps=1e-6, torch_dtype="float32", use_cache=True,
             num_hidden_layers=26)

MODELS = [
    ("openai-community/gpt2", 124439808, "124M; " + UNTIED, gpt2(768, 12, 12)),
    ("openai-community/gpt2-medium", 354823168, "355M; " + UNTIED, gpt2(1024, 24, 16)),
    ("openai-community/gpt2-large", 774030080, "774M; " + UNTIED, gpt2(1280, 36, 20)),
    ("openai-community/gpt2-xl", 1557611200, "1.5B; " + UNTIED, gpt2(1600, 48, 25)),
    ("EleutherAI/pythia-70m", 70426624, PYTHIA, pythia(512, 6, 8)),
    ("EleutherAI/pythia-160m", 162322944, PYTHIA, pythia(768, 12, 12)),
    ("EleutherAI/pythia-410m", 405334016, PYTHIA, pythia(1024, 24, 16)),
    ("EleutherAI/pythia-1b", 1011781632, PYTHIA, pythia(2048, 16, 8)),
    ("EleutherAI/pythia-1.4b", 1414647808, PYTHIA, pythia(2048, 24, 16)),
    ("EleutherAI/pythia-2.8b", 2775208960, PYTHIA, pythia(2560, 32, 32)),
    ("EleutherAI/pythia-6.9b", 6857302016, PYTHIA, pythia(4096, 32, 32, 50432)),
    ("EleutherAI/pythia-12b", 11846072320, PYTHIA, pythia(5120, 36, 40, 50688)),
    ("meta-llama/Llama-3.2-1B", 1235814400, HUB, llama32(2048, 16, 32, 64)),
    ("meta-llama/Llama-3.2-3B", 3212749824, HUB, llama32(3072, 28, 24, 128)),
    ("mistralai/Mistral-7B-v0.1", 7241732096, HUB,
     dict(architectures=["MistralForCausalLM"], model_type="mistral", bos_token_id=1,
          eos_token_id=2, hidden_act="silu", hidden_size=4096, initializer_range=0.02,
          intermediate_size=14336, max_position_embeddings=32768, num_attention_heads=32,
          num_hidden_layers=32, num_key_value_heads=8, rms_norm_eps=1e-5, rope_theta=10000.0,
          sliding_window=4096, tie_word_embeddings=False, torch_dtype="bfloat16",
          transformers_version="4.34.0.dev0", use_cache=True, vocab_size=32000)),
    ("Qwen/Qwen3-0.6B", 596049920, UNTIED, qwen3(1024, 3072, 28, 16, True)),
    ("Qwen/Qwen3-1.7B", 1720574976, UNTIED, qwen3(2048, 6144, 28, 16, True)),
    ("Qwen/Qwen3-4B", 4022468096, HUB, qwen3(2560, 9728, 36, 32, True)),
    ("Qwen/Qwen3-8B", 8190735360, HUB, qwen3(4096, 12288, 36, 32, False)),
    ("google/gemma-2-2b", 2614341888, HUB,
     dict(GEMMA, architectures=["Gemma2ForCausalLM"], model_type="gemma2",
          attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
          hidden_act="gelu_pytorch_tanh", hidden_size=2304, intermediate_size=9216,
          max_position_embeddings=8192, num_attention_heads=8, num_key_value_heads=4,
          rope_theta=10000.0, sliding_window=4096, transformers_version="4.42.4",
          vocab_size=256000)),
    ("google/gemma-3-1b-pt", 999885952, HUB,
     dict(GEMMA, architectures=["Gemma3ForCausalLM"], model_type="gemma3_text",
          attn_logit_softcapping=None, final_logit_softcapping=None, hidden_size=1152,
          intermediate_size=6912, max_position_embeddings=32768, num_attention_heads=4,
          num_key_value_heads=1, rope_local_base_freq=10000, rope_scaling=None, rope_theta=1000000,
          sliding_window=512, sliding_window_pattern=6, transformers_version="4.50.0.dev0",
          vocab_size=262144)),
    ("allenai/OLMo-2-0425-1B", 1484916736, HUB,
     dict(architectures=["Olmo2ForCausalLM"], model_type="olmo2", attention_bias=False,
          attention_dropout=0.0, eos_token_id=100257, hidden_act="silu", hidden_size=2048,
          initializer_range=0.02, intermediate_size=8192, max_position_embeddings=4096,
          num_attention_heads=16, num_hidden_layers=16, num_key_value_heads=16,
          pad_token_id=100277, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=500000,
          tie_word_embeddings=False, torch_dtype="float32", transformers_version="4.47.0",
          use_cache=True, vocab_size=100352)),
    ("allenai/Olmo-3-1025-7B", 7298011136, HUB,
     dict(architectures=["Olmo3ForCausalLM"], model_type="olmo3", attention_bias=False,
          attention_dropout=0.0, eos_token_id=100257, hidden_act="silu", hidden_size=4096,
          initializer_range=0.02, intermediate_size=11008,
          layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 8,
          max_position_embeddings=65536, num_attention_heads=32, num_hidden_layers=32,
          num_key_value_heads=32, pad_token_id=100277, rms_norm_eps=1e-6,
          rope_scaling=dict(attention_factor=1.2079441541679836, beta_fast=32, beta_slow=1,
                            factor=8.0, original_max_position_embeddings=8192, rope_type="yarn"),
          rope_theta=500000, sliding_window=4096, tie_word_embeddings=False, dtype="bfloat16",
          transformers_version="4.57.0", use_cache=True, vocab_size=100278)),
    ("HuggingFaceTB/SmolLM3-3B", 3075098624, HUB,
     dict(architectures=["SmolLM3ForCausalLM"], model_type="smollm3", attention_bias=False,
          attention_dropout=0.0, bos_token_id=128000, eos_token_id=128012, hidden_act="silu",
          hidden_size=2048, initializer_range=0.02, intermediate_size=11008,
          layer_types=["full_attention"] * 36, max_position_embeddings=65536, max_window_layers=28,
          mlp_bias=False, no_rope_layer_interval=4, no_rope_layers=[1, 1, 1, 0] * 9,
          num_attention_heads=16, num_hidden_layers=36, num_key_value_heads=4, pad_token_id=128004,
          pretraining_tp=2, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=5000000.0,
          sliding_window=None, torch_dtype="bfloat16", transformers_version="4.54.0.dev0",
          use_cache=False, use_sliding_window=False, vocab_size=128256)),
    ("microsoft/Phi-3-mini-4k-instruct", 3821079552, HUB,
     dict(architectures=["Phi3ForCausalLM"], model_type="phi3", attention_bias=False,
          attention_dropout=0.0, auto_map={"AutoConfig": "configuration_phi3.Phi3Config"},
          bos_token_id=1, embd_pdrop=0.0, eos_token_id=32000, hidden_act="silu", hidden_size=3072,
          initializer_range=0.02, intermediate_size=8192, max_position_embeddings=4096,
          num_attention_heads=32, num_hidden_layers=32, num_key_value_heads=32,
          original_max_position_embeddings=4096, pad_token_id=32000, resid_pdrop=0.0,
          rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0, sliding_window=2047,
          tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.40.2",
          use_cache=True, vocab_size=32064)),
    ("facebook/opt-125m", 125239296, "transformers, OPTForCausalLM.num_parameters()",
     opt(768, 3072, 12, 12, 768, True)),
    ("facebook/opt-350m", 331196416, "transformers, OPTForCausalLM.num_parameters()",
     opt(1024, 4096, 24, 16, 512, False)),
]


def count(config):
    """The number of parameters of transformers' model, tied ones once."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "config.json").write_text(json.dumps(config))
        loaded = AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(loaded)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


def main():
    rows = []
    for repository, parameters, source, config in MODELS:
        found = count(config)
        print(f"{repository}: {parameters}")
        assert found == parameters, (repository, found, parameters)
        rows.append(dict(repository=repository, parameters=parameters, source=source,
                         config=config))
    head = json.dumps(dict(
        made_by="tests/golden/make_published_sizes.py",
        versions=f"transformers {transformers.__version__}, torch {torch.__version__}"))
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{head[:-1]}, "models": [\n{lines}\n]}}'
    pathlib.Path(__file__).with_name("published_sizes.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
