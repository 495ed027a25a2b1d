#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares five folds of a linear probe: lime-bench-probes and scikit-learn, on the same rows.

usage: compare_probes.py [--program build/release/bin/lime-bench-probes] [--repeats 5]
                         [--threads 4] [--set words|pairs|all] [--only CONTENDER...]
                         [--state FILE] [--search] [--quick] [--small]
       compare_probes.py --adam [--set words]    one epoch of Adam as in the paper's code (torch)

words: 6672 x 2048 float32 rows of 4 overlapping classes with a power-law spectrum
(bench/make_rows.py), KFold(5, shuffle=True, random_state=42). pairs: 2000 x 2048, two classes in pairs that stay in one fold
(GroupKFold, shuffled, random_state 42). Features are standardised on the training rows; C = 1.
The timing covers everything from float32 rows in memory to predictions of the test rows. The
contenders alternate; each run is a separate process. scikit-learn's tolerance is the largest of
1e-4, 1e-5, 1e-6 and 1e-7 at which the objective of every fold is within 1e-6 (relative) of the
smallest known one. It is searched once, untimed. Prints medians of the seconds of all five folds,
the fastest and slowest run, ratios, and the excess of the objectives over the smallest.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1]))
from make_rows import make_pairs, make_rows  # noqa: E402

SETS = {"words": {"rows": 6672, "dim": 2048, "classes": 4},
        "pairs": {"rows": 2000, "dim": 2048, "classes": 2}}
CONTENDERS = {
    "words": ["lime", "lbfgs", "lbfgs, float32", "lbfgs, process per fold", "intelex lbfgs"],
    "pairs": ["lime", "newton-cg", "newton-cg, process per fold", "newton-cholesky", "lbfgs",
              "intelex lbfgs"],
}
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7)
CLOSE = 1e-6


def rows_of(name):
    """Returns the rows of bench/make_rows.py and their classes."""
    size = SETS[name]
    make = make_pairs if name == "pairs" else make_rows
    return make(rows=size["rows"], dim=size["dim"])


