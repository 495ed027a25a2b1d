# SPDX-License-Identifier: Apache-2.0
"""Writes measures.json: measures of the rows in geometry.h5 as computed by independent programs.

Spectra are from numpy.linalg.svd, power laws from sklearn's LinearRegression with weights 1 / j and
r2_score, cosines from torch.nn.functional.cosine_similarity, standard errors over sequences from the
cluster-robust formula written out, entropies from numpy.linalg.eigvalsh, neighbours from sklearn's
NearestNeighbors, ranks from scipy.stats.rankdata, GRIDE from scipy.optimize on its log-likelihood,
correlations from scipy.stats, the partial one from residuals of ranks after a regression on depth,
intervals and tests over training runs from scipy.stats.

    python make_measures.py        # requires numpy, scipy, torch, h5py, scikit-learn
"""
import json
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy as np
import scipy.optimize
import scipy.spatial.distance
import scipy.stats
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors


def top_share(x):
    squares = np.linalg.svd(x, compute_uv=False) ** 2
    return squares[0] / squares.sum()


def first_token(x):
    norms = torch.from_numpy(x).norm(dim=1)
    return {
        "first_norm_ratio": (norms[0] / norms.median()).item(),
        "top_share": top_share(x),
        "top_share_rest": top_share(x[1:]),
    }


def fit(values, first, last):
    """Fits ln lambda_j = c - alpha ln j for j = first..last, counted from 1."""
    j = np.arange(first, last + 1)
    x, y = np.log(j)[:, None], np.log(values[first - 1 : last])
    line = LinearRegression().fit(x, y, sample_weight=1 / j)
    return -line.coef_[0], r2_score(y, line.predict(x))


def power_law(x, first, last):
    values = np.linalg.svd(x - x.mean(0), compute_uv=False) ** 2
    middle = int(np.sqrt(first * last))
    alpha, r2 = fit(values, first, last)
    return {
        "first": first,
        "last": last,
        "alpha": alpha,
        "r2": r2,
        "head": fit(values, first, middle)[0],
        "tail": fit(values, middle + 1, last)[0],
    }


def clustered(values, sequence):
    groups = np.unique(sequence)
    sums = np.array([(values[sequence == g] - values.mean()).sum() for g in groups])
    n = len(groups)
    return {"mean": values.mean(), "stderr": np.sqrt(n / (n - 1) * (sums**2).sum()) / len(values)}


