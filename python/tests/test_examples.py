# SPDX-License-Identifier: Apache-2.0
"""Runs the code of every notebook, in one namespace each."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, real_model

EXAMPLES = ROOT / "python" / "examples"
SAMPLE = Path(os.environ.get("LIME_TEST_DATA", ROOT.parent / "shared")) / "text" / "fineweb-edu-sample.txt"


NOTEBOOKS = ["foreign_model", "two_checkpoints", "paper_figures", "smollm2"]


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.real] if one == "smollm2" else []) for one in NOTEBOOKS]
)
def test_notebooks_run(name, tmp_path, monkeypatch, request):
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("h5py")
    if name == "paper_figures":
        pytest.importorskip("pandas")
        request.getfixturevalue("programs")
    else:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    if name == "smollm2" and (real_model() is None or not SAMPLE.exists()):
        pytest.skip("needs SmolLM2 in LIME_REAL_MODEL, and the texts of LIME_TEST_DATA")
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text())
    namespace: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}.ipynb", "exec"), namespace)


def test_notebooks_are_those_of_the_scripts():
    before = {path: path.read_text() for path in EXAMPLES.glob("*.ipynb")}
    subprocess.run([sys.executable, EXAMPLES / "make_notebooks.py"], check=True)
    assert {path: path.read_text() for path in EXAMPLES.glob("*.ipynb")} == before


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_with_their_outputs(name):
    path = EXAMPLES / f"{name}.ipynb"
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    outputs = [one for cell in cells for one in cell["outputs"]]
    assert all(cell["execution_count"] for cell in cells)
    assert any("image/png" in one.get("data", {}) for one in outputs)
    assert not any(one["output_type"] == "error" for one in outputs) and path.stat().st_size < 500_000


def test_notebooks_show_every_figure():
    """Their backend turns interactive mode on with the first figure, which may be one of ours."""
    matplotlib = pytest.importorskip("matplotlib")
    from lime_toolkit import plots

    with matplotlib.rc_context():
        with plots.style():
            matplotlib.interactive(True)
        assert matplotlib.is_interactive()
