# SPDX-License-Identifier: Apache-2.0
"""Writes attention.json: the attention measures of capture.h5, in numpy and float64.

capture.h5 is a capture of the trained LIMe in data/:

    lime-capture --checkpoint data/aet-lime --lines expressions.txt \
        --sites values,attn.hook_pattern -o run.h5
    lime-capture pack run.h5 -o capture.h5

The measures are those of lime-metrics attention (docs/attention.md): the mean over the queries of
each sequence from the second on, then mean and standard deviation over sequences; and the buffers
that one query reads, from the values and the routers.

    python3 make_attention.py
"""
import json
import pathlib
import sys

import h5py
import numpy as np

SEQUENCE, QUERY = 1, 9


def measures(pattern):
    """Returns the measures of each query of one head's pattern [T, T], from the second on."""
    found = {name: [] for name in ("entropy", "effective_keys", "distance", "first_share",
                                   "previous_share", "own_share")}
    for q in range(1, len(pattern)):
        a = pattern[q, : q + 1]
        seen = a[a > 0]
        entropy = -np.sum(seen * np.log(seen))
        found["entropy"].append(entropy)
        found["effective_keys"].append(np.exp(entropy))
        found["distance"].append(sum(a[k] * (q - k) for k in range(q + 1)))
        found["first_share"].append(a[0])
        found["previous_share"].append(a[q - 1])
        found["own_share"].append(a[q])
    return {name: np.array(values) for name, values in found.items()}


def main():
    folder = pathlib.Path(__file__).resolve().parent
    rows, routed = [], []
    with h5py.File(folder / "capture.h5", "r") as file:
        config = json.loads(file.attrs["config"])
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        offsets = file["sequences/offset"][:]
        layers = sorted(int(name) for name in file["activations/attn.hook_pattern"])
        for layer in layers:
            all_rows = file[f"activations/attn.hook_pattern/{layer:03}"][:].astype(np.float64)
            keys = all_rows.shape[1] // heads
            for head in range(heads):
                of_head = all_rows[:, head * keys : (head + 1) * keys]
                sequences = [of_head[a:b, : b - a] for a, b in zip(offsets, offsets[1:])]
                each = [measures(pattern) for pattern in sequences]
                for name in each[0]:
                    means = np.array([one[name].mean() for one in each])
                    one = each[SEQUENCE][name]
                    rows.append({"layer": layer, "head": head, "measure": name,
                                 "mean": means.mean(), "std": means.std(),
                                 "mean_of_one": one.mean(), "std_of_one": one.std()})
                routed.append({"layer": layer, "head": head,
                               "shares": shares(file, layer, head * kv_heads // heads, kv_heads,
                                                sequences[SEQUENCE][QUERY], offsets)})
    provenance = {"script": pathlib.Path(__file__).name, "sequence": SEQUENCE, "query": QUERY,
                  "versions": f"python {sys.version.split()[0]}, numpy {np.__version__}, "
                              f"h5py {h5py.__version__}"}
    text = json.dumps({"provenance": provenance, "rows": rows, "routed": routed}, indent=1)
    (folder / "attention.json").write_text(text + "\n")


def shares(file, layer, routed_head, kv_heads, attention, offsets):
    """Returns the fraction read of each buffered layer and key, [layer + 1, keys], by value norms."""
    first, end = offsets[SEQUENCE], offsets[SEQUENCE + 1]
    router = np.zeros((kv_heads, (layer + 1) * kv_heads))
    if f"router/{layer:03}" in file:
        router[:] = file[f"router/{layer:03}"][:]
    else:  # layer 0 reads itself
        router[:, layer * kv_heads :] = np.eye(kv_heads)
    found = np.zeros((layer + 1, end - first))
    for source in range(layer + 1):
        values = file[f"activations/values/{source:03}"][first:end].astype(np.float64)
        values = values.reshape(end - first, kv_heads, -1)
        weights = router[routed_head, source * kv_heads : (source + 1) * kv_heads]
        found[source] = attention * np.linalg.norm(np.einsum("j,kjd->kd", weights, values), axis=1)
    return (found / found.sum()).tolist()


if __name__ == "__main__":
    main()