def change(x, y, sequence):
    cosine = torch.nn.functional.cosine_similarity(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    return {
        "influence": clustered(1 - cosine, sequence),
        "angle": clustered(np.arccos(np.clip(cosine, -1, 1)) / np.pi, sequence),
    }


def entropy(x, alpha):
    # The smaller product: the square roots of eigenvalues that are only rounding errors add up.
    gram = x @ x.T if len(x) <= x.shape[1] else x.T @ x
    p = np.clip(np.linalg.eigvalsh(gram), 0, None) / np.trace(gram)
    p = p[p > 0]
    return np.log((p**alpha).sum()) / (1 - alpha)


def standardised(x, of):
    return (x - of.mean(0)) / (of.std(0, ddof=1) + 1e-5)


def neighbors(x, k):
    distances, index = NearestNeighbors(n_neighbors=k + 1).fit(x).kneighbors(x)
    return distances[:, 1:], index[:, 1:]


def neighborhoods(x, y, k):
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    a, b = neighbors(x, k)[1], neighbors(y, k)[1]
    distances = scipy.spatial.distance.cdist(y, y)
    np.fill_diagonal(distances, np.inf)
    ranks = scipy.stats.rankdata(distances, axis=1)
    return {
        "k": k,
        "mutual_knn": np.mean([len(set(p) & set(q)) / k for p, q in zip(a, b)]),
        "imbalance": 2 / len(x) * ranks[np.arange(len(x)), a[:, 0]].mean(),
    }


def gride(points, n):
    distances = neighbors(points, 2 * n)[0]
    logs = np.log(distances[:, 2 * n - 1] / distances[:, n - 1])

    def minus_log_likelihood(d):
        return -(
            len(logs) * np.log(d) + (n - 1) * np.log(np.expm1(d * logs)).sum()
            - ((2 * n - 1) * d + 1) * logs.sum()
        )

    found = scipy.optimize.minimize_scalar(
        minus_log_likelihood, bounds=(0.1, 30), method="bounded", options={"xatol": 1e-10}
    )
    return found.x


def correlations():
    x = [2.0, 1.0, 4.0, 3.5, 3.5, 6.0, 5.0, 9.0]
    y = [0.31, 0.35, 0.33, 0.41, 0.47, 0.46, 0.46, 0.44]
    depth = list(range(8))
    ranks = [scipy.stats.rankdata(values) for values in (x, y, depth)]
    line = np.stack([ranks[2], np.ones(8)], axis=1)
    rest = [r - line @ np.linalg.lstsq(line, r, rcond=None)[0] for r in ranks[:2]]
    return {
        "x": x,
        "y": y,
        "spearman": scipy.stats.spearmanr(x, y).statistic,
        "partial": scipy.stats.pearsonr(*rest).statistic,
    }


def nested_bootstrap(first, second, num_resamples=400_000):
    """Percentile intervals of the mean of `first` and of the difference of the means, over runs and,
    the same for both models, items. Has its own seed."""
    rng = np.random.default_rng(2026)
    items = first.shape[1]

    def drawn_means(runs, counts):
        chosen = rng.integers(len(runs), size=(len(counts), len(runs)))
        return (counts @ runs.T / items)[np.arange(len(counts))[:, None], chosen].mean(1)

    counts = rng.multinomial(items, np.full(items, 1 / items), size=num_resamples).astype(float)
    means = drawn_means(first, counts)
    return {
        "both": np.quantile(means, [0.025, 0.975]).tolist(),
        "difference": np.quantile(drawn_means(second, counts) - means, [0.025, 0.975]).tolist(),
    }


def training_runs(rng):
    first = rng.normal(1.0, 0.3, (3, 1)) + rng.normal(0, 0.5, (3, 12))
    second = rng.normal(1.8, 0.3, (4, 1)) + rng.normal(0, 0.5, (4, 12))
    means = [first.mean(1), second.mean(1)]
    low, high = scipy.stats.t.interval(
        0.95, 2, loc=means[0].mean(), scale=means[0].std(ddof=1) / np.sqrt(3)
    )
    test = scipy.stats.permutation_test(
        means,
        lambda a, b: abs(np.mean(b) - np.mean(a)),
        permutation_type="independent",
        alternative="greater",
        n_resamples=10000,
    )
    groups = [[1.0, 2.5, 2.5, 3.0], [2.5, 4.0, 5.0], [0.5, 0.7, 6.0, 8.0, 9.0]]
    return {
        "first": first.tolist(),
        "second": second.tolist(),
        "nested": nested_bootstrap(first, second),
        "t_low": low,
        "t_high": high,
        "p": test.pvalue,
        "p_kruskal": scipy.stats.kruskal(*means).pvalue,
        "groups": groups,
        "groups_p": scipy.stats.kruskal(*groups).pvalue,
        "t_975": {str(n): scipy.stats.t.ppf(0.975, n) for n in (1, 2, 3, 4)},
    }


def main():
    folder = Path(__file__).parent
    with h5py.File(folder / "geometry.h5") as file:
        rows = file["tall/rows"][()].astype(np.float64)
        offsets = file["tall/offsets"][()]
        x = file["similarity/x"][()].astype(np.float64)
        y = file["similarity/y"][()].astype(np.float64)
        points = file["dimension/points"][:500].astype(np.float64)
    sequences = [rows[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    rest = [sequence[1:] for sequence in sequences]
    rest_rows = np.concatenate(rest)
    means = np.stack([sequence.mean(0) for sequence in sequences]).astype(np.float32)
    means = means.astype(np.float64)
    # The second layer of `change`: a turned copy, so that cosines differ from token to token.
    turned = (x[:, ::-1] * 0.5 + x).astype(np.float32).astype(np.float64)
    sequence = np.repeat(np.arange(6), [4, 6, 10, 10, 20, 10])
    packages = ("numpy", "scipy", "torch", "h5py", "scikit-learn")
    result = {
        "made_by": ", ".join(f"{name} {version(name)}" for name in packages),
        "first_token": [first_token(x) for x in sequences],
        "power_law": [power_law(rows, 2, 11), power_law(rows, 1, 12)],
        "sequence": sequence.tolist(),
        "change": change(x, turned, sequence),
        "neighbors": neighborhoods(x, y, 10),
        "gride": {str(n): gride(points, n) for n in (1, 8)},
        "correlations": correlations(),
        "runs": training_runs(np.random.default_rng(23)),
        "skip": {
            "raw": np.mean([entropy(x, 0.5) for x in rest]),
            "lime-code": np.mean([entropy(standardised(x, rest_rows), 0.5) for x in rest]),
            "stable_rank": 1 / top_share(rest_rows),
        },
        "dataset": {
            "mean": {
                "raw": entropy(means, 0.5),
                "lime-code": entropy(standardised(means, means), 0.5),
            },
            "last": {"raw": entropy(np.stack([x[-1] for x in sequences]), 0.5)},
        },
    }
    (folder / "measures.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
