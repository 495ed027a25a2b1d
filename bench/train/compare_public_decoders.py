#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares training steps of decoders that route over depth with their public Python code.

    bench/train/compare_public_decoders.py [--attnres FOLDER] [--muddformer FOLDER] [--build build/torch]
        [--turns 5] [--repeats 3] [--threads 2] [--only NAME ...]

  LLaMA            LLaMA of transformers
  AttnRes          github.com/wdlctc/open-attention-residuals at 83d2b8d (--attnres), without the norms
                   of queries and keys, which our decoder does not have at these settings
  mHC              LLaMA of transformers with DeepseekV4HyperConnection and DeepseekV4HyperHead
  MUDD             github.com/Caiyun-AI/MUDDFormer at fc067b2 (--muddformer), MLPs of one size
  Depth-Attention  LLaMA of transformers with the mixture of values as arXiv:2606.05014 defines it; no
                   public code of it can be fetched

8 layers, width 256, 8 heads, 8 sequences of 256 tokens, vocabulary 4096, float32, AdamW. The toolkit
should be built with the LibTorch of the interpreter's torch. Programs alternate, a process per turn;
each turn is the median of its steps, and the table has the median and extremes of the turns. Requires
torch, transformers 5.23, einops, and h5py and numpy for torch_step.py.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

from compare_decoders import SMALL, command_words, run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = {
    "LLaMA": {"decoder": "llama"},
    "AttnRes full": {"decoder": "attn_res"},
    "AttnRes block": {"decoder": "attn_res", "attn-res-blocks": 4},
    "mHC": {"decoder": "mhc"},
    "MUDD": {"decoder": "mudd"},
    "Depth-Attention": {"decoder": "depth_attention"},
}


