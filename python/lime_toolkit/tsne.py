# SPDX-License-Identifier: Apache-2.0
"""t-SNE embeddings, as `lime-metrics tsne` computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import to_array, to_matrix, to_options, to_seed, to_whole


class TSNE:
    """Two-dimensional t-SNE with the interface of sklearn.manifold.TSNE.

    Names and defaults are those of `lime-metrics tsne`, which are scikit-learn's where it has them;
    equal points, options and seed give bit-identical embeddings for any number of threads.

    perplexity: effective number of neighbours per point, >= 1; at most (num_points - 1) / 3.
    init: "pca", "random", or an array [num_points, 2].
    iterations: also accepted as max_iter. learning_rate None: num_points / exaggeration / 4 at the present
    exaggeration.
    neighbors: auto, exact or ivf (FAISS's inverted file, with target_recall).

    After fit(): embedding_ [num_points, 2], kl_divergence_, grad_norm_, n_iter_, end_ (why it ended)
    and recall_ (of the neighbours).
    Source: van der Maaten & Hinton (2008), JMLR 9; van der Maaten (2014), JMLR 15.
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        iterations: int = 1000,
        repulsion: str = "auto",
        theta: float = 0.5,
        init: Any = "pca",
        early_exaggeration: float = 12.0,
        exaggeration_iterations: int = 250,
        annealing_iterations: int = 250,
        learning_rate: float | None = None,
        initial_momentum: float = 0.5,
        final_momentum: float = 0.8,
        min_gain: float = 0.01,
        min_grad_norm: float = 1e-7,
        patience: int = 300,
        neighbors: str = "auto",
        target_recall: float = 0.98,
        seed: int = 0,
        threads: int = 0,
        max_iter: int | None = None,
    ):
        self.perplexity = perplexity
        self.iterations = iterations if max_iter is None else max_iter
        self.repulsion = repulsion
        self.theta = theta
        self.init = init
        self.early_exaggeration = early_exaggeration
        self.exaggeration_iterations = exaggeration_iterations
        self.annealing_iterations = annealing_iterations
        self.learning_rate = learning_rate
        self.initial_momentum = initial_momentum
        self.final_momentum = final_momentum
        self.min_gain = min_gain
        self.min_grad_norm = min_grad_norm
        self.patience = patience
        self.neighbors = neighbors
        self.target_recall = target_recall
        self.seed = seed
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Embeds X, [num_points, dim], used as float32; `y` is ignored.

        Raises ValueError for invalid options, equal or non-finite points; ArithmeticError if the
        optimisation diverges; KeyboardInterrupt.
        """
        options = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        seed, threads, init = options.pop("seed"), options.pop("threads"), options.pop("init")
        start = None
        if isinstance(init, str):
            options["init"] = init
        else:
            start = to_matrix(to_array(init), "init", double=True)
        found = _core.tsne(to_matrix(X, "X"), to_options(**options), to_seed(seed), start, to_whole(threads, "threads"))
        self.embedding_: np.ndarray = found["embedding"]
        self.kl_divergence_: float = found["kl_divergence"]
        self.grad_norm_: float = found["grad_norm"]
        self.n_iter_: int = found["iterations"]
        self.end_: str = found["end"]
        self.recall_: float = found["recall"]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Embeds X and returns embedding_, [num_points, 2]. Raises as fit()."""
        return self.fit(X).embedding_


def trustworthiness(
    X: Any, embedding: Any, *, num_neighbors: int = 12, max_queries: int = 10000, seed: int = 0, threads: int = 0
) -> float:
    """Returns to what extent neighbours in the embedding [n, 2] are neighbours in X [n, dim], in [0, 1].

    Raises ValueError. Source: Venna & Kaski (2001), eq. 1; as sklearn.manifold.trustworthiness.
    """
    return _core.trustworthiness(
        to_matrix(X, "X"),
        to_matrix(embedding, "embedding", double=True),
        to_whole(num_neighbors, "num_neighbors"),
        to_whole(max_queries, "max_queries"),
        to_seed(seed),
        to_whole(threads, "threads"),
    )
