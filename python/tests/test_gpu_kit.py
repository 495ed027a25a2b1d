# SPDX-License-Identifier: Apache-2.0
"""Every step of the kit for GPU machines, on the CPU at toy size: a typing error costs no GPU time."""
import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
STEPS = ("machine", "correctness", "capture", "training", "entropies", "python_step", "routers",
         "small_model", "continuation")


def test_every_step_runs_at_toy_size(tmp_path):
    if not (BUILD / "bin" / "lime-bench-step").exists():
        pytest.skip("needs the benchmarks: scripts/build.sh benchmarks")
    model = ROOT.parent / "shared" / "checkpoints" / "stories260k"
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.txt").write_text("Once upon a time there was a little girl.\n" * 400)
    more = ["--model", str(model), "--text", str(text)] if model.exists() else []
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "gpu" / "run.py"), "--build", str(BUILD), "--out",
         str(tmp_path / "out"), "--device", "cpu", "--toy", "--scratch", str(tmp_path), *more,
         "--steps", *STEPS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [section["step"] for section in report] == list(STEPS)
    for section in report:
        if section["step"] == "continuation" and not more:
            continue
        assert section["rows"], section
        failed = [row for row in section["rows"]
                  if row.get("failed") and row.get("what") != "nvidia-smi"]
        assert not failed, section
        assert not [note for note in section["notes"] if note.startswith("failed")], section
