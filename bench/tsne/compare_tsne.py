# SPDX-License-Identifier: Apache-2.0
"""Times t-SNE beside its peers on made-up rows, from vectors to embedding.

    python3 bench/tsne/compare_tsne.py [--bin build/release/bin] [--rows 6672] [--dim 2048]
        [--runs 5] [--threads 4] [--only lime,openTSNE-bh,...]

Peers are those of scikit-learn, scikit-learn-intelex, openTSNE (Barnes-Hut with exact neighbours,
and FFT), FIt-SNE and MulticoreTSNE that can be imported. All run 1000 iterations at perplexity 30:
250 with exaggeration 12 and momentum 0.5, the rest with 0.8, from principal components. Divergences
are all computed here, in double over all pairs, with scikit-learn's affinities; trustworthiness
(k = 12) by scikit-learn on 3000 rows. Prints one line per run and the medians as a table.
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

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from make_rows import make_rows  # noqa: E402

PERPLEXITY, ITERATIONS, EXAGGERATED = 30, 1000, 250


def pca_start(rows):
    centred = rows - rows.mean(axis=0)
    if rows.shape[1] > 4 * rows.shape[0]:
        raise ValueError("made for more rows than columns")
    values, vectors = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    start = centred @ vectors[:, :-3:-1]
    return (start / start[:, 0].std() * 1e-4).astype(np.float64)


def run_sklearn(rows, threads):
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=PERPLEXITY, max_iter=ITERATIONS, n_jobs=threads, random_state=1)
    return tsne.fit_transform(rows), {}


def run_intelex(rows, threads):
    # In a process of its own, because patching is for the whole process.
    code = (
        "import sys, time, numpy as np\n"
        "from sklearnex import patch_sklearn\n"
        "patch_sklearn(verbose=False)\n"
        "from sklearn.manifold import TSNE\n"
        "rows = np.load(sys.argv[1])\n"
        "warm = TSNE(max_iter=250, n_jobs=int(sys.argv[3])).fit_transform(rows[:200])\n"
        "start = time.perf_counter()\n"
        f"e = TSNE(perplexity={PERPLEXITY}, max_iter={ITERATIONS}, n_jobs=int(sys.argv[3]),"
        " random_state=1).fit_transform(rows)\n"
        "print(time.perf_counter() - start)\n"
        "np.save(sys.argv[2], e)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        command = [sys.executable, "-c", code, f"{folder}/rows.npy", f"{folder}/e.npy", str(threads)]
        out = subprocess.run(command, check=True, capture_output=True, text=True)
        return np.load(f"{folder}/e.npy"), {"total": float(out.stdout.split()[-1])}


def run_opentsne(rows, threads, method, neighbors):
    import openTSNE

    # Its gradient lacks a factor 4, so that the same step needs 4 times the rate.
    rate = 4 * max(len(rows) / 12 / 4, 50)
    start = time.perf_counter()
    affinities = openTSNE.affinity.PerplexityBasedNN(
        rows, perplexity=PERPLEXITY, method=neighbors, n_jobs=threads, random_state=1
    )
    affinities_done = time.perf_counter()
    init = openTSNE.initialization.pca(rows, random_state=1)
    embedding = openTSNE.TSNEEmbedding(
        init, affinities, negative_gradient_method=method, n_jobs=threads, random_state=1
    )
    embedding = embedding.optimize(EXAGGERATED, exaggeration=12, learning_rate=rate, momentum=0.5)
    embedding = embedding.optimize(ITERATIONS - EXAGGERATED, learning_rate=rate, momentum=0.8)
    end = time.perf_counter()
    return np.asarray(embedding), {
        "neighbors+affinities": affinities_done - start,
        "optimization": end - affinities_done,
    }


def run_fitsne(rows, threads):
    from fitsne import FItSNE

    rows = np.ascontiguousarray(rows, dtype=np.float64)
    return FItSNE(rows, perplexity=PERPLEXITY, max_iter=ITERATIONS, rand_seed=1), {}


def run_multicore(rows, threads):
    from MulticoreTSNE import MulticoreTSNE

    tsne = MulticoreTSNE(perplexity=PERPLEXITY, n_iter=ITERATIONS, n_jobs=threads, random_state=1)
    return tsne.fit_transform(rows), {}


def lime_runner(program, repulsion):
    def run(rows, threads):
        with tempfile.TemporaryDirectory() as folder:
            with h5py.File(f"{folder}/rows.h5", "w") as f:
                f["rows"] = rows
            command = [program, f"{folder}/rows.h5", f"{folder}/e.h5", str(threads), repulsion]
            out = subprocess.run(command, check=True, capture_output=True, text=True)
            with h5py.File(f"{folder}/e.h5") as f:
                return f["embedding"][:], json.loads(out.stdout)

    return run


def joint_probabilities(rows, threads):
    """As scikit-learn makes them; neighbours in double."""
    import scipy.sparse as sp
    from sklearn.manifold._t_sne import _joint_probabilities_nn
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=3 * PERPLEXITY + 1, n_jobs=threads, algorithm="brute")
    graph = search.fit(rows).kneighbors_graph(mode="distance")
    graph.data **= 2
    graph.sort_indices()
    return sp.csr_matrix(_joint_probabilities_nn(graph, PERPLEXITY, verbose=0)).tocoo()


def divergence(p, y):
    y = np.asarray(y, dtype=np.float64)
    total = 0.0
    for first in range(0, len(y), 500):
        block = y[first : first + 500]
        squared = ((block[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
        total += (1.0 / (1.0 + squared)).sum()
    total -= len(y)
    some = p.data > 0
    row, column, value = p.row[some], p.col[some], p.data[some]
    w = 1.0 / (1.0 + ((y[row] - y[column]) ** 2).sum(axis=1))
    return float(np.sum(value * np.log(value / (w / total))))


def trust(rows, y, count=3000):
    from sklearn.manifold import trustworthiness

    chosen = np.random.default_rng(1).permutation(len(rows))[:count]
    return trustworthiness(rows[chosen], y[chosen], n_neighbors=12)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--rows", type=int, default=6672)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    program = str(pathlib.Path(options.bin) / "lime-bench-tsne")
    rows, _ = make_rows(options.rows, options.dim)
    p = joint_probabilities(rows, options.threads)
    neighbors = "exact" if options.rows <= 20000 else "annoy"
    runners = {
        "lime": lime_runner(program, "auto"),
        "lime-exact": lime_runner(program, "exact"),
        "lime-barnes-hut": lime_runner(program, "barnes-hut"),
        "scikit-learn": run_sklearn,
        "scikit-learn-intelex": run_intelex,
        "openTSNE-bh": lambda r, t: run_opentsne(r, t, "bh", neighbors),
        "openTSNE-fft": lambda r, t: run_opentsne(r, t, "fft", neighbors),
        "FIt-SNE": run_fitsne,
        "MulticoreTSNE": run_multicore,
    }
    wanted = options.only.split(",") if options.only else list(runners)
    results = {}
    for turn in range(options.runs):
        for name in wanted:
            start = time.perf_counter()
            try:
                embedding, times = runners[name](rows, options.threads)
            except (ImportError, subprocess.CalledProcessError) as error:
                if turn == 0:
                    print(f"{name}: not run: {error}", flush=True)
                continue
            times.setdefault("total", time.perf_counter() - start)
            if name not in results:
                kl = divergence(p, embedding)
                results[name] = {"kl": kl, "trust": trust(rows, embedding), "times": []}
            results[name]["times"].append(times)
            print(f"{name} run {turn + 1}:", {k: v for k, v in times.items()}, flush=True)
    print(f"\n{options.rows} x {options.dim}, {options.threads} threads, medians of {options.runs}")
    print(f"{'':22} {'seconds':>8} {'KL':>8} {'trust':>7}")
    for name, result in results.items():
        median = statistics.median(t["total"] for t in result["times"])
        print(f"{name:22} {median:8.2f} {result['kl']:8.4f} {result['trust']:7.4f}")


if __name__ == "__main__":
    main()
