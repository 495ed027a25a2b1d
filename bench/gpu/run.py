#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs everything that waits for a GPU and writes a report: docs/gpus.md says what and why.

    bench/gpu/run.py --kit build/gpu-kit --out OUT [--budget 480] [--steps capture training]
    bench/gpu/run.py --build build/release --out OUT --device cpu --toy

Every step has its own time limit, and a failed one costs no other: report.md, report.json and
log.txt in OUT are complete after every result. The kit is bench/gpu/pack.sh's. --toy takes sizes of
seconds on a CPU, so that a typing error is found before there is a GPU. Needs Python and, for the
peers, its torch, transformers and h5py; steps without them say so.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "train"))
from compare_decoders import TABLES, command_words  # noqa: E402

GROUPED, FULL = 8, 32


class Failed(Exception):
    """A command failed; the text is one line."""


class Report:
    """Sections of rows; its files are written after every change."""

    def __init__(self, folder):
        self.folder, self.sections = folder, []
        folder.mkdir(parents=True, exist_ok=True)
        self.log = open(folder / "log.txt", "w")

    def begin(self, name, title):
        self.sections.append({"step": name, "title": title, "rows": [], "notes": []})
        self.log.write(f"\n# {name}: {title}\n")

    def row(self, **cells):
        self.sections[-1]["rows"].append(cells)
        self.write()

    def note(self, text):
        self.sections[-1]["notes"].append(text)
        self.write()

    def logged(self, text):
        self.log.write(text[-200_000:] + "\n")
        self.log.flush()

    def write(self):
        text = "\n".join(section_text(section) for section in self.sections)
        for name, content in (("report.md", text), ("report.json", json.dumps(self.sections, indent=1))):
            part = self.folder / (name + ".part")
            part.write_text(content)
            part.replace(self.folder / name)


def cell_text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def section_text(section):
    """Returns a section as Markdown: a table of all columns that its rows have, then its notes."""
    lines = [f"## {section['step']}: {section['title']}", ""]
    columns = list(dict.fromkeys(name for row in section["rows"] for name in row))
    if columns:
        lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(cell_text(row.get(name, "")) for name in columns) + " |"
                  for row in section["rows"]]
    return "\n".join([*lines, "", *(f"- {note}" for note in section["notes"]), ""])


