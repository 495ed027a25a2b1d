# SPDX-License-Identifier: Apache-2.0
"""Writes experts.json: routers' logits of random texts, and their measures by independent programs.

Mutual information is sklearn.metrics.mutual_info_score, entropies are scipy.stats.entropy, means
under permutations and bootstrap intervals are drawn with numpy's generator.

    python make_experts.py        # writes to its own folder; requires numpy, scipy, scikit-learn
"""
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import entropy, t as student
from sklearn.metrics import mutual_info_score

SEED = 20261127
EXPERTS, SELECTED, VOCABULARY = 8, 2, 12
DOMAINS = ["code", "law", "prose"]
COMMITTEE = 0.8


def make_layer(rng, lengths, tokens, domains, strength):
    """Logits that depend on the token, the domain and chance."""
    of_token = rng.normal(size=(VOCABULARY, EXPERTS))
    of_domain = rng.normal(size=(len(DOMAINS), EXPERTS)) * strength
    bias = rng.normal(size=EXPERTS)
    logits = []
    for document, length in enumerate(lengths):
        own = tokens[document]
        logits.append(of_token[own] + of_domain[domains[document]] + bias + 0.7 * rng.normal(size=(length, EXPERTS)))
    logits = np.float32(np.round(np.concatenate(logits), 3)).astype(float)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :SELECTED]
    chosen = np.take_along_axis(logits, order, 1)
    weights = np.exp(chosen - chosen.max(1, keepdims=True))
    weights = np.float32(np.round(weights / weights.sum(1, keepdims=True), 4)).astype(float)
    return logits, order, weights


def gini(load):
    return np.abs(load[:, None] - load[None]).sum() / (2 * len(load) * load.sum())


def of_load(selected, probabilities):
    load = np.bincount(selected.ravel(), minlength=EXPERTS)
    share = load / load.sum()
    return {
        "load_entropy": entropy(share),
        "effective_experts": np.exp(entropy(share)),
        "max_violation": load.max() / load.mean() - 1,
        "load_variation": np.std(load) / load.mean(),
        "load_gini": gini(load.astype(float)),
        "unused_experts": np.mean(load == 0),
        "balance_loss": EXPERTS * np.dot(share, probabilities.mean(0)),
    }


def information(selected, groups):
    return mutual_info_score(selected.ravel(), np.repeat(groups, SELECTED))


def partners(selected):
    """Mean over selections of exp(entropy) of the partners of the selected expert."""
    others = {e: Counter() for e in range(EXPERTS)}
    for row in selected:
        for a, b in itertools.permutations(row, 2):
            others[a][b] += 1
    count = Counter(selected.ravel())
    total = sum(count[e] * np.exp(entropy(list(others[e].values()))) for e in count if others[e])
    return total / sum(count[e] for e in count if others[e])


def committee(tables):
    """Of tables of routing weight per group, [experts] each."""
    top = [set(np.argsort(-table, kind="stable")[:SELECTED]) for table in tables]
    members = [e for e in range(EXPERTS) if sum(e in s for s in top) >= COMMITTEE * len(top)]
    load = np.sum(tables, axis=0)
    overlaps = [len(a & b) / SELECTED for a, b in itertools.combinations(top, 2)]
    return {
        "committee_size": len(members),
        "committee_share": load[members].sum() / load.sum(),
        "committee_overlap": np.mean(overlaps),
    }


def jackknife(of, bounds, blocks):
    """Interval of a function of the rows, leaving out blocks of documents."""
    rows = np.arange(bounds[-1])
    without = []
    for block in np.array_split(np.arange(len(bounds) - 1), blocks):
        keep = (rows < bounds[block[0]]) | (rows >= bounds[block[-1] + 1])
        without.append(of(keep))
    without = np.array(without)
    se = np.sqrt((blocks - 1) / blocks * ((without - without.mean()) ** 2).sum())
    return se, student.ppf(0.975, blocks - 1) * se


