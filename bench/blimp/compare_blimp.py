# SPDX-License-Identifier: Apache-2.0
"""Compares BLiMP with lime-capture and lime-metrics to lm-evaluation-harness and scikit-learn.

Run:  python3 compare_blimp.py DATA [--programs build/release/bin] [--repeats 5] [--tasks N]
                                [--capture CAPTURE]

DATA contains checkpoints/stories260k and blimp/*.jsonl. Scores require torch, transformers, lm_eval
and sentencepiece; probes require h5py, numpy and scikit-learn >= 1.6. A part whose packages are
missing is skipped. Prints medians, the ratio, and the agreement. All use the same number of threads.
--capture reads the probes' rows from an existing capture (site hidden, --rows mean).
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

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "golden"))


def timed(repeats, function):
    """Returns the median seconds and the result of the last call."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def our_scores(arguments, files, folder):
    """Returns task -> accuracy, from sentences to table."""
    capture = folder / "scored.h5"
    subprocess.run(["rm", "-rf", str(capture), str(folder / "scored.shards")], check=True)
    subprocess.run([str(arguments.programs / "lime-capture"), "--checkpoint",
                    str(arguments.data / "checkpoints" / "stories260k"), "--log-likelihood",
                    "--threads", str(arguments.threads), "--quiet", "-o", str(capture),
                    "--pairs", *map(str, files)], check=True)
    return our_accuracies(arguments, ["--zero-shot", str(capture)])


def our_accuracies(arguments, options):
    output = subprocess.run([str(arguments.programs / "lime-metrics"), "blimp", "--format", "json",
                             "--quiet", "--threads", str(arguments.threads), *options],
                            check=True, capture_output=True).stdout
    rows = json.loads(output)["rows"]
    return {(row.get("layer"), row["task"]): row["mean"] for row in rows if row["level"] == "task"}


def harness_scores(arguments, files):
    """Returns the same with the harness's HFLM.loglikelihood; loading the model is not timed."""
    import torch
    from make_blimp_goldens import Scorer, harness_model, read_task
    from lm_eval.api.instance import Instance
    torch.set_num_threads(arguments.threads)
    model = harness_model(Scorer(arguments.data / "checkpoints" / "stories260k", torch.float32),
                          batch_size=256)

    def run():
        requests, tasks = [], []
        for file in files:
            for pair in read_task(file):
                for key in ("sentence_good", "sentence_bad"):
                    requests.append(Instance("loglikelihood", {}, ("", " " + pair[key]),
                                             len(requests)))
                tasks.append(file.stem)
        scores = [score for score, _ in model.loglikelihood(requests, disable_tqdm=True)]
        right = {}
        for i, task in enumerate(tasks):
            right.setdefault(task, []).append(scores[2 * i] >= scores[2 * i + 1])
        return {(None, task): sum(all_of) / len(all_of) for task, all_of in right.items()}
    return run


def capture_rows(arguments, files, folder):
    capture = folder / "rows.h5"
    subprocess.run([str(arguments.programs / "lime-capture"), "--checkpoint",
                    str(arguments.data / "checkpoints" / "stories260k"), "--rows", "mean",
                    "--sites", "hidden", "--threads", str(arguments.threads), "--quiet", "-o",
                    str(capture), "--pairs", *map(str, files)], check=True)
    return capture


def sklearn_probes(capture, seed, num_tasks):
    """Returns (layer, task) -> mean accuracy over the same folds with scikit-learn.

    Rows are float64: in float32 its solver stops too early for reproducible results.
    """
    import h5py
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def run():
        accuracies = {}
        with h5py.File(capture) as file:
            names = [str(name) for name in file["sequences/task"].attrs["names"]]
            tasks, labels = file["sequences/task"][:], file["sequences/label"][:]
            pairs = file["sequences/pair"][:]
            for layer in file["activations/hidden"]:
                rows = file["activations/hidden"][layer][:].astype(np.float64)
                for number, name in enumerate(names[:num_tasks]):
                    chosen = tasks == number
                    x, y, groups = rows[chosen], labels[chosen], pairs[chosen]
                    scores = []
                    folds = GroupKFold(n_splits=5, shuffle=True, random_state=seed)
                    for train, test in folds.split(x, y, groups):
                        probe = make_pipeline(StandardScaler(),
                                              LogisticRegression(tol=1e-8, max_iter=10000))
                        probe.fit(x[train], y[train])
                        scores.append(probe.score(x[test], y[test]))
                    accuracies[int(layer), name] = float(np.mean(scores))
        return accuracies
    return run


def report(name, ours, theirs, peer):
    seconds, our_values = ours
    their_seconds, their_values = theirs
    common = sorted(set(our_values) & set(their_values), key=str)
    difference = max(abs(our_values[key] - their_values[key]) for key in common)
    equal = sum(abs(our_values[key] - their_values[key]) < 1e-12 for key in common)
    print(f"{name}: {seconds:.2f} s, {peer} {their_seconds:.2f} s, ratio "
          f"{their_seconds / seconds:.1f}; {equal} of {len(common)} accuracies equal, largest "
          f"difference {difference:.2g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=67, help="the first so many tasks")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", choices=["scores", "probes"])
    parser.add_argument("--capture", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    files = sorted((arguments.data / "blimp").glob("*.jsonl"))[:arguments.tasks]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.only != "probes":
            ours = timed(arguments.repeats, lambda: our_scores(arguments, files, folder))
            theirs = timed(arguments.repeats, harness_scores(arguments, files))
            report(f"zero-shot, {len(files)} tasks", ours, theirs, "lm-evaluation-harness")
        if arguments.only != "scores":
            capture = arguments.capture or capture_rows(arguments, files, folder)
            options = ["--site", "hidden", "--task", ",".join(file.stem for file in files),
                       str(capture)]
            ours = timed(arguments.repeats, lambda: our_accuracies(arguments, options))
            theirs = timed(arguments.repeats, sklearn_probes(capture, 0, len(files)))
            report(f"probes, {len(files)} tasks x all layers", ours, theirs, "scikit-learn")


if __name__ == "__main__":
    main()
