# SPDX-License-Identifier: Apache-2.0
"""Repeats the measurements of scripts/study.sh from its captures with NumPy, SciPy and scikit-learn.

    check_measurements.py OUT

Prints a Markdown table: measurement, reference, numbers compared, largest absolute deviation, largest value. Finished
checks are kept in OUT/checks.json; delete it to repeat them. What the captures contain is checked by check_model.py.
"""

import json
import pathlib
import sys

import numpy
from scipy.stats import bootstrap
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE, trustworthiness
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import Capture, Report, Results, wilson

LAYERS = (3, 10, 11, 29)


def massive_rows(capture):
    """Returns the mask of rows with at least 4 times the median norm of a layer of values or hidden states."""
    mask = numpy.zeros(len(capture.sequence), bool)
    for site in ("values", "hidden"):
        for layer in capture.layers(site):
            norms = numpy.linalg.norm(capture.rows(site, layer), axis=1)
            mask |= norms >= 4 * numpy.median(norms)
    return mask


def renyi(rows):
    """Returns the entropy of order 1/2, in nats."""
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    p = numpy.clip(numpy.linalg.eigvalsh(gram), 0, None)
    return 2 * numpy.log(numpy.sqrt(p / p.sum()).sum())


def entropies(capture, site, layer, preset, keep):
    rows = capture.rows(site, layer)
    if preset == "lime-code":
        rest = rows if keep is None else rows[keep]
        rows = (rows - rest.mean(0)) / (rest.std(0, ddof=1) + 1e-5)
    return numpy.array([renyi(rows[part]) for part in capture.parts(keep)])


def check_entropy(add, out, capture):
    keep = ~massive_rows(capture)
    for site in ("values", "hidden"):
        for suffix, mask in (("", None), ("-rest", keep)):
            for preset in ("lime-code", "raw"):
                results = Results(out / f"entropy-{preset}{suffix}.json")
                pairs, bounds = [], []
                for layer in LAYERS:
                    samples = entropies(capture, site, layer, preset, mask)
                    row = results.find(site=site, layer=layer)
                    pairs.append((row["mean"], samples.mean()))
                    interval = bootstrap((samples,), numpy.mean, n_resamples=10000, method="percentile",
                                         rng=numpy.random.default_rng(1)).confidence_interval
                    bounds += [(row["ci_low"], interval.low), (row["ci_high"], interval.high)]
                what = f"entropy, {site}, {preset}" + (", without massive tokens" if suffix else "")
                add(what, "numpy", pairs)
                if preset == "raw" and site == "hidden":
                    add(f"bounds of the intervals of {what}", "scipy.stats.bootstrap", bounds)


def participation(rows):
    covariance = numpy.cov(rows, rowvar=False)
    return numpy.trace(covariance) ** 2 / (covariance**2).sum()


def long_rows(squares):
    """Returns the rows of at least 4 times the median length; of an even number of rows, the lower median."""
    return squares >= 16 * numpy.percentile(squares, 50, method="lower")


def outliers(rows):
    """Returns the mask of massive tokens and the outlier dimensions, as docs/collapse.md defines them.

    Lengths are those of the rows, of their distances from the mean of the others, and both without outlier dimensions.
    """
    massive = long_rows((rows**2).sum(1))
    massive = massive | long_rows(((rows - rows[~massive].mean(0)) ** 2).sum(1))
    others = rows[~massive]
    squares, variance = (others**2).mean(0), others.var(0)
    wide = [moment >= 16 * numpy.percentile(moment, 50, method="lower") for moment in (squares, variance)]
    share = numpy.maximum(squares / squares.sum(), variance / variance.sum())
    dimensions = [j for j in numpy.argsort(-share) if wide[0][j] or wide[1][j]][:5]
    rest, mean = numpy.delete(rows, dimensions, 1), numpy.delete(others.mean(0), dimensions)
    return massive | long_rows((rest**2).sum(1)) | long_rows(((rest - mean) ** 2).sum(1)), dimensions


def check_collapse(add, out, capture):
    results = Results(out / "collapse.json")
    numbers = {name: [] for name in ("massive_tokens", "massive_share", "largest_ratio", "participation",
                                     "participation_without_tokens", "dimension_share")}
    for layer in capture.layers("hidden"):
        rows = capture.rows("hidden", layer)
        squares = (rows**2).sum(1)
        massive, dimensions = outliers(rows)
        rest = rows[~massive]
        row = [row for row in results.rows if row["layer"] == layer and row.get("kind") != "range"][0]
        for name, value in (("massive_tokens", massive.sum()),
                            ("massive_share", squares[massive].sum() / squares.sum()),
                            ("largest_ratio", (squares.max() / numpy.percentile(squares, 50, method="lower")) ** 0.5),
                            ("participation", participation(rows)),
                            ("participation_without_tokens", participation(rest)),
                            ("dimension_share", (rest[:, dimensions] ** 2).sum() / (rest**2).sum())):
            numbers[name].append((row[name], value))
    for name, pairs in numbers.items():
        add(f"collapse, `{name}`, 30 layers", "numpy", pairs)


