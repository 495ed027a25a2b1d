# SPDX-License-Identifier: Apache-2.0
"""Records activations of PyTorch models into a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Sequence

from . import _provenance
from ._output import Output
from ._prefix import prefix_of
from ._recording import Recording, check_name
from .models import Site

_STORAGE = ("float32", "float16")
_COMPRESSION = ("none", "deflate")


class Recorder(Recording):
    """Records the activations of a model's forward passes in a capture that all programs read.

        with Recorder("run.h5", model, tokenizer, sites={"hidden": "model.layers.*"}) as recorder:
            for batch in batches:
                model(**batch)

    path: the capture, and next to it the folder of its shards.
    model: a torch.nn.Module that is called with `input_ids` [batch, tokens] (or `inputs_embeds`),
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
    that differ from those of the run to resume. Warns once of a version of transformers that was not
    tested, and at the end of sequences that lack the tokens (BOS) that the tokenizer puts before every
    text.
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
        check_name("storage", storage, _STORAGE)
        check_name("compression", compression, _COMPRESSION)
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
        self.tokenizer = tokenizer
        self.shard_sequences = shard_sequences
        self.total = total
        super().__init__(model, sites, layers, max_length)
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
        self._output: Output = Output(
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
