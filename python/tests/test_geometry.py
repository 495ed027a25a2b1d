# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import lime_toolkit as lt

ROW_MEASURES = ["effective_rank", "rankme", "participation_ratio", "stable_rank", "numerical_rank",
                "anisotropy", "anisotropy_centred", "two_nn", "mle", "lidar_token"]
SEQUENCE_MEASURES = ["sequence_cosine", "mean_token_similarity", "rank_one_residual",
                     "rank_one_residual_1inf", "massive_share", "massive_token_share"]


def test_is_bit_identical_to_lime_metrics(programs, plain):
    options = ["--measure", "rank,similarity,massive,dimension,lidar", "--k", 7, "--neighbor-rows", 100]
    rows = programs.rows("geometry", plain, *options, "--lidar-size", 8)
    with lt.Capture(plain) as capture:
        for layer in capture.layers("hidden"):
            found = lt.geometry(capture["hidden", layer], k=7, neighbor_rows=100, lidar_size=8,
                                measure=["rank", "similarity", "massive", "dimension", "lidar"])
            of = {row["measure"]: row["mean"] for row in rows if row["layer"] == layer}
            for name in ROW_MEASURES:
                assert getattr(found, name) == of[name], name
            for name in SEQUENCE_MEASURES:
                assert lt.summarize(getattr(found, name)).mean == of[name], name


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


def test_similarity_map_is_bit_identical_to_lime_metrics(programs, plain):
    rows = programs.rows("similarity", plain, "--max-rows", 60)
    with lt.Capture(plain) as capture:
        found = lt.similarity_map([capture["hidden", 0], capture["hidden", 1]], max_rows=60)
    assert found.n == 60
    for row in rows:
        at = (row["layer"], row["other_layer"])
        assert (found.cka[at], found.cka_debiased[at], found.procrustes[at]) == (
            row["cka"], row["cka_debiased"], row["procrustes"])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: lt.geometry(x, measure=["ranks"]), "measure: expected one of rank, similarity, "),
        (lambda x: lt.geometry(x, centering="no"), "centering: expected one of as-defined, always, never, got 'no'"),
        (lambda x: lt.geometry(x, measure=["lidar"]), "tokens: lidar needs the token of each row"),
        (lambda x: lt.geometry(x[0], measure=["dimension"]), "k: must be < 2, the number of rows, got 20"),
        (lambda x: lt.similarity(x[3], x[4]), "rows"),
    ],
)
def test_bad_input_is_a_value_error_of_one_line(sequences, call, text):
    with pytest.raises(ValueError) as raised:
        call(sequences)
    assert text in str(raised.value) and "\n" not in str(raised.value)
