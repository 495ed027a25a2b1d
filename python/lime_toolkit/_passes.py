# SPDX-License-Identifier: Apache-2.0
"""One call of a model: its tokens, and which of them exist."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Mapping

import numpy as np

from . import _caches


@dataclass
class Pass:
    """Tokens of one call of a model, [sequences, tokens]."""

    shape: tuple[int, int]
    ids: np.ndarray  #: -1: unknown, the call has embeddings
    mask: Any  #: tokens that exist, a bool tensor on the CPU; None: all
    cache: Any  #: what the call says it continues, or None
    cached: int | None  #: tokens in the cache; None: some, but it does not count them
    earlier: int  #: tokens before those of the pass, according to a mask [sequences, earlier + tokens]
    use_cache: bool
    _index: dict[Any, Any] = field(default_factory=dict)

    @property
    def exists(self) -> np.ndarray:
        """Tokens that exist."""
        return np.ones(self.shape, bool) if self.mask is None else self.mask.numpy()

    def index_on(self, device: Any) -> Any:
        """Returns sequence and place of each token that exists, on the device; None if all exist."""
        if self.mask is not None and device not in self._index:
            self._index[device] = tuple(one.to(device) for one in self.mask.nonzero(as_tuple=True))
        return None if self.mask is None else self._index[device]


def parameters(model: Any) -> list[str]:
    """Returns the names of the arguments of a model."""
    try:
        names = list(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        names = []
    return [name for name in names if name not in ("self", "args", "kwargs")]


def bind(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call by their names."""
    if not args:
        return kwargs
    call = {**dict(zip(names, args)), **kwargs}
    if "input_ids" not in call and "inputs_embeds" not in call:
        # A model of one's own: its first argument is the batch of token ids.
        first = args[0]
        call["input_ids" if not first.is_floating_point() else "inputs_embeds"] = first
    return call


def first_argument(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Returns the first argument of a module's call, which transformers may name `hidden_states`."""
    if args:
        return args[0]
    return kwargs.get("hidden_states", next(iter(kwargs.values()), None))


def read(call: Mapping[str, Any]) -> Pass:
    """Returns the pass that a call of a model makes.

    Raises ValueError for calls without tokens, and for masks and positions that the recorder cannot interpret.
    """
    ids = call.get("input_ids")
    source = ids if ids is not None else call.get("inputs_embeds")
    if source is None:
        remedy = "; record model.get_encoder() or model.get_decoder()" if "decoder_input_ids" in call else ""
        others = [name for name in ("pixel_values", "input_values", "input_features") if call.get(name) is not None]
        if others:
            remedy = (
                f"; {others[0]} are no tokens: call the model with output_hidden_states=True and use "
                "Capture.from_arrays({'hidden': list(output.hidden_states[1:])})"
            )
        raise ValueError(f"record: the model must be called with input_ids or inputs_embeds{remedy}")
    if source.ndim < 2:
        raise ValueError(f"record: the model must be called with a batch, [batch, tokens], got {list(source.shape)}")
    shape = (int(source.shape[0]), int(source.shape[1]))
    cache = _caches.find(call)
    cached = _caches.num_tokens(cache, call.get("cache_position"))
    # One copy to the CPU per pass: later questions do not wait for the device.
    mask, earlier = _tokens_of_mask(call.get("attention_mask"), shape, cached or 0)
    if mask is not None and bool(mask.all()):
        mask = None
    if call.get("cu_seq_lens_q") is not None or _falls(call.get("position_ids"), mask, shape):
        raise ValueError(
            "record: a row of the batch contains several sequences (position_ids start again, or cu_seq_lens_q is "
            "given, as for packed and continuous batches); call the model with one sequence per row"
        )
    return Pass(
        shape=shape,
        ids=np.full(shape, -1) if ids is None else ids.detach().cpu().numpy(),
        mask=mask,
        cache=cache,
        cached=cached,
        earlier=earlier,
        use_cache=call.get("use_cache") is not False,
    )


def _tokens_of_mask(mask: Any, shape: tuple[int, int], cached: int) -> tuple[Any, int]:
    """Returns the tokens of a pass that exist, and the number of earlier tokens that the mask includes."""
    if isinstance(mask, Mapping):  # one for each type of layer; padding is the same in all
        mask = next((one for one in mask.values() if one is not None), None)
    if mask is None:
        return None, 0
    ndim = getattr(mask, "ndim", 0)
    if not hasattr(mask, "detach") or not 2 <= ndim <= 4:
        raise ValueError(
            f"record: attention_mask must be a tensor with 2 to 4 dimensions, got {type(mask).__name__}; use "
            "attn_implementation='sdpa' or 'eager'"
        )
    count, num_tokens = shape
    fits = mask.shape[0] in (1, count) and mask.shape[-1] >= num_tokens and (ndim == 2 or mask.shape[-2] == num_tokens)
    if not fits:
        raise ValueError(
            f"record: attention_mask {list(mask.shape)} does not fit the {count} x {num_tokens} tokens of the pass"
        )
    mask = mask.detach()
    if ndim == 2:
        earlier = mask.shape[1] - num_tokens
        return mask.cpu().bool()[:, earlier:].expand(shape), earlier
    # [batch, 1, query, key] or [batch, query, key]: padding does not attend to itself.
    last = mask.shape[-1] - num_tokens
    own = mask.reshape(mask.shape[0], -1, *mask.shape[-2:])[:, 0].diagonal(min(cached, last), 1, 2).cpu()
    if own.is_floating_point():  # added to the attention scores
        own = own > -1.0
    return own.bool().expand(shape), 0


def _falls(positions: Any, mask: Any, shape: tuple[int, int]) -> bool:
    """Returns whether positions of tokens that exist start again within a row."""
    if positions is None or getattr(positions, "ndim", 0) != 2 or positions.shape[1] != shape[1] or shape[1] < 2:
        return False
    positions = positions.detach().cpu().expand(shape)
    falls = positions[:, 1:] < positions[:, :-1]
    if mask is not None:
        falls = falls & mask[:, 1:] & mask[:, :-1]
    return bool(falls.any())
