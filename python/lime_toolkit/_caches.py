# SPDX-License-Identifier: Apache-2.0
"""Caches of earlier tokens: their names in a call, their number of tokens, and changes to them."""

from __future__ import annotations

import types
import weakref
from typing import Any, Callable, Iterator, Mapping

#: Arguments and outputs that are a cache: transformers from 5.x on, up to 4.x, Mamba up to 4.x, RWKV, XLNet, Reformer.
NAMES = ("cache", "past_key_values", "cache_params", "state", "mems", "past_buckets_states")

#: Methods that exchange, repeat or select the sequences of a cache.
_REORDER = ("reorder_cache", "batch_select_indices", "batch_repeat_interleave")


def find(values: Mapping[str, Any]) -> Any:
    """Returns the cache among the arguments of a call or the members of an output; None if there is none."""
    found = (values[name] for name in NAMES if name in values)
    return next((one for one in found if one is not None and not isinstance(one, bool)), None)


def find_all(output: Any) -> list[Any]:
    """Returns the caches in the output of a model; all members of a tuple, which has no names."""
    if isinstance(output, Mapping):
        cache = find(output)
        return [] if cache is None else [cache]
    return list(output) if isinstance(output, (list, tuple)) else []


def num_tokens(cache: Any, position: Any = None) -> int | None:
    """Returns the number of tokens in a cache; None if it contains some and does not count them.

    position: positions of the tokens of the pass, if the call gives them (`cache_position`).
    """
    if cache is None:
        return 0
    if hasattr(cache, "get_seq_length"):
        try:
            return int(cache.get_seq_length())
        except ValueError:  # only states, as in Mamba
            return None if cache.has_previous_state() else 0
    if position is not None:
        return None if int(position.reshape(-1)[0]) > 0 else 0
    is_empty = not any(bool(one.any()) for one in _tensors(cache))
    return 0 if is_empty else None


def identify(cache: Any) -> list[weakref.ref[Any]]:
    """Returns what identifies a cache as long as it exists: itself, or the first tensor of a list of states."""
    if isinstance(cache, (list, tuple, Mapping)):
        cache = next(_tensors(cache), None)
    try:
        return [] if cache is None else [weakref.ref(cache)]
    except TypeError:  # a number
        return []


def _tensors(value: Any, depth: int = 4) -> Iterator[Any]:
    """Yields the tensors in lists, mappings and objects."""
    if hasattr(value, "data_ptr"):
        yield value
    elif depth > 0 and value is not None and not isinstance(value, (str, bytes, type)):
        if isinstance(value, Mapping):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            value = getattr(value, "__dict__", {}).values()
        for one in value:
            yield from _tensors(one, depth - 1)


class _Guard:
    """A method of one cache that is observed."""

    def __init__(self, cache: Any, name: str, call: Callable[..., Any]):
        self._cache = weakref.ref(cache)
        self._name = name
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cache = self._cache()
        return self._call(cache, types.MethodType(getattr(type(cache), self._name), cache), *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        cache = self._cache()  # a copy of the cache has its own method, and is not observed
        copy = memo[id(cache)]
        return types.MethodType(getattr(type(cache), self._name), copy)


class Guards:
    """Observes caches while a recorder runs.

    on_reorder(cache): called instead of a method that would exchange sequences.
    on_crop(cache, count): called after the last `count` tokens of each sequence were removed; None if unknown.
    """

    def __init__(self, on_reorder: Callable[[Any], Any], on_crop: Callable[[Any, int | None], Any]):
        self._on_reorder = on_reorder
        self._on_crop = on_crop
        self._guarded: list[tuple[weakref.ref[Any], str]] = []

    def watch(self, cache: Any) -> None:
        """Observes the methods of a cache; a list of states has none."""
        for name, call in [*((name, self._reorder) for name in _REORDER), ("crop", self._crop)]:
            if callable(getattr(type(cache), name, None)) and name not in vars(cache):
                setattr(cache, name, _Guard(cache, name, call))
                self._guarded.append((weakref.ref(cache), name))

    def remove(self) -> None:
        """Gives the caches their own methods back."""
        for reference, name in self._guarded:
            cache = reference()
            if cache is not None:
                vars(cache).pop(name, None)
        self._guarded.clear()

    def _reorder(self, cache: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        order = args[0] if args else next(iter(kwargs.values()), None)
        is_same = order.tolist() == list(range(len(order))) if getattr(order, "ndim", 0) == 1 else order == 1
        if not (isinstance(is_same, bool) and is_same):
            self._on_reorder(cache)
        return method(*args, **kwargs)

    def _crop(self, cache: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        before = num_tokens(cache)
        result = method(*args, **kwargs)
        after = num_tokens(cache)
        self._on_crop(cache, None if before is None or after is None else before - after)
        return result
