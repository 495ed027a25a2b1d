# SPDX-License-Identifier: Apache-2.0
"""t-SNE embeddings, as `lime-metrics tsne` computes them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ._calls import core as _core
from ._arrays import to_array, to_matrix, to_options, to_seed, to_whole


class TSNE:
    """Two-dimensional t-SNE with the interface of sklearn.manifold.TSNE; clone(), pipelines and searches work.

    Names and defaults are those of `lime-metrics tsne`, which are scikit-learn's where it has them;
    equal points, options and seed give bit-identical embeddings for any number of threads.

    n_components: 2.
    perplexity: effective number of neighbours per point, >= 1; at most (num_points - 1) / 3.
    init: "pca", "random", or an array [num_points, 2].
    iterations: also accepted as max_iter. learning_rate None or "auto": num_points / exaggeration / 4 at the present
    exaggeration.
    neighbors: auto, exact or ivf (FAISS's inverted file, with target_recall).
    seed: also accepted as random_state, which may be a numpy.random.RandomState.

    After fit(): embedding_ [num_points, 2], kl_divergence_, grad_norm_, n_iter_, end_ (why it ended),
    recall_ (of the neighbours) and n_features_in_.
    Source: van der Maaten & Hinton (2008), JMLR 9; van der Maaten (2014), JMLR 15.
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        n_components: int = 2,
        iterations: int = 1000,
        repulsion: str = "auto",
        theta: float = 0.5,
        init: Any = "pca",
        early_exaggeration: float = 12.0,
        exaggeration_iterations: int = 250,
        annealing_iterations: int = 250,
        learning_rate: float | str | None = None,
        initial_momentum: float = 0.5,
        final_momentum: float = 0.8,
        min_gain: float = 0.01,
        min_grad_norm: float = 1e-7,
        patience: int = 300,
        neighbors: str = "auto",
        target_recall: float = 0.98,
        seed: int = 0,
        random_state: Any = None,
        threads: int = 0,
        max_iter: int | None = None,
    ):
        # scikit-learn requires that arguments are stored as they are; fit() checks them.
        self.perplexity = perplexity
        self.n_components = n_components
        self.iterations = iterations
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
        self.random_state = random_state
        self.threads = threads
        self.max_iter = max_iter

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> "TSNE":
        """Sets arguments of the constructor. Raises ValueError for other names."""
        names = self._names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"TSNE: has no parameter '{name}' (available: {', '.join(names)})")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())

    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Embeds X, [num_points, dim], used as float32; `y` is ignored.

        Raises ValueError for invalid options, equal or non-finite points; ArithmeticError if the
        optimisation diverges; KeyboardInterrupt.
        """
        if self.n_components != 2:
            raise ValueError(f"n_components: must be 2, got {self.n_components!r}")
        options = self.get_params()
        for name in ("n_components", "random_state", "max_iter"):
            del options[name]
        threads, init = options.pop("threads"), options.pop("init")
        seed = _seed_of(options.pop("seed"), self.random_state)
        if self.max_iter is not None:
            options["iterations"] = self.max_iter
        if isinstance(self.learning_rate, str) and self.learning_rate == "auto":
            options["learning_rate"] = None
        points = _points_of(X)
        start = None
        if isinstance(init, str):
            options["init"] = init
        else:
            start = to_matrix(to_array(init), "init", double=True)
        found = _core.tsne(points, to_options(**options), seed, start, to_whole(threads, "threads"))
        self.embedding_: np.ndarray = found["embedding"]
        self.kl_divergence_: float = found["kl_divergence"]
        self.grad_norm_: float = found["grad_norm"]
        self.n_iter_: int = found["iterations"]
        self.end_: str = found["end"]
        self.recall_: float = found["recall"]
        self.n_features_in_: int = points.shape[1]
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Embeds X and returns embedding_, [num_points, 2]. Raises as fit()."""
        return self.fit(X).embedding_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Returns the names of the two columns."""
        return np.array(["tsne0", "tsne1"], dtype=object)


def _seed_of(seed: Any, random_state: Any) -> int:
    if random_state is None:
        return to_seed(seed)
    if hasattr(random_state, "randint"):  # numpy.random.RandomState
        return int(random_state.randint(0, 1 << 31))
    return to_seed(random_state, "random_state")


def _points_of(X: Any) -> np.ndarray:
    """Returns points as a matrix, with the errors that scikit-learn expects."""
    if hasattr(X, "tocsr"):
        raise TypeError("X: sparse data is not supported; use X.toarray()")
    array = to_array(X)
    if array.dtype.kind == "c":
        raise ValueError("X: Complex data not supported")
    if array.dtype.kind in "iub" or array.dtype == object:
        try:
            array = array.astype(np.float64)
        except TypeError as error:
            raise TypeError(f"X: argument must be a string or a real number: {error}") from None
    if array.ndim == 1:
        raise ValueError(
            "X: Expected 2D array, got 1D array instead. Reshape your data, X.reshape(-1, 1) or X.reshape(1, -1)"
        )
    if array.ndim == 2 and array.size == 0:
        what = "feature" if len(array) else "sample"
        raise ValueError(
            f"X: must have at least one row and one dimension, got the shape {list(array.shape)}: 0 {what}(s) "
            f"(shape={array.shape}) while a minimum of 1 is required."
        )
    if array.ndim == 2 and len(array) == 1:
        raise ValueError("X: 1 sample, n_samples = 1, while more are required")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("X: Input contains NaN or infinity")
    return to_matrix(array, "X")


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
