#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains and measures all routings over depth on equal ground: the data and budget of the language pair.

    bench/reproduction/depth_routing.py [--programs build/release/bin] [--out out/depth_routing]
        [--sizes 8x256 16x128] [--seeds 1 2 3] [--steps 1800] [--only NAME ...] [--jobs 2]
        [--time-turns 3] [--time-threads 2]

Per size and decoder: training runs of every seed, each on one thread; then, on the held-out text, the
entropy of values and hidden states, the effective rank, and what is read of the embedding; parameters,
multiply-accumulates, cache; and the time and memory of a training step, in turns, against LLaMA's. Run
again, it resumes where it was stopped. Writes table-SIZE.md, table-SIZE.json, the entropies per layer with
intervals over seeds and sequences (entropy-SIZE.json, .txt) and the figure sources-SIZE.pdf to --out. Text
is in ../shared, or in LIME_TEST_DATA.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DECODERS = {
    "LLaMA": {"decoder": "llama"},
    "LIMe full": {"decoder": "lime"},
    "LIMe first-2": {"decoder": "lime", "router": "first", "router-j": 2},
    "LIMe dynamic": {"decoder": "lime", "dynamic-router": None},
    "DenseFormer": {"decoder": "denseformer"},
    "Hyper-Connections": {"decoder": "hyper_connections"},
    "mHC": {"decoder": "mhc"},
    "ResFormer": {"decoder": "resformer"},
    "AttnRes full": {"decoder": "attn_res"},
    "AttnRes block": {"decoder": "attn_res", "attn-res-blocks": 4},
    "MUDD": {"decoder": "mudd"},
    "Depth-Attention": {"decoder": "depth_attention"},
}
# 97.5% quantiles of Student's t for 1, 2, ... degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


