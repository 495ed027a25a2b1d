# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's t-SNE as a reference: its affinities, and the divergence of any embedding from them."""
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.manifold._t_sne import _joint_probabilities_nn
from sklearn.neighbors import NearestNeighbors


def joint_probabilities(rows, perplexity, threads=1):
    """Returns scikit-learn's affinities as a COO matrix; neighbours in float64."""
    count = min(len(rows) - 1, int(3 * perplexity + 1))
    search = NearestNeighbors(n_neighbors=count, n_jobs=threads, algorithm="brute")
    graph = search.fit(rows.astype(np.float64)).kneighbors_graph(mode="distance")
    graph.data **= 2
    graph.sort_indices()
    return _joint_probabilities_nn(graph, perplexity, verbose=0).tocoo()


def divergence(p, embedding):
    """Returns KL(P || Q) of an embedding in nats, in float64 over all pairs."""
    y = np.asarray(embedding, dtype=np.float64)
    total = -float(len(y))  # each point interacts with itself
    for first in range(0, len(y), 500):
        total += (1.0 / (1.0 + cdist(y[first : first + 500], y, "sqeuclidean"))).sum()
    some = p.data > 0
    row, column, value = p.row[some], p.col[some], p.data[some]
    w = 1.0 / (1.0 + ((y[row] - y[column]) ** 2).sum(axis=1))
    return float(np.sum(value * np.log(value / (w / total))))
