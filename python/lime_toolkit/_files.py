# SPDX-License-Identifier: Apache-2.0
"""Names, trailers and atomic files of captures: docs/capture_format.md and docs/reliability.md."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from pathlib import Path
from typing import Iterator

from . import _lime_toolkit as _core


def shard_folder(path: Path) -> Path:
    """Returns the folder of a capture's shards: `run.h5` has `run.shards`."""
    return _core.shard_folder_of(path)


def append_trailer(path: Path, extents: list[tuple[int, int]]) -> None:
    """Appends the checksum of everything but `extents`, (offset, size), which have their own."""
    _core.append_trailer(path, extents)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9._]", "_", socket.gethostname()) or "localhost"


def _remove_stale(path: Path) -> None:
    """Removes temporary files of `path` that killed processes of this machine left."""
    pattern = re.compile(re.escape(f".{path.name}.part-{_host()}-") + r"(\d+)$")
    for other in path.parent.iterdir():
        found = pattern.match(other.name)
        if found and not Path(f"/proc/{found[1]}").exists() and os.path.isdir("/proc"):
            other.unlink(missing_ok=True)


def temporary_of(path: Path) -> Path:
    """Returns the hidden name under which this process writes `path`."""
    _remove_stale(path)
    return path.with_name(f".{path.name}.part-{_host()}-{os.getpid()}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def commit(temporary: Path, path: Path) -> None:
    """Syncs a file, renames it and syncs the folder, so that it appears complete or not at all."""
    _sync(temporary)
    os.replace(temporary, path)
    _sync(path.parent)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Gives a temporary name to write to, which becomes `path` unless an exception is raised."""
    temporary = temporary_of(path)
    try:
        yield temporary
        commit(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Writes a text file completely or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