def library_folders():
    """Returns the folders of the shared libraries of this interpreter's torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return []
    torch = pathlib.Path(spec.origin).parent
    return [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]


class Runner:
    """Runs commands within the time that is left, and knows sizes and places."""

    def __init__(self, arguments, scratch):
        self.device, self.toy = arguments.device, arguments.toy
        self.scratch, self.report = scratch, Report(arguments.out)
        self.out = arguments.out
        self.model, self.text = arguments.model, arguments.text
        self.train_steps = arguments.train_steps
        self.end = time.monotonic() + arguments.budget
        self.step_end = self.end
        self.threads = len(os.sched_getaffinity(0))
        home = arguments.build
        if arguments.kit:
            home = scratch / "kit"
            with tarfile.open(arguments.kit / "kit.tar.xz") as archive:
                archive.extractall(home, filter="data")
        self.bin = home / "bin"
        folders = [home / "lib", *library_folders()] if arguments.kit else []
        paths = [*map(str, folders), os.environ.get("LD_LIBRARY_PATH", "")]
        # Of the kit's programs only: its libraries are older than those that Python was linked with.
        self.kit_environment = os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, paths))}
        self.has_torch = importlib.util.find_spec("torch") is not None
        self.memory = pathlib.Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else scratch

    def size(self, real, toy):
        return toy if self.toy else real

    @property
    def autocast(self):
        return [] if self.device == "cpu" else ["--autocast"]

    @property
    def low_dtype(self):
        return "float32" if self.device == "cpu" else "bfloat16"

    def command(self, *words, limit=120, allowed=(0,)):
        """Returns the standard output of a program of the kit, or of a command with its path."""
        words = [str(word) for word in words]
        if "/" not in words[0] and (self.bin / words[0]).exists():
            words[0] = str(self.bin / words[0])
        runs_kit = any(word.startswith(str(self.bin)) for word in words)
        left = min(limit, self.step_end - time.monotonic(), self.end - time.monotonic())
        if left < 1:
            raise Failed("no time left")
        start = time.monotonic()
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace",
                                  timeout=left,
                                  env=self.kit_environment if runs_kit else None)
        except subprocess.TimeoutExpired as expired:
            self.report.logged(f"$ {' '.join(words)}\n{expired.stdout}\n{expired.stderr}\nTIMED OUT")
            raise Failed(f"{pathlib.Path(words[0]).name}: stopped after {left:.0f} s") from None
        except OSError as error:
            raise Failed(str(error)) from None
        self.report.logged(f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}\n"
                           f"status {done.returncode}, {time.monotonic() - start:.1f} s")
        if done.returncode not in allowed:
            last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise Failed(f"{pathlib.Path(words[0]).name}: status {done.returncode}: {last[:300]}")
        return done.stdout

    def python(self, script, *words, **options):
        return self.command(sys.executable, ROOT / script, *words, **options)

    def attempt(self, name, action):
        """Adds the row that `action` returns, or its failure."""
        try:
            self.report.row(what=name, **action())
        except (Failed, ValueError, KeyError, IndexError) as error:
            self.report.row(what=name, failed=str(error))


def machine(run):
    """Device, versions and ceilings"""
    for words in (["nvidia-smi", "--query-gpu=name,memory.total,driver_version,clocks.max.sm",
                   "--format=csv,noheader"], ["lscpu"], ["df", "-h", run.scratch, run.memory]):
        run.attempt(words[0], lambda: {"text": "; ".join(
            line.strip() for line in run.command(*words).splitlines()
            if words[0] != "lscpu" or line.startswith(("Model name", "CPU(s):", "L3")))})
    for program in sorted(run.bin.iterdir()):
        if not program.is_file() or not os.access(program, os.X_OK):
            continue
        missing = [line.strip() for line in run.command("ldd", program).splitlines()
                   if "not found" in line]
        if missing:
            run.report.note(f"{program.name} lacks {', '.join(missing)}")
    run.attempt("ceilings", lambda: json.loads(run.python(
        "bench/gpu/ceilings.py", "--device", run.device, *run.size([], ["--toy"]), limit=60)))


def correctness(run):
    """Results of the GPU against the CPU's, per type"""
    results = run.scratch / "tests.json"
    try:
        run.command("lime_cuda_tests", f"--gtest_output=json:{results}", limit=150, allowed=(0, 1))
    except Failed as error:
        run.report.note(str(error))
    if not results.exists():
        return
    for suite in json.loads(results.read_text())["testsuites"]:
        tests = suite["testsuite"]
        run.report.row(suite=suite["name"], tests=len(tests),
                       skipped=sum(test.get("result") == "SKIPPED" for test in tests),
                       failed=" ".join(test["name"] for test in tests if "failures" in test),
                       seconds=float(suite["time"].rstrip("s")))


def checkpoint(run, name):
    """Returns the folder of a checkpoint that make_checkpoints() makes, once it is complete."""
    folder = run.scratch / name
    while not (folder / "complete").exists():
        if run.checkpoints.poll() not in (None, 0):
            raise Failed("bench/make_checkpoint.py failed")
        if time.monotonic() > min(run.step_end, run.end):
            raise Failed(f"the checkpoint {name} was not complete in time")
        time.sleep(0.2)
    return folder


def make_checkpoints(run):
    """Starts to write the checkpoints of all steps, one after another, in the background."""
    make = [sys.executable, str(ROOT / "bench" / "make_checkpoint.py")]
    big = run.size([], ["--hidden", "64", "--inner", "128", "--layers", "6", "--heads", "4",
                        "--kv-heads", "2", "--vocab", "300"])
    small = run.size(["--hidden", "576", "--inner", "1536", "--layers", "30", "--heads", "9",
                      "--kv-heads", "3", "--vocab", "49152"], big)
    ids = ["--ids", *run.size(["32", "2048"], ["16", "32"])]
    shapes = {"llama": big + ids, "small": small + ["--ids", *run.size(["64", "512"], ["16", "32"])],
              "lime": big + ["--decoder", "lime"],
              "first-4": big + ["--decoder", "lime", "--router", "first-4"]}
    commands = [f"{' '.join([*make, str(run.scratch / name), *shape])} && touch {run.scratch / name / 'complete'}"
                for name, shape in shapes.items()]
    return subprocess.Popen(["sh", "-c", " && ".join(commands)], stdout=subprocess.DEVNULL)


