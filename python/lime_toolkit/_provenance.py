# SPDX-License-Identifier: Apache-2.0
"""What a recording stores about its model, tokenizer and options."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import sys
import warnings
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Mapping

import numpy as np

from ._prefix import Prefix

#: Oldest and newest version of transformers that the tests of the recorder were run with, major and minor. CI runs
#: the newest: python/tests/requirements-recorder.txt.
TESTED_TRANSFORMERS = ((4, 57), (5, 24))

_warned: set[str] = set()


def describe_run(
    model: Any,
    tokenizer: Any,
    prefix: Prefix | None,
    *,
    options: Mapping[str, Any],
    storage: str,
    compression: str,
    config: Any,
    extra: Any,
) -> dict[str, Any]:
    """Returns the attributes of the capture's root group.

    Raises ValueError if `config` or `extra` is not a JSON object.
    """
    if config is None:
        own = getattr(model, "config", None)
        config = json.loads(own.to_json_string(use_diff=False)) if hasattr(own, "to_json_string") else {}
    return {
        "schema_version": 1,
        "tool": f"lime-toolkit {version_of('lime-toolkit')} (Python)",
        "command": shlex.join(sys.argv),
        "created_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "config": _to_plain("config", config),
        "options": {"recorder": type(model).__name__, **options, "weights": _fingerprint(model)},
        "checkpoint_sha256": "",
        "tokenizer_sha256": _tokenizer_digest(tokenizer),
        "input_sha256": "",
        "compute_dtype": str(next((p.dtype for p in model.parameters()), "float32")).split(".")[-1],
        "storage_dtype": storage,
        "compression": compression,
        "rows": "tokens",
        "seed": 0,
        "prepended": "",
        "first_ids": [],
        "first_tokens": [],
        "class_names": [],
        "task_names": [],
        "extra": {
            "torch": version_of("torch"),
            "transformers": version_of("transformers"),
            **({} if prefix is None else {"tokenizer_prefix": prefix.text}),
            **_to_plain("extra", extra or {}),
        },
        "complete": True,
    }


def complete(info: Mapping[str, Any]) -> dict[str, Any]:
    """Returns attributes with those that a file needs."""
    defaults: dict[str, Any] = {
        "schema_version": 1,
        "tool": f"lime-toolkit {version_of('lime-toolkit')} (Python)",
        "command": shlex.join(sys.argv),
        "created_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "config": {}, "options": {}, "checkpoint_sha256": "", "tokenizer_sha256": "", "input_sha256": "",
        "compute_dtype": "float32", "storage_dtype": "float32", "compression": "none", "rows": "tokens", "seed": 0,
        "prepended": "", "first_ids": [], "first_tokens": [], "class_names": [], "task_names": [], "extra": {},
        "complete": True,
    }
    given = {name: _to_plain(name, info[name]) for name in ("config", "options", "extra") if name in info}
    return {**defaults, **{name: value for name, value in info.items() if name != "format"}, **given}


def warn_if_untested(model: Any) -> None:
    """Warns once of a version of transformers whose calls the tests of the recorder have not seen."""
    if not any(type(one).__module__.split(".")[0] == "transformers" for one in model.modules()):
        return
    found = version_of("transformers")
    numbers = found.split(".")[:2]
    if found in _warned or not all(one.isdigit() for one in numbers) or len(numbers) < 2:
        return
    first, last = TESTED_TRANSFORMERS
    if not first <= (int(numbers[0]), int(numbers[1])) <= last:
        _warned.add(found)
        warnings.warn(
            f"record: this recorder was not tested with transformers {found}, only with {first[0]}.{first[1]} to "
            f"{last[0]}.{last[1]}; compare num_sequences and some rows with hidden_states of the model",
            stacklevel=4,
        )


def _to_plain(name: str, value: Any) -> dict[str, Any]:
    """Returns a JSON object as it can be stored: NaN and infinity are texts, as in results files."""

    def plain(one: Any) -> Any:
        if isinstance(one, Mapping):
            return {str(key): plain(member) for key, member in one.items()}
        if isinstance(one, (list, tuple)):
            return [plain(member) for member in one]
        if isinstance(one, float) and not math.isfinite(one):
            return str(float(one))
        if one is None or isinstance(one, (bool, int, float, str)):
            return one
        if isinstance(one, (np.generic, np.ndarray)):
            return plain(one.tolist())
        raise ValueError(f"{name}: must be a JSON object, got {type(one).__name__} in it")

    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: must be a JSON object, got {type(value).__name__}")
    return plain(value)


def version_of(package: str) -> str:
    """Returns the installed version of a package, or nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _fingerprint(model: Any) -> str:
    """Returns a digest of names, types, shapes and the first values of all parameters."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        if parameter.device.type == "meta":
            continue
        values = parameter.detach().reshape(-1)[:4096].float().cpu().numpy()
        digest.update(f"{name} {parameter.dtype} {list(parameter.shape)}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def _tokenizer_digest(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return hashlib.sha256(backend.to_str().encode()).hexdigest() if backend is not None else ""
