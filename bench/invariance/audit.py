#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a checkpoint and its transformed copies, and prints which measurements move.

  bench/invariance/audit.py CHECKPOINT OUT --text FILE

Every transform of `lime-capture gauge` that is exact for the model gives one copy. Each copy is
captured in float64 on the same tokens and measured with the same commands. A measurement that moves
describes the coordinates and not the model. OUT contains the results, audit.json and audit.md; a
finished step is not repeated, and captures and copies are deleted after use.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

from classes import proof_of
from measurements import MEASUREMENTS, measured_values, name_of, state_sites

TRANSFORMS = ("value-scale", "value-rotation", "query-key-scale", "head-permutation", "unit-scale",
              "unit-permutation", "expert-permutation", "norm-fold", "norm-scale",
              "residual-rotation", "residual-permutation", "route-scale", "stream-permutation")
WITHOUT_STRENGTH = ("head-permutation", "unit-permutation", "expert-permutation", "norm-fold",
                    "residual-permutation", "stream-permutation")
# Rounding of activations to float32 in the capture, amplified by small differences: the Procrustes distance of
# neighbouring layers with massive activations moves by 2e-4.
ROUNDING = 1e-3


def run(arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"audit: {' '.join(str(a) for a in arguments)}: {done.stderr.strip()}")


def transformed(options, transform):
    """Returns the folder of a copy, or None if the transform is not exact for the model."""
    folder = options.out / transform / "checkpoint"
    if folder.exists():
        return folder
    command = [options.bin / "lime-capture", "gauge", options.checkpoint, "--transform", transform,
               "--seed", options.seed, "-o", folder, "--quiet"]
    if transform not in WITHOUT_STRENGTH:
        command += ["--strength", options.strength]
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True)
    if done.returncode == 0:
        return folder
    refusal = done.stderr.strip()
    if "is not exact for" not in refusal:
        raise SystemExit(f"audit: {refusal}")
    (options.out / transform / "refused.txt").write_text(refusal.split(": ", 2)[-1] + "\n")
    return None


def capture(options, checkpoint, folder):
    """Returns the capture of a checkpoint in `folder`."""
    file = folder / "capture.h5"
    sites = ",".join([*state_sites(options.checkpoint), "attn.hook_profile", "logit_lens"])
    run([options.bin / "lime-capture", "--checkpoint", checkpoint, *options.input, "--sites", sites,
         "--layers", options.layers, "--lens-tokens", options.lens_tokens, "--dtype", "float64",
         "--threads", options.threads, "-o", file, "--quiet", "--resume"])
    return file


def measure(options, checkpoint, folder):
    """Runs every measurement of a checkpoint whose results are not in `folder`."""
    missing = [m for m in MEASUREMENTS if not (folder / f"{m.name}.json").exists()]
    if not missing:
        return
    file = capture(options, checkpoint, folder)
    for measurement in missing:
        arguments = measurement.arguments(checkpoint, file, options)
        if arguments is None:
            (folder / f"{measurement.name}.json").write_text('{"rows": []}\n')
            continue
        run([options.bin / "lime-metrics", *arguments, "--threads", options.threads, "-o",
             folder / f"{measurement.name}.json", "--quiet"])
    file.unlink()
    shutil.rmtree(folder / "capture.shards", ignore_errors=True)


def values_in(folder):
    """Returns {key: (value, half-width or None)} of all measurements."""
    values = {}
    for measurement in MEASUREMENTS:
        rows = json.loads((folder / f"{measurement.name}.json").read_text())["rows"]
        values.update(measured_values(measurement.name, rows))
    return values


def compare(original, copy, transform):
    """Returns a row per measurement: its largest change over layers, heads and weightings."""
    table = {}
    for key, (value, half) in original.items():
        if key not in copy:
            raise SystemExit(f"audit: {transform} lacks {key}")
        change = abs(copy[key][0] - value)
        relative = change / max(abs(value), 1e-3)
        row = table.setdefault(name_of(key), {"relative": 0.0, "half_widths": None})
        row["relative"] = max(row["relative"], relative)
        if half is not None and relative > ROUNDING and half > 0:
            row["half_widths"] = max(row["half_widths"] or 0.0, change / half)
        elif half is not None:
            row["half_widths"] = max(row["half_widths"] or 0.0, 0.0)
    rows = []
    for (measurement, site, quantity), row in table.items():
        proof = proof_of(measurement, site, quantity, transform)
        is_still = row["relative"] <= ROUNDING
        verdict = ("invariant by proof" if proof else "invariant in fact") if is_still else "moves"
        if proof and not is_still:
            print(f"audit: {measurement} {quantity} of {site} moves by {row['relative']:.2g} under "
                  f"{transform}, against the proof: {proof}", file=sys.stderr)
            verdict = "contradicts the proof"
        rows.append({"measurement": measurement, "site": site, "quantity": quantity,
                     "transform": transform, **row, "verdict": verdict, "proof": proof})
    return rows


