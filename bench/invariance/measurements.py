# SPDX-License-Identifier: Apache-2.0
"""The commands of an audit, and the numbers in their results."""

import dataclasses
import json
import pathlib

# Columns that identify a row, as far as it has them.
KEYS = ("site", "layer", "other_layer", "kind", "head", "source", "source_head", "group", "measure",
        "over", "scale", "weighting", "alpha", "preset", "dataset", "word", "class")
# Columns that count or describe, or that another column contains.
OTHER = ("label", "other_label", "n", "undefined", "std", "tokens", "tokens_min", "dim", "ceiling",
         "ceiling_min", "even", "unit", "low", "high")


# Columns of `lime-metrics router` that are the same for every weighting.
OF_BARE_WEIGHTS = ("distance_own", "others_ratio")


@dataclasses.dataclass(frozen=True)
class Measurement:
    name: str
    command: tuple  # arguments of lime-metrics before the capture; CHECKPOINT stands for the folder
    after: tuple = ()  # and after it; SITES stands for state_sites()
    lime_only: bool = False

    def arguments(self, checkpoint, capture, options):
        """Returns the arguments of lime-metrics, or None if the model has nothing to measure."""
        if self.lime_only and not is_lime(options.checkpoint):
            return None
        place = [checkpoint if part == "CHECKPOINT" else part for part in self.command]
        sites = ",".join(state_sites(options.checkpoint))
        return [*place, capture, *(sites if part == "SITES" else part for part in self.after)]


def is_lime(checkpoint):
    config = pathlib.Path(checkpoint) / "config.json"
    return config.exists() and "lime" in json.loads(config.read_text())


def state_sites(checkpoint):
    """Returns the sites with activations of every token; without a router, routed values are the values."""
    routed = ["routed_values"] if is_lime(checkpoint) else []
    return ["values", *routed, "keys", "hidden", "attn.hook_z", "hook_attn_out"]


MEASUREMENTS = (
    Measurement("entropy-lime-code", ("entropy",), ("--site", "SITES", "--bootstrap", "1000")),
    Measurement("entropy-raw", ("entropy",),
                ("--site", "SITES", "--preset", "raw", "--bootstrap", "1000")),
    Measurement("geometry", ("geometry",),
                ("--site", "SITES", "--ranks", "sequences", "--k", "10")),
    Measurement("similarity", ("similarity",),
                ("--site", "SITES", "--maps", "within", "--jackknife", "5")),
    Measurement("attention", ("attention",), ("--bootstrap", "1000")),
    Measurement("lens", ("lens",), ("--bootstrap", "1000")),
    Measurement("router", ("router", "CHECKPOINT"), lime_only=True),
)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def measured_values(measurement, rows):
    """Returns {key: (value, half-width or None)} of the rows of a results file."""
    values = {}
    for row in rows:
        place = tuple((name, row[name]) for name in KEYS if name in row)
        for column, value in row.items():
            is_interval = column.endswith(("_low", "_high"))
            if column in KEYS or column in OTHER or is_interval or not is_number(value):
                continue
            prefix = "ci" if column == "mean" else column
            low, high = row.get(f"{prefix}_low"), row.get(f"{prefix}_high")
            has_interval = is_number(low) and is_number(high)
            values[(measurement, place, column)] = (value, (high - low) / 2 if has_interval else None)
    return values


def name_of(key):
    """Returns (measurement, site, quantity) of a key: what a line of the table summarises."""
    measurement, place, column = key
    row = dict(place)
    quantity = row.get("measure", "entropy" if measurement.startswith("entropy") else column)
    if row.get("kind") == "head":
        quantity += " per head"
    if "weighting" in row and column not in OF_BARE_WEIGHTS:
        quantity += f" ({row['weighting']})"
    return measurement, row.get("site", "weights"), quantity
