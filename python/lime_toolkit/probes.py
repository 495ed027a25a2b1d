# SPDX-License-Identifier: Apache-2.0
"""Cross-validated linear probes, as `lime-metrics separability` computes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np

from . import _lime_toolkit as _core
from ._arrays import check_lengths, to_array, to_column, to_matrix, to_options

# Streams of the seed, as in lime-metrics separability.
_SHUFFLED, _TOKEN, _SEQUENCE, _FEATURES = 1, 2, 3, 4
_CONTROLS = ("shuffled", "token", "sequence", "random-features")


@dataclass(frozen=True)
class ProbeFold:
    """Results of one fold."""

    num_train: int
    num_test: int
    accuracy: float
    log_loss: float  #: nats
    train_accuracy: float
    majority_accuracy: float
    confusion: np.ndarray  #: test rows, [true class, predicted class]
    c: float
    objective: float
    gradient_norm: float
    iterations: int
    converged: bool
    missing_classes: list[int]


@dataclass(frozen=True)
class Probe:
    """A cross-validated probe, and its controls."""

    classes: np.ndarray  #: labels, ascending, [num_classes]
    folds: list[ProbeFold]
    predictions: np.ndarray  #: index into `classes`, each from the fold that tests the row, [num_rows]
    log_probabilities: np.ndarray  #: nats, [num_rows, num_classes]
    controls: dict[str, "Probe"] = field(default_factory=dict)

    @property
    def accuracies(self) -> np.ndarray:
        """Accuracy of each fold, [num_folds]."""
        return np.array([fold.accuracy for fold in self.folds])

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.accuracies))

    @property
    def confusion(self) -> np.ndarray:
        """Sum of the folds' confusion matrices, [true class, predicted class]."""
        return np.sum([fold.confusion for fold in self.folds], axis=0)

    @property
    def selectivity(self) -> dict[str, float]:
        """Accuracy minus that of each control."""
        return {name: self.accuracy - control.accuracy for name, control in self.controls.items()}


def probe(
    rows: Any,
    labels: Any,
    *,
    folds: int = 5,
    random_state: int = 42,
    group: str = "none",
    sequences: Any = None,
    tokens: Any = None,
    control: Sequence[str] = (),
    scaling: str = "standardize",
    c: float | Sequence[float] = 1.0,
    inner_folds: int = 3,
    tolerance: float = 1e-7,
    max_iterations: int = 1000,
    seed: int = 0,
    threads: int = 0,
) -> Probe:
    """Tests how linearly decodable labels are: logistic regression to its optimum, cross-validated.

    rows: [num_rows, dim], used as float32. labels: [num_rows], of any type that sorts.
    folds, random_state: as scikit-learn's StratifiedKFold; group="sequence" keeps the rows of equal
        `sequences` [num_rows] in one fold, as GroupKFold.
    control: of shuffled, token (needs `tokens`), sequence (needs `sequences`), random-features.
    scaling, c, inner_folds, tolerance, max_iterations: as `lime-metrics separability`; c is the
        inverse strength of the L2 penalty as in scikit-learn, and of several each fold selects one.

    Folds and results are bit-identical to `lime-metrics separability` for equal rows and options.
    Raises ValueError for invalid options, a class with fewer rows than folds, NaN or infinity;
    KeyboardInterrupt. Source: Alain & Bengio (2016), arXiv:1610.01644; Hewitt & Liang (2019),
    arXiv:1909.03368, for the controls.
    """
    matrix = to_matrix(rows)
    labels = to_array(labels)
    if labels.ndim != 1:
        raise ValueError(f"labels: must have one axis, got the shape {list(labels.shape)}")
    classes, numbers = np.unique(labels, return_inverse=True)
    numbers = np.ascontiguousarray(numbers, dtype=np.int32)
    types = {"token": _whole(tokens, "tokens"), "sequence": _whole(sequences, "sequences")}
    check_lengths(len(matrix), labels=numbers, tokens=types["token"], sequences=types["sequence"])
    if len(classes) < 2:
        raise ValueError(f"labels: must contain at least 2 classes, got {len(classes)}")
    if group not in ("none", "sequence"):
        raise ValueError(f"group: expected one of none, sequence, got '{group}'")
    groups = _needed(types["sequence"], "sequences", "group") if group == "sequence" else np.empty(0, np.int32)
    _core.require_rows_per_class(numbers, [str(name) for name in classes], folds)
    kind = "grouped" if group == "sequence" else "stratified"
    fold_of_row = _core.make_folds(numbers, groups, kind, folds, True, random_state)
    options = to_options(
        scaling=scaling, c=c, inner_folds=inner_folds, tolerance=tolerance, max_iterations=max_iterations
    )

    def cross_validate(features: np.ndarray, labellings: list[np.ndarray]) -> list[Probe]:
        found = _core.cross_validate(
            features, labellings, len(classes), fold_of_row, folds, groups, options, random_state, threads
        )
        return [_probe(classes, one) for one in found]

    names, labellings = _labellings(numbers, types, [control] if isinstance(control, str) else control, seed)
    result, *controls = cross_validate(matrix, labellings)
    result.controls.update(zip(names, controls))
    if "random-features" in control:
        noise = _core.random_features(*matrix.shape, seed, _FEATURES)
        result.controls["random-features"] = cross_validate(noise, [numbers])[0]
    return result


def _labellings(
    classes: np.ndarray, types: dict[str, np.ndarray | None], control: Sequence[str], seed: int
) -> tuple[list[str], list[np.ndarray]]:
    names: list[str] = []
    labellings = [classes]
    for name in control:
        if name not in _CONTROLS:
            raise ValueError(f"control: expected one of {', '.join(_CONTROLS)}, got '{name}'")
        if name == "random-features":
            continue
        names.append(name)
        if name == "shuffled":
            labellings.append(_core.shuffled_labels(classes, seed, _SHUFFLED))
            continue
        of = _needed(types[name], f"{name}s", f"control '{name}'")
        if name == "token" and _core.types_are_classes(of, classes):
            raise ValueError(
                "control: every class is a single token, so random labels per token only rename the "
                "classes; use shuffled, sequence or random-features"
            )
        stream = _TOKEN if name == "token" else _SEQUENCE
        labellings.append(_core.control_task_labels(of, classes, seed, stream))
    return names, labellings


def _probe(classes: np.ndarray, found: dict[str, Any]) -> Probe:
    return Probe(
        classes=classes,
        folds=[ProbeFold(**fold) for fold in found["folds"]],
        predictions=found["predictions"],
        log_probabilities=found["log_probabilities"],
    )


def _whole(values: Any, name: str) -> np.ndarray | None:
    return None if values is None else to_column(values, name, np.int32)


def _needed(values: np.ndarray | None, name: str, what: str) -> np.ndarray:
    if values is None:
        raise ValueError(f"{name}: {what} needs them, one per row; pass {name}=")
    return values
