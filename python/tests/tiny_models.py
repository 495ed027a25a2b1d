# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with a few thousand random weights, and batches for them."""

import pytest

import lime_toolkit as lt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
torch.set_num_threads(2)

SMALL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4)
WIDE = dict(SMALL, intermediate_size=48, num_key_value_heads=2)
MIXTURE = dict(WIDE, moe_intermediate_size=24, num_experts=4, num_experts_per_tok=2)
MODELS = {
    "llama": WIDE,
    "mistral": WIDE,
    "qwen2": WIDE,
    "qwen3": dict(WIDE, head_dim=8),
    "gemma2": dict(WIDE, head_dim=8),
    "gemma3_text": dict(WIDE, head_dim=8, sliding_window=16),
    "olmo2": WIDE,
    "phi": dict(SMALL, intermediate_size=48),
    "phi3": dict(WIDE, pad_token_id=0),
    "gpt2": dict(vocab_size=64, n_embd=32, n_layer=3, n_head=4),
    "gpt_neox": dict(SMALL, intermediate_size=48),
    "gptj": dict(vocab_size=64, n_embd=32, n_layer=3, n_head=4, rotary_dim=4),
    "gpt_neo": dict(vocab_size=64, hidden_size=32, num_layers=3, num_heads=4, attention_types=[[["global"], 3]]),
    "bloom": dict(vocab_size=64, hidden_size=32, n_layer=3, n_head=4),
    "falcon": dict(SMALL, new_decoder_architecture=True, num_kv_heads=2),
    "mpt": dict(vocab_size=64, d_model=32, n_layers=3, n_heads=4),
    "opt": dict(SMALL, ffn_dim=48, word_embed_proj_dim=32),
    "starcoder2": WIDE,
    "stablelm": WIDE,
    "cohere": WIDE,
    "granite": WIDE,
    "mixtral": dict(WIDE, num_local_experts=4),
    "qwen2_moe": MIXTURE,
    "qwen3_moe": dict(MIXTURE, head_dim=8),
    "olmoe": MIXTURE,
    "mamba": dict(vocab_size=64, hidden_size=32, num_hidden_layers=3, state_size=4),
    "bert": dict(SMALL, intermediate_size=48),
    "roberta": dict(SMALL, intermediate_size=48, pad_token_id=1),
    "electra": dict(SMALL, intermediate_size=48, embedding_size=32),
    "distilbert": dict(vocab_size=64, dim=32, n_layers=3, n_heads=4, hidden_dim=48),
}
#: Their last layer is not followed by a final norm within the model.
NO_FINAL_NORM = ("bert", "roberta", "electra", "distilbert")


def make_model(model_type: str):
    """A model of a few thousand random weights, in float32."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **MODELS[model_type])
    is_encoder = model_type in NO_FINAL_NORM
    auto = transformers.AutoModelForMaskedLM if is_encoder else transformers.AutoModelForCausalLM
    return auto.from_config(config, attn_implementation="eager").eval()


def make_batch(left: bool = False, lengths=(9, 5, 7)):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 60, (len(lengths), max(lengths)), generator=generator)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        mask[row, ids.shape[1] - length if left else 0 :][:length] = 1
    return {"input_ids": ids, "attention_mask": mask}


@torch.no_grad()
def record(path, model, *batches, **options):
    with lt.Recorder(path, model, **options) as recorder:
        for batch in batches:
            model(**batch)
    return recorder
