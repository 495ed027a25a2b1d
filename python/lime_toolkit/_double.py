# SPDX-License-Identifier: Apache-2.0
"""Passes in float64 of models that convert to float32 on their way, as norms and softmax of transformers do."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Iterator

_CONVERSIONS = {"float": "double", "half": "double", "bfloat16": "double"}


def double_copy(model: Any) -> Any:
    """Returns a copy of a model with weights in float64, without dropout. Its hooks are copied too."""
    copied = copy.deepcopy(model).double().eval()
    if hasattr(copied, "set_experts_implementation"):
        copied.set_experts_implementation("eager")  # grouped products have no float64
    return copied


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Lets conversions to shorter floating-point numbers in a `with` block give float64."""
    import torch
    from torch.overrides import TorchFunctionMode

    shorter = (torch.float32, torch.float16, torch.bfloat16)

    def longer(value: Any) -> Any:
        return torch.float64 if value in shorter else value

    class Double(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(function, "__name__", "")
            if name in _CONVERSIONS and len(args) == 1 and isinstance(args[0], torch.Tensor):
                return args[0].double()
            args = tuple(longer(one) if isinstance(one, torch.dtype) else one for one in args)
            kwargs = {key: longer(one) if isinstance(one, torch.dtype) else one for key, one in (kwargs or {}).items()}
            return function(*args, **kwargs)

    with Double():
        yield
