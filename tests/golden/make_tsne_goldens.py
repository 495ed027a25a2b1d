# SPDX-License-Identifier: Apache-2.0
"""Writes tsne.h5: affinities, gradients and embeddings of a small point set by scikit-learn and openTSNE.

    python3 make_tsne_goldens.py      (requires scikit-learn and openTSNE)

/points                      float32 [300, 16], four overlapping clusters
/p/offset, column, value     scikit-learn's joint probabilities, compressed rows; attribute perplexity
/embedding                   float64 [300, 2], an arbitrary embedding
/gradient                    float64 [300, 2], 4 sum_j (p - q) q Z (y_i - y_j), all pairs in numpy;
                             attributes kl_divergence and trustworthiness (k = 12, scikit-learn)
/start                       float64 [300, 2], initial embedding of the runs
/openTSNE                    attributes kl_divergence, trustworthiness, learning_rate of openTSNE's
                             Barnes-Hut from /start with the same P
"""
import pathlib

import h5py
import numpy as np
import openTSNE
import scipy
import scipy.sparse as sp
import sklearn
from openTSNE.affinity import PrecomputedAffinities
from sklearn.manifold import trustworthiness
from sklearn.manifold._t_sne import _joint_probabilities_nn
from sklearn.neighbors import NearestNeighbors

SEED = 20261121
POINTS, DIM, PERPLEXITY = 300, 16, 12.0
ITERATIONS, EXAGGERATED, LEARNING_RATE = 1000, 250, 50.0


def make_points(rng):
    centres = 1.5 * rng.standard_normal((4, DIM))
    scales = 2.0 / np.sqrt(np.arange(1, DIM + 1))
    points = centres[np.arange(POINTS) % 4] + scales * rng.standard_normal((POINTS, DIM))
    return points.astype(np.float32)


def joint_probabilities(points):
    search = NearestNeighbors(n_neighbors=int(3 * PERPLEXITY + 1)).fit(points.astype(np.float64))
    graph = search.kneighbors_graph(mode="distance")
    graph.data **= 2
    graph.sort_indices()
    p = sp.csr_matrix(_joint_probabilities_nn(graph, PERPLEXITY, verbose=0))
    p.sort_indices()
    return p


def divergence_and_gradient(p, y):
    p = p.toarray()
    difference = y[:, None, :] - y[None, :, :]
    w = 1.0 / (1.0 + np.sum(difference**2, axis=2))
    np.fill_diagonal(w, 0.0)
    q = w / w.sum()
    gradient = 4.0 * np.einsum("ij,ijd->id", (p - q) * w, difference)
    some = p > 0
    return np.sum(p[some] * np.log(p[some] / q[some])), gradient


def run_opentsne(p, start):
    embedding = openTSNE.TSNEEmbedding(
        start.copy(),
        PrecomputedAffinities(p.copy(), normalize=False),
        negative_gradient_method="bh",
        theta=0.5,
        n_jobs=1,
        random_state=SEED,
    )
    # Its gradient lacks the factor 4.
    rate = 4.0 * LEARNING_RATE
    embedding = embedding.optimize(
        EXAGGERATED, exaggeration=12.0, learning_rate=rate, momentum=0.5
    )
    rest = ITERATIONS - EXAGGERATED
    return np.asarray(embedding.optimize(rest, learning_rate=rate, momentum=0.8), dtype=np.float64)


def main():
    rng = np.random.default_rng(SEED)
    points = make_points(rng)
    p = joint_probabilities(points)
    embedding = points[:, :2] + 0.5 * rng.standard_normal((POINTS, 2))
    divergence, gradient = divergence_and_gradient(p, embedding.astype(np.float64))
    start = 1e-4 * rng.standard_normal((POINTS, 2))
    theirs = run_opentsne(p, start)
    with h5py.File(pathlib.Path(__file__).with_name("tsne.h5"), "w", track_order=True) as f:
        f.attrs["provenance"] = (
            f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
            f"openTSNE {openTSNE.__version__}, seed {SEED}"
        )
        compressed = {"compression": "gzip", "shuffle": True}
        f.create_dataset("points", data=points, **compressed)
        f.create_dataset("p/offset", data=p.indptr.astype(np.int64), **compressed)
        f.create_dataset("p/column", data=p.indices.astype(np.int32), **compressed)
        f.create_dataset("p/value", data=p.data, **compressed)
        f["p"].attrs["perplexity"] = PERPLEXITY
        f.create_dataset("embedding", data=embedding, **compressed)
        f.create_dataset("gradient", data=gradient, **compressed)
        f["gradient"].attrs["kl_divergence"] = divergence
        f["gradient"].attrs["trustworthiness"] = trustworthiness(points, embedding, n_neighbors=12)
        f.create_dataset("start", data=start, **compressed)
        group = f.create_group("openTSNE")
        group.attrs["kl_divergence"] = divergence_and_gradient(p, theirs)[0]
        group.attrs["trustworthiness"] = trustworthiness(points, theirs, n_neighbors=12)
        group.attrs["learning_rate"] = LEARNING_RATE
        for name, value in group.attrs.items():
            print(name, value)


if __name__ == "__main__":
    main()
