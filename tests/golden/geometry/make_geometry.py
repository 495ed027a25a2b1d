# SPDX-License-Identifier: Apache-2.0
"""Writes geometry.h5: rows and their geometry as computed by independent programs.

Spectra are from numpy.linalg.svd of the rows (float64), the rank from
numpy.linalg.matrix_rank, medians and cosines from torch, Procrustes from
scipy.linalg.orthogonal_procrustes, the debiased CKA from Song's sums over the n x n kernels, LiDAR
from scipy.linalg.eigh of the generalised problem, intrinsic dimensions from scikit-dimension.

    python make_geometry.py        # writes to its own folder; requires numpy, scipy, torch, h5py, scikit-dimension
"""
from importlib.metadata import version
from pathlib import Path
import warnings

import h5py
import numpy as np
import scipy.linalg
import skdim
import torch

SEED = 20261121


def entropy_exp(p):
    p = p[p > 0]
    return float(np.exp(-(p * np.log(p)).sum()))


def ranks(x):
    sigma = np.linalg.svd(x, compute_uv=False)
    q = sigma / sigma.sum()
    return {
        "effective_rank": entropy_exp(q),
        "rankme": entropy_exp(q + 1e-7),
        "rankme_1e-5": entropy_exp(q + 1e-5),
        "stable_rank": float((sigma**2).sum() / sigma[0] ** 2),
        "numerical_rank": float(np.linalg.matrix_rank(x.astype(np.float32))),
    }


def participation_ratio(x):
    eigenvalues = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())


def mean_cosine(x):
    unit = torch.nn.functional.normalize(torch.from_numpy(x), dim=1)
    cosines = unit @ unit.T
    n = len(x)
    return float((cosines.sum() - cosines.diagonal().sum()) / (n * (n - 1)))


def composite_norm(x):
    return np.sqrt(np.linalg.norm(x, 1) * np.linalg.norm(x, np.inf))