def config_of(build, name):
    """Returns the config.json of our decoder, with all its defaults."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        command = [build / "bin/lime-bench-step", *command_words(SMALL | OURS[name]), "--write-config",
                   path]
        subprocess.run([*map(str, command)], check=True, capture_output=True)
        return json.loads(path.read_text())


def module_of(path, replaced=()):
    """Imports a file of a checkout with the casts to half precision replaced."""
    source = path.read_text()
    for old, new in (("torch.bfloat16", "torch.float32"), ("torch.float16", "torch.float32"),
                     *replaced):
        source = source.replace(old, new)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def attn_res(config, arguments):
    from torch import nn
    masks = "cache_position=cache_position,\n                past_key_values=past_key_values,"
    module = module_of(arguments.attnres / "modeling_attnres.py",
                       [(masks, "past_key_values=past_key_values,")])
    blocks = config["attn_res"]["num_blocks"]
    keys = {key: config[key] for key in (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "rms_norm_eps", "max_position_embeddings", "tie_word_embeddings")}
    model = module.Qwen3AttnResForCausalLM(module.Qwen3AttnResConfig(
        **keys, head_dim=config["hidden_size"] // config["num_attention_heads"],
        attn_implementation="sdpa", attnres_mode="block" if blocks else "full",
        attnres_num_blocks=blocks or 2, attnres_recency_bias_init=0.0, attnres_gate_type="bias"))
    for layer in model.model.layers:
        layer.self_attn.q_norm = layer.self_attn.k_norm = nn.Identity()
    return model, lambda ids: model(input_ids=ids, use_cache=False).logits


def plain_llama(config):
    from transformers import LlamaConfig, LlamaForCausalLM
    keys = {key: config[key] for key in (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "rms_norm_eps", "max_position_embeddings", "tie_word_embeddings")}
    return LlamaForCausalLM(LlamaConfig(**keys, attn_implementation="sdpa"))


def llama(config, _):
    model = plain_llama(config)
    return model, lambda ids: model(input_ids=ids, use_cache=False).logits


def rotation_of(model, x):
    import torch
    return model.model.rotary_emb(x, torch.arange(x.shape[1])[None])


def mhc(config, _):
    from torch import nn
    from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek
    model = plain_llama(config)
    own = types.SimpleNamespace(rms_norm_eps=config["rms_norm_eps"], hidden_size=config["hidden_size"],
                                **config["mhc"])
    model.routers = nn.ModuleList(
        deepseek.DeepseekV4HyperConnection(own) for _ in range(2 * config["num_hidden_layers"]))
    model.head = deepseek.DeepseekV4HyperHead(own)
    for weight in (*model.routers.parameters(), *model.head.parameters()):
        nn.init.normal_(weight, std=0.02)

    def forward(ids):
        x = model.model.embed_tokens(ids)
        rotation = rotation_of(model, x)
        streams = x.unsqueeze(2).expand(-1, -1, own.hc_mult, -1).contiguous()
        for number, layer in enumerate(model.model.layers):
            parts = (lambda x: layer.self_attn(layer.input_layernorm(x), position_embeddings=rotation,
                                               attention_mask=None)[0],
                     lambda x: layer.mlp(layer.post_attention_layernorm(x)))
            for router, part in zip(model.routers[2 * number:], parts):
                post, comb, collapsed = router(streams)
                streams = (post.unsqueeze(-1) * part(collapsed).unsqueeze(-2)
                           + comb.transpose(-1, -2) @ streams)
        return model.lm_head(model.model.norm(model.head(streams)))

    return model, forward


def depth_attention(config, _):
    import torch
    from torch.nn import functional
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    model = plain_llama(config)
    own = config["depth_attention"]

    def attend(layer, number, x, rotation, kept):
        q, k, v = (project(x).unflatten(-1, (-1, layer.self_attn.head_dim)) for project in (
            layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj))
        sources = [i for i in range(number)
                   if own["stride"] and i % own["stride"] == 0 or i >= number - own["recent_window"]]
        keys, values = zip(*[kept[i] for i in sources], (k, v))
        scores = torch.stack([(q * key).sum(-1) for key in keys], -1) / k.shape[-1] ** 0.5
        mixed = (scores.softmax(-1)[..., None] * torch.stack(values, -2)).sum(-2)
        kept.append((k, mixed))
        q, k = apply_rotary_pos_emb(q.transpose(1, 2), k.transpose(1, 2), *rotation)
        out = functional.scaled_dot_product_attention(q, k, mixed.transpose(1, 2), is_causal=True)
        return layer.self_attn.o_proj(out.transpose(1, 2).flatten(2))

    def forward(ids):
        x, kept = model.model.embed_tokens(ids), []
        rotation = rotation_of(model, x)
        for number, layer in enumerate(model.model.layers):
            x = x + attend(layer, number, layer.input_layernorm(x), rotation, kept)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return model.lm_head(model.model.norm(x))

    return model, forward


def mudd(config, arguments):
    folder = arguments.muddformer / "pytorch/muddformer"
    sys.path.insert(0, str(folder))
    module_of(folder / "configuration_muddformer.py")
    module = module_of(folder / "modeling_muddformer.py")
    own = module.MUDDFormerConfig(
        vocab_size=config["vocab_size"], n_layer=config["num_hidden_layers"],
        n_head=config["num_attention_heads"], n_local_heads=config["num_attention_heads"],
        dim=config["hidden_size"], intermediate_size=config["intermediate_size"],
        head_dim=config["hidden_size"] // config["num_attention_heads"],
        norm_eps=config["rms_norm_eps"], block_size=SMALL["seq-len"], rope_base=10000,
        use_qk_norm=False, sepln=True, expand_last=True, round64=config["mudd"].get("round64", False),
        dense_type="qkvr", is_training=True, use_gradient_checkpointing=False)
    model = module.MUDDFormer(own)
    for layer in model.layers:
        layer.feed_forward = module.FeedForward(own, layer.lidx, False, False)
    if config["tie_word_embeddings"]:
        model.output.weight = model.tok_embeddings.weight
    model.setup_caches(SMALL["batch-size"], SMALL["seq-len"])
    return model, lambda ids: model(ids, return_tensor=True)


PUBLIC = {"LLaMA": llama, "AttnRes full": attn_res, "AttnRes block": attn_res, "mHC": mhc,
          "MUDD": mudd, "Depth-Attention": depth_attention}


def python_step(arguments):
    """Prints the median seconds of a step of a public decoder, as one JSON line."""
    import torch

    import torch_step
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model, forward = PUBLIC[arguments.python](config_of(arguments.build, arguments.python), arguments)
    model = model.float().train()
    timed = torch.nn.Module()
    timed.model, timed.forward = model, forward
    shape = argparse.Namespace(
        repeats=arguments.repeats, batch_size=SMALL["batch-size"], seq_len=SMALL["seq-len"],
        vocab_size=SMALL["vocab-size"], autocast=False)
    seconds = torch_step.step_seconds(timed, shape, torch.device("cpu"))
    print(json.dumps({"step_seconds": statistics.median(seconds),
                      "parameters": sum(weight.numel() for weight in model.parameters())}))


def run_public(command):
    """Returns the last line of the output: transformers prints remarks before it."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_public_decoders: {command[-1]} failed: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def shown(turns):
    seconds = [1e3 * turn["step_seconds"] for turn in turns]
    return f"{statistics.median(seconds):.4g} ms ({min(seconds):.4g} to {max(seconds):.4g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "torch")
    parser.add_argument("--attnres", type=pathlib.Path)
    parser.add_argument("--muddformer", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=list(OURS))
    parser.add_argument("--python", choices=list(OURS), help="only time the public code in this process")
    arguments = parser.parse_args()
    if arguments.python:
        return python_step(arguments)
    absent = {name for name in OURS
              if name.startswith("AttnRes") and not arguments.attnres
              or name == "MUDD" and not arguments.muddformer}
    names = [name for name in OURS if name in (arguments.only or OURS) and name not in absent]
    if absent:
        print(f"left out, no folder given: {', '.join(sorted(absent))}", file=sys.stderr)
    folders = [word for name in ("attnres", "muddformer") if getattr(arguments, name)
               for word in (f"--{name}", getattr(arguments, name))]
    common = ["--threads", arguments.threads, "--repeats", arguments.repeats]
    found = {name: ([], []) for name in names}
    for _ in range(arguments.turns):
        for name in names:
            found[name][0].append(run([arguments.build / "bin/lime-bench-step",
                                       *command_words(SMALL | OURS[name]), *common, "--no-pass"]))
            found[name][1].append(run_public([sys.executable, __file__, "--python", name,
                                              "--build", arguments.build, *folders, *common]))
    print("| decoder | ours | public Python | ours / public | parameters, ours and public |")
    print("|---|---|---|---|---|")
    for name, (ours, public) in found.items():
        ratio = statistics.median(one["step_seconds"] / other["step_seconds"]
                                  for one, other in zip(ours, public))
        print(f"| {name} | {shown(ours)} | {shown(public)} | {ratio:.3f} | "
              f"{ours[0]['parameters']:,}; {public[0]['parameters']:,} |")


if __name__ == "__main__":
    main()
