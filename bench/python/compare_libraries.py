#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caching and ablating with lime_toolkit, TransformerLens and nnsight: CPU seconds, peak memory, lines of code.

usage: compare_libraries.py MODEL_FOLDER TEXT_FILE [--sequences 24] [--tokens 512] [--batch-size 4] [--repeats 2]
                            [--tasks cache] [--libraries lime_toolkit nnsight]

Needs the package, transformers, transformer-lens and nnsight. Every turn is a process of its own, and contenders take
turns. Measured are the CPU seconds of all threads of the task, without loading, and the largest resident memory of
the process. The code of each contender is below; its lines are counted there.
"""
import argparse
import json
import resource
import subprocess
import sys
import time
from statistics import median

TASKS = {
    ("cache", "lime_toolkit"): """
cached = lt.cache(model, *batches, sites=["hidden"])
last = cached["hidden", 29]
""",
    ("cache", "TransformerLens"): """
parts = []
for batch in batches:
    _, cached = bridge.run_with_cache(batch["input_ids"], names_filter=lambda name: name.endswith("hook_resid_post"))
    parts.append([cached[f"blocks.{layer}.hook_resid_post"] for layer in range(30)])
cached = [torch.cat(layer) for layer in zip(*parts)]
last = cached[29]
""",
    ("cache", "nnsight"): """
parts = []
for batch in batches:
    with nn.trace(batch["input_ids"]):
        states = nnsight.save([block.output for block in nn.model.layers])
    parts.append(states)
cached = [torch.cat(layer) for layer in zip(*parts)]
last = cached[29]
""",
    ("ablate", "lime_toolkit"): """
with lt.edit(model, "zero head layers=10 heads=3"):
    losses = [loss(model(**batch).logits, batch["input_ids"]) for batch in batches]
""",
    ("ablate", "TransformerLens"): """
def zero(z, hook):
    z = z.clone()
    z.view(*z.shape[:2], 9, -1)[:, :, 3] = 0
    return z

hooks = [("blocks.10.attn.hook_z", zero)]
losses = [loss(bridge.run_with_hooks(one["input_ids"], fwd_hooks=hooks), one["input_ids"]) for one in batches]
""",
    ("ablate", "nnsight"): """
losses = []
for batch in batches:
    with nn.trace(batch["input_ids"]):
        projection = nn.model.layers[10].self_attn.o_proj
        z = projection.input.clone()
        z[..., 3 * 64 : 4 * 64] = 0
        projection.input = z
        logits = nn.lm_head.output.save()
    losses.append(loss(logits, batch["input_ids"]))
""",
}


def run(task, library, options):
    """Runs one contender in this process and prints what it took."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    count = options.sequences * options.tokens
    text = open(options.text).read()[: count * 8]
    ids = torch.tensor(tokenizer(text)["input_ids"][:count]).view(options.sequences, options.tokens)
    names = {
        "torch": torch,
        "model": model,
        "batches": [{"input_ids": one} for one in ids.split(options.batch_size)],
        "loss": lambda logits, ids: torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()
        ).item(),
    }
    if library == "lime_toolkit":
        import lime_toolkit

        names["lt"] = lime_toolkit
    elif library == "TransformerLens":
        from transformer_lens.model_bridge import TransformerBridge

        names["bridge"] = TransformerBridge.boot_transformers(
            options.model, hf_model=model, tokenizer=tokenizer, device="cpu"
        )
    else:
        import nnsight

        names |= {"nnsight": nnsight, "nn": nnsight.LanguageModel(model, tokenizer=tokenizer)}
    code = compile_task(task, library)
    before = time.process_time()
    exec(code, names)
    seconds = time.process_time() - before
    if task == "cache":
        import numpy as np

        value = float(np.abs(np.asarray(names["last"])).mean())
    else:
        value = sum(names["losses"]) / len(names["losses"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": seconds, "peak": peak, "value": value}))


def compile_task(task, library):
    """Returns the code; nnsight reads the source of a trace, so it is in a file."""
    import linecache

    name = f"<{task} {library}>"
    source = TASKS[task, library].lstrip()
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return compile(source, name, "exec")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--sequences", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=["cache", "ablate"])
    parser.add_argument("--libraries", nargs="+", default=["lime_toolkit", "TransformerLens", "nnsight"])
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        return run(*options.only, options)
    found = {key: [] for key in TASKS if key[0] in options.tasks and key[1] in options.libraries}
    for _ in range(options.repeats):
        for task, library in found:
            done = subprocess.run([sys.executable, *sys.argv, "--only", task, library], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr[-2000:])
            found[task, library].append(json.loads(done.stdout.splitlines()[-1]))
            print(task, library, found[task, library][-1], file=sys.stderr, flush=True)
    print("| task | library | CPU s | peak memory, GiB | lines of code | value |\n|---|---|---|---|---|---|")
    for (task, library), turns in found.items():
        lines = len([line for line in TASKS[task, library].splitlines() if line.strip()])
        print(f"| {task} | {library} | {median(one['seconds'] for one in turns):.1f} | "
              f"{max(one['peak'] for one in turns):.2f} | {lines} | {turns[0]['value']:.6f} |")


if __name__ == "__main__":
    main()
