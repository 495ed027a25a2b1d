# SPDX-License-Identifier: Apache-2.0
"""Records activations of any PyTorch model into a capture."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Mapping, NoReturn, Sequence

import numpy as np

from . import _caches, _copies, _passes, _provenance, models
from ._batches import Batch
from ._generation import Generation
from ._output import Output
from ._prefix import prefix_of
from .models import Site

_STORAGE = ("float32", "float16")
_COMPRESSION = ("none", "deflate")


class Recorder:
    """Records the activations of a model's forward passes in a capture that all programs read.

        with Recorder("run.h5", model, tokenizer, sites={"hidden": "model.layers.*"}) as recorder:
            for batch in batches:
                model(**batch)

    path: the capture, and next to it the folder of its shards.
    model: any torch.nn.Module that is called with `input_ids` [batch, tokens] (or `inputs_embeds`),
        and with `attention_mask` if sequences are padded, on either side. Each row of a batch is a
        sequence; padding is not recorded. Passes with the cache of the last pass extend its sequences,
        as in generate(), including assisted generation. Of encoder-decoder models: get_encoder() or
        get_decoder().
    tokenizer: for the texts of the sequences and the names of the first tokens; may be None.
    sites: a pattern of module names per site, or a Site; default: `hidden` and `values` as
        models.SITES defines them for the model_type. It also defines `keys`, `queries` and
        `attn.hook_pattern`; select them by name, sites=["hidden", "keys"].
    max_length: tokens of the longest sequence; required for attention patterns, whose rows have a
        number per head and key. The model must return them (attn_implementation="eager").
    layers: only these; default: all.
    storage: float32 or float16. compression: none or deflate.
    shard_sequences: sequences per shard. A killed recording loses at most the current shard.
    resume: keeps finished shards; `num_sequences` is the number of their sequences.
    overwrite: removes an existing capture first.
    total: number of sequences of the whole capture, if known; required for several processes.
    process, num_processes: this process records the shards s with s % num_processes == process;
        remaining() gives its sequences. Processes share the path and do not communicate.
    config: JSON object stored as the model's config.json; default: model.config.
    extra: JSON object with further metadata.

    Rows are the outputs of the modules as they are, in float32 (bfloat16 and float16 are exact). Note
    that the last entry of transformers' `hidden_states` has the final norm applied; `hidden` of the
    last layer here is the residual stream before it, as in lime-capture.

    Raises FileExistsError if the capture exists; KeyError if a pattern matches no module (names near
    ones); ValueError for invalid options, modules that were not called or do not give a row per
    token, beam search, which reorders sequences, caches with tokens that nothing recorded, and options
    that differ from those of the run to resume; ImportError without h5py. Warns once of a version of
    transformers that was not tested, and at the end of sequences that lack the tokens (BOS) that the tokenizer puts
    before every text.
    """

    def __init__(
        self,
        path: str | Path,
        model: Any,
        tokenizer: Any = None,
        sites: Mapping[str, str | Site] | Sequence[str] | None = None,
        *,
        layers: Sequence[int] | None = None,
        storage: str = "float32",
        compression: str = "none",
        shard_sequences: int = 256,
        resume: bool = False,
        overwrite: bool = False,
        total: int | None = None,
        process: int = 0,
        num_processes: int = 1,
        config: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        max_length: int | None = None,
    ):
        _check("storage", storage, _STORAGE)
        _check("compression", compression, _COMPRESSION)
        if shard_sequences < 1:
            raise ValueError(f"shard_sequences: must be >= 1, got {shard_sequences}")
        if total is not None and total < 1:
            raise ValueError(f"total: must be >= 1, got {total}")
        if tokenizer is not None and not hasattr(tokenizer, "decode"):
            raise ValueError(f"tokenizer: must be a tokenizer of transformers, got {type(tokenizer).__name__}")
        if not 0 <= process < num_processes:
            raise ValueError(f"process: must be in [0, {num_processes}), got {process}")
        if num_processes > 1 and (total is None or overwrite):
            raise ValueError("num_processes: several processes need total=, and cannot overwrite")
        self.path = Path(path)
        self.model = model
        self.tokenizer = tokenizer
        self.shard_sequences = shard_sequences
        self.total = total
        self.max_length = max_length
        self._names = _passes.parameters(model)
        self._modules = self._find(sites, layers)
        self._refuse_decoders()
        _provenance.warn_if_untested(model)
        prefix = prefix_of(tokenizer)
        patterns: dict[str, str] = {name: site.pattern for _, _, _, (name, site) in self._modules}
        info = _provenance.describe_run(
            model,
            tokenizer,
            prefix,
            options={"sites": patterns, "shard_sequences": shard_sequences},
            storage=storage,
            compression=compression,
            config=config,
            extra=extra,
        )
        self._output = Output(
            self.path,
            info,
            model,
            tokenizer,
            prefix,
            self._modules,
            shard_sequences=shard_sequences,
            total=total,
            share=(process, num_processes),
        )
        self._output.prepare(resume or num_processes > 1, overwrite)
        self._hooks: list[Any] = []
        self._guards = _caches.Guards(self._on_reorder, self._on_crop)
        self._generation: Generation | None = None
        self._own_generate: Any = None
        self._pass: _passes.Pass | None = None
        self._outputs: dict[int, _copies.Copy] = {}
        self._pending: Batch | None = None  # until it is clear that no pass continues it
        self._columns: dict[str, list[Any]] = {}

    # Public methods

    @property
    def num_sequences(self) -> int:
        """Number of sequences recorded so far, including those of a resumed run: where a single process
        continues."""
        return self._output.num_sequences

    def remaining(self) -> list[range]:
        """Returns the sequences that this process still has to record, for a known `total`.

            for part in recorder.remaining():
                for batch in batches(texts[part.start : part.stop]): model(**batch)
        """
        if self.total is None:
            raise ValueError("remaining: needs total=, the number of sequences of the whole capture")
        return self._output.remaining()

    def describe(
        self,
        texts: Sequence[str] | None = None,
        *,
        labels: Sequence[int] | None = None,
        pairs: Sequence[int] | None = None,
    ) -> None:
        """Sets the metadata of the sequences of the next batch; by default texts are decoded tokens.

        labels: 1 good, 0 bad, -1 none; pairs: number of the minimal pair, -1 none.
        Raises ValueError for texts that are not strings, and for other labels and pairs.
        """
        given = {"text": texts, "label": labels, "pair": pairs}
        columns = {name: list(values) for name, values in given.items() if values is not None}
        if isinstance(texts, str) or not all(isinstance(one, str) for one in columns.get("text", [])):
            raise ValueError("describe: texts must be a list of strings, one per sequence")
        if not all(one in (-1, 0, 1) for one in columns.get("label", [])):
            raise ValueError(f"describe: labels must be 1, 0 or -1, got {columns['label']}")
        if not all(-1 <= one < 1 << 31 for one in columns.get("pair", [])):
            raise ValueError(f"describe: pairs must be in [-1, {1 << 31}), got {columns['pair']}")
        self._columns = columns

    def __enter__(self) -> "Recorder":
        self._output.start()
        self._hooks.append(
            self.model.register_forward_pre_hook(self._before, with_kwargs=True, prepend=True)
        )
        for index, (_, module, _, site) in enumerate(self._modules):
            self._hooks.append(module.register_forward_hook(self._hook(index, site)))
        self._hooks.append(self.model.register_forward_hook(self._after))
        self._watch_generate()
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._guards.remove()
        self._unwatch_generate()
        if kind is None:
            self._commit()
        self._output.close(kind is None)

    # Preparation

    def _find(
        self, sites: Mapping[str, str | Site] | Sequence[str] | None, layers: Sequence[int] | None
    ) -> list[tuple[str, Any, int, tuple[str, Site]]]:
        config = getattr(self.model, "config", None)
        if sites is None:
            sites = models.default_sites(config)
        elif not isinstance(sites, Mapping):
            names = [sites] if isinstance(sites, str) else sites
            known = models.known_sites(config)
            for name in names:
                _check(f"sites: model_type '{getattr(config, 'model_type', None)}'", name, tuple(known))
            sites = {name: known[name] for name in names}
        wanted = {name: one if isinstance(one, Site) else Site(one) for name, one in sites.items()}
        for name in wanted:
            if not 0 < len(name) <= 100 or name[0] == "." or any(not "!" <= c <= "~" or c == "/" for c in name):
                raise ValueError(
                    "sites: a name must be 1 to 100 visible ASCII characters without slashes, and not start "
                    f"with a dot, got '{name}'"
                )
        if models.PATTERN_SITE in wanted and not (self.max_length or 0) > 0:
            raise ValueError(
                f"max_length: {models.PATTERN_SITE} needs it, the number of tokens of the longest sequence, >= 1; "
                f"got {self.max_length}"
            )
        found = models.find_modules(self.model, wanted)
        modules = [
            (hook, module, layer, (name, wanted[name]))
            for name, matches in found.items()
            for layer, hook, module in matches
            if layers is None or layer in layers
        ]
        if not wanted:
            raise ValueError("sites: must name at least one site")
        if not modules:
            raise ValueError(f"layers: the model has none of {list(layers or [])}")
        return modules

    def _refuse_decoders(self) -> None:
        """Refuses modules of encoder-decoder models that are called with other tokens than input_ids."""
        if "decoder_input_ids" not in self._names or not hasattr(self.model, "get_encoder"):
            return
        inside = set(self.model.get_encoder().modules())
        others = [name for name, module, _, _ in self._modules if module not in inside]
        if others:
            raise ValueError(
                f"sites: '{others[0]}' of the encoder-decoder model {type(self.model).__name__} is not in its encoder, "
                "whose tokens are recorded; record model.get_decoder() instead"
            )

    # Passes

    def _before(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._output.failure is not None:
            raise self._output.failure
        self._pass, self._outputs = None, {}
        step = _passes.read(_passes.bind(self._names, args, kwargs))
        if self._continues(step):
            assert self._pending is not None
            if step.shape[0] != self._pending.num_sequences:
                self._refuse(
                    f"a pass continues {self._pending.num_sequences} sequences with {step.shape[0]}; beam search is "
                    "not supported"
                )
        else:
            self._commit()
        self._guards.watch(step.cache)
        self._pass = step

    def _continues(self, step: _passes.Pass) -> bool:
        """Returns whether a pass continues the last batch, and refuses one that continues something else."""
        batch, generation = self._pending, self._generation
        if step.cache is not None and step.cached != 0:
            if batch is None or not batch.is_continued_by(step):
                count = "" if step.cached is None else f"{step.cached} "
                self._refuse(
                    f"the cache of the pass contains {count}tokens that were not recorded as the beginning of its "
                    "sequences; begin with an empty cache in the 'with' block, and use it for no other sequences, or "
                    "call the model on whole sequences"
                )
            return True
        if step.cache is None and step.earlier > 0:  # a model of one's own, whose cache has another name
            if batch is None or batch.num_columns != step.earlier:
                self._refuse(
                    f"the attention_mask includes {step.earlier} earlier tokens that were not recorded as the "
                    "beginning of these sequences; call the model on whole sequences"
                )
            return True
        if generation is not None and generation.num_passes > 0:
            self._refuse(
                "generate() called the model again without the cache of its first pass (use_cache=False, "
                "guidance_scale, or a model without a cache that the recorder knows); use use_cache=True, or generate "
                "first, then record a pass over the result"
            )
        return False

    def _refuse(self, reason: str) -> NoReturn:
        """Drops the sequences that a pass would make wrong."""
        self._pending = self._pass = None
        raise ValueError(f"record: {reason}")

    def _hook(self, index: int, site: tuple[str, Site]) -> Any:
        name = self._modules[index][0]
        config = getattr(self.model, "config", None)

        def record(module: Any, args: Any, output: Any) -> None:
            step = self._pass
            if step is None:
                return
            if index in self._outputs:
                raise ValueError(f"record: '{name}' is called several times in one pass")
            tensor = _copies.tensor_of(output, site[1].output, name)
            if site[0] == models.PATTERN_SITE:
                assert self.max_length is not None
                tensor = _copies.pattern_rows(tensor, step, self._keys(step), name, self.max_length)
            self._outputs[index] = _copies.copy_rows(tensor, step, name, site[1], config, self._output.buffers)

        return record

    def _keys(self, step: _passes.Pass) -> Any:
        """Returns the tokens of the batch that exist, up to the end of a pass."""
        import torch

        earlier = [] if self._pending is None else [self._pending.exists]
        return torch.from_numpy(np.concatenate([*earlier, step.exists], axis=1))

    def _after(self, model: Any, args: Any, output: Any) -> None:
        step, self._pass = self._pass, None
        if step is None:
            return
        missing = [self._modules[i][0] for i in range(len(self._modules)) if i not in self._outputs]
        if missing:
            raise ValueError(
                f"record: '{missing[0]}'{f' and {len(missing) - 1} more' if missing[1:] else ''} were not called in "
                "the pass"
            )
        batch = self._pending
        if batch is None:
            batch = self._pending = Batch(step.shape[0], self._take_columns(step.shape[0]))
        caches = [one for one in (step.cache, *_caches.find_all(output)) if one is not None]
        batch.append(step, [self._outputs[i] for i in range(len(self._modules))], caches)
        self._outputs = {}
        for cache in caches:
            self._guards.watch(cache)
        if self._generation is not None:
            if self._generation.num_passes == 0:
                self._generation.first_column = batch.num_columns
            self._generation.num_passes += 1
        has_cache = bool(caches) or not isinstance(output, Mapping)
        if not (step.use_cache and has_cache):
            self._commit()  # no pass can continue these sequences

    def _take_columns(self, num_sequences: int) -> dict[str, list[Any]]:
        """Returns the metadata that describe() set for a batch."""
        columns, self._columns = self._columns, {}
        for name, values in columns.items():
            if len(values) != num_sequences:
                raise ValueError(
                    f"describe: {name}s must have one entry for each of the {num_sequences} sequences, got {len(values)}"
                )
        return columns

    def _commit(self) -> None:
        """Hands the last batch to the thread that writes."""
        batch, self._pending = self._pending, None
        if batch is not None:
            self._output.put(batch)

    # Generation

    def _watch_generate(self) -> None:
        """Observes generate() of the model: its passes are one batch, and it returns their tokens."""
        original = getattr(self.model, "generate", None)
        if original is None:
            return
        self._own_generate = vars(self.model).get("generate")

        @functools.wraps(original)
        def generate(*args: Any, **kwargs: Any) -> Any:
            if self._generation is not None:  # called by itself
                return original(*args, **kwargs)
            self._generation = generation = Generation(self.model, args, kwargs)
            try:
                result = original(*args, **kwargs)
            finally:
                self._generation = None
            if self._pending is not None and generation.num_passes > 0:
                if not generation.check(self._pending, result):
                    self._refuse(
                        "generate() returned other tokens than it passed to the model, as beam search and assisted "
                        "generation do; generate first, then record a pass over the result"
                    )
                self._pending.pad(generation.count_padding(self._pending))
            return result

        self.model.generate = generate

    def _unwatch_generate(self) -> None:
        if "generate" in vars(self.model):
            del self.model.generate
        if self._own_generate is not None:
            self.model.generate = self._own_generate

    def _on_reorder(self, cache: Any) -> None:
        if self._pending is not None and self._pending.owns(cache):
            self._refuse(
                "beam search and contrastive search exchange recorded sequences; generate first, then record a pass "
                "over the result"
            )

    def _on_crop(self, cache: Any, count: int | None) -> None:
        if self._pending is None or not self._pending.owns(cache):
            return
        if count is None:
            self._refuse("the cache was cropped by an unknown number of tokens; call the model on whole sequences")
        self._pending.crop(count)


def _check(name: str, value: str, expected: Sequence[str]) -> None:
    if value not in expected:
        raise ValueError(f"{name}: expected one of {', '.join(expected)}, got '{value}'")