def turns_of(run, folder, ids, place=None, repeats=5, more=()):
    """Times the bare pass and, with a place, captures to a file there."""
    words = ["lime-bench-forward", "--checkpoint", folder, "--tokens", ids, "--device", run.device,
             "--dtype", run.low_dtype, "--batch-size", run.size(8, 4), "--repeats", repeats, *more]
    if place:
        output = tempfile.mkdtemp(dir=place)
        words += ["--output", output + "/turns.h5"]
    try:
        rates = json.loads(run.command(*words, limit=120))
    finally:
        if place:
            shutil.rmtree(output, ignore_errors=True)
    row = {"forward_tokens_per_s": statistics.median(rates["forward"]["passes"])}
    if rates["capture"]["passes"]:
        of_turns = [a / b for a, b in zip(rates["capture"]["passes"], rates["forward"]["passes"])]
        row |= {"capture_tokens_per_s": statistics.median(rates["capture"]["passes"]),
                "capture_over_forward": statistics.median(of_turns),
                "lowest": min(of_turns), "highest": max(of_turns),
                "whole_capture_tokens_per_s": statistics.median(rates["capture"]["whole"]),
                "idle": statistics.median(rates["idle"]["passes"])}
    return row


def measured(run, folder, ids, what, *more):
    text = run.command("lime-capture", "--checkpoint", folder, "--tokens", ids, "--device", run.device,
                       "--dtype", run.low_dtype, "--batch-size", run.size(8, 4), "--measure", what,
                       "-o", run.scratch / f"measured-{time.monotonic_ns()}.json", *more, limit=60)
    return {"whole_capture_tokens_per_s": float(re.search(r": ([\d.]+) tokens/s", text).group(1))}


def peer_of(run, folder, ids):
    words = [folder, ids, run.memory / "peer.h5", "--bare-pass", "--transformers", "--device",
             run.device, "--dtype", run.low_dtype, "--threads", run.threads, "--batch-size",
             run.size(8, 4)]
    try:
        row = json.loads(run.python("bench/capture/hooks_h5py.py", *words, limit=90))
    finally:
        (run.memory / "peer.h5").unlink(missing_ok=True)
    return {"forward_tokens_per_s": row["bare_tokens_per_second"],
            "whole_capture_tokens_per_s": row["tokens_per_second"],
            "peak_memory_gib": row["peak_memory_bytes"] / 2**30}


def fewer_ids(run, ids, count):
    """Returns a file of the first `count` sequences."""
    import numpy
    part = run.scratch / f"ids-{count}.npy"
    numpy.save(part, numpy.load(ids)[:count])
    return part


def capture(run):
    """Capture against the bare pass, 1.1B parameters, sequences of 2048 tokens"""
    folder = checkpoint(run, "llama")
    ids = folder / "ids.npy"
    run.attempt("bare pass and capture to memory", lambda: turns_of(run, folder, ids, run.memory, repeats=3))
    for count in (1, 4):
        run.attempt(f"capture to memory, {count} shards at once", lambda: turns_of(
            run, folder, ids, run.memory, repeats=1, more=("--shards-at-once", count)))
    run.attempt("transformers, hooks, h5py, to memory",
                lambda: peer_of(run, folder, fewer_ids(run, ids, 16)))
    run.attempt("capture to disk", lambda: turns_of(run, folder, ids, run.scratch, repeats=1))
    for what in ("preset=raw alpha=2", "alpha=2", "alpha=0.5"):
        run.attempt(f"entropy {what} inside the passes", lambda: measured(
            run, folder, ids, f"entropy {what}", *(["--layers", 0] if what == "alpha=0.5" else [])))
    for name in ("lime", "first-4"):
        run.attempt(name, lambda: turns_of(run, checkpoint(run, name), ids, repeats=3))


def entropies(run):
    """Entropies of order 0.5 against this machine's CPU; ways to compute eigenvalues"""
    shapes = run.size(
        [["--sequences", 64, "--repeats", 1], ["--dim", 512, "--sequences", 256, "--repeats", 3],
         ["--tokens", 128, "--sequences", 2048, "--repeats", 3]],
        [["--tokens", 24, "--dim", 16, "--sequences", 4, "--repeats", 1]])
    for shape in shapes:
        words = ["--device", run.device] if run.device != "cpu" else []
        run.attempt(" ".join(map(str, shape)), lambda: drop_values(json.loads(run.command(
            "lime-bench-entropy", *shape, *words, limit=80))))
    text = run.python("bench/gpu/eigenvalues.py", "--device", run.device,
                      *run.size([], ["--toy"]), limit=80)
    for line in text.splitlines():
        run.report.row(what="eigenvalues", **json.loads(line))


def drop_values(line):
    line.pop("values", None)
    return line


