# SPDX-License-Identifier: Apache-2.0
"""Converts arguments to arrays that the C++ functions accept."""

from __future__ import annotations

import warnings
from typing import Any, Iterable, Sequence

import numpy as np

_FLOATS = (np.float16, np.float32, np.float64)
_FEWEST_TOKENS = 2


def to_array(values: Any) -> np.ndarray:
    """Returns `values` as a NumPy array, without a copy for CPU memory of a type that NumPy has."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "num_sequences") and hasattr(values, "sites"):
        raise ValueError("rows: a Capture has several layers; select one, capture['hidden', 3]")
    if hasattr(values, "detach"):  # a torch tensor; NumPy has no bfloat16
        tensor = values.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return np.asarray(values)


def to_matrix(values: Any, name: str = "rows", double: bool = False) -> np.ndarray:
    """Returns [num_rows, dim] as float32, or as float64 if `double`; None keeps either of them.

    Raises ValueError if there are not two axes, one is empty, or the values are no floating-point numbers.
    """
    array = to_array(values)
    if array.ndim != 2:
        raise ValueError(f"{name}: must be a matrix, [num_rows, dim], got the shape {list(array.shape)}")
    if 0 in array.shape:
        raise ValueError(f"{name}: must have at least one row and one dimension, got the shape {list(array.shape)}")
    if array.dtype not in _FLOATS:
        raise ValueError(f"{name}: must be float16, float32 or float64, got {array.dtype}")
    if double is None:
        wanted = np.float64 if array.dtype == np.float64 else np.float32
    else:
        wanted = np.float64 if double else np.float32
    array = array.astype(wanted, copy=False)
    step = array.itemsize
    if (array.shape[1] > 1 and array.strides[1] != step) or array.strides[0] % step or array.strides[0] < 0:
        array = np.ascontiguousarray(array)
    return array


def to_column(values: Any, name: str, dtype: type = np.float64) -> np.ndarray:
    """Returns a contiguous array with one axis. Raises ValueError for another shape."""
    array = to_array(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: must have one axis, got the shape {list(array.shape)}")
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: must be numbers, got {array.dtype}")
    if np.dtype(dtype).kind == "i" and array.dtype.kind == "f":
        raise ValueError(f"{name}: must be whole numbers, got {array.dtype}")
    return np.ascontiguousarray(array, dtype=dtype)


def measured_sequences(offsets: Any, label: str, num_views: int = 1) -> np.ndarray:
    """Returns which sequences of a capture can be measured, [num_sequences] of bool: those of two tokens or more.

    Warns of the others, as `lime-metrics` does. num_views: sequences that are views of a text, which is left out with
    all of them. Raises ValueError if none is left.
    """
    measured = np.diff(np.asarray(offsets)) >= _FEWEST_TOKENS
    if num_views > 1 and len(measured) % num_views == 0:
        measured = np.repeat(measured.reshape(-1, num_views).all(axis=1), num_views)
    skipped = np.count_nonzero(~measured) // num_views
    what = f"sequence{'' if skipped == 1 else 's'}" if num_views == 1 else f"text{'' if skipped == 1 else 's'}"
    if not measured.any():
        raise ValueError(f"{label}: must have a sequence of at least {_FEWEST_TOKENS} tokens, got {len(measured)} shorter ones")
    if skipped:
        view = "" if num_views == 1 else " in a view"
        warnings.warn(f"{label}: skipped {skipped} {what} of fewer than {_FEWEST_TOKENS} tokens{view}", stacklevel=2)
    return measured


def to_sequences(rows: Any, offsets: Any = None, num_views: int = 1) -> list[np.ndarray]:
    """Returns the matrix of each sequence, [num_tokens, dim]; either all float32 or all float64.

    `rows` is one sequence [num_tokens, dim], a batch [num_sequences, num_tokens, dim], a list of
    sequences, activations of a Capture, or with `offsets` all sequences one below the other. Of a Capture only
    measured_sequences().
    """
    if offsets is None and hasattr(rows, "capture"):
        measured = measured_sequences(rows.offsets, rows.capture.label, num_views)
        every = _split(to_matrix(rows, double=None), rows.offsets)
        return [one for one, is_measured in zip(every, measured) if is_measured]
    if isinstance(rows, (list, tuple)):
        matrices = [to_matrix(one, f"sequence {i}", double=None) for i, one in enumerate(rows)]
    else:
        array = to_array(rows)
        if array.ndim == 3 and offsets is None:
            matrices = [to_matrix(one, double=None) for one in array]
        elif offsets is None:
            return [to_matrix(array, double=None)]
        else:
            matrices = _split(to_matrix(array, double=None), offsets)
    if not matrices:
        raise ValueError("rows: must contain at least one sequence")
    dims = {one.shape[1] for one in matrices}
    if len(dims) > 1:
        raise ValueError(f"rows: all sequences must have the same dim, got {sorted(dims)}")
    if len({one.dtype for one in matrices}) > 1:
        matrices = [one.astype(np.float64) for one in matrices]
    return matrices


def to_sequence(rows: Any, double: bool = False) -> np.ndarray:
    """Returns the matrix of one sequence, as to_matrix(). Raises ValueError for activations of several sequences."""
    count = len(getattr(rows, "offsets", ())) - 1
    if count > 1:
        raise ValueError(f"rows: must be one sequence, got {count}; select one, capture['hidden', 3].sequence(0)")
    return to_matrix(rows, double=double)


def _split(rows: np.ndarray, offsets: Any) -> list[np.ndarray]:
    ends = to_column(offsets, "offsets", np.int64)
    if ends.size < 2 or ends[0] != 0 or ends[-1] != len(rows) or np.any(np.diff(ends) < 0):
        raise ValueError(
            f"offsets: must ascend from 0 to the {len(rows)} rows, got "
            f"{ends[0] if ends.size else 'nothing'} to {ends[-1] if ends.size else 'nothing'}"
        )
    return [rows[first:end] for first, end in zip(ends[:-1], ends[1:])]


def to_whole(value: Any, name: str, least: int = 0, most: int = (1 << 31) - 1) -> int:
    """Returns a whole number in [least, most]. Raises ValueError otherwise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ValueError(f"{name}: must be a whole number from {least} to {most}, got {value!r}")
    return int(value)


def to_seed(value: Any, name: str = "seed") -> int:
    """Returns a seed of 64 bits. Raises ValueError otherwise."""
    return to_whole(value, name, most=(1 << 64) - 1)


def to_options(**options: Any) -> list[tuple[str, list[str]]]:
    """Returns options as the texts of the command line; None stands for the default."""
    return [(name, _texts(value)) for name, value in options.items() if value is not None]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (bool, np.bool_)):
        return ["true" if value else "false"]
    if isinstance(value, Iterable):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, (float, np.floating)):
        return [repr(float(value))]
    return [str(value)]


def check_lengths(length: int, **columns: Sequence[Any] | None) -> None:
    """Raises ValueError if a column does not have `length` entries."""
    for name, column in columns.items():
        if column is not None and len(column) != length:
            raise ValueError(f"{name}: must have one entry per row, {length}, got {len(column)}")
