# SPDX-License-Identifier: Apache-2.0
"""Levels of x86-64 CPUs: a wheel has a module and lime-metrics for each, a build for one machine has only a module."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

_HOME = Path(__file__).parent / "levels"
_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
#: The highest first, with what /proc/cpuinfo calls the features of the CPU.
_LEVELS = {
    "x86-64-v4": _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": _V3,
    "baseline": set(),
}


def _features() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line.split(":")[1].split() for line in lines if line.startswith("flags")), []))


def folder() -> Path | None:
    """Returns the folder of the highest level that the CPU supports and the wheel has; None for other builds.

    LIME_PROCESSOR_LEVEL selects another level. Raises ImportError if the wheel does not have it.
    """
    if not _HOME.is_dir():
        return None
    requested = os.environ.get("LIME_PROCESSOR_LEVEL")
    features = _features()
    for name, needed in _LEVELS.items():
        is_wanted = requested in (None, name) and needed <= features
        if is_wanted and (_HOME / name).is_dir():
            return _HOME / name
    has = ", ".join(sorted(one.name for one in _HOME.iterdir()))
    raise ImportError(f"LIME_PROCESSOR_LEVEL: must be a level of the wheel that this CPU supports ({has}), got '{requested}'")


def load() -> None:
    """Loads the module of the folder, before it is imported by name."""
    own = folder()
    if own is None:
        return
    name = f"{__package__}._lime_toolkit"
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    files = [own / "lib" / "lime" / f"_lime_toolkit{suffix}" for suffix in suffixes]
    path = next((one for one in files if one.exists()), None)
    if path is None:
        raise ImportError(f"'{own}' has no module for Python {sys.version.split()[0]}; install the wheel of this version")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    setattr(sys.modules[__package__], "_lime_toolkit", module)


def lime_metrics() -> NoReturn:
    """Replaces this process by lime-metrics; the console script of wheels."""
    own = folder()
    if own is None:
        sys.exit("lime-metrics: this build of lime-toolkit does not contain it; install a wheel, or the programs")
    program = own / "bin" / "lime-metrics"
    os.execv(program, ["lime-metrics", *sys.argv[1:]])