def measure(logits, selected, weights, lengths, tokens, domains, rng):
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    normal = weights / weights.sum(1, keepdims=True)
    document = np.repeat(np.arange(len(lengths)), lengths)
    parts = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    of_sequences = {"routing_entropy": [], "weight_entropy": [], "selected_probability": [], "overlap": []}
    mass = []
    for part in parts:
        own = selected[part]
        of_sequences["routing_entropy"].append(entropy(p[part], axis=1).mean())
        of_sequences["weight_entropy"].append(entropy(normal[part], axis=1).mean())
        of_sequences["selected_probability"].append(np.take_along_axis(p[part], own, 1).sum(1).mean())
        pairs = [len(set(a) & set(b)) / SELECTED for a, b in itertools.pairwise(own)]
        of_sequences["overlap"].append(np.mean(pairs))
        table = np.zeros(EXPERTS)
        np.add.at(table, own.ravel(), normal[part].ravel())
        mass.append(table)
    result = {"of_sequences": of_sequences, "load": of_load(selected, p)}
    result["committee_of_documents"] = committee(mass)
    result["committee_of_domains"] = committee(
        [np.sum([m for m, d in zip(mass, domains) if d == i], axis=0) for i in range(len(DOMAINS))]
    )
    result["shares"] = (np.bincount(selected.ravel(), minlength=EXPERTS) / selected.size).tolist()
    draws = [of_load(selected[np.concatenate([np.arange(parts[i].start, parts[i].stop) for i in pick])],
                     p[np.concatenate([np.arange(parts[i].start, parts[i].stop) for i in pick])])["load_entropy"]
             for pick in rng.integers(len(parts), size=(4000, len(parts)))]
    result["load_entropy_interval"] = np.percentile(draws, [2.5, 97.5]).tolist()
    token = np.concatenate(tokens)
    domain = np.repeat(domains, lengths)
    result["information"] = {}
    for name, groups in (("document", document), ("domain", domain), ("token", token)):
        nulls = []
        for _ in range(2000):
            if name == "domain":
                shuffled = np.repeat(rng.permutation(domains), lengths)
            else:
                shuffled = rng.permutation(groups)
            nulls.append(information(selected, shuffled))
        plug_in = information(selected, groups)
        se, margin = jackknife(lambda keep: information(selected[keep], groups[keep]), bounds, len(lengths))
        result["information"][name] = {
            "plug_in": plug_in,
            "null": np.mean(nulls),
            "null_std": np.std(nulls),
            "p": (1 + np.sum(np.array(nulls) >= plug_in - 1e-12)) / 2001,
            "stderr": se,
            "margin": margin,
            "ceiling": min(entropy(np.bincount(selected.ravel())), entropy(np.bincount(groups))),
        }
    result["effective_partners"] = partners(selected)
    joint = np.zeros((EXPERTS, EXPERTS))
    for row in selected:
        for a, b in itertools.permutations(row, 2):
            joint[a, b] += 1
    counts = np.bincount(selected.ravel(), minlength=EXPERTS)
    result["coactivation"] = [[None if a == b or counts[a] == 0 else joint[a, b] / counts[a]
                               for b in range(EXPERTS)] for a in range(EXPERTS)]
    return result


def main():
    rng = np.random.default_rng(SEED)
    lengths = rng.integers(12, 30, size=10)
    domains = np.arange(len(lengths)) % len(DOMAINS)
    tokens = [rng.integers(VOCABULARY, size=n) for n in lengths]
    layers = []
    for strength in (0.0, 1.0):
        logits, selected, weights = make_layer(rng, lengths, tokens, domains, strength)
        expected = measure(logits, selected, weights, lengths, tokens, domains, rng)
        layers.append({"logits": logits.tolist(), "indices": selected.tolist(), "weights": weights.tolist(),
                       "expected": expected})
    data = {"provenance": f"make_experts.py, seed {SEED}", "lengths": lengths.tolist(),
            "tokens": np.concatenate(tokens).tolist(), "domains": [DOMAINS[d] for d in domains],
            "committee": COMMITTEE, "layers": layers}

    def plain(value):
        return value.item() if isinstance(value, np.generic) else value.tolist()

    path = Path(__file__).with_name("experts.json")
    path.write_text(json.dumps(data, default=plain, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
