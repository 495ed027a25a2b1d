# SPDX-License-Identifier: Apache-2.0
"""Probes, comparisons, t-SNE and routers."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lime_toolkit as lt

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def labelled(plain):
    """A capture whose rows have classes."""
    import h5py

    with h5py.File(plain, "r+") as file:
        token = file["rows/token"][:]
        rows = file["activations/hidden/000"]
        classes = (np.arange(len(token)) % 3).astype("i2")
        rows[:, 0] += classes
        file["rows/class"] = classes
        file["rows/class"].attrs.create("names", ["a", "b", "c"], dtype=h5py.string_dtype())
        mean = rows[:].mean(0, dtype="f8")
        file["statistics/hidden/000/mean"][:] = mean
    return plain


def test_probe_is_bit_identical_to_lime_metrics(programs, labelled):
    rows = programs.rows("separability", labelled, "--layer", 0, "--c", "0.1,1",
                         "--control", "shuffled,token,sequence,random-features")
    with lt.Capture(labelled) as capture:
        found = lt.probe(capture["hidden", 0], capture.rows.class_id, tokens=capture.rows.token, c=[0.1, 1],
                         sequences=capture.rows.sequence,
                         control=["shuffled", "token", "sequence", "random-features"])
    of = {row["labels"]: row for row in rows if row["method"] == "converged"}
    probes = {"words": found, **found.controls}
    assert set(of) == set(probes)
    for name, probe in probes.items():
        accuracies = of[name]["fold_accuracies"]
        if isinstance(accuracies, str):  # lime-results/1
            accuracies = [float(one) for one in accuracies.split("; ")]
        assert probe.accuracies.tolist() == accuracies, name
        assert np.mean([fold.log_loss for fold in probe.folds]) == pytest.approx(of[name]["log_loss"], rel=1e-14)
    assert found.confusion.sum() == capture.num_rows
    assert found.selectivity["shuffled"] == of["shuffled"]["selectivity"]


def test_lime_code_probe_is_bit_identical_to_lime_metrics(programs, labelled):
    controls = ["shuffled", "random-features"]
    rows = programs.rows("separability", labelled, "--layer", 0, "--method", "lime-code", "--control", ",".join(controls))
    with lt.Capture(labelled) as capture:
        found = lt.lime_code_probe(capture["hidden", 0], capture.rows.class_id, control=controls)
    probes = {"words": found, **found.controls}
    assert {row["labels"] for row in rows} == set(probes)
    for row in rows:
        probe = probes[row["labels"]]
        assert probe.accuracies.tolist() == row["fold_accuracies"] and probe.accuracy == pytest.approx(row["mean"])
        assert probe.row_accuracies.mean() == pytest.approx(row["row_accuracy"], rel=1e-14)


def test_jackknife_is_bit_identical_to_lime_metrics(programs, plain):
    rows = programs.rows("geometry", plain, "--layer", 0, "--measure", "rank", "--jackknife", 6)
    (row,) = [row for row in rows if row["measure"] == "effective_rank" and row["over"] == "rows"]
    with lt.Capture(plain) as capture:
        found = lt.jackknife(lambda sequences: lt.geometry(sequences, measure="rank").effective_rank,
                             capture["hidden", 0], num_blocks=6)
    assert (found.value, found.standard_error) == (row["mean"], row["stderr"])
    assert (found.ci_low, found.ci_high) == (row["ci_low"], row["ci_high"])
    assert len(found.pseudo_values) == 6
    values = np.arange(20.0)
    mean = lt.jackknife(lambda rows: float(np.mean(np.concatenate(rows))), list(values[:, None, None]), num_blocks=20)
    assert mean.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(20))
    assert mean.pseudo_values == pytest.approx(values)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 0.5, "0", True])
def test_seeds_are_whole_numbers_of_64_bits(seed):
    rows = np.random.default_rng(0).normal(size=(40, 4)).astype("f4")
    for call in (lambda: lt.summarize([1.0, 2.0], seed=seed), lambda: lt.compare([1.0], [2.0], seed=seed),
                 lambda: lt.geometry(rows, seed=seed), lambda: lt.TSNE(perplexity=5, seed=seed).fit(rows),
                 lambda: lt.similarity_map([rows], seed=seed), lambda: lt.probe(rows, np.arange(40) % 2, seed=seed)):
        with pytest.raises(ValueError, match="seed: must be a whole number from 0 to 18446744073709551615, got"):
            call()


def test_probe_finds_what_is_there():
    generator = np.random.default_rng(0)
    labels = generator.choice(["is", "are"], size=200)
    rows = generator.normal(size=(200, 8)) + 4.0 * (labels == "is")[:, None]
    found = lt.probe(rows, labels, control="shuffled")
    assert found.classes.tolist() == ["are", "is"] and found.accuracy > 0.95
    assert found.controls["shuffled"].accuracy < 0.65
    assert np.exp(found.log_probabilities).sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_comparison_against_all_sign_flips():
    generator = np.random.default_rng(2)
    first, second = generator.normal(size=(2, 10))
    found = lt.compare(first, second + 0.4)
    differences = second + 0.4 - first
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product([-1, 1], repeat=10)]
    assert found.exact and found.difference == pytest.approx(differences.mean())
    assert found.p_value == pytest.approx(np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12))
    assert lt.holm_adjusted([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_tsne_is_bit_identical_to_lime_metrics(programs, plain, tmp_path):
    output = tmp_path / "tsne.json"
    programs("lime-metrics", "tsne", plain, "--layer", 0, "--normalize", "none", "--perplexity", 10,
             "--iterations", 300, "-o", output)
    embeddings = lt.Embeddings(tmp_path / "tsne.embeddings.h5")
    row = lt.Results(output).rows[0]
    with lt.Capture(plain) as capture:
        chosen = embeddings.rows("plain")["row"]
        tsne = lt.TSNE(perplexity=10, iterations=300)
        points = tsne.fit_transform(capture["hidden", 0][chosen])
    assert np.array_equal(points.astype(np.float32), embeddings["plain", "hidden", 0])
    assert tsne.kl_divergence_ == row["kl_divergence"] and tsne.n_iter_ == row["iterations"]


def test_tsne_starts_where_it_is_told():
    generator = np.random.default_rng(5)
    points = np.concatenate([generator.normal(size=(40, 6)), generator.normal(size=(40, 6)) + 20])
    start = generator.normal(size=(80, 2)) * 1e-4
    embedding = lt.TSNE(perplexity=10, init=start, threads=1).fit_transform(points)
    assert np.array_equal(embedding, lt.TSNE(perplexity=10, init=start, threads=2).fit_transform(points))
    assert lt.trustworthiness(points, embedding) > 0.9
    with pytest.raises(ValueError, match="perplexity"):
        lt.TSNE(perplexity=30).fit(points)


def test_router_maps_are_bit_identical_to_lime_metrics(programs, tmp_path):
    checkpoint = ROOT / "data" / "aet-lime"
    output = tmp_path / "router.json"
    programs("lime-metrics", "router", checkpoint, "-o", output)
    found = lt.router(lt.router_weights(checkpoint))
    results = lt.Results(output)
    lines = [line for line in zip(*(results.columns()[name] for name in ("kind", "source_layer"))) if line[0] == "mean_map"]
    assert lines[:3] == [("mean_map", 0), ("mean_map", 0), ("mean_map", 1)], "a line per element"
    for row in results.rows:
        if row["kind"] == "mean_map":
            weights = found.mean_map[row["layer"], : row["layer"] + 1]
            assert weights == pytest.approx(np.array(row["weight"]), rel=1e-15)
        if row["kind"] == "head" and "entropy" in row:
            head = next(h for h in found.heads if (h["layer"], h["head"]) == (row["layer"], row["head"]))
            assert head["entropy"] == row["entropy"] and head["mean_depth"] == row["mean_depth"]
    assert found.mean_map.sum(axis=1) == pytest.approx(1)


def test_control_c_stops(tmp_path):
    # Shells start background jobs, and so their tests, with the signal ignored.
    code = ("import numpy, signal, lime_toolkit as lt; signal.signal(signal.SIGINT, signal.default_int_handler);"
            "x = numpy.random.default_rng(0).normal(size=(6000, 64));"
            "print('started', flush=True); lt.TSNE(iterations=1000000, patience=1000000).fit(x)")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=tmp_path)
    assert child.stdout.readline() == "started\n"
    time.sleep(2)
    os.kill(child.pid, signal.SIGINT)
    start = time.monotonic()
    _, errors = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and child.returncode != 0
    assert time.monotonic() - start < 30


def test_works_without_the_gil():
    """Other threads of Python run during a call."""
    import threading

    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    lt.TSNE(perplexity=20, iterations=400).fit(np.random.default_rng(0).normal(size=(1500, 32)))
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    assert len(ticks) > min(20, 50 * seconds)