def check_geometry(add, out, capture):
    results = Results(out / "geometry.json")
    numbers = {name: [] for name in ("effective_rank", "participation_ratio", "anisotropy", "first_norm_ratio")}
    for layer in LAYERS:
        rows = capture.rows("hidden", layer)
        sigma = numpy.sqrt(numpy.clip(numpy.linalg.eigvalsh(rows.T @ rows), 0, None))
        q = sigma[sigma > 0] / sigma.sum()
        unit = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
        n = len(rows)
        norms = [numpy.linalg.norm(rows[part], axis=1) for part in capture.parts()]
        for name, value in (("effective_rank", numpy.exp(-(q * numpy.log(q)).sum())),
                            ("participation_ratio", participation(rows)),
                            ("anisotropy", ((unit.sum(0) ** 2).sum() - n) / (n * (n - 1))),
                            ("first_norm_ratio", numpy.mean([norm[0] / numpy.percentile(norm, 50, method="lower")
                                                            for norm in norms]))):
            numbers[name].append((results.find(layer=layer, measure=name)["mean"], value))
    for name, pairs in numbers.items():
        add(f"geometry, `{name}`", "numpy", pairs)


def check_influence(add, out):
    capture, results = Capture(out / "influence.h5"), Results(out / "influence.json")
    layers = capture.layers("hidden")
    unit = []
    for layer in layers:
        rows = capture.rows("hidden", layer)
        unit.append(rows / numpy.linalg.norm(rows, axis=1, keepdims=True))
    add("block influence, layers l and l + 1", "numpy",
        [(results.find(layer=layer, other_layer=layer + 1)["influence"],
          1 - (unit[layer] * unit[layer + 1]).sum(1).mean()) for layer in layers[:-1]])


def check_attention(add, out, capture):
    results = Results(out / "attention.json")
    first, rates = [], []
    for layer in capture.layers("attn.hook_profile"):
        rows = capture.rows("attn.hook_profile", layer)[:, 3::6]
        shares = numpy.array([rows[part[1:]].mean(0) for part in capture.parts()])
        first += [(results.find(layer=layer, kind="head", head=head, measure="first_share")["mean"],
                   shares[:, head].mean()) for head in range(shares.shape[1])]
        rates.append((results.find(layer=layer, kind="layer", measure="sink_rate")["mean"], (shares > 0.3).mean()))
    add("attention on the first token, 270 heads", "numpy", first)
    add("sink rate, 30 layers", "numpy", rates)


def check_separability(add, out):
    capture, results = Capture(out / "words.h5"), Results(out / "separability.json")
    classes = capture.file["rows/class"][:]
    accuracies, losses = [], []
    for layer in (0, 11, 29):
        row = results.find(site="hidden", layer=layer, method="converged")
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=10000))
        folds = StratifiedKFold(5, shuffle=True, random_state=42)
        rows = capture.rows("hidden", layer)
        accuracies += zip(row["fold_accuracies"], cross_val_score(model, rows, classes, cv=folds))
        losses += zip(row["fold_log_losses"], -cross_val_score(model, rows, classes, cv=folds, scoring="neg_log_loss"))
    add("separability of is, are, was, were, accuracy of each fold", "scikit-learn", accuracies)
    add("the same, log-loss of each fold", "scikit-learn", losses)


def check_tsne(add, out):
    import h5py

    capture, results = Capture(out / "words.h5"), Results(out / "tsne.json")
    trust, divergences = [], []
    with h5py.File(out / "tsne.embeddings.h5") as file:
        found = {}
        file.visititems(lambda name, item: found.update({name: item[:]}) if isinstance(item, h5py.Dataset) else None)
    for row in results.rows:
        rows = capture.rows("hidden", row["layer"])
        rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
        layer = f"{row['layer']:03}"
        points = [values for name, values in found.items() if layer in name and values.shape == (len(rows), 2)]
        trust.append((row["trustworthiness"], trustworthiness(rows, points[0], n_neighbors=12)))
        if row["layer"] == 11:
            reference = TSNE(method="exact", init="pca", perplexity=30, random_state=0).fit(rows)
            divergences.append((row["kl_divergence"], reference.kl_divergence_))
    add("t-SNE, trustworthiness of our embeddings, 3 layers", "scikit-learn", trust)
    add("t-SNE, divergence of layer 11: ours and scikit-learn's own embedding", "scikit-learn", divergences)


