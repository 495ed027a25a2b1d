# SPDX-License-Identifier: Apache-2.0
"""Cross-validated linear probes, as `lime-metrics separability` computes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Sequence, overload

import numpy as np

from ._calls import core as _core
from ._arrays import check_lengths, to_array, to_column, to_matrix, to_options, to_seed, to_whole
from .capture import Capture
from .comparison import summarize
from .tables import LayerResults, Table, each_layer, where_of

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
class Probe(Table):
    """A cross-validated probe, and its controls."""

    metric = "separability"

    classes: np.ndarray  #: labels, ascending, [num_classes]
    folds: list[ProbeFold]
    predictions: np.ndarray  #: index into `classes`, each from the fold that tests the row, [num_rows]
    log_probabilities: np.ndarray  #: nats, [num_rows, num_classes]
    controls: dict[str, "Probe"] = field(default_factory=dict)
    where: dict[str, Any] = field(default_factory=dict)  #: label, site and layer of activations

    def table(self) -> list[dict[str, Any]]:
        """Returns a row for the labels and one per control."""
        rows = []
        for name, one in (("words", self), *self.controls.items()):
            found = summarize(one.accuracies)
            row = {
                **self.where, "method": "converged", "labels": name, "mean": found.mean, "std": found.std,
                "ci_low": found.ci_low, "ci_high": found.ci_high, "n": found.n,
                "log_loss": float(np.mean([fold.log_loss for fold in one.folds])),
                "train_accuracy": float(np.mean([fold.train_accuracy for fold in one.folds])),
                "majority": float(np.mean([fold.majority_accuracy for fold in one.folds])),
            }
            rows.append(row if one is self else {**row, "selectivity": self.selectivity[name]})
        return rows

    @property
    def accuracies(self) -> np.ndarray:
        """Accuracy of each fold, [num_folds]."""
        return np.array([fold.accuracy for fold in self.folds])

    def samples(self) -> np.ndarray:
        """Returns the accuracy of each fold."""
        return self.accuracies

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


@overload
def probe(rows: Capture, labels: Any, *, sites: Any = ..., **options: Any) -> LayerResults[Probe]: ...


@overload
def probe(rows: Any, labels: Any, **options: Any) -> Probe: ...


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
    sites: Any = None,
) -> Probe | LayerResults[Probe]:
    """Tests how linearly decodable labels are: logistic regression to its optimum, cross-validated.

    rows: [num_rows, dim], used as float32; of a Capture every layer of `sites` (default: all), as LayerResults.
    labels: [num_rows], of any type that sorts.
    folds, random_state: as scikit-learn's StratifiedKFold; group="sequence" keeps the rows of equal
        `sequences` [num_rows] in one fold, as GroupKFold.
    control: of shuffled, token (needs `tokens`), sequence (needs `sequences`), random-features. The rows of a capture
        have tokens and sequences.
    scaling, c, inner_folds, tolerance, max_iterations: as `lime-metrics separability`; c is the
        inverse strength of the L2 penalty as in scikit-learn, and of several each fold selects one.

    Folds and results are bit-identical to `lime-metrics separability` for equal rows and options.
    Raises ValueError for invalid options, a class with fewer rows than folds, NaN or infinity;
    KeyboardInterrupt. Source: Alain & Bengio (2016), arXiv:1610.01644; Hewitt & Liang (2019),
    arXiv:1909.03368, for the controls.
    """
    if isinstance(rows, Capture):
        return each_layer(
            rows, sites,
            lambda one: probe(
                one, labels, folds=folds, random_state=random_state, group=group, sequences=sequences, tokens=tokens,
                control=control, scaling=scaling, c=c, inner_folds=inner_folds, tolerance=tolerance,
                max_iterations=max_iterations, seed=seed, threads=threads,
            ),
        )
    task = _task(rows, labels, folds, random_state, group, sequences, tokens)
    fold_of_row = task.fold_of_row("stratified")
    seed, threads = to_seed(seed), to_whole(threads, "threads")
    options = to_options(
        scaling=scaling, c=c, inner_folds=inner_folds, tolerance=tolerance, max_iterations=max_iterations
    )

    def cross_validate(features: np.ndarray, labellings: list[np.ndarray]) -> list[Probe]:
        found = _core.cross_validate(
            features, labellings, len(task.classes), fold_of_row, folds, task.groups, options, random_state, threads
        )
        return [_probe(task.classes, one) for one in found]

    names, labellings = _labellings(task, control, seed)
    result, *controls = cross_validate(task.rows, labellings)
    result.controls.update(zip(names, controls))
    if "random-features" in control:
        noise = _core.random_features(*task.rows.shape, seed, _FEATURES)
        result.controls["random-features"] = cross_validate(noise, [task.numbers])[0]
    return replace(result, where=where_of(rows))


@dataclass(frozen=True)
class LimeCodeProbe(Table):
    """The classifier of the LIMe code, cross-validated, and its controls. Arrays have an entry per fold."""

    metric = "separability"

    accuracies: np.ndarray  #: mean of the batch accuracies, as the code averages them
    row_accuracies: np.ndarray  #: over the test rows
    train_accuracies: np.ndarray  #: running accuracy of the last epoch
    num_train: np.ndarray
    num_test: np.ndarray
    controls: dict[str, "LimeCodeProbe"] = field(default_factory=dict)
    where: dict[str, Any] = field(default_factory=dict)  #: label, site and layer of activations

    def table(self) -> list[dict[str, Any]]:
        """Returns a row for the labels and one per control."""
        rows = []
        for name, one in (("words", self), *self.controls.items()):
            found = summarize(one.accuracies)
            rows.append({
                **self.where, "method": "lime-code", "labels": name, "mean": found.mean, "std": found.std,
                "ci_low": found.ci_low, "ci_high": found.ci_high, "n": found.n,
                "row_accuracy": float(np.mean(one.row_accuracies)),
                "train_accuracy": float(np.mean(one.train_accuracies)),
            })
        return rows

    def samples(self) -> np.ndarray:
        """Returns the accuracy of each fold."""
        return self.accuracies

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.accuracies))


@overload
def lime_code_probe(rows: Capture, labels: Any, *, sites: Any = ..., **options: Any) -> LayerResults[LimeCodeProbe]: ...


@overload
def lime_code_probe(rows: Any, labels: Any, **options: Any) -> LimeCodeProbe: ...


def lime_code_probe(
    rows: Any,
    labels: Any,
    *,
    folds: int = 5,
    random_state: int = 42,
    group: str = "none",
    sequences: Any = None,
    tokens: Any = None,
    control: Sequence[str] = (),
    learning_rate: float = 1e-2,
    epochs: int = 1,
    batch_size: int = 64,
    seed: int = 0,
    threads: int = 0,
    sites: Any = None,
) -> LimeCodeProbe | LayerResults[LimeCodeProbe]:
    """Cross-validates the classifier of the LIMe code: nn.Linear on unscaled rows, one epoch of Adam.

    rows, labels, folds, random_state, group, control, sites: as for probe(); folds are scikit-learn's KFold.
    learning_rate, epochs, batch_size: of Adam. seed: of the initial weights and the order of the rows.

    Bit-identical to `lime-metrics separability --method lime-code` for equal rows and options. Compare
    with PyTorch within the spread over seeds. Raises as probe().
    Source: corl-team/lime, src/analysis/classification.py.
    """
    if isinstance(rows, Capture):
        return each_layer(
            rows, sites,
            lambda one: lime_code_probe(
                one, labels, folds=folds, random_state=random_state, group=group, sequences=sequences, tokens=tokens,
                control=control, learning_rate=learning_rate, epochs=epochs, batch_size=batch_size, seed=seed,
                threads=threads,
            ),
        )
    task = _task(rows, labels, folds, random_state, group, sequences, tokens)
    fold_of_row = task.fold_of_row("shuffled")
    seed, threads = to_seed(seed), to_whole(threads, "threads")
    epochs, batch_size = to_whole(epochs, "epochs", 1), to_whole(batch_size, "batch_size", 1)

    def cross_validate(features: np.ndarray, numbers: np.ndarray) -> LimeCodeProbe:
        found = _core.cross_validate_adam(
            features, numbers, len(task.classes), fold_of_row, folds, learning_rate, epochs, batch_size, seed, threads
        )
        return LimeCodeProbe(**{name: np.array(values) for name, values in found.items()})

    names, (numbers, *others) = _labellings(task, control, seed)
    result = cross_validate(task.rows, numbers)
    result.controls.update((name, cross_validate(task.rows, one)) for name, one in zip(names, others))
    if "random-features" in control:
        noise = _core.random_features(*task.rows.shape, seed, _FEATURES)
        result.controls["random-features"] = cross_validate(noise, numbers)
    return replace(result, where=where_of(rows))


@dataclass(frozen=True)
class _Task:
    """Checked rows and labels of a probe."""

    rows: np.ndarray
    classes: np.ndarray  #: labels, ascending
    numbers: np.ndarray  #: index into `classes` of each row
    types: dict[str, np.ndarray | None]  #: tokens and sequences of the rows
    groups: np.ndarray  #: empty without groups
    folds: int
    random_state: int

    def fold_of_row(self, kind: str) -> np.ndarray:
        kind = "grouped" if self.groups.size else kind
        return _core.make_folds(self.numbers, self.groups, kind, self.folds, True, self.random_state)


def _task(
    rows: Any, labels: Any, folds: int, random_state: int, group: str, sequences: Any, tokens: Any
) -> _Task:
    matrix = to_matrix(rows)
    if hasattr(rows, "capture"):
        table = rows.capture.rows
        sequences = table.sequence if sequences is None else sequences
        tokens = table.token if tokens is None else tokens
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
    folds, random_state = to_whole(folds, "folds"), to_whole(random_state, "random_state", most=(1 << 32) - 1)
    _core.require_rows_per_class(numbers, [str(name) for name in classes], folds)
    return _Task(matrix, classes, numbers, types, groups, folds, random_state)


def _labellings(task: _Task, control: Sequence[str], seed: int) -> tuple[list[str], list[np.ndarray]]:
    """Returns the classes, then the labels of each control by name."""
    classes, types = task.numbers, task.types
    names: list[str] = []
    labellings = [classes]
    for name in [control] if isinstance(control, str) else control:
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