def step_rows(run, shape, rows, repeats):
    """Times training steps; each row is a process."""
    base = None
    for name, options in rows.items():
        words = command_words(shape | options)
        try:
            line = json.loads(run.command(
                "lime-bench-step", *words, "--device", run.device, *run.autocast, "--threads",
                run.threads, "--repeats", repeats, "--no-pass", limit=90))
        except Failed as error:
            run.report.row(what=name, failed=str(error))
            continue
        base = base or line
        run.report.row(what=name, step_ms=1e3 * line["step_seconds"],
                       against_llama=line["step_seconds"] / base["step_seconds"],
                       peak_gib=line["peak_memory_bytes"] / 2**30,
                       memory_against_llama=line["peak_memory_bytes"] / base["peak_memory_bytes"],
                       parameters_m=line["parameters"] / 1e6)


def training(run):
    """The paper's efficiency table: a training step at 1B parameters, bfloat16"""
    table = TABLES["decoders"][1]
    names = ("LLaMA", "LIMe full", "DenseFormer", "Hyper-Connections, dynamic")
    shape = run.size({"num-hidden-layers": 16, "hidden-size": 2048, "num-attention-heads": FULL,
                      "batch-size": 4, "seq-len": 2048, "vocab-size": 50257},
                     {"num-hidden-layers": 2, "hidden-size": 64, "num-attention-heads": FULL,
                      "batch-size": 2, "seq-len": 16, "vocab-size": 300})
    for heads in (GROUPED, FULL):
        run.report.note(f"rows follow with {heads} key-value heads of {FULL}")
        step_rows(run, shape | {"num-key-value-heads": heads}, {
            f"{name}, {heads} kv heads": table[name] for name in names}, run.size(7, 1))


def python_step(run):
    """LLaMA's training step in Python on the same LibTorch"""
    shape = run.size(["--num-hidden-layers", 16, "--hidden-size", 1024, "--num-attention-heads", 16,
                      "--batch-size", 8, "--seq-len", 1024, "--vocab-size", 50257],
                     ["--num-hidden-layers", 2, "--hidden-size", 64, "--num-attention-heads", 4,
                      "--batch-size", 2, "--seq-len", 16, "--vocab-size", 300])
    place = ["--device", run.device, *run.autocast, "--threads", run.threads, "--repeats",
             run.size(10, 1)]
    run.attempt("Python", lambda: json.loads(
        run.python("bench/train/torch_step.py", *shape, *place, limit=60)))
    for decoder in ("llama", "lime"):
        run.attempt(decoder, lambda: json.loads(run.command(
            "lime-bench-step", "--decoder", decoder, *shape, *place, "--no-pass", limit=60)))


def routers(run):
    """A training step of 128 layers with the paper's routers, bfloat16"""
    size, rows = TABLES["deep"]
    shape = size | run.size({"batch-size": 16, "seq-len": 512},
                            {"batch-size": 1, "seq-len": 16, "num-hidden-layers": 16})
    step_rows(run, shape, rows, run.size(5, 1))


def small_model(run):
    """Capture, logit lens and a sweep of a model of SmolLM2-135M's shape"""
    folder = checkpoint(run, "small")
    ids = folder / "ids.npy"
    run.attempt("capture to memory",
                lambda: turns_of(run, folder, ids, run.memory, repeats=3))
    run.attempt("transformers, hooks, h5py", lambda: peer_of(run, folder, ids))
    common = ["--checkpoint", folder, "--device", run.device, "--dtype", run.low_dtype, "--quiet"]
    output = run.memory / "small.h5"

    def timed(*words):
        start = time.monotonic()
        run.command("lime-capture", *words, limit=60)
        return {"seconds": time.monotonic() - start}
    run.attempt("lime-capture with the logit lens", lambda: timed(
        *common, "--tokens", ids, "--sites", "hidden,logit_lens", "-o", output))
    run.attempt("lime-capture --log-likelihood", lambda: timed(
        *common, "--tokens", ids, "--sites", "values", "--log-likelihood", "-o",
        run.memory / "scores.h5"))
    run.attempt("sweep over layers", lambda: timed(
        "sweep", *common, "--tokens", ids, "--over", "layers", "--max-sequences",
        run.size(32, 4), "-o", run.scratch / "sweep.json"))
    for path in run.memory.glob("*.h5"):
        path.unlink()
    for path in run.memory.glob("*.shards"):
        shutil.rmtree(path, ignore_errors=True)