def kind(row):
    """Returns how a cell is drawn: `=` by proof, `~` in fact, `!` against the proof, or what moves."""
    if row["verdict"] == "invariant by proof":
        return "="
    if row["verdict"] == "invariant in fact":
        return "~"
    if row["proof"]:
        return "!"
    return "%" if row["half_widths"] is None else "half-widths"


def number(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def cell(rows):
    """Returns the cell of quantities that move alike: a sign, or the range of their changes."""
    sign = kind(rows[0])
    if sign in "=~!":
        return sign
    factor, unit = (100, " %") if sign == "%" else (1, "")
    changes = sorted(factor * row["relative" if sign == "%" else "half_widths"] for row in rows)
    ends = [number(changes[0]), number(changes[-1])]
    return (ends[0] if ends[0] == ends[1] else " to ".join(ends)) + unit


def table_of(rows, transforms):
    """Returns the table in Markdown. A line has the quantities of a site that move under the same transforms;
    what no transform moves is listed after it."""
    of_quantity = {}
    for row in rows:
        key = (row["site"], row["measurement"], row["quantity"])
        of_quantity.setdefault(key, {})[row["transform"]] = row
    lines, still = {}, {}
    for (site, measurement, quantity), of in of_quantity.items():
        kinds = tuple(kind(of[t]) for t in transforms)
        if set(kinds) <= {"=", "~"}:
            still.setdefault((site, measurement), []).append(quantity)
        else:
            lines.setdefault((site, measurement, kinds), []).append((quantity, of))
    text = ["| site | measurement | " + " | ".join(transforms) + " |", "|---|---|" + "---|" * len(transforms)]
    for (site, measurement, _), quantities in lines.items():
        names = ", ".join(quantity for quantity, _ in quantities)
        cells = [cell([of[t] for _, of in quantities]) for t in transforms]
        text.append(f"| `{site}` | {measurement}: {names} | " + " | ".join(cells) + " |")
    text += ["", "No transform moves:", ""]
    text += [f"- `{site}`, {measurement}: {', '.join(names)}" for (site, measurement), names in still.items()]
    return "\n".join(text) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", nargs="+", help="text files")
    parser.add_argument("--tokens", help="token ids, .npy")
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--sequences", type=int, default=8, help="at least 5, for the jackknife")
    parser.add_argument("--layers", default="all", help="as in lime-capture")
    parser.add_argument("--lens-tokens", type=int, default=8)
    parser.add_argument("--transforms", nargs="+", default=TRANSFORMS, choices=TRANSFORMS)
    parser.add_argument("--strength", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    options = parser.parse_args()
    if (options.text is None) == (options.tokens is None):
        parser.error("pass --text or --tokens")
    options.input = ["--text", *options.text] if options.text else ["--tokens", options.tokens]
    options.input += ["--seq-len", options.seq_len, "--max-sequences", options.sequences]
    return options


def main():
    options = parse()
    original = options.out / "original"
    original.mkdir(parents=True, exist_ok=True)
    measure(options, options.checkpoint, original)
    rows, done = [], []
    for transform in options.transforms:
        folder = options.out / transform
        folder.mkdir(exist_ok=True)
        if (folder / "refused.txt").exists():
            continue
        if not all((folder / f"{m.name}.json").exists() for m in MEASUREMENTS):
            checkpoint = transformed(options, transform)
            if checkpoint is None:
                continue
            measure(options, checkpoint, folder)
            shutil.copy(checkpoint / "gauge.json", folder)
            shutil.rmtree(checkpoint)
        rows += compare(values_in(original), values_in(folder), transform)
        done.append(transform)
    (options.out / "audit.json").write_text(json.dumps({"transforms": done, "rows": rows}, indent=1))
    table = table_of(rows, done)
    for transform in options.transforms:
        refused = options.out / transform / "refused.txt"
        if refused.exists():
            table += f"\n{transform}: {refused.read_text().strip()}\n"
    (options.out / "audit.md").write_text(table)
    print(table, end="")


if __name__ == "__main__":
    main()
