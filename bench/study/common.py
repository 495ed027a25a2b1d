# SPDX-License-Identifier: Apache-2.0
"""Reads the files of scripts/study.sh, and collects what the checks compare."""

import json
import pathlib

import h5py
import numpy


class Capture:
    """A capture of lime-capture: rows of every layer, and the sequence of each row."""

    def __init__(self, path):
        self.file = h5py.File(path)
        self.sequence = self.file["rows/sequence"][:]
        self.tokens = self.file["rows/token"][:]
        self.offsets = self.file["sequences/offset"][:]

    def rows(self, site, layer):
        """Returns [rows, dim] in float64."""
        return self.file[f"activations/{site}/{layer:03}"][:].astype(numpy.float64)

    def layers(self, site):
        return sorted(int(name) for name in self.file[f"activations/{site}"])

    def parts(self, keep=None):
        """Returns the row numbers of each sequence, of those in the mask `keep` if given."""
        kept = numpy.ones(len(self.sequence), bool) if keep is None else keep
        spans = zip(self.offsets[:-1], self.offsets[1:])
        return [numpy.arange(first, end)[kept[first:end]] for first, end in spans]

    def ids(self):
        """Returns the token ids of each sequence."""
        return [self.tokens[first:end] for first, end in zip(self.offsets[:-1], self.offsets[1:])]


class Results:
    """A JSON file of lime-metrics or lime-capture sweep."""

    def __init__(self, path):
        self.rows = json.loads(pathlib.Path(path).read_text())["rows"]

    def find(self, **wanted):
        """Returns the only row with these values."""
        found = [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]
        if len(found) != 1:
            raise SystemExit(f"check: {len(found)} rows with {wanted}, expected one")
        return found[0]


class Report:
    """Largest deviations of each check. A finished check is kept in OUT/checks.json and not repeated."""

    def __init__(self, out):
        self.path = pathlib.Path(out) / "checks.json"
        self.checks = self.stored()

    def stored(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def run(self, name, check, *arguments):
        """Runs check(add, *arguments) unless its lines are stored; leaves it out if its results are absent."""
        if name in self.checks:
            return
        lines = []

        def add(what, reference, pairs):
            """pairs: (ours, reference's) numbers."""
            ours, theirs = numpy.array(list(pairs), dtype=numpy.float64).T
            deviation = numpy.abs(ours - theirs)
            lines.append([what, reference, len(ours), float(deviation.max()), float(numpy.abs(theirs).max())])
            print(self.line(lines[-1]), flush=True)

        try:
            check(add, *arguments)
        except FileNotFoundError as error:
            print(f"{name}: left out: {error}", flush=True)
            return
        self.checks = self.stored() | {name: lines}  # another check may have written it
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.checks, indent=1))
        part.replace(self.path)

    def print(self):
        print("\n| measurement | reference | numbers | largest deviation | largest value |\n|---|---|---|---|---|")
        for lines in self.checks.values():
            for line in lines:
                print(self.line(line))

    @staticmethod
    def line(line):
        what, reference, count, deviation, largest = line
        return f"| {what} | {reference} | {count} | {deviation:.1e} | {f'{largest:.4g}' if largest else ''} |"


def wilson(correct, total, z=1.959963984540054):
    """Returns Wilson's score interval."""
    p, spread = correct / total, z * z / total
    centre = (p + spread / 2) / (1 + spread)
    half = z / (1 + spread) * numpy.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    return centre - half, centre + half
