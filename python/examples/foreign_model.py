# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Record and measure a model that the programs do not load
#
# A small Mamba with random weights stands for any PyTorch model. Replace it with
# `AutoModelForCausalLM.from_pretrained(...)`.
# %%
import tempfile
from pathlib import Path

import torch
import transformers

import lime_toolkit as lt

folder = Path(tempfile.mkdtemp())
torch.manual_seed(0)
config = transformers.MambaConfig(vocab_size=256, hidden_size=64, num_hidden_layers=6, state_size=8)
model = transformers.MambaForCausalLM(config).eval()
# %% [markdown]
# ## Record
#
# The tokens are the bytes of some sentences. `hidden` is the residual stream after each block.
# %%
texts = [f"Sentence number {i} is about the number {i * i}." for i in range(40)]
with torch.no_grad(), lt.Recorder(folder / "mamba.h5", model, sites=["hidden"]) as recorder:
    for text in texts:
        recorder.describe(texts=[text])
        model(torch.tensor([list(text.encode())]))
capture = lt.Capture(folder / "mamba.h5")
capture
# %% [markdown]
# ## Measure
#
# The entropy of each layer with its interval, in nats, and the geometry of the last one.
# %%
for layer in capture.layers("hidden"):
    summary = lt.entropy(capture["hidden", layer]).summary()
    print(f"{layer}  {summary.mean:.3f} [{summary.ci_low:.3f}, {summary.ci_high:.3f}]")
geometry = lt.geometry(capture["hidden", 5])
print(f"effective rank {geometry.effective_rank:.1f} of 64, anisotropy {geometry.anisotropy:.3f}")
# %% [markdown]
# ## Compare layers
# %%
from lime_toolkit import plots

similarity = lt.similarity_map([capture["hidden", layer] for layer in capture.layers("hidden")])
plots.heatmap(similarity.cka_debiased, label="CKA, debiased");
# %% [markdown]
# ## Probe
#
# Is a byte a digit? The bytes themselves tell, so every layer should know.
# %%
is_digit = (capture.rows.token >= 48) & (capture.rows.token < 58)
for layer in (0, 5):
    probe = lt.probe(capture["hidden", layer], is_digit, control="shuffled")
    print(f"layer {layer}: accuracy {probe.accuracy:.3f}, selectivity {probe.selectivity['shuffled']:.3f}")
