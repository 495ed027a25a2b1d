# SPDX-License-Identifier: Apache-2.0
"""Programs and captures that several tests use."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def real_model() -> Path | None:
    """Returns the first folder with a config.json, the folder LIME_REAL_MODEL or one in it; tests need it that are
    marked `real`."""
    root = os.environ.get("LIME_REAL_MODEL", "")
    found = [*Path(root).glob("config.json"), *sorted(Path(root).glob("*/config.json"))] if root else []
    return found[0].parent if found else None


class Programs:
    """Runs the C++ programs of this checkout."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, name: str, *arguments: object) -> str:
        done = self.run(name, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, name: str, *arguments: object) -> subprocess.CompletedProcess:
        command = [str(self.folder / name), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def rows(self, metric: str, capture: Path, *arguments: object) -> list[dict]:
        """The rows of lime-metrics' results file."""
        output = capture.with_suffix(f".{metric}.json")
        output.unlink(missing_ok=True)
        self("lime-metrics", metric, capture, *arguments, "-o", output)
        return json.loads(output.read_text())["rows"]


@pytest.fixture(scope="session")
def programs() -> Programs:
    folder = Path(os.environ.get("LIME_BIN", ROOT / "build" / "release" / "bin"))
    if not (folder / "lime-metrics").exists():
        pytest.skip(f"needs lime-metrics in {folder}; build it or set LIME_BIN")
    return Programs(folder)


def write_capture(*arguments, **named):
    """The writer of docs/capture_format.md, as it stands there."""
    text = (ROOT / "docs" / "capture_format.md").read_text()
    block = re.search(r"## Writing a capture with h5py.*?```python\n(.*?)\nrng =", text, re.S)[1]
    names: dict = {}
    exec(block, names)
    return names["write_capture"](*arguments, **named)


@pytest.fixture
def sequences() -> list[np.ndarray]:
    """Rows of 12 sequences of different lengths, some with a large common direction."""
    generator = np.random.default_rng(7)
    rows = [generator.normal(size=(n, 24)) for n in (2, 5, 9, 14, 30, 3, 8, 21, 40, 6, 11, 17)]
    return [(one + 3.0 * (i % 3)).astype(np.float32) for i, one in enumerate(rows)]


@pytest.fixture
def plain(tmp_path: Path, sequences: list[np.ndarray]) -> Path:
    """A capture of the sequences, written with h5py alone."""
    pytest.importorskip("h5py")
    lengths = [len(one) for one in sequences]
    tokens = np.random.default_rng(1).integers(4, size=sum(lengths))
    rows = np.concatenate(sequences)
    path = tmp_path / "plain.h5"
    write_capture(path, {("hidden", 0): rows, ("hidden", 1): rows[:, ::-1] ** 2}, tokens, lengths)
    return path
