# SPDX-License-Identifier: Apache-2.0
"""Types of the installed package, as a user's type checker reads them."""

import subprocess
import sys

import pytest

import lime_toolkit as lt

PROGRAM = """
from pathlib import Path

import numpy as np
import lime_toolkit as lt
from lime_toolkit import plots


def study(path: Path) -> float:
    with lt.Capture(path) as capture:
        x = capture["hidden", 3]
        if "values" in capture and ("values", 3) in capture:
            print(list(capture), len(x.sequence(0)))
        result: lt.Entropies = lt.entropy(x, preset="raw")
        layers: lt.LayerResults[lt.Entropies] = lt.entropy(capture)
        plots.layers(layers)
        compared: lt.LayerResults[lt.PairedComparison] = lt.compare(layers, lt.entropy(capture, preset="raw"))
        probes: lt.LayerResults[lt.Probe] = lt.probe(capture, capture.rows.token)
        print(compared["hidden", 3].p_holm, probes["hidden", 3].accuracy, lt.compare([1.0], [2.0]).p_value)
        statistics: lt.RunningStatistics | None = x.statistics
        if statistics is not None:
            print(statistics.count, statistics.mean)
        memory = lt.Capture.from_arrays({("hidden", 0): np.zeros((1, 2, 3), np.float32)})
        rank: float | None = lt.geometry(memory["hidden", 0]).participation_ratio
        audit: lt.Audit = lt.audit(path, text=path, transforms="value-scale")
        plots.audit(audit, "values")
        points = lt.TSNE(perplexity=5).fit_transform(x[:100])
        return result.summary().mean + float(points.sum()) + (rank or 0.0)
"""


def test_names_are_literal():
    assert lt.__all__ == sorted(lt.__all__) and all(hasattr(lt, name) for name in lt.__all__)


def test_programs_of_users_are_clean(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