def split(name, rows):
    import numpy as np
    from sklearn.model_selection import GroupKFold, KFold

    if name == "pairs":
        return list(GroupKFold(5, shuffle=True, random_state=42).split(
            rows, groups=np.arange(len(rows)) // 2))
    return list(KFold(5, shuffle=True, random_state=42).split(rows))


def fit_fold(arguments):
    """Fits one fold with scikit-learn; returns the accuracy and the inputs of objective()."""
    rows, labels, train, test, options = arguments
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    if options["intelex"]:
        from sklearnex.linear_model import LogisticRegression
    else:
        from sklearn.linear_model import LogisticRegression
    dtype = np.float32 if options["float32"] else np.float64
    x = rows[train].astype(dtype)
    scaler = StandardScaler().fit(x)
    x = scaler.transform(x)
    model = LogisticRegression(C=1.0, solver=options["solver"], tol=options["tol"],
                               max_iter=100000).fit(x, labels[train])
    accuracy = float((model.predict(scaler.transform(rows[test].astype(dtype)))
                      == labels[test]).mean())
    return accuracy, model.coef_, model.intercept_


def objective(rows, labels, train, coefficients, intercepts):
    """Returns C sum(loss) + |w|^2 / 2 in float64, untimed."""
    import numpy as np
    from scipy.special import logsumexp

    x = rows[train].astype(np.float64)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = x @ coefficients.T.astype(np.float64) + intercepts
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    loss = (logsumexp(scores, axis=1) - scores[np.arange(len(train)), labels[train]]).sum()
    return float(loss + 0.5 * (coefficients.astype(np.float64) ** 2).sum())


def run_sklearn(arguments):
    """Runs in a separate process, whose environment sets the number of BLAS threads."""
    import multiprocessing
    import warnings

    import numpy as np

    warnings.filterwarnings("ignore")
    name, folder = arguments["set"], pathlib.Path(arguments["folder"])
    rows = np.fromfile(folder / f"{name}.f32", np.float32).reshape(-1, arguments["dim"])
    labels = np.fromfile(folder / f"{name}.i32", np.int32)
    folds = split(name, rows)
    items = [(rows, labels, train, test, arguments) for train, test in folds]
    if arguments["pool"]:
        with multiprocessing.get_context("fork").Pool(min(5, arguments["threads"])) as pool:
            pool.map(len, [[0]] * 5)
            start = time.perf_counter()
            results = pool.map(fit_fold, items, chunksize=1)
            seconds = time.perf_counter() - start
    else:
        start = time.perf_counter()
        results = [fit_fold(item) for item in items]
        seconds = time.perf_counter() - start
    print(json.dumps({
        "seconds": seconds, "accuracy": [result[0] for result in results],
        "objective": [objective(rows, labels, train, *result[1:])
                      for (train, _), result in zip(folds, results)]}))


def run_contender(name, contender, folder, options, tol):
    environment = dict(os.environ)
    if contender == "lime":
        size = SETS[name]
        command = [options.program, "--rows", folder / f"{name}.f32", "--classes",
                   folder / f"{name}.i32", "--dim", size["dim"], "--num-classes", size["classes"],
                   "--threads", options.threads] + ["--paired"] * (name == "pairs")
        if tol:
            command += ["--tolerance", tol]
    else:
        arguments = {"set": name, "dim": SETS[name]["dim"], "folder": str(folder),
                     "tol": tol, "threads": options.threads,
                     "solver": next((solver for solver in ("newton-cg", "newton-cholesky")
                                     if solver in contender), "lbfgs"),
                     "pool": "process" in contender, "float32": "float32" in contender,
                     "intelex": "intelex" in contender}
        command = [sys.executable, HERE, "--sklearn", json.dumps(arguments)]
        threads = "1" if arguments["pool"] else str(options.threads)
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[variable] = threads
    run = subprocess.run([str(word) for word in command], env=environment, check=True,
                         stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout.strip().splitlines()[-1])


def excess(result, best):
    return max(value / least - 1.0 for value, least in zip(result["objective"], best))


def find_tolerance(name, contender, folder, options, best):
    for tol in TOLERANCES:
        result = run_contender(name, contender, folder, options, tol)
        if excess(result, best) <= CLOSE:
            return tol
    return TOLERANCES[-1]


class State:
    """Stores the measurements; with a file name, across calls."""

    def __init__(self, path):
        self.path = path
        self.sets = json.loads(path.read_text()) if path and path.exists() else {}

    def of(self, name):
        return self.sets.setdefault(name, {"best": None, "tolerance": {}, "runs": {}})

    def save(self):
        if self.path:
            self.path.write_text(json.dumps(self.sets))


def measure(name, folder, options, state):
    """Runs the contenders alternately until each has its repeats."""
    measured = state.of(name)
    if not measured["best"]:
        measured["best"] = run_contender(name, "lime", folder, options, 1e-10)["objective"]
    for c in CONTENDERS[name]:
        if c == "lime" or c not in options.only or c in measured["tolerance"]:
            continue
        same = c.removesuffix(", process per fold")  # does not affect the result
        if same not in measured["tolerance"]:
            measured["tolerance"][same] = find_tolerance(name, same, folder, options,
                                                         measured["best"])
        measured["tolerance"][c] = measured["tolerance"][same]
        state.save()
    if options.search:
        return
    runs = {c: measured["runs"].setdefault(c, []) for c in CONTENDERS[name] if c in options.only}
    while any(len(done) < options.repeats for done in runs.values()):
        c = min(runs, key=lambda contender: len(runs[contender]))
        runs[c].append(run_contender(name, c, folder, options, measured["tolerance"].get(c)))
        state.save()


def show(name, options, measured):
    size = SETS[name]
    print(f"\n{name}: {size['rows']} x {size['dim']}, {size['classes']} classes, five folds, "
          f"{options.threads} threads")
    seconds = {c: [run["seconds"] for run in runs] for c, runs in measured["runs"].items() if runs}
    ours = statistics.median(seconds.get("lime", [float("nan")]))
    for c in seconds:
        median = statistics.median(seconds[c])
        last = measured["runs"][c][-1]
        accuracy = statistics.mean(last["accuracy"])
        tol = f"tol {measured['tolerance'][c]:g}" if c != "lime" else "tol 1e-07 (default)"
        print(f"  {c:28} {median:8.3f} s ({min(seconds[c]):.3f} to {max(seconds[c]):.3f}, "
              f"{len(seconds[c])} runs)  {median / ours:6.1f} times lime, objective "
              f"{excess(last, measured['best']):+.0e}, accuracy {accuracy:.4f}, {tol}", flush=True)


def run_adam(folder, name):
    """Runs one epoch of Adam as corl-team/lime's classification.py does."""
    import numpy as np
    import torch

    rows = np.fromfile(folder / f"{name}.f32", np.float32).reshape(-1, SETS[name]["dim"])
    labels = np.fromfile(folder / f"{name}.i32", np.int32).astype(np.int64)
    torch.manual_seed(42)
    accuracies = []
    for train, test in split(name, rows):
        layer = torch.nn.Linear(rows.shape[1], SETS[name]["classes"])
        optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
        for batch in torch.tensor(train)[torch.randperm(len(train))].split(64):
            optimizer.zero_grad()
            logits = layer(torch.from_numpy(rows[batch]))
            torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels[batch])).backward()
            optimizer.step()
        with torch.no_grad():
            accuracies.append(np.mean([
                float((layer(torch.from_numpy(rows[batch])).argmax(1).numpy()
                       == labels[batch]).mean()) for batch in torch.tensor(test).split(64)]))
    print(f"{name}: one epoch of Adam (torch {torch.__version__}) accuracy "
          f"{np.mean(accuracies):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/lime-bench-probes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--set", choices=["words", "pairs", "all"], default="all")
    parser.add_argument("--only", nargs="*", default=sum(CONTENDERS.values(), []),
                        choices=sorted(set(sum(CONTENDERS.values(), []))), metavar="CONTENDER")
    parser.add_argument("--state", type=pathlib.Path,
                        help="file of measurements, which later calls extend")
    parser.add_argument("--search", action="store_true",
                        help="only search the tolerances, untimed")
    parser.add_argument("--write", help="only write the rows to this folder")
    parser.add_argument("--adam", action="store_true")
    parser.add_argument("--quick", action="store_true", help="1 repeat")
    parser.add_argument("--small", action="store_true", help="400 x 96, as a smoke test")
    parser.add_argument("--sklearn", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sklearn:
        run_sklearn(json.loads(options.sklearn))
        return
    if options.quick:
        options.repeats = 1
    if options.small:
        for size in SETS.values():
            size.update(rows=400, dim=96)
    import numpy as np
    import sklearn

    names = list(SETS) if options.set == "all" else [options.set]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.write or temporary)
        for name in names:
            rows, labels = rows_of(name)
            rows.tofile(folder / f"{name}.f32")
            labels.tofile(folder / f"{name}.i32")
        if options.write:
            return
        if options.adam:
            for name in names:
                run_adam(folder, name)
            return
        state = State(options.state)
        print(f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, medians of "
              f"{options.repeats}, seconds for five folds")
        for name in names:
            measure(name, folder, options, state)
            show(name, options, state.of(name))


if __name__ == "__main__":
    main()
