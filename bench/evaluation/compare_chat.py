#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the prompts and log-likelihoods of `lime-eval --chat` with those of lm-evaluation-harness, line by line.

Needs lm_eval 0.4.13 and transformers. Exits with 1 if a context, continuation, target or answer differs, or a
log-likelihood by more than 1e-3.

    compare_chat.py CHECKPOINT [--tasks hellaswag arc_easy winogrande ...] [--data FOLDER] [--shots 0 3] [--limit 10]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TASKS = {
    "arc_easy": "arc/arc_easy.yaml",
    "copa": "super_glue/copa/default.yaml",
    "hellaswag": "hellaswag/hellaswag.yaml",
    "multirc": "super_glue/multirc/default.yaml",
    "openbookqa": "openbookqa/openbookqa.yaml",
    "piqa": "piqa/piqa.yaml",
    "qnli": "glue/qnli/default.yaml",
    "wic": "super_glue/wic/default.yaml",
    "winogrande": "winogrande/default.yaml",
}
SYSTEM = "You are a helpful assistant."


def local_task(folder: pathlib.Path, task: str, data: pathlib.Path) -> None:
    """Writes a task of the harness that reads local files."""
    import lm_eval

    template = pathlib.Path(lm_eval.__file__).parent / "tasks" / TASKS[task]
    split = "test" if task in ("arc_easy", "openbookqa") else "validation"
    extra = "validation_split: null\n" if split == "test" else ""
    folder.joinpath(f"{task}.yaml").write_text(
        f"include: {template}\ntask: local_{task}\ndataset_path: json\ndataset_name: null\ntag: null\n{extra}"
        f"dataset_kwargs:\n  data_files:\n    train: {data / f'{task}.fewshot.jsonl'}\n"
        f"    {split}: {data / f'{task}.eval.jsonl'}\n"
    )


def lines_of_harness(model, folder, task, shots, limit, multiturn, system):
    import lm_eval
    from lm_eval.tasks import TaskManager

    found = lm_eval.simple_evaluate(
        model, tasks=[f"local_{task}"], num_fewshot=shots, limit=limit, apply_chat_template=True,
        fewshot_as_multiturn=multiturn, system_instruction=system, log_samples=True, bootstrap_iters=0,
        task_manager=TaskManager(include_path=str(folder)),
    )
    return sorted(found["samples"][f"local_{task}"], key=lambda one: one["doc_id"])


def lines_of_lime(options, folder, task, shots, multiturn, system):
    output = folder / "own.jsonl"
    output.unlink(missing_ok=True)
    command = [
        options.programs / "lime-eval", "--checkpoint", options.checkpoint, "--tasks", task, "--data",
        options.data / f"{task}.eval.jsonl", "--fewshot-data", options.data / f"{task}.fewshot.jsonl", "--shots", shots,
        "--limit", options.limit, "--chat", "--fewshot-as-multiturn", str(multiturn).lower(), "--quiet", "-o", output,
    ]
    command += ["--system-instruction", system] if system else []
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in output.read_text().splitlines()]


def compare(harness, own):
    """Returns the number of differences and the largest one of log-likelihoods."""
    wrong, largest = abs(len(harness) - len(own)), 0.0
    for theirs, ours in zip(harness, own):
        for index, pair in enumerate(theirs["arguments"]):
            mine = ours["arguments"][f"gen_args_{index}"]
            wrong += pair[0] != mine["arg_0"] or pair[1] != mine["arg_1"]
        for (a, greedy), ((b, own_greedy),) in zip(theirs["filtered_resps"], ours["resps"]):
            largest = max(largest, abs(float(a) - float(b)))
            wrong += str(greedy) != own_greedy
        wrong += float(theirs["acc"]) != ours["acc"]
        if "acc_norm" in ours:
            wrong += float(theirs["acc_norm"]) != ours["acc_norm"]
    return wrong, largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    shared = pathlib.Path(os.environ.get("LIME_TEST_DATA", root.parent / "shared"))
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--data", type=pathlib.Path, default=shared / "benchmarks/lm-eval-goldens/data")
    parser.add_argument("--shots", nargs="+", type=int, default=[0, 3])
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--programs", type=pathlib.Path, default=root / "build/release/bin")
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=str(options.checkpoint), dtype="float32", device="cpu", batch_size=4)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
        for task in options.tasks:
            local_task(folder, task, options.data)
            for shots in options.shots:
                for multiturn, system in ((True, None), (False, None), (True, SYSTEM)) if shots else ((True, None),):
                    harness = lines_of_harness(model, folder, task, shots, options.limit, multiturn, system)
                    own = lines_of_lime(options, folder, task, shots, multiturn, system)
                    wrong, largest = compare(harness, own)
                    failures += wrong + (largest > 1e-3)
                    print(
                        f"{task}, {shots} shots, multiturn {multiturn}, {'system' if system else 'no system'}: "
                        f"{len(own)} items, {wrong} differences, log-likelihoods differ by at most {largest:.2g}",
                        flush=True,
                    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
