# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/families/<family>.h5: random models, and their activations in transformers.

Also beyond_<kind>.h5: models with that kind of RoPE, whose sequences are 1.5 and 3 times as long as
max_position_embeddings.

Run:  python make_family_goldens.py [FAMILY...]      (numpy, h5py, torch, transformers, safetensors)

A file has ids [seq] and positions [n], then per model a float64 dataset, "0", "1", ..., with the
attributes

  config    text of config.json: with the keys of transformers 4 (even models), or as
            transformers 5 writes it (odd models)
  tensors   JSON list of [name, shape, offset, scale]: the tensors of model.safetensors, whose
            values fill() of family_models.py computes from the seed text "<family>/<model>/<name>".
            `*` in a name stands for every layer.
  layout    JSON list of [name, shape]: the activations that the dataset contains one after the
            other, see record() of family_models.py. Of the tokens only those at `positions` are
            stored: hidden [1 + layers, n, hidden], q, k, v, rot_q, rot_k [layers, n, heads,
            head_dim], pattern [layers, heads, n, seq], mlp [layers, n, intermediate], logits
            [n, vocab]; of a mixture of experts, expert_layers and its router in place of mlp.
"""

import json
import pathlib
import re
import sys

import h5py
import numpy as np
import torch
import transformers

from family_models import (BEYOND, BRANCHES, NUM_TOKENS, SmallModel, beyond_settings,
                           golden_settings)

HERE = pathlib.Path(__file__).parent
POSITIONS = [6, NUM_TOKENS - 1]
AXIS = {"logits": 0, "pattern": 2}  # of the tokens; else 1


def folded(tensors):
    """The list without repetitions over layers, all of which have the same tensors."""
    rows, layers = {}, {}
    for name, formula in tensors.items():
        pattern = re.sub(r"\.\d+\.", ".*.", name, count=1)
        rows.setdefault(pattern, list(formula))
        layers.setdefault(pattern, []).append(name)
        assert rows[pattern] == list(formula)
    most = max(map(len, layers.values()))
    return [[name, *formula] for pattern, formula in rows.items()
            for name in ([pattern] if len(layers[pattern]) == most else layers[pattern])]


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def write_family(path, family, all_settings, positions):
    """Writes models of these settings; returns how many."""
    ids = np.random.default_rng(7).integers(0, 13, NUM_TOKENS)
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.attrs["made_by"] = "tests/golden/make_family_goldens.py"
        file.attrs["versions"] = (f"transformers {transformers.__version__}, "
                                  f"torch {torch.__version__}, numpy {np.__version__}")
        file["ids"] = ids.astype(np.int32)
        file["positions"] = np.array(positions, np.int32)
        for index, settings in enumerate(all_settings):
            model = SmallModel(f"{family}/{index}", settings, 4 + index % 2)
            stored = {name: values if name == "expert_layers" else
                      values.take(positions, AXIS.get(name, 1))
                      for name, values in model.activations(ids).items()}
            file[str(index)] = np.concatenate([values.ravel() for values in stored.values()])
            attributes = file[str(index)].attrs
            attributes["config"] = json.dumps(model.config)
            attributes["tensors"] = compact(folded(model.tensors))
            attributes["layout"] = compact([[name, values.shape]
                                            for name, values in stored.items()])
    return len(all_settings)


def main():
    (HERE / "families").mkdir(exist_ok=True)
    beyond = {f"beyond_{kind}": kind for kind in BEYOND}
    for family in sys.argv[1:] or [*BRANCHES, *beyond]:
        settings = (beyond_settings(beyond[family], np.random.default_rng(1))
                    if family in beyond else golden_settings(family))
        count = write_family(HERE / "families" / f"{family}.h5", family, settings, POSITIONS)
        print(f"{family}: {count} models")


if __name__ == "__main__":
    main()
