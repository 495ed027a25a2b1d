# SPDX-License-Identifier: Apache-2.0
"""Writes views.json: DiME, InfoNCE and LiDAR of augmented views, and the entropy of a data set.

Values of the preset layer-by-layer are those of the authors' own functions: of metric_utils.py in
github.com/OFSkean/information_flow (a6ad5086) with github.com/uk-cliplab/representation-itl
(fd0da54a), run in float64 with the permutations stored here. Values of the preset paper are from
numpy and scipy, written from the equations.

    python make_views.py INFORMATION_FLOW REPRESENTATION_ITL    # clones; requires numpy, scipy, torch
"""
import ast
import json
import sys
import types
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.special
import torch

SEED = 20261126
PERMUTATIONS = 4


def load_layer_by_layer(folder, itl):
    """Imports metric_utils.py with only normalize() of the module that imports mteb and others."""
    sys.path.insert(0, str(Path(itl) / "src"))
    misc = Path(folder) / "experiments/utils/misc"
    source = (misc / "model_dataloader_utils.py").read_text()
    (function,) = [n for n in ast.parse(source).body if getattr(n, "name", "") == "normalize"]
    package = types.ModuleType("misc")
    package.__path__ = [str(misc)]
    loader = types.ModuleType("misc.model_dataloader_utils")
    exec(ast.get_source_segment(source, function), {"torch": torch}, loader.__dict__)
    tqdm = types.ModuleType("tqdm")
    tqdm.tqdm = lambda items, **_: items
    sys.modules |= {"misc": package, "misc.model_dataloader_utils": loader}
    sys.modules.setdefault("tqdm", tqdm)
    from misc import metric_utils

    return metric_utils, loader.normalize


def layer_by_layer(code, x, permutations):
    states = torch.from_numpy(x)[None]  # [layers, texts, views, dim]
    doe, waiting = code.dent.doe, [torch.tensor(p) for p in permutations]
    code.dent.permuteGram = lambda gram: gram[waiting[0]][:, waiting.pop(0)]
    code.dent.doe = lambda a, b, alpha, n_iters: doe(a, b, alpha, n_iters=len(permutations))
    norms = ["maxEntropy", "logN", "logD", "logNlogD", "raw"]
    dime = code.compute_dime(states[:, :, :2], normalizations=norms)
    lidar = code.compute_lidar(states, normalizations=norms)
    code.dent.doe = doe
    return {
        "dime": {n: dime[n][0] for n in norms},
        "lidar": {n: lidar[n][0] for n in norms},
        "infonce": code.compute_infonce(states[:, :, :2])["raw"][0],
    }


def entropy(matrix):
    values = np.linalg.eigvalsh(matrix)
    p = values[values > 0] / values[values > 0].sum()
    return -np.sum(p * np.log(p))


def paper(x, permutations):
    texts, views, dim = x.shape
    a, b = (x[:, i] / np.linalg.norm(x[:, i], axis=1, keepdims=True) for i in (0, 1))
    z = np.concatenate([a, b])
    logits = z @ z.T / 0.1
    np.fill_diagonal(logits, -np.inf)
    other = np.roll(np.arange(2 * texts), -texts)
    loss = scipy.special.logsumexp(logits, axis=1) - logits[np.arange(2 * texts), other]
    ka, kb = a @ a.T, b @ b.T
    joint = entropy(ka * kb)
    means = x.mean(1)
    within = np.einsum("nqi,nqj->ij", x - means[:, None], x - means[:, None]) / (texts * (views - 1))
    values = scipy.linalg.eigh(np.cov(means, rowvar=False), within + 1e-4 * np.eye(dim), eigvals_only=True)
    p = np.clip(values, 0, None) + 1e-8
    p /= p.sum()
    return {
        "dime": [entropy(ka * kb[np.ix_(p, p)]) - joint for p in permutations],
        "infonce": ((loss[:texts] + loss[texts:]) / 2).tolist(),
        "lidar": np.exp(-np.sum(p * np.log(p))),
    }


def main():
    torch.set_default_dtype(torch.float64)  # of the scatter matrices
    code, normalize = load_layer_by_layer(*sys.argv[1:3])
    rng = np.random.default_rng(SEED)
    golden = {"made_by": ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "torch"))}
    for name, (texts, views, dim) in {"wide": (7, 3, 16), "tall": (20, 2, 5)}.items():
        x = rng.standard_normal((texts, 1, dim)) + 0.4 * rng.standard_normal((texts, views, dim)) + 0.3
        x = (x / np.linalg.norm(x, axis=2, keepdims=True)).astype(np.float32)
        draw = lambda size: [rng.permutation(size).tolist() for _ in range(PERMUTATIONS)]
        ours, theirs = draw(texts), draw(min(texts, dim))
        wide = x.astype(np.float64)
        golden[name] = {
            "texts": texts,
            "rows": x.reshape(-1, dim).tolist(),
            "permutations": {"paper": ours, "layer-by-layer": theirs},
            "paper": paper(wide, ours),
            "layer-by-layer": layer_by_layer(code, wide, theirs),
        }
    sequences = [rng.standard_normal((n, 6)).astype(np.float32) + np.float32(0.5) for n in (4, 7, 5, 9)]
    means = torch.stack([normalize(torch.from_numpy(s.astype(np.float64))).mean(0) for s in sequences])
    golden["dataset"] = {
        "sequences": [s.tolist() for s in sequences],
        "means": means.tolist(),
        "entropy": code.compute_entropy(means[None])["maxEntropy"][0],
    }
    Path(__file__).with_name("views.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
