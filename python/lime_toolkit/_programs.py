# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the toolkit that are installed beside Python."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Sequence


def folder_with(*names: str) -> Path:
    """Returns the folder of PATH that has all of these programs. Raises FileNotFoundError."""
    for part in os.environ.get("PATH", "").split(os.pathsep):
        if part and all(shutil.which(name, path=part) for name in names):
            return Path(part).resolve()
    raise FileNotFoundError(
        f"audit: {' and '.join(names)} are not in one folder of PATH; install the programs (docs/install.md), or pass a "
        "PyTorch model"
    )


def run(program: Path, arguments: Sequence[object]) -> None:
    """Runs a program, whose progress goes to standard error. Ctrl-C ends it too.

    Raises ValueError with its message if it fails, KeyboardInterrupt.
    """
    command = [str(program), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        try:
            _, errors = child.communicate()
        except BaseException:
            child.send_signal(signal.SIGTERM)
            child.wait()
            raise
    if child.returncode == 130 or child.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    if child.returncode != 0:
        lines = [line for line in errors.splitlines() if line.strip()]
        # The first line is the cause: a program that another one starts reports it before that one ends.
        raise ValueError(lines[0] if lines else f"{program.name} ended with status {child.returncode}")
