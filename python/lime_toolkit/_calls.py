# SPDX-License-Identifier: Apache-2.0
"""The functions of the C++ module, of which the slow ones let Ctrl-C through within a second."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

import numpy as np

from . import _lime_toolkit as _core

#: Arguments of a call that may take longer than a second. A thread takes 0.1 ms.
_LARGE_BYTES = 1 << 20
#: After Ctrl-C, for work that stops between two parts.
_STOP_SECONDS = 0.5

_SLOW = (
    "change_of", "collapse_layer", "comparable_rows", "compare_neighborhoods", "compare_paired", "cross_validate", "cross_validate_adam",
    "double_entropies", "entropies", "fit_logistic", "geometry", "intrinsic_dimension", "neighborhood_of", "spectrum",
    "summarize", "token_contributions", "trustworthiness", "tsne", "views",
)
#: Their arguments are objects of the module.
_ALWAYS_SLOW = ("compare_rows",)


def _is_large(arguments: Any) -> bool:
    size = 0
    for one in arguments:
        for array in one if isinstance(one, (list, tuple)) else (one,):
            size += array.nbytes if isinstance(array, np.ndarray) else 0
            if size >= _LARGE_BYTES:
                return True
    return False


def _interruptible(function: Callable[..., Any], always: bool) -> Callable[..., Any]:
    """Runs large calls on a thread of their own. After Ctrl-C the call is left to itself if it does not stop soon: a
    factorisation of a matrix, whose result is dropped."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or not (always or _is_large(arguments)):
            return function(*arguments, **options)
        result: list[Any] = []
        failure: list[BaseException] = []
        done = threading.Event()  # Thread.join() believes after an interrupt that the thread has ended

        def run() -> None:
            try:
                result.append(function(*arguments, **options))
            except BaseException as error:
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=run, name=f"lime-{function.__name__}", daemon=True)
        thread.start()
        try:
            while not done.wait(0.1):
                pass
        except KeyboardInterrupt:
            _core.request_stop(thread.ident)
            done.wait(_STOP_SECONDS)
            raise
        if failure:
            raise failure[0]
        return result[0]

    return call


class _Functions:
    """The module, with the slow functions wrapped."""

    def __init__(self) -> None:
        for name in dir(_core):
            if not name.startswith("__"):
                setattr(self, name, getattr(_core, name))
        for name in (*_SLOW, *_ALWAYS_SLOW):
            setattr(self, name, _interruptible(getattr(_core, name), name in _ALWAYS_SLOW))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


core: Any = _Functions()
