# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of docs/study.md from the results of scripts/study.sh, as Markdown.

    study_tables.py OUT

A section whose results are absent is left out. Needs no packages.
"""

import json
import pathlib
import sys


class Results:
    def __init__(self, path):
        self.rows = json.loads(path.read_text())["rows"]

    def all(self, **wanted):
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def one(self, **wanted):
        found = self.all(**wanted)
        if len(found) != 1:
            sys.exit(f"tables: {len(found)} rows with {wanted}, expected one")
        return found[0]


def table(title, header, rows):
    print(f"\n{title}\n\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def interval(row, digits=3, value="mean", low="ci_low", high="ci_high", scale=1):
    numbers = [f"{scale * row[name]:.{digits}f}" for name in (value, low, high)]
    return f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def entropy(results):
    plain, rest = results("entropy-raw"), results("entropy-raw-rest")
    code, code_rest = results("entropy-lime-code"), results("entropy-lime-code-rest")
    rows = []
    for layer in sorted({row["layer"] for row in plain.rows}):
        rows.append([layer] + [interval(found.one(site=site, layer=layer)) for found, site in (
            (code, "values"), (plain, "values"), (code, "hidden"), (plain, "hidden"), (code_rest, "hidden"),
            (rest, "hidden"))])
    table("Entropy", ["layer", "values, `lime-code`", "values, `raw`", "hidden, `lime-code`", "hidden, `raw`",
                      "hidden, `lime-code`, without massive tokens", "hidden, `raw`, without"], rows)


def collapse(results):
    for name in ("collapse", "collapse-random"):
        found = results(name)
        print(f"\n{name}")
        for row in found.all(kind="range"):
            print(f"- {row['sentence']}")
        table("", ["layer", "massive tokens", "share", "largest multiple", "outlier dimensions", "share",
                   "participation ratio", "without massive tokens", "without both"],
              [[row["layer"], row["massive_tokens"],
                interval(row, 2, "massive_share", "massive_share_low", "massive_share_high"),
                f"{row['largest_ratio']:.1f}", row["outlier_dimensions"],
                interval(row, 2, "dimension_share", "dimension_share_low", "dimension_share_high"),
                f"{row['participation']:.2f}", f"{row['participation_without_tokens']:.1f}",
                f"{row['participation_rest']:.1f}"] for row in found.rows if row.get("kind") != "range"])


def similarity(results):
    for name in ("similarity", "similarity-rest"):
        found = results(name)
        table(name, ["layers", "CKA", "debiased", "influence"],
              [[f"{a}, {b}", *(f"{found.one(layer=a, other_layer=b)[what]:.3f}"
                               for what in ("cka", "cka_debiased", "influence"))]
               for a, b in ((10, 11), (11, 28), (10, 29), (0, 29), (3, 10))])


def attention(results):
    found = results("attention")
    layers = sorted({row["layer"] for row in found.rows})
    table("Attention", ["layer", "sink rate", "first token %", "entropy", "previous token %", "own %", "distance"],
          [[layer, *(interval(found.one(kind="layer", layer=layer, measure=measure), digits, scale=scale)
                     for measure, digits, scale in (("sink_rate", 2, 1), ("first_share", 1, 100), ("entropy", 2, 1),
                                                    ("previous_share", 1, 100), ("own_share", 1, 100),
                                                    ("distance", 1, 1)))] for layer in layers])
    heads = sorted(found.all(kind="head", measure="first_share"), key=lambda row: -row["mean"])
    table("Strongest sinks", ["layer", "head", "first token %"],
          [[row["layer"], row["head"], interval(row, 1, scale=100)] for row in heads[:10]])
    above = [row for row in heads if row["mean"] > 0.3]
    print(f"\n{len(above)} of {len(heads)} heads above 0.3, in layers {sorted({row['layer'] for row in above})}")
    heads = sorted(found.all(kind="head", measure="previous_share"), key=lambda row: -row["mean"])
    table("Previous-token heads", ["layer", "head", "previous token %"],
          [[row["layer"], row["head"], interval(row, 1, scale=100)] for row in heads[:5]])


def sweeps(results):
    layers, sublayers, heads = (results(f"sweep-{name}") for name in ("layers", "sublayers", "heads"))
    influence = results("influence")
    names = ("effect", "effect_low", "effect_high")
    rows = []
    for row in layers.all(part="layer"):
        layer = row["layer"]
        before = influence.all(layer=layer - 1, other_layer=layer)
        rows.append([layer, interval(before[0], 3, "influence", "influence_low", "influence_high") if before else "",
                     interval(row, 3, *names), *(interval(sublayers.one(part=part, layer=layer), 3, *names)
                                                 for part in ("attention", "mlp"))])
    table("Sweep", ["layer", "block influence", "layer skipped", "attention skipped", "MLP skipped"], rows)
    print(f"\noriginal: {layers.one(part='original')['loss']:.4f}, {heads.one(part='original')['loss']:.4f} (heads)")
    ordered = sorted(heads.all(part="head"), key=lambda row: -row["effect"])
    table("Heads", ["layer", "head", "effect"], [[row["layer"], row["head"], interval(row, 3, *names)]
                                                 for row in ordered[:8] + ordered[-4:]])
    clear = [row for row in ordered if row["effect_low"] > 0], [row for row in ordered if row["effect_high"] < 0]
    print(f"\n{len(clear[0])} heads help, {len(clear[1])} hurt, of {len(ordered)}")
    effects = [row["effect"] for row in layers.all(part="layer")][1:]
    influences = [influence.one(layer=layer, other_layer=layer + 1)["influence"] for layer in range(len(effects))]
    print(f"\nSpearman, block influence and effect, layers 1 to {len(effects)}: {spearman(influences, effects):.2f}")


def spearman(first, second):
    def ranks(values):
        order = sorted(range(len(values)), key=values.__getitem__)
        return [order.index(number) for number in range(len(values))]
    n = len(first)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(ranks(first), ranks(second))) / (n * (n * n - 1))


def lens(results):
    for name in ("lens", "tuned-lens"):
        found = results(name)
        table(name, ["layer", "loss", "KL to the final layer", "agreement %", "accuracy %", "entropy"],
              [[layer, *(interval(found.one(layer=layer, measure=measure), digits, scale=scale)
                         for measure, digits, scale in (("loss", 2, 1), ("kl_to_final", 2, 1), ("agreement", 1, 100),
                                                        ("accuracy", 1, 100), ("entropy", 2, 1)))]
               for layer in sorted({row["layer"] for row in found.rows})])


def words(results):
    found, control, tsne = results("separability"), results("separability-control"), results("tsne")
    def cell(rows):
        return f"{rows[0]['mean']:.3f} ± {rows[0]['std']:.3f}" if rows else ""
    table("Separability", ["layer", "hidden", "values", "hidden, `lime-code`", "values, `lime-code`",
                           "hidden, shuffled labels"],
          [[layer, *(cell(found.all(site=site, layer=layer, method=method)) for method in ("converged", "lime-code")
                     for site in ("hidden", "values")), cell(control.all(layer=layer, labels="shuffled"))]
           for layer in sorted({row["layer"] for row in found.rows})])
    row = found.rows[0]
    print(f"\n{row['rows']} rows, majority {row['majority']:.3f}")
    table("t-SNE", ["layer", "points", "KL", "trustworthiness"],
          [[row["layer"], row["points"], f"{row['kl_divergence']:.3f}", f"{row['trustworthiness']:.3f}"]
           for row in tsne.rows])


def blimp(results):
    found = results("blimp")
    terms = sorted(found.all(level="linguistics_term"), key=lambda row: -row["mean"])
    table("BLiMP", ["phenomenon", "tasks", "accuracy"],
          [[row["name"], row["tasks"], interval(row)] for row in terms + found.all(level="all")])
    tasks = sorted(found.all(level="task"), key=lambda row: row["mean"])
    print("\nlowest: " + ", ".join(f"{row['task']} {interval(row)}" for row in tasks[:6]))
    print(f"\n{sum(row['ci_high'] < 0.5 for row in tasks)} tasks below chance, "
          f"{sum(row['ci_low'] <= 0.5 <= row['ci_high'] for row in tasks)} undecided, of {len(tasks)}")


def probes(results):
    found = results("probes")
    table("Probes", ["layer", "mean over ten tasks", "control"],
          [[row["layer"], interval(row), f"{row['control']:.3f}"] for row in found.all(level="all")])


def benchmarks(results):
    found = results("benchmarks")
    table("Benchmarks", ["task", "items", "acc", "acc_norm", "majority"],
          [[row["name"], row["n"], interval(row), interval(found.all(name=row["name"], measure="acc_norm")[0]),
            f"{row['majority']:.3f}"] for row in found.all(measure="acc", level="task")])


def quantised(results):
    for name in ("quantised-entropy", "quantised-raw", "quantised-lens"):
        found = results(name)
        rows = [row for row in found.rows if "difference" in row]
        print(f"\n{name}")
        for row in rows:
            if row.get("layer") in (None, 3, 11, 29):
                print({key: value for key, value in row.items() if key not in ("site_b",)})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])

    def results(name):
        return Results(out / f"{name}.json")

    for section in (
            entropy, collapse, similarity, attention, sweeps, lens, words, blimp, probes, benchmarks, quantised):
        try:
            section(results)
        except FileNotFoundError as error:
            print(f"\n{section.__name__}: {error.filename} is absent")


if __name__ == "__main__":
    main()
