# SPDX-License-Identifier: Apache-2.0
"""Compares t-SNE with other implementations on synthetic rows, from vectors to embedding.

    python3 bench/tsne/compare_tsne.py [--rows 6672] [--dim 2048] [--runs 5] [--threads 4]
        [--only lime,openTSNE-bh,...] [--folder DIR [--measure | --evaluate]]

Contenders are those of scikit-learn, scikit-learn-intelex, openTSNE (Barnes-Hut and FFT), FIt-SNE
and MulticoreTSNE that can be imported. All run 1000 iterations at perplexity 30: 250 with
exaggeration 12 and momentum 0.5, the rest with 0.8, from principal components, with scikit-learn's
default step length. The seed of a run is its number. Imports, reading the rows and starting the
process are not timed.

With --folder, the runs of several calls accumulate: --measure only times and stores the embeddings,
so that a long comparison can be split; --evaluate computes the missing quality values and prints
the table. Divergences are computed here, in float64 over all pairs with scikit-learn's affinities;
trustworthiness (k = 12) by scikit-learn on 3000 rows. "CPU" is the time of all threads together.
"""
import argparse
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from make_rows import make_rows  # noqa: E402
from scikit_learn import divergence, joint_probabilities  # noqa: E402

PERPLEXITY, ITERATIONS, EXAGGERATED = 30, 1000, 250
MOST_EXACT_ROWS = 20000  # beyond, openTSNE uses Annoy by default

# Each run_NAME returns a function without arguments to be timed, which returns the embedding and,
# if the library reports them, the seconds of its parts.


def sklearn_times(text):
    """Returns the seconds of each part from scikit-learn's output with verbose=2."""
    patterns = {
        "neighbors": r"(?:Indexed|Computed neighbors for) \d+ samples in ([\d.]+)s",
        "affinities": r"Computed conditional probabilities in ([\d.]+)s",
    }
    found = {part: re.findall(pattern, text) for part, pattern in patterns.items()}
    return {part: sum(map(float, seconds)) for part, seconds in found.items() if seconds}


def run_sklearn(rows, threads, seed):
    from sklearn.manifold import TSNE

    tsne = TSNE(
        perplexity=PERPLEXITY, max_iter=ITERATIONS, n_jobs=threads, random_state=seed, verbose=2
    )

    def run():
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            embedding = tsne.fit_transform(rows)
        return embedding, sklearn_times(said.getvalue())

    return run


INTELEX = """
import sys, time, numpy
from sklearnex import patch_sklearn
patch_sklearn(verbose=False)
from sklearn.manifold import TSNE
rows = numpy.load(sys.argv[1])
perplexity, iterations, threads, seed = map(int, sys.argv[3:])
TSNE(max_iter=250, n_jobs=threads).fit(rows[:200])  # loads its libraries
tsne = TSNE(perplexity=perplexity, max_iter=iterations, n_jobs=threads, random_state=seed)
start = time.perf_counter()
embedding = tsne.fit_transform(rows)
print(time.perf_counter() - start)
numpy.save(sys.argv[2], embedding)
"""


def run_intelex(rows, threads, seed):
    # In a separate process, because it patches global state.
    def run():
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/rows.npy", rows)
            command = [sys.executable, "-c", INTELEX, f"{folder}/rows.npy", f"{folder}/e.npy"]
            command += map(str, (PERPLEXITY, ITERATIONS, threads, seed))
            out = subprocess.run(command, check=True, capture_output=True, text=True)
            return np.load(f"{folder}/e.npy"), {"total": float(out.stdout.split()[-1])}

    return run


def run_opentsne(rows, threads, seed, method):
    import openTSNE

    neighbors = "exact" if len(rows) <= MOST_EXACT_ROWS else "annoy"
    # Its gradient lacks a factor 4, so the same step needs 4 times the learning rate.
    rate = 4 * max(len(rows) / 12 / 4, 50)

    def run():
        start = time.perf_counter()
        index = openTSNE.affinity.get_knn_index(
            rows, neighbors, 3 * PERPLEXITY, "euclidean", n_jobs=threads, random_state=seed
        )
        found = index.build()
        neighbors_done = time.perf_counter()
        index.build = lambda: found
        affinities = openTSNE.affinity.PerplexityBasedNN(
            perplexity=PERPLEXITY, knn_index=index, n_jobs=threads
        )
        affinities_done = time.perf_counter()
        embedding = openTSNE.TSNEEmbedding(
            openTSNE.initialization.pca(rows, random_state=seed),
            affinities,
            negative_gradient_method=method,
            n_jobs=threads,
            random_state=seed,
        )
        early = {"exaggeration": 12, "momentum": 0.5}
        embedding = embedding.optimize(EXAGGERATED, learning_rate=rate, **early)
        embedding = embedding.optimize(ITERATIONS - EXAGGERATED, learning_rate=rate, momentum=0.8)
        return np.asarray(embedding), {
            "neighbors": neighbors_done - start,
            "affinities": affinities_done - neighbors_done,
            "optimization": time.perf_counter() - affinities_done,
        }

    return run


def run_fitsne(rows, threads, seed):
    from fitsne import FItSNE

    rows = np.ascontiguousarray(rows, dtype=np.float64)
    # Its default rate, max(n / 12, 200), equals ours: its gradient lacks a factor 4.
    options = {"perplexity": PERPLEXITY, "max_iter": ITERATIONS, "nthreads": threads}
    return lambda: (FItSNE(rows, rand_seed=seed, **options), {})


