#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes probes.json to its folder: small probes fitted by scikit-learn and PyTorch.

usage: make_probe_goldens.py [SECTION...]    (requires numpy, scikit-learn >= 1.6; torch for adam)

Sections are fits, cross_validation, folds, adam; the others are not changed. Each has its own seed.

fits: LogisticRegression at its optimum (newton-cholesky, tol 1e-12), with and without StandardScaler, for two
and more classes, with more and with fewer rows than columns; objective = C sum(loss) + |w|^2 / 2 in
float64. cross_validation: accuracies, log-losses and confusion matrices of folds. folds: the fold of
each row from KFold, StratifiedKFold and GroupKFold. adam: one pass of torch.optim.Adam over
nn.Linear from given weights in a given order.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

SEED = 20261121


def rounded(values):
    """Returns float32 values as the shortest decimals that parse to the same float32."""
    return [float(str(v)) for v in np.asarray(values, np.float32).ravel()]


def make_rows(rng, n, dim, classes, spread=0.6):
    labels = rng.integers(0, classes, n)
    labels[:classes] = np.arange(classes)
    means = rng.standard_normal((classes, dim)) * spread
    scales = np.arange(1, dim + 1) ** -0.5
    rows = (rng.standard_normal((n, dim)) + means[labels]) * scales
    rows += rng.standard_normal(dim) * np.where(np.arange(dim) % 3 == 0, 20.0, 0.3)
    return rows.astype(np.float32), labels


def fit(rows, labels, c, standardize):
    z = rows.astype(np.float64)
    if standardize:
        z = StandardScaler().fit_transform(z)
    # Newton's method: lbfgs stops early on raw features, whose means are far from 0.
    model = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(z, labels)
    p = model.predict_log_proba(z)[np.arange(len(labels)), labels]
    objective = -c * p.sum() + 0.5 * (model.coef_ ** 2).sum()
    return model, objective


def fits(rng):
    cases = []
    for n, dim, classes in [(150, 12, 3), (120, 8, 2), (60, 40, 4), (24, 90, 2), (30, 70, 3)]:
        rows, labels = make_rows(rng, n, dim, classes)
        case = {"rows": rounded(rows), "dim": dim, "classes": labels.tolist(),
                "num_classes": classes, "results": []}
        for c in (0.05, 1.0, 20.0):
            for standardize in (False, True):
                model, objective = fit(rows, labels, c, standardize)
                case["results"].append({
                    "c": c, "standardize": standardize, "objective": objective,
                    "coefficients": model.coef_.ravel().tolist(),
                    "intercepts": model.intercept_.tolist()})
        cases.append(case)
    return cases


def cross_validation(rng):
    rows, labels = make_rows(rng, 203, 10, 3, spread=0.35)
    groups = rng.integers(0, 40, len(labels))
    kinds = {"shuffled": KFold(5, shuffle=True, random_state=42),
             "stratified": StratifiedKFold(5, shuffle=True, random_state=7),
             "grouped": GroupKFold(5, shuffle=True, random_state=3)}
    case = {"rows": rounded(rows), "dim": 10, "classes": labels.tolist(), "num_classes": 3,
            "groups": groups.tolist(), "results": []}
    for name, splitter in kinds.items():
        result = {"kind": name, "seed": splitter.random_state, "accuracy": [], "log_loss": [],
                  "confusion": []}
        for train, test in splitter.split(rows, labels, groups):
            scaler = StandardScaler().fit(rows[train].astype(np.float64))
            model = LogisticRegression(tol=1e-12, max_iter=100000)
            model.fit(scaler.transform(rows[train].astype(np.float64)), labels[train])
            z = scaler.transform(rows[test].astype(np.float64))
            result["accuracy"].append(float((model.predict(z) == labels[test]).mean()))
            result["log_loss"].append(float(log_loss(labels[test], model.predict_proba(z),
                                                     labels=[0, 1, 2])))
            result["confusion"].append(confusion_matrix(labels[test], model.predict(z),
                                                        labels=[0, 1, 2]).ravel().tolist())
        case["results"].append(result)
    return case


def folds(rng):
    cases = []
    for n, k, seed in [(23, 5, 42), (103, 5, 42), (64, 3, 0), (50, 7, 4294967295)]:
        labels = rng.integers(0, 4, n)
        groups = rng.integers(100, 100 + n // 3, n)
        for shuffle in (True, False):
            state = seed if shuffle else None
            for name, splitter in [("shuffled", KFold), ("stratified", StratifiedKFold),
                                   ("grouped", GroupKFold)]:
                fold_of_row = np.full(n, -1)
                split = splitter(k, shuffle=shuffle, random_state=state)
                for fold, (_, test) in enumerate(split.split(labels, labels, groups)):
                    fold_of_row[test] = fold
                cases.append({"kind": name, "num_folds": k, "shuffle": shuffle, "seed": seed,
                              "classes": labels.tolist(), "groups": groups.tolist(),
                              "fold_of_row": fold_of_row.tolist()})
    return cases


def adam(rng):
    import torch

    torch.manual_seed(SEED)
    rows, labels = make_rows(rng, 90, 9, 3)
    layer = torch.nn.Linear(9, 3)
    order = rng.permutation(len(labels))
    case = {"rows": rounded(rows), "dim": 9, "classes": labels.tolist(), "num_classes": 3,
            "order": order.tolist(), "batch_size": 16, "learning_rate": 1e-2, "epochs": 2,
            "weight": rounded(layer.weight.detach().numpy()),
            "bias": rounded(layer.bias.detach().numpy()), "accuracy": []}
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
    for _ in range(case["epochs"]):
        right = 0
        for first in range(0, len(order), 16):
            batch = order[first:first + 16]
            target = torch.from_numpy(labels[batch])
            logits = layer(torch.from_numpy(rows[batch]))
            right += int((logits.argmax(1) == target).sum())
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, target).backward()
            optimizer.step()
        case["accuracy"].append(right / len(order))
    case["final_weight"] = rounded(layer.weight.detach().numpy())
    case["final_bias"] = rounded(layer.bias.detach().numpy())
    return case


SECTIONS = {"fits": fits, "cross_validation": cross_validation, "folds": folds, "adam": adam}


def main():
    warnings.filterwarnings("ignore", message="The groups parameter|The least populated class")
    path = pathlib.Path(__file__).with_name("probes.json")
    names = sys.argv[1:] or list(SECTIONS)
    golden = json.loads(path.read_text()) if path.exists() else {}
    golden.setdefault("provenance", {}).update({
        "script": "make_probe_goldens.py", "seed": SEED, "numpy": np.__version__,
        "scikit-learn": sklearn.__version__})
    for name in names:
        rng = np.random.default_rng([SEED, list(SECTIONS).index(name)])
        golden[name] = SECTIONS[name](rng)
    if "adam" in names:
        import torch

        golden["provenance"]["torch"] = torch.__version__
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
