#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/invariance.md: which measurements move with coordinates, and with the text.

  bench/invariance/invariance_tables.py CHECKPOINT OUT --text FILE --layer 0,5,10 --only ' the, of, and'

Runs `lime-metrics audit` over coordinates and over texts. OUT contains the results, coordinates.json
and texts.json, the tables, coordinates.md and texts.md, and the captures, which can be deleted. A
killed run continues.
"""

import argparse
import json
import pathlib
import subprocess

STILL = {"invariant by proof": "=", "invariant in fact": "~", "does not depend on the text": "~"}


def run_audit(options, over):
    """Returns the results of one audit, computed unless they are there."""
    output = options.out / f"{over}.json"
    if not output.exists():
        command = [options.bin / "lime-metrics", "audit", options.checkpoint, "--over", over, "--text",
                   *options.text, "--layer", options.layer, "--max-sequences", options.sequences,
                   "--folder", options.out / over, "--threads", options.threads, "--resume", "-o",
                   output, "--quiet"]
        if over == "coordinates":
            command += ["--seq-len", options.seq_len, "--strength", options.strength]
            command += ["--only", options.only] if options.only else []
            command += ["--probe-sequences", options.probe_sequences]
        else:
            command += ["--seq-len", options.text_len]
        subprocess.run([str(part) for part in command], check=True)
    return json.loads(output.read_text())


def number(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def kind(row):
    """Returns a sign of what does not move, or the unit of the change."""
    if row["verdict"] in STILL:
        return STILL[row["verdict"]]
    if row["verdict"] == "contradicts the proof":
        return "!"
    return "half-widths" if row.get("half_widths") is not None else "%"


def size(row):
    if kind(row) == "half-widths":
        return float(row["half_widths"])
    return 100 * float(row["relative_change"])


def cell(rows):
    """Returns the cell of measures that move alike: a sign, or the range of their changes."""
    sign = kind(rows[0])
    if sign in "=~!":
        return sign
    changes = sorted(size(row) for row in rows)
    if changes[-1] == float("inf"):
        return "undefined"
    ends = [number(changes[0]), number(changes[-1])]
    return (ends[0] if ends[0] == ends[1] else " to ".join(ends)) + (" %" if sign == "%" else "")


def listed(measures):
    """Returns measures in words, with those of one convention, `rank, over rows`, together."""
    by_convention = {}
    for measure in measures:
        name, _, convention = measure.partition(", ")
        by_convention.setdefault(convention, []).append(name)
    return ", ".join(", ".join(names) + (f" ({convention})" if convention else "")
                     for convention, names in by_convention.items())


def table_of(results):
    """Returns the changes in Markdown. A line has the measures of a site that move with the same variants."""
    rows = [row for row in results["rows"] if "kind" not in row]
    variants = list(dict.fromkeys(row["label"] for row in rows))
    of_measure = {}
    for row in rows:
        of_measure.setdefault((row["site"], row["quantity"], row["measure"]), {})[row["label"]] = row
    moving = [v for v in variants if any(kind(of[v]) not in "=~" for of in of_measure.values())]
    lines, still = {}, {}
    for (site, quantity, measure), of in of_measure.items():
        kinds = tuple(kind(of[v]) for v in moving)
        if set(kinds) <= {"=", "~"}:
            still.setdefault((site, quantity), []).append(measure)
        else:
            lines.setdefault((site, quantity, kinds), []).append((measure, of))
    text = ["| site | measurement | " + " | ".join(moving) + " |", "|---|---|" + "---|" * len(moving)]
    for (site, quantity, _), measures in lines.items():
        names = listed(measure for measure, _ in measures)
        cells = [cell([of[v] for _, of in measures]) for v in moving]
        text.append(f"| `{site}` | {quantity}: {names} | " + " | ".join(cells) + " |")
    if still:
        text += ["", "Nothing moves:", ""]
        alike = {}
        for (site, quantity), names in still.items():
            alike.setdefault((quantity, listed(names)), []).append(f"`{site}`")
        text += [f"- {quantity} of {', '.join(sites)}: {names}" for (quantity, names), sites in alike.items()]
    resting = [v for v in variants if v not in moving]
    if resting:
        text += ["", f"Columns without a change are omitted: {', '.join(resting)}."]
    undefined = {(r["label"], r["quantity"], r["text"]) for r in results["rows"] if r.get("kind") == "undefined"}
    text += [f"\n{label}, {quantity}: {reason}" for label, quantity, reason in sorted(undefined)]
    return "\n".join(text) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", nargs="+", required=True, help="text files")
    parser.add_argument("--seq-len", type=int, default=64)
    parser.add_argument("--text-len", type=int, default=512, help="reference of the table of texts")
    parser.add_argument("--sequences", type=int, default=6, help="at least 5")
    parser.add_argument("--probe-sequences", type=int, default=64)
    parser.add_argument("--only", help="words of the probes, as in lime-capture")
    parser.add_argument("--layer", default="all")
    parser.add_argument("--strength", type=float, default=0.5)
    parser.add_argument("--over", nargs="+", default=["coordinates", "texts"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    return parser.parse_args()


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    for over in options.over:
        table = table_of(run_audit(options, over))
        (options.out / f"{over}.md").write_text(table)
        print(table)


if __name__ == "__main__":
    main()
