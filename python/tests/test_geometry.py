# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import lime_toolkit as lt
from conftest import write_capture

ROW_MEASURES = ["effective_rank", "rankme", "participation_ratio", "stable_rank", "numerical_rank",
                "anisotropy", "anisotropy_centred", "two_nn", "mle", "gride", "alpha_req"]
SEQUENCE_MEASURES = ["sequence_cosine", "mean_token_similarity", "rank_one_residual",
                     "rank_one_residual_1inf", "massive_share", "massive_token_share", "first_norm_ratio",
                     "top_share", "top_share_rest"]
GROUPS = ["rank", "similarity", "massive", "dimension", "first-token", "power-law"]


def test_is_bit_identical_to_lime_metrics(programs, plain):
    options = ["--measure", ",".join(GROUPS), "--k", 7, "--neighbor-rows", 100, "--power-law-last", 20]
    rows = programs.rows("geometry", plain, *options)
    with lt.Capture(plain) as capture:
        for layer in capture.layers("hidden"):
            found = lt.geometry(capture["hidden", layer], k=7, neighbor_rows=100, measure=GROUPS, power_law_last=20)
            of = {row["measure"]: row["mean"] for row in rows if row["layer"] == layer}
            for name in ROW_MEASURES:
                assert getattr(found, name) == of[name], name
            for name in SEQUENCE_MEASURES:
                assert lt.summarize(getattr(found, name)).mean == of[name], name
            (law,) = [row for row in rows if row["layer"] == layer and row["measure"] == "alpha_req"]
            assert (found.alpha_r2, found.alpha_head, found.alpha_tail) == (
                law["r2"], law["alpha_head"], law["alpha_tail"])


def test_views_are_bit_identical_to_lime_metrics(programs, plain):
    h5py = pytest.importorskip("h5py")
    with h5py.File(plain, "a") as file:
        file.create_dataset("sequences/pair", data=np.arange(12, dtype="i4") // 3, fletcher32=True)
    with lt.Capture(plain) as capture:
        for preset in ("layer-by-layer", "paper"):
            rows = programs.rows("geometry", plain, "--measure", "views", "--view-preset", preset)
            found = lt.geometry(capture["hidden", 1], measure="views", views=3, view_preset=preset)
            of = {row["measure"]: row["mean"] for row in rows if row["layer"] == 1}
            assert (found.dime, found.lidar) == (of["dime"], of["lidar"])
            assert lt.summarize(found.infonce).mean == of["infonce"]


def test_default_measures_are_those_of_lime_metrics(programs, sequences, tmp_path):
    long = [one for one in sequences if len(one) > 2]
    rows = np.concatenate(long)
    write_capture(tmp_path / "long.h5", {("hidden", 0): rows}, np.zeros(len(rows)), [len(one) for one in long])
    theirs = {row["measure"] for row in programs.rows("geometry", tmp_path / "long.h5")}
    others = {"sequence_ranks", "points", "duplicates", "recall", "gride_scale"}
    others |= {"num_rows", "dim", "where"}
    assert {name for name, value in vars(lt.geometry(long)).items() if value is not None} - others == theirs
    assert {row["measure"] for row in lt.geometry(long).table()} == theirs


def test_sequence_ranks_are_bit_identical_to_lime_metrics(programs, plain):
    rows = programs.rows("geometry", plain, "--measure", "rank", "--ranks", "sequences", "--centering", "always")
    with lt.Capture(plain) as capture:
        found = lt.geometry(capture["hidden", 0], measure=["rank"], ranks="sequences", centering="always")
    for row in rows:
        if row["layer"] == 0:
            values = found.sequence_ranks[row["measure"]]
            assert lt.summarize(values[np.isfinite(values)]).mean == row["mean"]


def test_ranks_against_numpy(sequences):
    every = np.concatenate(sequences).astype(float)
    sigma = np.linalg.svd(every, compute_uv=False)
    q = sigma / sigma.sum()
    found = lt.geometry(sequences, measure=["rank"])
    assert found.effective_rank == pytest.approx(np.exp(-np.sum(q * np.log(q))), rel=1e-9)
    assert found.stable_rank == pytest.approx(np.sum(sigma**2) / sigma[0] ** 2, rel=1e-9)
    assert lt.effective_rank(every) == pytest.approx(found.effective_rank, rel=1e-9)
    covariance = np.cov(every.T)
    expected = np.trace(covariance) ** 2 / np.sum(covariance**2)
    assert found.participation_ratio == pytest.approx(expected, rel=1e-9)


def test_curvature_and_profile_against_numpy(sequences):
    long = [one for one in sequences if len(one) > 2]
    found = lt.geometry(long, measure="curvature")
    for rows, value in zip(long, found.curvature):
        steps = np.diff(rows.astype(float), axis=0)
        unit = steps / np.linalg.norm(steps, axis=1, keepdims=True)
        assert value == pytest.approx(np.degrees(np.arccos(np.sum(unit[1:] * unit[:-1], axis=1))).mean(), abs=1e-6)
    profile = lt.token_profile(long[3])
    np.testing.assert_allclose(profile.norm, np.linalg.norm(long[3].astype(float), axis=1), rtol=1e-12)
    assert len(profile.next_cosine) == len(long[3]) - 1


def test_similarity_against_numpy(sequences):
    x = np.concatenate(sequences).astype(float)
    y = np.tanh(x[:, :10]) + 0.1
    a, b = x - x.mean(0), y - y.mean(0)
    cka = np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    found = lt.similarity(x, y)
    assert found.cka == pytest.approx(cka, rel=1e-5)  # y is rounded to float32
    assert found.procrustes == pytest.approx(2 - 2 * np.linalg.norm(a.T @ b, "nuc"), abs=1e-5)
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(24, 24)))[0]
    assert lt.procrustes(x, x @ rotation) == pytest.approx(0, abs=1e-5)
    assert lt.cka(x, x @ rotation) == pytest.approx(1, abs=1e-5)


