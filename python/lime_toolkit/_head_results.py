# SPDX-License-Identifier: Apache-2.0
"""What single heads write: z and values through the parts of W_O that belong to the heads."""

from __future__ import annotations

from typing import Any, Mapping

from . import models
from .models import Site

#: z of each query head through its part of W_O, [heads * hidden]; their sum is hook_attn_out without bias.
RESULT_SITE = "attn.hook_result"
#: The value of each token through the same parts, [heads * hidden].
VALUE_RESULT_SITE = "attn.hook_value_result"


def sites_of(known: Mapping[str, Site], config: Any) -> dict[str, Site]:
    """Returns both sites of a model_type whose last projection of attention is known; none without heads."""
    try:
        heads = models._heads(config)
    except ValueError:
        return {}
    found = {}
    output, values = known.get("attn.hook_z"), known.get("values")
    if output is not None:
        found[RESULT_SITE] = Site(output.pattern, computed=_of_output(heads))
        if values is not None:
            found[VALUE_RESULT_SITE] = Site(
                values.pattern, computed=_of_values(values, heads, config), through=output.pattern
            )
    return found


def _of_output(heads: int) -> Any:
    def result(projection: Any, args: tuple[Any, ...], output: Any) -> Any:
        return each_head(args[0], projection, heads)

    return result


def _of_values(site: Site, heads: int, config: Any) -> Any:
    def result(module: Any, args: tuple[Any, ...], output: Any, projection: Any) -> Any:
        values = output if site.part is None else site.part(output, config)
        dim = _weight_of(projection).shape[1] // heads
        of_heads = values.unflatten(-1, (-1, dim))
        group = heads // of_heads.shape[-2]
        return each_head(of_heads.repeat_interleave(group, -2).flatten(-2), projection, heads)

    return result


def each_head(rows: Any, projection: Any, heads: int) -> Any:
    """Returns the rows [..., heads * dim] of each head through its columns of W_O, [..., heads * hidden]."""
    import torch

    weight = _weight_of(projection).unflatten(1, (heads, -1))  # [hidden, heads, dim]
    return torch.einsum("...hd,ohd->...ho", rows.unflatten(-1, (heads, -1)), weight).flatten(-2)


def _weight_of(projection: Any) -> Any:
    """Returns W_O, [hidden, heads * dim]: Conv1D of GPT-2 stores it transposed."""
    weight = projection.weight
    return weight.T if type(projection).__name__ == "Conv1D" else weight