def check_blimp(add, out):
    results = Results(out / "blimp.json")
    judged = {}
    for line in (out / "judgements.jsonl").read_text().splitlines():
        item = json.loads(line)
        judged.setdefault(item["task"], []).append(item["log_likelihood_good"] >= item["log_likelihood_bad"])
    rows = {task: results.find(level="task", task=task) for task in judged}
    add(f"BLiMP, accuracy of {len(judged)} tasks from the scores", "numpy",
        [(rows[task]["mean"], numpy.mean(right)) for task, right in judged.items()])
    bounds = []
    for task, right in judged.items():
        bounds += zip((rows[task]["ci_low"], rows[task]["ci_high"]), wilson(sum(right), len(right)))
    add("the same, Wilson's intervals", "numpy", bounds)


def check_probes(add, out):
    capture, results = Capture(out / "probes.h5"), Results(out / "probes.json")
    tasks, labels, pairs = (capture.file[f"sequences/{name}"][:] for name in ("task", "label", "pair"))
    names = capture.file["sequences/task"].attrs["names"]
    compared = []
    for layer in (0, 11, 29):
        rows = capture.rows("hidden", layer)
        for number, name in enumerate(names):
            name = name.decode() if isinstance(name, bytes) else name
            own = tasks == number
            model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=10000))
            folds = GroupKFold(5, shuffle=True, random_state=0)
            accuracy = cross_val_score(model, rows[own], labels[own], groups=pairs[own], cv=folds).mean()
            compared.append((results.find(level="task", task=name, layer=layer)["mean"], accuracy))
    add("probes on ten tasks, layers 0, 11, 29", "scikit-learn", compared)


def check_benchmarks(add, out):
    results = Results(out / "benchmarks.json")
    counts = {}
    for line in (out / "samples.jsonl").read_text().splitlines():
        item = json.loads(line)
        scores = [float(response[0][0]) for response in item["resps"]]
        counts.setdefault(item["task"], []).append(int(numpy.argmax(scores)) == item["gold"])
    pairs = []
    for task, right in counts.items():
        row = [row for row in results.rows if row.get("name") == task and row.get("measure") == "acc"][0]
        pairs += zip((row["mean"], row["ci_low"], row["ci_high"]),
                     (numpy.mean(right), *wilson(sum(right), len(right))))
    add("benchmarks, accuracies and intervals from the scores", "numpy", pairs)


def check_quantised(add, out):
    names = {"F16": "F16", "Q8_0": "Q8_0", "Q4_1": "base", "Q4_0": "Q4_0"}
    captures = {name: Capture(out / f"{file}.h5") for name, file in names.items()}
    results = Results(out / "quantised-entropy.json")
    differences, bounds = [], []
    for layer in (3, 11, 29):
        base = entropies(captures["F16"], "hidden", layer, "lime-code", None)
        for name in ("Q8_0", "Q4_1", "Q4_0"):
            samples = entropies(captures[name], "hidden", layer, "lime-code", None) - base
            row = [row for row in results.rows if row.get("site") == "hidden" and row.get("layer") == layer
                   and "difference" in row and name in (row.get("label"), row.get("other_label"))][0]
            interval = bootstrap((samples,), numpy.mean, n_resamples=10000, method="percentile",
                                 rng=numpy.random.default_rng(1)).confidence_interval
            differences.append((row["difference"], samples.mean()))
            bounds += [(row["ci_low"], interval.low), (row["ci_high"], interval.high)]
    add("quantisation, differences of entropies", "numpy", differences)
    add("the same, paired intervals", "scipy.stats.bootstrap", bounds)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    base, report = Capture(out / "base.h5"), Report(out)
    report.run("entropy", check_entropy, out, base)
    report.run("collapse", check_collapse, out, base)
    report.run("geometry", check_geometry, out, base)
    report.run("influence", check_influence, out)
    report.run("attention", check_attention, out, base)
    report.run("separability", check_separability, out)
    report.run("tsne", check_tsne, out)
    report.run("blimp", check_blimp, out)
    report.run("probes", check_probes, out)
    report.run("benchmarks", check_benchmarks, out)
    report.run("quantised", check_quantised, out)
    report.print()


if __name__ == "__main__":
    main()
