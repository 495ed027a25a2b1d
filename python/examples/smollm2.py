# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A study of SmolLM2-135M
#
# Activations in memory, entropies with and without the first token, similarity of layers, and interventions. The
# folder `LIME_REAL_MODEL` has the model; otherwise it is downloaded from the Hub. The text is any English text.
# %%
import os
from pathlib import Path

import numpy as np
import torch
import transformers

import lime_toolkit as lt
from lime_toolkit import plots

transformers.utils.logging.disable_progress_bar()
name = os.environ.get("LIME_REAL_MODEL", "HuggingFaceTB/SmolLM2-135M-Instruct")
if not (Path(name) / "config.json").exists():
    name = next((str(path.parent) for path in sorted(Path(name).glob("*/config.json"))), name)
tokenizer = transformers.AutoTokenizer.from_pretrained(name)
model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, attn_implementation="eager").eval()
places = [Path(os.environ.get("LIME_TEST_DATA", "shared")), *(one / "shared" for one in Path.cwd().parents)]
data = next(one for one in places if (one / "text").is_dir())
text = (data / "text" / "fineweb-edu-sample.txt").read_text()
ids = torch.tensor(tokenizer(text[:20000])["input_ids"][: 8 * 256]).view(8, 256)
# %% [markdown]
# ## The residual stream in memory
#
# `cache` runs the model up to the last module that is recorded; no file is written.
# %%
cached = lt.cache(model, input_ids=ids, sites=["hidden"], tokenizer=tokenizer)
cached
# %% [markdown]
# ## One token dominates
#
# In layer 11 the norm of the first token rises to about 170 times the median of all tokens.
# %%
norms = np.stack([cached["hidden", layer].norm().reshape(8, 256) for layer in cached.layers("hidden")])
for layer in (3, 10, 11, 20, 28, 29):
    print(f"layer {layer}: first token {norms[layer, :, 0].mean():9.1f}, median {np.median(norms[layer]):7.1f}")
# %% [markdown]
# The raw entropy collapses there, and does not without that token.
# %%
rest = lt.Capture.from_arrays(
    {("hidden", layer): cached["hidden", layer][:].reshape(8, 256, -1)[:, 1:] for layer in cached.layers("hidden")},
    tokens=ids[:, 1:], config={"model_type": "without token 0"},
)
whole = lt.entropy(cached, preset="raw")
axes = plots.layers([whole, lt.entropy(rest, preset="raw")])
whole["hidden", 11]
# %% [markdown]
# ## Which layers are similar?
#
# Debiased CKA over all tokens, then without the first token of each sequence: most of the similarity is that token.
# %%
plots.heatmap(lt.similarity_map(cached, measure="cka"));
# %%
plots.heatmap(lt.similarity_map(rest, measure="cka"));
# %% [markdown]
# ## Attention sinks
#
# A head of layer 20 on the beginning of the first text attends to its first token.
# %%
short = lt.cache(model, input_ids=ids[:1, :16], sites=["attn.hook_pattern"], layers=[20], max_length=16)
patterns = short["attn.hook_pattern", 20].patterns(0)
print("mean weight of the first token:", patterns[:, 1:, 0].mean(axis=1).round(2))
plots.pattern(patterns[0], short.token_strings(tokenizer));
# %% [markdown]
# ## What does each layer contribute?
#
# The loss without a layer, minus that of the original model, with the 95% bootstrap interval over sequences.
# %%
model.set_attn_implementation("sdpa")
effects = lt.sweep(model, {"input_ids": ids[:, :128]}, over="layers", attribution=False)
plots.layers(effects, value="effect");
# %%
effects.frame()[["part", "layer", "loss", "effect", "effect_low", "effect_high"]].sort_values("effect").tail(5)
# %% [markdown]
# ## One head
#
# The same language as `lime-capture --edit`.
# %%
head = lt.sweep(model, {"input_ids": ids}, edits="zero head layers=10 heads=3", attribution=False)
print(f"effect of head 3 of layer 10: {head.rows[1]['effect']:+.5f} nats per token")
with lt.edit(model, "zero head layers=10 heads=3"):
    edited = lt.cache(model, input_ids=ids, sites=["hidden"], layers=[10, 20])
for layer in (10, 20):
    change = (edited["hidden", layer] - cached["hidden", layer]).norm() / cached["hidden", layer].norm()
    print(f"relative change of layer {layer}: {np.median(change):.4f}")
