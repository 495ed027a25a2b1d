# SPDX-License-Identifier: Apache-2.0
"""Wheels have modules for several levels of CPUs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lime_toolkit
from lime_toolkit import _levels

FEATURES = {
    "x86-64-v4": "avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe",
    "baseline": "sse2",
}


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)


@pytest.mark.parametrize("cpu", FEATURES)
def test_the_highest_level_of_the_cpu_is_selected(tmp_path, monkeypatch, cpu):
    monkeypatch.setattr(_levels, "_HOME", tmp_path)
    monkeypatch.setattr(_levels, "_features", lambda: set(FEATURES[cpu].split()))
    monkeypatch.delenv("LIME_PROCESSOR_LEVEL", raising=False)
    make(tmp_path, *FEATURES)
    assert _levels.folder() == tmp_path / cpu
    shutil.rmtree(tmp_path / "x86-64-v4")
    assert _levels.folder() == tmp_path / ("x86-64-v3" if cpu == "x86-64-v4" else cpu)


def test_the_environment_selects_a_level_that_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(_levels, "_HOME", tmp_path)
    monkeypatch.setattr(_levels, "_features", lambda: set(FEATURES["x86-64-v3"].split()))
    make(tmp_path, "baseline", "x86-64-v3")
    monkeypatch.setenv("LIME_PROCESSOR_LEVEL", "baseline")
    assert _levels.folder() == tmp_path / "baseline"
    for name in ("x86-64-v4", "avx2"):
        monkeypatch.setenv("LIME_PROCESSOR_LEVEL", name)
        with pytest.raises(ImportError) as found:
            _levels.folder()
        assert str(found.value) == (
            "LIME_PROCESSOR_LEVEL: must be a level of the wheel that this CPU supports (baseline, x86-64-v3), got "
            f"'{name}'"
        )


def test_a_build_for_one_machine_has_no_levels(tmp_path, monkeypatch):
    monkeypatch.setattr(_levels, "_HOME", tmp_path / "levels")
    assert _levels.folder() is None
    with pytest.raises(SystemExit, match="lime-metrics: this build of lime-toolkit does not contain it"):
        _levels.lime_metrics()


def test_the_module_of_a_level_is_loaded(tmp_path):
    """As in a wheel: the package without a module of its own."""
    source = Path(lime_toolkit.__file__).parent
    if (source / "levels").is_dir():
        pytest.skip("this is a wheel, which all other tests load so")
    package = tmp_path / "lime_toolkit"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    own = package / "levels" / "baseline" / "lib" / "lime"
    own.mkdir(parents=True)
    for file in [*package.glob("_lime_toolkit*.so"), package / "lime-trial-read"]:
        file.rename(own / file.name)
    code = "import lime_toolkit as lt; from lime_toolkit import _lime_toolkit; print(_lime_toolkit.__file__, lt.__version__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LIME_PROCESSOR_LEVEL": "baseline"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout.startswith(str(own)), done.stderr
    next(own.glob("_lime_toolkit*.so")).unlink()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "has no module for Python" in done.stderr