def run_multicore(rows, threads, seed):
    from MulticoreTSNE import MulticoreTSNE
    from sklearn.decomposition import PCA

    rate = 4 * max(len(rows) / 12 / 4, 50)  # its gradient lacks a factor 4

    def run():
        start = PCA(n_components=2, svd_solver="randomized", random_state=seed).fit_transform(rows)
        tsne = MulticoreTSNE(
            perplexity=PERPLEXITY,
            n_iter=ITERATIONS,
            n_jobs=threads,
            random_state=seed,
            init=start / start[:, 0].std() * 1e-4,
            learning_rate=rate,
        )
        return tsne.fit_transform(rows), {}

    return run


def lime_runner(program, *options):
    def make(rows, threads, seed):
        def run():
            with tempfile.TemporaryDirectory() as folder:
                with h5py.File(f"{folder}/rows.h5", "w") as f:
                    f["rows"] = rows
                command = [program, "embed", f"{folder}/rows.h5", f"{folder}/e.h5", *options]
                command += ["--threads", str(threads), "--seed", str(seed)]
                out = subprocess.run(command, check=True, capture_output=True, text=True)
                with h5py.File(f"{folder}/e.h5") as f:
                    return f["embedding"][:], json.loads(out.stdout)

        return run

    return make


def trust(rows, y, count=3000):
    from sklearn.manifold import trustworthiness

    chosen = np.random.default_rng(1).permutation(len(rows))[:count]
    return trustworthiness(rows[chosen], y[chosen], n_neighbors=12)


def read_runs(folder, rows):
    """Returns the runs in the folder, which must be of the same rows."""
    path = folder / "runs.json"
    runs = json.loads(path.read_text()) if path.exists() else []
    digest = hashlib.sha256(rows.tobytes()).hexdigest()
    if any(run["rows_sha256"] != digest for run in runs):
        sys.exit(f"{path}: contains runs of other rows; use another --folder")
    return runs, digest


def cpu_seconds():
    """Returns the CPU seconds of this process and its finished children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measure(runners, rows, options, folder):
    runs, digest = read_runs(folder, rows)
    for _ in range(options.runs):
        for name, make in runners.items():
            seed = 1 + sum(run["name"] == name for run in runs)
            if seed > options.runs:
                continue
            try:
                run = make(rows, options.threads, seed)
                start, start_cpu = time.perf_counter(), cpu_seconds()
                embedding, times = run()
            except (ImportError, subprocess.CalledProcessError) as error:
                print(f"{name}: not run: {error}", flush=True)
                continue
            times.setdefault("total", time.perf_counter() - start)
            times["CPU"] = cpu_seconds() - start_cpu
            np.save(folder / f"{name}-{seed}.npy", embedding)
            runs.append({"name": name, "seed": seed, "times": times, "rows_sha256": digest})
            (folder / "runs.json").write_text(json.dumps(runs, indent=1))
            print(f"{name} run {seed}:", times, flush=True)


def evaluate(rows, options, folder):
    runs, _ = read_runs(folder, rows)
    p = None
    for run in runs:
        if "kl" in run:
            continue
        if p is None:
            p = joint_probabilities(rows, PERPLEXITY, options.threads)
        embedding = np.load(folder / f"{run['name']}-{run['seed']}.npy")
        run["kl"] = divergence(p, embedding)
        run["trust"] = float(trust(rows, embedding))
        (folder / "runs.json").write_text(json.dumps(runs, indent=1))
    print(f"\n{options.rows} x {options.dim}, {options.threads} threads, medians")
    parts = ["neighbors", "affinities", "optimization", "total", "CPU"]
    print(f"{'':22} runs", *(f"{part:>12}" for part in parts), f"{'KL':>24} {'trust':>8}")
    for name in dict.fromkeys(run["name"] for run in runs):
        own = [run for run in runs if run["name"] == name]
        kl = [run["kl"] for run in own]
        cells = []
        for part in parts:
            seconds = [run["times"][part] for run in own if part in run["times"]]
            cells.append(f"{statistics.median(seconds):12.3f}" if seconds else f"{'':12}")
        spread = f"{statistics.median(kl):.4f} ({min(kl):.4f}-{max(kl):.4f})"
        trusts = statistics.median(run["trust"] for run in own)
        print(f"{name:22} {len(own):4}", *cells, f"{spread:>24} {trusts:8.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--rows", type=int, default=6672)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="comma-separated names of contenders")
    parser.add_argument("--folder", type=pathlib.Path, help="folder that accumulates the runs of several calls")
    parser.add_argument("--measure", action="store_true", help="only time, and store embeddings")
    parser.add_argument("--evaluate", action="store_true", help="only evaluate stored embeddings")
    options = parser.parse_args()
    program = str(pathlib.Path(options.bin) / "lime-bench-tsne")
    runners = {
        "lime": lime_runner(program),
        "lime-exact": lime_runner(program, "--repulsion", "exact"),
        "scikit-learn": run_sklearn,
        "scikit-learn-intelex": run_intelex,
        "openTSNE-bh": lambda *of: run_opentsne(*of, "bh"),
        "openTSNE-fft": lambda *of: run_opentsne(*of, "fft"),
        "FIt-SNE": run_fitsne,
        "MulticoreTSNE": run_multicore,
    }
    wanted = options.only.split(",") if options.only else list(runners)
    rows, _ = make_rows(options.rows, options.dim)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not options.evaluate:
            measure({name: runners[name] for name in wanted}, rows, options, folder)
        if not options.measure:
            evaluate(rows, options, folder)


if __name__ == "__main__":
    main()
