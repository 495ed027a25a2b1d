# SPDX-License-Identifier: Apache-2.0
"""Writes entropy.h5: entropies of small synthetic representations, as defined by each preset's source.

Uses only numpy in float64. Each preset follows its source (docs/numerics.md) literally: eigenvalues
of the Gram matrix that the source uses, in the source's order of operations.

    python3 make_entropy_goldens.py

/<case>/rows               float32 [sequences, tokens, dim]
/<case>/mean, m2           float64 [dim] over all rows; attribute count
/<case>/<preset>           float64 [sequences, orders]; the orders in /<case>/<preset>-alpha
/<case>/lime-code-t-by-t   the LIMe code literally; differs if tokens > dim (see below)
/<case>/layer-by-layer/<normalization>
"""
import pathlib
import sys

import h5py
import numpy as np

SEED = 20261121
SHAPES = {"wide": (12, 40), "tall": (50, 9), "square": (64, 64), "long": (130, 61)}
SEQUENCES = 3
ORDERS = [0.5, 0.99, 1.0, 2.0, 3.0, 3.5, 4.0, np.inf]


def make_rows(rng, tokens, dim):
    """Returns tokens along few directions with an offset, whose spectra decay like a model's."""
    scales = 1.0 / np.arange(1, dim + 1)
    mixing = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    rows = rng.standard_normal((SEQUENCES, tokens, dim)) * scales @ mixing
    return (rows + 0.3 * rng.standard_normal(dim)).astype(np.float32)


def renyi(p, alpha):
    p = p[p > 0]
    if alpha == 1.0:
        return -np.sum(p * np.log(p))
    if np.isinf(alpha):
        return -np.log(np.max(p))
    return np.log(np.sum(p**alpha)) / (1.0 - alpha)


def lime_code(x, alpha, mean, std, t_by_t):
    """corl-team/lime src/analysis/entropy.py. The code always uses Z Z^T. If tokens > dim, its
    tokens - dim zero eigenvalues become rounding noise, half of it positive, which shifts
    alpha = 0.5 by about 1e-7. Z^T Z has all the other eigenvalues and none of these."""
    z = (x - mean) / (std + 1e-5)
    gram = z @ z.T if t_by_t or z.shape[0] <= z.shape[1] else z.T @ z
    eigenvalues = np.clip(np.linalg.eigvalsh(gram), 0.0, None)
    return renyi(eigenvalues / np.trace(gram), alpha)


def as_is(x, alpha):
    """Seq-VCR eq. 2, and the preset raw."""
    gram = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    return renyi(np.clip(np.linalg.eigvalsh(gram), 0.0, None) / np.trace(gram), alpha)


def normalize(x):
    """waltonfuture/Matrix-Entropy, Diff-eRank and Layer by Layer."""
    x = x - x.mean(axis=0)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def layer_by_layer(x, alpha):
    """OFSkean/information_flow compute_entropy with repitl's matrixAlphaEntropy."""
    z = normalize(x)
    tokens, dim = z.shape
    gram = z.T @ z if tokens > dim else z @ z.T
    gram = np.clip(gram, 0.0, None)  # element by element
    if alpha == 2.0:
        return -np.log(np.sum(gram**2) / gram.shape[0] ** 2)  # frobeniusGIP
    eigenvalues = np.linalg.eigvalsh(gram)
    eigenvalues = eigenvalues[eigenvalues > 0]
    return renyi(eigenvalues / np.sum(eigenvalues), alpha)


NORMALIZATIONS = {
    "maxEntropy": lambda n, d: min(np.log(n), np.log(d)),
    "logN": lambda n, d: np.log(n),
    "logD": lambda n, d: np.log(d),
    "logNlogD": lambda n, d: np.log(n) * np.log(d),
    "raw": lambda n, d: 1.0,
}


def singular_value_entropy(x):
    z = normalize(x)
    cov = z.T @ z / z.shape[0]
    values = np.linalg.svd(cov / np.trace(cov), compute_uv=False)
    return -np.sum(values[values > 0] * np.log(values[values > 0]))


def table(rows, orders, function):
    return np.array([[function(x, alpha) for alpha in orders] for x in rows])


def write_case(group, rng, tokens, dim):
    rows = make_rows(rng, tokens, dim)
    double = rows.astype(np.float64)
    flat = double.reshape(-1, dim)
    mean, std = flat.mean(axis=0), flat.std(axis=0, ddof=1)
    group["rows"] = rows
    group["mean"] = mean
    group["m2"] = np.sum((flat - mean) ** 2, axis=0)
    group.attrs["count"] = flat.shape[0]

    def put(name, orders, function):
        group[name] = table(double, orders, function)
        group[f"{name}-alpha"] = np.array(orders)

    put("lime-code", ORDERS, lambda x, a: lime_code(x, a, mean, std, t_by_t=False))
    put("lime-code-t-by-t", ORDERS, lambda x, a: lime_code(x, a, mean, std, t_by_t=True))
    put("raw", ORDERS, as_is)
    put("seq-vcr", [1.0], as_is)
    for name, divisor in NORMALIZATIONS.items():
        put(f"layer-by-layer/{name}", ORDERS,
            lambda x, a, divisor=divisor: layer_by_layer(x, a) / divisor(tokens, dim))
    put("matrix-entropy", [1.0], lambda x, a: singular_value_entropy(x) / np.log(dim))
    put("diff-erank", [1.0], lambda x, a: np.exp(singular_value_entropy(x)))


def main():
    rng = np.random.default_rng(SEED)
    path = pathlib.Path(__file__).with_name("entropy.h5")
    with h5py.File(path, "w") as file:
        file.attrs["provenance"] = (
            f"make_entropy_goldens.py, seed {SEED}, numpy {np.__version__}, h5py {h5py.__version__}, "
            f"Python {sys.version.split()[0]}")
        for name, (tokens, dim) in SHAPES.items():
            write_case(file.create_group(name), rng, tokens, dim)


if __name__ == "__main__":
    main()