def test_change_and_neighbors_against_numpy(sequences):
    x = np.concatenate(sequences).astype(float)
    y = x + np.random.default_rng(4).normal(size=x.shape)
    a, b = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (x, y))
    cosine = np.sum(a * b, axis=1)
    found = lt.similarity(x, y, measure=["change", "neighbors"], k=5)
    assert np.isnan([found.cka, found.cka_debiased, found.procrustes]).all()
    assert found.influence == pytest.approx(1 - cosine.mean(), abs=1e-6)
    assert found.angle == pytest.approx(np.arccos(cosine).mean() / np.pi, abs=1e-6)
    distances = [np.linalg.norm(one[:, None] - one, axis=2) + 9 * np.eye(len(one)) for one in (a, b)]
    order = [np.argsort(one, axis=1) for one in distances]
    common = [len(set(i[:5]) & set(j[:5])) / 5 for i, j in zip(*order)]
    assert found.mutual_knn == pytest.approx(np.mean(common))
    ranks = [list(there).index(here[0]) + 1 for here, there in zip(*order)]
    assert found.imbalance == pytest.approx(2 * np.mean(ranks) / len(x))
    assert np.isnan(lt.similarity(x, y[:, :5]).influence)


GROUPS_OF_MAPS = ["cka", "procrustes", "change", "neighbors"]


@pytest.mark.parametrize("measure", [None, GROUPS_OF_MAPS, ["neighbors"], ["procrustes"]])
def test_similarity_map_is_bit_identical_to_lime_metrics(programs, plain, measure):
    options = [] if measure is None else ["--measure", ",".join(measure)]
    rows = programs.rows("similarity", plain, "--max-rows", 60, *options)
    with lt.Capture(plain) as capture:
        found = lt.similarity_map([capture["hidden", 0], capture["hidden", 1]], measure=measure, max_rows=60)
    assert found.n == 60 and rows
    for row in rows:
        for name in ("cka", "cka_debiased", "procrustes", "influence", "angle", "mutual_knn", "imbalance"):
            value = getattr(found, name)[row["layer"], row["other_layer"]]
            assert value == row[name] if name in row else np.isnan(value), name


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: lt.geometry(x, measure=["ranks"]), "measure: expected one of rank, similarity, "),
        (lambda x: lt.geometry(x, centering="no"), "centering: expected one of as-defined, always, never, got 'no'"),
        (lambda x: lt.geometry(x, measure=["views"]), "views: must be >= 2 and divide the number of sequences, 12, "),
        (lambda x: lt.geometry(x[0], measure=["dimension"]), "k: must be < 2, the number of rows, got 20"),
        (lambda x: lt.similarity(x[3], x[4]), "rows"),
        (lambda x: lt.similarity(x[3], x[3], measure="neighbors", k=14), "k: must be < 14, the number of rows, got 14"),
        (lambda x: lt.similarity(x[3], x[3], measure="cosine"), "measure: expected one of cka, procrustes, "),
        (lambda x: lt.geometry(x, measure="power-law", power_law_last=12), "must be at least 14, because a range has 4"),
    ],
)
def test_bad_input_is_a_value_error_of_one_line(sequences, call, text):
    with pytest.raises(ValueError) as raised:
        call(sequences)
    assert text in str(raised.value) and "\n" not in str(raised.value)