def continuation(run):
    """A checkpoint trained on, as it is and as a LIMe, with the same tokens"""
    if not (run.model and run.text):
        raise Failed("needs --model and --text")
    text = ["--text", run.text, "--tokens", run.scratch / "tokens"]
    size = run.size(["--sequence-length", 1024, "--batch-size", 32, "--steps", run.train_steps,
                     "--validate-every", 50, "--warmup-steps", 50],
                    ["--sequence-length", 32, "--batch-size", 2, "--steps", 2, "--validate-every", 1])
    models = {"before": run.model}
    for name, decoder in (("plain", []), ("lime", ["--decoder", "lime",
                                                   "--router-initializer-scale", 0])):
        folder = run.scratch / f"trained-{name}"
        run.attempt(name, lambda: trained(run, folder, "--from", run.model, *decoder, *text, *size))
        if (folder / "config.json").exists():
            models[name] = folder
    captures = run.scratch / "captures"
    captures.mkdir()
    for name, model in models.items():
        try:
            run.command("lime-capture", "--checkpoint", model, "--text", *sorted(run.text.glob("*.txt")),
                        "--seq-len", run.size(512, 32), "--max-sequences", run.size(48, 4),
                        "--sites", "values,hidden", "--device", run.device, "--quiet", "-o",
                        captures / f"{name}.h5", limit=60)
        except Failed as error:
            run.report.note(f"{name}: {error}")
    done = [captures / f"{name}.h5" for name in models if (captures / f"{name}.h5").exists()]
    labels = ["--label", ",".join(path.stem for path in done)]
    for analysis in ("entropy", "geometry"):
        run.attempt(analysis, lambda: written(run, analysis, *done, *labels))
    run.attempt("router", lambda: written(run, "router", run.scratch / "trained-lime"))


def trained(run, folder, *words):
    start = time.monotonic()
    run.command("lime-train", "--task", "lm", *words, "--device", run.device, *run.autocast,
                "--learning-rate", "3e-4", "--threads", run.threads, "--quiet", "-o", folder, limit=200)
    log = (folder / "training_log.jsonl").read_text()
    (run.out / f"{folder.name}.jsonl").write_text(log)
    events = [json.loads(line) for line in log.splitlines()]
    losses = [event["loss"] for event in events if event["event"] == "validation"]
    last = [event for event in events if event["event"] == "step"][-1]
    return {"steps": last["step"], "tokens_per_s": last.get("tokens_per_second", ""),
            "held_out_losses": " ".join(f"{loss:.4f}" for loss in losses),
            "seconds": time.monotonic() - start}


def written(run, analysis, *words):
    run.command("lime-metrics", analysis, *words, "-o", run.out / f"{analysis}.json", limit=60)
    return {"written": f"{analysis}.json"}


def profile(run):
    """The longest kernels of a bare pass and of a training step (ncu)"""
    if run.device == "cpu":
        raise Failed("needs a GPU")
    folder = checkpoint(run, "llama")
    ids = fewer_ids(run, folder / "ids.npy", 16)
    text = run.command(
        "ncu", "--clock-control", "none", "--launch-skip", 200, "--launch-count", 60, "--csv",
        "--metrics", "gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,"
        "sm__throughput.avg.pct_of_peak_sustained_elapsed", run.bin / "lime-bench-forward",
        "--checkpoint", folder, "--tokens", ids, "--device", run.device, "--dtype", run.low_dtype,
        "--repeats", 1, limit=100)
    (run.out / "ncu.csv").write_text(text[-4_000_000:])


# By value: what a run that is cut off must have comes first.
STEPS = {step.__name__: (step, limit) for step, limit in (
    (machine, 60), (correctness, 120), (capture, 110), (training, 150), (entropies, 100),
    (python_step, 60), (routers, 70), (small_model, 70), (continuation, 400), (profile, 100))}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kit", type=pathlib.Path, help="folder that bench/gpu/pack.sh wrote")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="programs to run if there is no kit")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the report")
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--toy", action="store_true", help="sizes of seconds on a CPU")
    parser.add_argument("--budget", type=float, default=480, help="seconds of the whole run")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP")
    parser.add_argument("--model", type=pathlib.Path, help="checkpoint of the step continuation")
    parser.add_argument("--text", type=pathlib.Path, help="folder of text files to train it on")
    parser.add_argument("--train-steps", type=int, default=250, help="of 32 x 1024 tokens")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for about 20 GB")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        run = Runner(arguments, pathlib.Path(scratch))
        run.checkpoints = make_checkpoints(run)
        try:
            for name in arguments.steps:
                step, limit = STEPS[name]
                run.report.begin(name, step.__doc__)
                start = time.monotonic()
                run.step_end = start + limit
                try:
                    step(run)
                except Exception as error:  # a failed step must not cost the rest
                    run.report.note(f"failed: {type(error).__name__}: {error}")
                run.report.note(f"{time.monotonic() - start:.1f} s")
                print(section_text(run.report.sections[-1]), flush=True)
        finally:
            run.checkpoints.kill()


if __name__ == "__main__":
    main()
