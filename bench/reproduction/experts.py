#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where do small models route, over experts and over depth, and does it cause anything?

    bench/reproduction/experts.py [--programs build/release/bin] [--out out/experts] [--seeds 0 1 2]
        [--steps 400] [--only NAME ...]

Trains a LLaMA, a mixture of experts, a LIMe, an mHC and a LIMe of experts with equal budget, one thread each,
and measures them on a text that they were not trained on: loss, entropy of values and hidden states, balance
and information of the experts, what is read of earlier layers, and the effect of removing each expert, each
source of a layer and each stream. Run again, it resumes where it was stopped. Writes table.md and table.json
to --out. Text is in ../shared, or in LIME_TEST_DATA. docs/experts.md contains the results.
"""
import argparse
import json
import math
import pathlib

import depth_routing
from depth_routing import ROOT, run, summary, words

EXPERTS = {"intermediate-size": 256, "num-experts": 8, "num-experts-per-tok": 2,
           "router-aux-loss-coef": 0.01}
DENSE = {"intermediate-size": 512}  # as many units per token as two experts
MODELS = {
    "llama": {"decoder": "llama"} | DENSE,
    "moe": {"decoder": "mixtral"} | EXPERTS,
    "lime": {"decoder": "lime"} | DENSE,
    "mhc": {"decoder": "mhc"} | DENSE,
    "moe-lime": {"decoder": "lime", "blocks": "mixtral"} | EXPERTS,
}
SHAPE = {"num-hidden-layers": 8, "hidden-size": 256, "num-attention-heads": 8, "num-key-value-heads": 4,
         "vocab-size": 2048, "max-position-embeddings": 1024}
TRAINING = {"task": "lm", "sequence-length": 256, "batch-size": 8, "learning-rate": 3e-3,
            "warmup-steps": 25, "schedule": "cosine", "final-learning-rate": 0.1, "threads": 1,
            "log-every": 25, "save-every": 200, "validate-every": 200}
HELD_OUT = "psychology-2e.txt"
EXPERT_SITES = "mlp.hook_router_logits,mlp.hook_expert_weights,mlp.hook_expert_indices"
#: Of the sweeps: 64 to 153 passes per model.
SWEPT = {"seq-len": 128, "max-sequences": 10}


class Model:
    """One training run, and what was measured of it."""

    def __init__(self, options, data, name, seed):
        self.options, self.data, self.name, self.seed = options, data, name, seed
        self.folder = options.out / f"{name}-{seed}"
        self.has_experts = name.startswith("moe")
        self.is_routed = name in ("lime", "mhc", "moe-lime")

    def call(self, program, *arguments):
        return run([self.options.programs / program, *arguments])

    def file(self, ending):
        return self.folder.with_name(f"{self.folder.name}{ending}")

    def train(self):
        texts = [path for path in sorted((self.data / "text").glob("*.txt"))
                 if path.name not in (HELD_OUT, "fineweb-edu-sample.txt")]
        settings = SHAPE | TRAINING | MODELS[self.name] | {
            "tokens": self.options.out / "tokens", "steps": self.options.steps, "seed": self.seed}
        self.call("lime-train", "--text", *texts, *words(settings), "--resume", "-o", self.folder)

    def text(self):
        return "--text", self.data / "text" / HELD_OUT, "--packing", "eos-between"

    def capture(self):
        sites = "routed_values,hidden"
        if self.has_experts:
            sites += "," + EXPERT_SITES
        if self.name == "mhc":
            sites += ",hook_streams,hook_stream_weights"
        sites += ",hook_depth_weights" if self.name == "mhc" else ""
        self.call("lime-capture", "--checkpoint", self.folder, *self.text(), "--seq-len", 256,
                  "--max-sequences", 40, "--sites", sites, "--log-likelihood", "--resume", "--quiet", "-o",
                  self.file(".h5"))

    def rows(self, metric, *arguments, ending=None):
        table = self.file(f"-{ending or metric}.json")
        self.call("lime-metrics", metric, *arguments, "--quiet", "--resume", "-o", table)
        return json.loads(table.read_text())["rows"]

    def sweep(self, over, *arguments):
        table = self.file(f"-sweep-{over}.json")
        self.call("lime-capture", "sweep", "--checkpoint", self.folder, *self.text(), *words(SWEPT),
                  "--over", over, *arguments, "--resume", "--quiet", "-o", table)
        return table

    def measure(self):
        """Returns numbers by name."""
        self.train()
        self.capture()
        events = [json.loads(line) for line in (self.folder / "training_log.jsonl").open()]
        found = {"loss": [event for event in events if event["event"] == "validation"][-1]["loss"]}
        for site, name in (("routed_values", "entropy of values"), ("hidden", "entropy of hidden")):
            rows = self.rows("entropy", self.file(".h5"), "--preset", "raw", "--site", site,
                             ending=f"entropy-{site}")
            found[name] = mean(row["mean"] for row in rows if row.get("mean") is not None)
        skipped = json.loads(self.sweep("layers").read_text())["rows"]
        found["largest effect of a layer"] = max(row["effect"] for row in skipped if row.get("part") == "layer")
        if self.has_experts:
            rows = self.rows("experts", self.file(".h5"), "--effects",
                             self.sweep("experts", "--ablation", "mask"))
            for measure in ("effective_experts", "routing_entropy", "token_information"):
                found[measure] = mean(row["mean"] for row in rows
                                      if row.get("measure") == measure and "mean" in row)
            found |= effects(rows, "expert")
        if self.is_routed:
            maps = [self.folder] if self.name != "mhc" else [self.folder, self.file(".h5")]
            rows = self.rows("router", *maps, "--detail", "layers", "--effects",
                             self.sweep("depth-weights"))
            found |= effects(rows, "source")
        if self.name == "mhc":
            rows = self.rows("streams", self.file(".h5"), "--effects", self.sweep("streams"))
            found["effective_streams"] = mean(row["mean"] for row in rows
                                              if row.get("measure") == "effective_streams" and "mean" in row)
            found |= effects(rows, "stream")
        return found


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def effects(rows, part):
    """Returns the agreement of mass and effect, and the effects, of the unweighted map."""
    plain = [row for row in rows if row.get("weighting", "none") == "none"]
    of_parts = [row["effect"] for row in plain if row.get("kind") == "effect"]
    agreement = next(row for row in plain if row.get("kind") == "agreement" and row["measure"] == "all")
    return {f"{part}: mean effect": mean(of_parts), f"{part}: largest effect": max(of_parts),
            f"{part}: agreement": agreement["agreement"] if agreement["agreement"] is not None else math.nan}


def table_of(results, seeds):
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    models = list(dict.fromkeys(model for model, _ in results))
    lines = [f"| mean ± half of the 95 % interval over {len(seeds)} seeds | " + " | ".join(models) + " |",
             "|---|" + "---|" * len(models)]
    for name in names:
        cells = []
        for model in models:
            values = [results[model, seed][name] for seed in seeds if name in results.get((model, seed), {})]
            if not values:
                cells.append("")
                continue
            middle, half = summary(values)
            cells.append(f"{middle:.3f}" + ("" if half is None else f" ± {half:.3f}"))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/experts")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    data = depth_routing.data_folder()
    results = {}
    for seed in options.seeds:
        for name in options.only:
            results[name, seed] = Model(options, data, name, seed).measure()
            print(name, seed, results[name, seed], flush=True)
    (options.out / "table.json").write_text(json.dumps(
        [{"model": name, "seed": seed} | found for (name, seed), found in results.items()], indent=1))
    table = table_of(results, options.seeds)
    (options.out / "table.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
