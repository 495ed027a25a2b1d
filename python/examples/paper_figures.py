# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Figures of the paper from results files
#
# The small checkpoints in data/ and the programs of build/release/bin give the results. `lime-figure` draws the
# same figures without Python.
# %%
import os
import subprocess
import tempfile
from pathlib import Path

import lime_toolkit as lt
from lime_toolkit import plots

root = next(one for one in [Path.cwd(), *Path.cwd().parents] if (one / "data" / "aet-lime").is_dir())
programs = Path(os.environ.get("LIME_BIN", root / "build" / "release" / "bin"))
folder = Path(tempfile.mkdtemp())


def run(program: str, *arguments: object) -> None:
    subprocess.run([programs / program, *map(str, arguments)], check=True, cwd=folder, capture_output=True)


# %% [markdown]
# ## Capture and measure
# %%
(folder / "sums.txt").write_text("".join(f"{a} + {b} =\n" for a in range(20) for b in range(20)))
for name in ("llama", "lime"):
    run("lime-capture", "--checkpoint", root / "data" / f"aet-{name}", "--lines", "sums.txt",
        "--sites", "values,hidden", "-o", f"{name}.h5")
run("lime-metrics", "entropy", "llama.h5", "lime.h5", "--label", "LLaMA,LIMe", "-o", "entropy.json")
run("lime-metrics", "tsne", "lime.h5", "--site", "values", "--layer", "3", "-o", "tsne.json")
# %% [markdown]
# ## Figure 2: entropy over layers
# %%
entropy = lt.Results(folder / "entropy.json")
frame = entropy.frame()
print(frame.pivot(index="layer", columns=["site", "label"], values="mean").round(3))
plots.layers(entropy, site="values");
# %% [markdown]
# ## Figure 5: which layers the routers read
# %%
router = lt.router(lt.router_weights(root / "data" / "aet-lime"))
plots.heatmap(router.mean_map, label="weight", xlabel="buffered layer", ylabel="layer");
# %% [markdown]
# ## t-SNE of the values of the last layer
# %%
plots.embedding(lt.Embeddings(folder / "tsne.embeddings.h5"), "lime", "values", 3);