def summary(values):
    """Returns mean and half the 95% interval of Student's t over seeds; None for one seed."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None
    return mean, STUDENT[len(values) - 2] * statistics.stdev(values) / math.sqrt(len(values))


def words(options):
    return [word for name, value in options.items()
            for word in (f"--{name}", *([] if value is None else [str(value)]))]


def run(command, log=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if log is not None:
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def data_folder():
    data = pathlib.Path(os.environ.get("LIME_TEST_DATA", ROOT.parent / "shared"))
    if not (data / "text").is_dir():
        sys.exit(f"'{data}/text' is absent; set LIME_TEST_DATA to the folder of test data")
    return data


class Bench:
    def __init__(self, arguments):
        self.own, self.out = arguments, arguments.out
        self.data = data_folder()
        self.names = [name for name in DECODERS
                      if not arguments.only or name in (*arguments.only, "LLaMA")]
        (self.out / "held-out").mkdir(parents=True, exist_ok=True)
        for file in sorted((self.data / "text").glob("*.txt")):  # what --validation-fraction holds out
            text = file.read_bytes()
            tail = text[-(len(text) // 50):]
            (self.out / "held-out" / file.name).write_bytes(tail[tail.index(b"\n") + 1:])

    def program(self, name):
        return self.own.programs / name

    def shape(self, size):
        layers, width = map(int, size.split("x"))
        return {"num-hidden-layers": layers, "hidden-size": width,
                "num-attention-heads": max(4, width // 32)}

    def folder(self, size, name, seed):
        return self.out / f"{size}-{name.lower().replace(' ', '-')}-{seed}"

    def train(self, size, name, seed):
        folder = self.folder(size, name, seed)
        options = self.shape(size) | DECODERS[name] | {
            "task": "lm", "text": self.data / "text", "validation-fraction": 0.02, "vocab-size": 4096,
            "tokens": self.out / "tokens", "sequence-length": 256, "steps": self.own.steps,
            "batch-size": 2, "learning-rate": 1e-3, "threads": 1, "log-every": 20,
            "warmup-steps": min(100, self.own.steps // 10),
            "save-every": 250, "validate-every": self.own.steps, "seed": seed}
        run([self.program("lime-train"), *words(options), "-o", folder, "--resume"],
            folder.with_suffix(".log"))
        events = [json.loads(line) for line in (folder / "training_log.jsonl").open()]
        return [event for event in events if event["event"] == "validation"][-1]["loss"]

    def measure(self, size, name, seed):
        """Returns entropy, effective rank and what is read of the embedding; writes the router maps."""
        folder = self.folder(size, name, seed)
        capture = folder.with_suffix(".h5")
        site = {"ResFormer", "Depth-Attention", "LIMe dynamic"}
        routes = "attn.hook_route" if name in site else "hook_depth_weights"
        run([self.program("lime-capture"), "--checkpoint", folder, "--text",
             *sorted((self.out / "held-out").glob("*.txt")), "--packing", "eos-between",
             "--seq-len", 256, "--max-sequences", self.own.sequences, "--sites",
             f"values,routed_values,hidden,{routes}", "--store", "float16", "--resume", "--quiet",
             "-o", capture])

        def rows(metric, *options):
            table = folder.with_name(f"{folder.name}-{metric}.json")
            run([self.program("lime-metrics"), metric, *options, "--quiet", "--resume", "-o", table])
            return json.loads(table.read_text())["rows"]

        entropy = rows("entropy", capture, "--site", "routed_values,hidden", "--label", name)
        ranks = rows("geometry", capture, "--measure", "rank", "--ranks", "sequences", "--site",
                     "hidden", "--label", name)
        router = rows("router", folder, *([] if name.startswith("LIMe f") else [capture]),
                      "--label", name)

        def mean(found):
            return statistics.fmean(found) if found else math.nan

        return {
            "values entropy": mean([row["mean"] for row in entropy
                                    if row["site"] == "routed_values" and "mean" in row]),
            "hidden entropy": mean([row["mean"] for row in entropy
                                    if row["site"] == "hidden" and "mean" in row]),
            "effective rank": mean([row["mean"] for row in ranks
                                    if row["measure"] == "effective_rank"]),
            "read of embedding": mean(
                [row["share"] for row in router
                 if row["kind"] == "source_map" and row["source"] == 0 and row["layer"] > 0]
                or [row["share_embedding"] for row in router
                    if row["kind"] == "layer" and row["weighting"] == "none" and row["layer"] > 0]),
        }

    def cost(self, size, name):
        folder = self.folder(size, name, self.own.seeds[0])
        row = json.loads(run([self.program("lime-metrics"), "cost", folder, "--sequence-length", 256,
                              "--format", "json"]))["rows"][0]
        return {"parameters": row["parameters"], "MACs": row["multiply_accumulates"],
                "cache": row["cache_bytes"]}

    def step_times(self, size):
        """Returns seconds and bytes of a training step; the decoders alternate."""
        found = {name: [] for name in self.names}
        for _ in range(self.own.time_turns):
            for name in self.names:
                options = self.shape(size) | DECODERS[name] | {
                    "batch-size": 8, "seq-len": 256, "vocab-size": 4096, "repeats": 3,
                    "threads": self.own.time_threads, "no-pass": None}
                found[name].append(json.loads(run([self.program("lime-bench-step"),
                                                   *words(options)])))
        return {name: {key: statistics.median(turn[key] for turn in turns)
                       for key in ("step_seconds", "peak_memory_bytes")}
                for name, turns in found.items()}

    def compare_runs(self, size):
        """Measures the entropy per layer with training runs as the unit."""
        runs = [(name, seed) for name in self.names for seed in self.own.seeds]
        captures = [self.folder(size, *run_).with_suffix(".h5") for run_ in runs]
        output = self.out / f"entropy-{size}"
        run([self.program("lime-metrics"), "entropy", *captures, "--label",
             *(f"{name} {seed}" for name, seed in runs), "--runs", ",".join(name for name, _ in runs),
             "--site", "routed_values,hidden", "--quiet", "--resume",
             "-o", f"{output}.json", "-o", f"{output}.txt"])

    def table(self, size):
        losses = {name: [] for name in self.names}
        first = [(self.names[0], self.own.seeds[0])]
        runs = [(name, seed) for seed in self.own.seeds for name in self.names]
        with concurrent.futures.ThreadPoolExecutor(self.own.jobs) as pool:
            done = {run_: self.train(size, *run_) for run_ in first}  # tokenises the text for all
            done |= zip(runs, pool.map(lambda run_: done.get(run_) or self.train(size, *run_), runs))
        for (name, _), loss in done.items():
            losses[name].append(loss)
        times = self.step_times(size) if self.own.time_turns else {}
        rows = []
        for name in self.names:
            row = {"decoder": name, "losses": losses[name]} | self.cost(size, name)
            measured = [self.measure(size, name, seed) | {"loss": loss}
                        for seed, loss in zip(self.own.seeds, losses[name])]
            for key in measured[0]:
                row[key], interval = summary([seed[key] for seed in measured])
                if interval is not None:
                    row[f"{key} interval"] = interval
            if times:
                row |= times[name] | {"step / LLaMA": times[name]["step_seconds"]
                                      / times["LLaMA"]["step_seconds"]}
            rows.append(row)
        (self.out / f"table-{size}.json").write_text(json.dumps(
            {"steps": self.own.steps, "seeds": self.own.seeds, "size": size, "rows": rows}, indent=1))
        self.write_markdown(size, rows)
        if len(self.own.seeds) > 1:
            self.compare_runs(size)
        maps = [path for name in self.names if not name.startswith("LIMe f")
                for path in [self.folder(size, name, self.own.seeds[0])]
                for path in [path.with_name(f"{path.name}-router.json")]]
        run([self.program("lime-figure"), *maps, "--kind", "router-sources", "--weighting", "none",
             "--columns", 4, "-o", self.out / f"sources-{size}.pdf"])

    def write_markdown(self, size, rows):
        def cell(row, key, form, scale=1.0):
            interval = row.get(f"{key} interval")
            text = form.format(scale * row[key]) if key in row else ""
            return text if interval is None else f"{text} ± {form.format(scale * interval)}"

        lines = ["| decoder | loss | parameters | MACs | step / LLaMA | memory | cache | values entropy "
                 "| hidden entropy | effective rank | read of embedding, % |", "|" + "---|" * 11]
        for row in rows:
            memory = row.get("peak_memory_bytes", 0) / 2**20
            lines.append(
                f"| {row['decoder']} | {cell(row, 'loss', '{:.4f}')} | {row['parameters']:,} | "
                f"{row['MACs'] / 1e9:.3f} G | {cell(row, 'step / LLaMA', '{:.3f}')} | "
                f"{memory:.0f} MiB | {row['cache'] / 2**10:.0f} KiB | "
                f"{cell(row, 'values entropy', '{:.3f}')} | {cell(row, 'hidden entropy', '{:.3f}')} | "
                f"{cell(row, 'effective rank', '{:.1f}')} | "
                f"{cell(row, 'read of embedding', '{:.1f}', 100.0)} |")
        (self.out / f"table-{size}.md").write_text("\n".join(lines) + "\n")
        print(f"\n{size}, {self.own.steps} steps, seeds {self.own.seeds}")
        print("\n".join(lines), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/depth_routing")
    parser.add_argument("--sizes", nargs="+", default=["8x256", "16x128"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=list(DECODERS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-turns", type=int, default=3, help="0: do not measure step times")
    parser.add_argument("--time-threads", type=int, default=2)
    bench = Bench(parser.parse_args())
    for size in bench.own.sizes:
        bench.table(size)


if __name__ == "__main__":
    main()