def curvature(x):
    steps = np.diff(x, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    angles = np.arccos(np.clip((steps[1:] * steps[:-1]).sum(1), -1, 1))
    return float(np.degrees(angles).mean())


def massive(x, threshold, ratio):
    magnitude = torch.from_numpy(x.astype(np.float32)).abs()
    median = magnitude.median().item()
    found = (magnitude > threshold) & (magnitude >= ratio * median)
    return {
        "massive_share": found.double().mean().item(),
        "massive_token_share": found.any(dim=1).double().mean().item(),
        "largest_ratio": magnitude.max().item() / median,
        "median": median,
    }


def sequence_values(x):
    mean = x.mean(0)
    residual = x - mean
    values = ranks(x)
    values |= {f"centred_{name}": value for name, value in ranks(residual).items()}
    values |= massive(x, threshold=20.0, ratio=25.0)
    values |= {
        "participation_ratio": participation_ratio(x),
        "mean_token_similarity": float(
            torch.nn.functional.cosine_similarity(
                torch.from_numpy(x), torch.from_numpy(mean)[None], dim=1
            ).mean()
        ),
        "mean_cosine": mean_cosine(x),
        "rank_one_residual": float(np.linalg.norm(residual) / np.linalg.norm(x)),
        "rank_one_residual_1inf": float(composite_norm(residual) / composite_norm(x)),
        "curvature": curvature(x),
    }
    return values


def layer(rng, lengths, dim):
    """Returns rows with a large mean and a few massive elements, as in language models."""
    rows = rng.standard_normal((sum(lengths), dim)) * (1.0 + np.arange(dim)) ** -0.7
    rows += 2.0 * rng.standard_normal(dim)
    rows[0, 1] += 60.0
    rows[lengths[0] + 2, 1] -= 45.0
    return rows.astype(np.float32)


def write_layer(group, rng, lengths, dim):
    rows = layer(rng, lengths, dim)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    group["rows"] = rows
    group["offsets"] = offsets.astype(np.int64)
    x = rows.astype(np.float64)
    per_sequence = [sequence_values(x[a:b]) for a, b in zip(offsets[:-1], offsets[1:])]
    for name in per_sequence[0]:
        group[f"sequences/{name}"] = np.array([values[name] for values in per_sequence])
    whole = ranks(x)
    whole |= {f"centred_{name}": value for name, value in ranks(x - x.mean(0)).items()}
    whole["participation_ratio"] = participation_ratio(x)
    whole["mean_cosine"] = mean_cosine(x)
    whole["centred_mean_cosine"] = mean_cosine(x - x.mean(0))
    for name, value in whole.items():
        group[f"all/{name}"] = np.array([value])


def hsic_unbiased(k, l):
    """Computes Song et al. (2012), eq. 5, from the kernels."""
    n = len(k)
    k = k - np.diag(np.diag(k))
    l = l - np.diag(np.diag(l))
    return (
        np.trace(k @ l)
        + k.sum() * l.sum() / ((n - 1) * (n - 2))
        - 2 / (n - 2) * k.sum(0) @ l.sum(0)
    ) / (n * (n - 3))


def hsic_biased(k, l):
    n = len(k)
    h = np.eye(n) - 1 / n
    return np.trace(k @ h @ l @ h) / (n - 1) ** 2


def similarity_values(x, y):
    k, l = x @ x.T, y @ y.T
    a, b = x - x.mean(0), y - y.mean(0)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    width = max(a.shape[1], b.shape[1])
    a = np.pad(a, ((0, 0), (0, width - a.shape[1])))
    b = np.pad(b, ((0, 0), (0, width - b.shape[1])))
    rotation, _ = scipy.linalg.orthogonal_procrustes(a, b)
    return {
        "cka": hsic_biased(k, l) / np.sqrt(hsic_biased(k, k) * hsic_biased(l, l)),
        "cka_debiased": hsic_unbiased(k, l) / np.sqrt(hsic_unbiased(k, k) * hsic_unbiased(l, l)),
        "procrustes": np.linalg.norm(a @ rotation - b) ** 2,
    }


def write_similarity(file, rng):
    latent = rng.standard_normal((60, 6))
    x = (latent @ rng.standard_normal((6, 10)) + rng.standard_normal((60, 10)) + 3).astype(np.float32)
    y = (latent @ rng.standard_normal((6, 14)) + rng.standard_normal((60, 14))).astype(np.float32)
    group = file.create_group("similarity")
    group["x"], group["y"] = x, y
    for name, value in similarity_values(x.astype(np.float64), y.astype(np.float64)).items():
        group[name] = np.array([value])


def write_dimension(file, rng):
    """Returns a curved 3-dimensional sheet in 9 dimensions, with duplicate rows."""
    u = rng.random((500, 3))
    turn = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    sheet = np.concatenate([u, np.sin(2 * u), u**2], axis=1) @ turn
    points = sheet.astype(np.float32)
    distinct = points.astype(np.float64)
    group = file.create_group("dimension")
    group["points"] = np.concatenate([points, points[:25]])
    for method in ("linear", "mle"):
        estimator = skdim.id.TwoNN(discard_fraction=0.1, method=method)
        name = {"linear": "two_nn_linear", "mle": "two_nn_ml"}[method]
        group[name] = np.array([estimator.fit(distinct).dimension_])
    for comb, name in (("mle", "mle_inverse"), ("mean", "mle_direct")):
        estimator = skdim.id.MLE().fit(distinct, n_neighbors=20, comb=comb)
        group[name] = np.array([estimator.dimension_])


def write_lidar(file, rng):
    classes, size, dim = 12, 5, 16
    means = rng.standard_normal((classes, dim)) * (1.0 + np.arange(dim)) ** -0.5
    rows = (np.repeat(means, size, 0) + 0.4 * rng.standard_normal((classes * size, dim))).astype(
        np.float32
    )
    x = rows.astype(np.float64).reshape(classes, size, dim)
    centres = x.mean(1)
    between = np.cov(centres, rowvar=False)
    within = sum((c - m).T @ (c - m) for c, m in zip(x, centres)) / (classes * (size - 1))
    values = scipy.linalg.eigh(between, within + 1e-4 * np.eye(dim), eigvals_only=True)
    values = np.clip(values, 0, None) + 1e-8
    group = file.create_group("lidar")
    group["rows"] = rows
    group["num_classes"] = np.array([classes], dtype=np.int64)
    group["value"] = np.array([entropy_exp(values / values.sum())])


def main():
    warnings.simplefilter("error")
    rng = np.random.default_rng(SEED)
    with h5py.File(Path(__file__).with_name("geometry.h5"), "w", track_order=False) as file:
        packages = ("numpy", "scipy", "torch", "scikit-dimension", "h5py")
        file.attrs["made_by"] = ", ".join(f"{name} {version(name)}" for name in packages)
        file.attrs["seed"] = SEED
        write_layer(file.create_group("tall"), rng, [40, 25, 31], 12)
        write_layer(file.create_group("wide"), rng, [9, 14, 11], 24)
        write_layer(file.create_group("few"), rng, [5, 4, 6], 40)
        write_similarity(file, rng)
        write_dimension(file, rng)
        write_lidar(file, rng)


if __name__ == "__main__":
    main()
