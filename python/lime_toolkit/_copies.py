# SPDX-License-Identifier: Apache-2.0
"""Copies of the outputs of modules, one row per token."""

from __future__ import annotations

import math
import threading
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .models import Site
from ._passes import Pass


class Buffers:
    """Memory of the copies that are written, for the next ones: fresh memory costs more than the copy."""

    SMALL = 1 << 14  # values; the allocator reuses less by itself

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[np.ndarray] = []

    def take(self, shape: Sequence[int]) -> tuple[Any, np.ndarray]:
        """Returns a float32 tensor with any values, and its memory to give back."""
        import torch

        size = math.prod(shape)
        memory = None
        with self._lock:
            fits = [i for i, one in enumerate(self._free) if one.size >= size]
            if fits:
                memory = self._free.pop(min(fits, key=lambda i: self._free[i].size))
            elif self._free:
                self._free.pop()  # a larger one takes its place
        if memory is None:
            memory = np.empty(size + size // 8, np.float32)
        return torch.from_numpy(memory[:size]).view(tuple(shape)), memory

    def give(self, memory: np.ndarray | None) -> None:
        """Takes back memory that nobody reads any more."""
        if memory is not None:
            with self._lock:
                self._free.append(memory)


class Copy:
    """Rows of a tensor on the CPU, as soon as they have arrived there."""

    def __init__(self, tensor: Any, *, event: Any = None, source: Any = None, memory: np.ndarray | None = None):
        self._tensor = tensor
        self._event = event
        self._source = source  # stays referenced until the copy is done
        self._memory = memory
        self.nbytes: int = tensor.nbytes

    def wait(self) -> np.ndarray:
        """Returns the rows in float32, after the copy from the device."""
        if self._event is not None:
            self._event.synchronize()
        return self._tensor.float().numpy()

    def release(self, buffers: Buffers) -> None:
        """Gives the memory back."""
        buffers.give(self._memory)


def tensor_of(output: Any, index: int | Callable[[Any], Any], name: str) -> Any:
    """Returns a tensor of a module's output, which may be a tuple or a ModelOutput."""
    if callable(index):
        try:
            return index(output)
        except ValueError as error:
            raise ValueError(f"record: '{name}': {error}") from None
    if hasattr(output, "detach"):
        return output
    values = list(output.values()) if isinstance(output, Mapping) else output
    if isinstance(values, (tuple, list)) and len(values) > index and hasattr(values[index], "detach"):
        return values[index]
    remedy = "; models return attention weights with attn_implementation='eager'" if index == 1 else ""
    raise ValueError(f"record: '{name}' gives no tensor at {index} but {type(output).__name__}{remedy}")


def copy_rows(tensor: Any, step: Pass, name: str, site: Site, config: Any, buffers: Buffers) -> Copy:
    """Copies the rows [tokens, dim] of the tokens of a pass that exist.

    Raises ValueError if the tensor does not have a row per token.
    """
    import torch

    shape = step.shape
    tensor = tensor.detach()
    if tensor.ndim == 2 and tensor.shape[0] == shape[0] * shape[1]:
        tensor = tensor.unflatten(0, shape)
    is_whole = site.part is not None and tensor.ndim > 3  # the part selects, e.g. a stream
    if not is_whole and (tensor.ndim != 3 or tuple(tensor.shape[:2]) != shape):
        remedy = ""
        if tensor.ndim > 3:
            remedy = "; select one with Site(pattern, part=function), or a built-in site"
        raise ValueError(
            f"record: '{name}' gives {list(tensor.shape)}, not a row for each of the {shape[0]} x {shape[1]} "
            f"tokens{remedy}"
        )
    if site.part is not None:
        tensor = site.part(tensor, config)
        if tensor.ndim != 3 or tuple(tensor.shape[:2]) != shape:
            raise ValueError(
                f"record: the part of '{name}' has the shape {list(tensor.shape)}, not [{shape[0]}, {shape[1]}, dim]"
            )
    index = step.index_on(tensor.device)
    if tensor.device.type == "cuda":
        rows = tensor.reshape(-1, tensor.shape[-1]) if index is None else tensor[index]
        target = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True)
        target.copy_(rows, non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(rows.device))
        return Copy(target, event=event, source=rows)
    # Always a copy: later layers may change an output in place.
    rows = tensor if index is None else tensor[index]
    if rows.numel() < Buffers.SMALL:
        return Copy(rows.to("cpu", torch.float32, copy=True).reshape(-1, rows.shape[-1]))
    copy, memory = buffers.take(rows.shape)
    copy.copy_(rows)
    return Copy(copy.view(-1, rows.shape[-1]), memory=memory)


def pattern_rows(tensor: Any, step: Pass, keys: Any, name: str, max_length: int) -> Any:
    """Turns attention weights [batch, heads, query, key] into rows [batch, query, heads * max_length].

    Keys count from the first token of their sequence; the rest of a row is 0.
    keys: the tokens of each sequence that exist up to the end of this pass, bool [batch, key].
    """
    import torch

    (count, num_tokens), num_keys = step.shape, keys.shape[1]
    tensor = tensor.detach()
    if tensor.ndim == 4 and tensor.shape[3] > num_keys and not bool(tensor[..., num_keys:].any()):
        tensor = tensor[..., :num_keys]  # a static cache has space for more keys
    if tensor.ndim != 4 or (tensor.shape[0], *tensor.shape[2:]) != (count, num_tokens, num_keys):
        raise ValueError(
            f"record: '{name}' gives {list(tensor.shape)}, not the attention weights of {num_tokens} queries and "
            f"{num_keys} keys, [{count}, heads, {num_tokens}, {num_keys}]"
        )
    longest = int(keys.sum(1).max())
    if longest > max_length:
        raise ValueError(f"max_length: must be at least {longest}, the tokens of a sequence, got {max_length}")
    if not bool(keys.all()):  # the keys that exist come first, in their order
        exists, order = torch.sort(keys.to(tensor.device).byte(), dim=1, descending=True, stable=True)
        tensor = tensor.gather(3, order[:, None, None].expand_as(tensor)) * exists[:, None, None]
    rows = tensor.new_zeros(count, num_tokens, tensor.shape[1], max_length)
    rows[..., :longest] = tensor[..., :longest].transpose(1, 2)
    return rows.flatten(2)
