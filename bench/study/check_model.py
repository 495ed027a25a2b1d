# SPDX-License-Identifier: Apache-2.0
"""Repeats what scripts/study.sh captured and scored with transformers, from the same GGUF file.

    check_model.py OUT MODEL.gguf [--sequences 2]

Activations, attention and the lens are compared on the first sequences, sweeps on all of them for selected layers and
heads, BLiMP and benchmarks on a few items of each task. Prints a Markdown table as check_measurements.py does, into the
same OUT/checks.json. Everything is float32, as in the study. Needs torch, transformers, gguf and h5py.
"""

import argparse
import contextlib
import json
import pathlib

import numpy
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from common import Capture, Report, Results


def load(path):
    path = pathlib.Path(path)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32,
                                                 attn_implementation="eager")
    return model.eval()


@contextlib.contextmanager
def hooked(pairs):
    """pairs: (module, forward hook)"""
    handles = [module.register_forward_hook(hook) for module, hook in pairs]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def first(output):
    return output[0] if isinstance(output, tuple) else output


def relative(rows, reference):
    """Returns the largest relative error of a row."""
    return float((numpy.linalg.norm(rows - reference, axis=1) / numpy.linalg.norm(reference, axis=1)).max())


def check_activations(add, out, model, sequences):
    capture = Capture(out / "base.h5")
    layers = model.model.layers
    hidden, values, shares = [], [], []
    for number in range(sequences):
        begin, end = capture.offsets[number], capture.offsets[number + 1]
        streams = {}

        def store(key):
            return lambda _, __, result: streams.update({key: first(result)[0]})

        hooks = [(block, store(("hidden", layer))) for layer, block in enumerate(layers)]
        # A linear map returns a tensor [1, tokens, dim].
        hooks += [(block.self_attn.v_proj, store(("values", layer))) for layer, block in enumerate(layers)]
        with hooked(hooks), torch.no_grad():
            result = model.model(torch.tensor(capture.ids()[number][None].astype(numpy.int64)), output_attentions=True)
        for layer in range(len(layers)):
            for site, errors in (("hidden", hidden), ("values", values)):
                rows = capture.file[f"activations/{site}/{layer:03}"][begin:end]
                errors.append((relative(rows, streams[site, layer].numpy()), 0))
            profile = capture.file[f"activations/attn.hook_profile/{layer:03}"][begin:end, 3::6]
            weights = result.attentions[layer][0, :, :, 0].numpy().T
            shares += zip(profile.ravel(), weights.ravel())
    what = f"{sequences} sequences, 30 layers: largest relative error of a row"
    add(f"hidden states, {what}", "transformers", hidden)
    add(f"values, {what}", "transformers", values)
    add("attention of each query on the first token, the same", "transformers", shares)


def losses(model, ids):
    """Returns the mean loss of each sequence."""
    found = []
    with torch.no_grad():
        for own in ids:
            tokens = torch.tensor(own[None].astype(numpy.int64))
            logits = model(tokens).logits[0, :-1]
            found.append(torch.nn.functional.cross_entropy(logits, tokens[0, 1:]).item())
    return numpy.array(found)


def zero(_, __, result):
    return (torch.zeros_like(result[0]), *result[1:]) if isinstance(result, tuple) else torch.zeros_like(result)


def swept(out, name):
    """Returns the results of a sweep and the ids of its sequences: cut from the text of the influence capture."""
    path = out / f"{name}.json"
    results, length = Results(path), json.loads(path.read_text())["options"]["seq_len"]
    stream = numpy.concatenate(Capture(out / "influence.h5").ids())
    return results, [stream[i * length:(i + 1) * length] for i in range(results.find(part="original")["n"])]


def check_sweeps(add, out, model):
    layers, ids = swept(out, "sweep-layers")
    base, compared = losses(model, ids), []
    add("loss of the original model", "transformers", [(layers.find(part="original")["loss"], base.mean())])
    for layer in (0, 11, 16, 29):
        block = model.model.layers[layer]
        with hooked([(block.self_attn, zero), (block.mlp, zero)]):
            compared.append((layers.find(part="layer", layer=layer)["effect"], (losses(model, ids) - base).mean()))
    add("effect of skipping layers 0, 11, 16, 29 on the loss", "transformers with hooks", compared)


def check_edits(add, out, model):
    """Block 11 adds nothing at the first position, or at all others."""
    compared = []
    for name, positions in (("edit-first", slice(0, 1)), ("edit-others", slice(1, None))):
        results, ids = swept(out, name)

        def without(_, __, result, positions=positions):
            changed = first(result).clone()
            changed[:, positions] = 0
            return (changed, *result[1:]) if isinstance(result, tuple) else changed

        block = model.model.layers[11]
        with hooked([(block.self_attn, without), (block.mlp, without)]):
            compared.append((results.find(part="edits")["loss"], losses(model, ids).mean()))
    add("loss with block 11 skipped at position 0, and at all others", "transformers with hooks", compared)


def check_sublayers(add, out, model):
    sublayers, ids = swept(out, "sweep-sublayers")
    base, compared = losses(model, ids), []
    for layer, part in ((0, "mlp"), (11, "mlp"), (11, "attention"), (29, "attention")):
        block = model.model.layers[layer]
        with hooked([(block.mlp if part == "mlp" else block.self_attn, zero)]):
            compared.append((sublayers.find(part=part, layer=layer)["effect"], (losses(model, ids) - base).mean()))
    add("effect of skipping four sublayers", "transformers with hooks", compared)


def check_heads(add, out, model):
    heads, ids = swept(out, "sweep-heads")
    base, compared = losses(model, ids), []
    dim = model.config.hidden_size // model.config.num_attention_heads
    strongest = sorted((row for row in heads.rows if row["part"] == "head"), key=lambda row: -abs(row["effect"]))
    for row in strongest[:3] + strongest[100:102]:
        def without(_, arguments, head=row["head"]):
            z = arguments[0].clone()
            z[..., head * dim:(head + 1) * dim] = 0
            return (z,)
        handle = model.model.layers[row["layer"]].self_attn.o_proj.register_forward_pre_hook(without)
        compared.append((row["effect"], (losses(model, ids) - base).mean()))
        handle.remove()
    add("effect of zeroing five heads", "transformers with hooks", compared)


def distributions(model, stream):
    with torch.no_grad():
        return torch.log_softmax(model.lm_head(model.model.norm(torch.tensor(stream, dtype=torch.float32))), -1)


def lens_columns(logs, last, ids):
    """Returns KL(final || layer), entropy, and the loss of the next token."""
    right = logs[:-1].gather(1, torch.tensor(ids[1:].astype(numpy.int64))[:, None])[:, 0]
    kl = (last.exp() * (last - logs)).sum(1)
    return kl.numpy(), -(logs.exp() * logs).sum(1).numpy(), -right.numpy()


def check_lens(add, out, model):
    """The first sequence: its tokens have the same context in both captures."""
    base, lens = Capture(out / "base.h5"), Capture(out / "lens.h5")
    end, ids = lens.offsets[1], lens.ids()[0]
    columns = {0: [], 1: [], 3: []}
    last = distributions(model, base.file["activations/hidden/029"][:end])
    for layer in lens.layers("logit_lens"):
        logs = distributions(model, base.file[f"activations/hidden/{layer:03}"][:end])
        rows = lens.file[f"activations/logit_lens/{layer:03}"][:end]
        for column, values in zip(columns, lens_columns(logs, last, ids)):
            columns[column] += zip(rows[:len(values), column], values)
    for column, name in ((0, "divergence from the final layer"), (1, "entropy"), (3, "loss")):
        add(f"logit lens, {name} of each token", "transformers", columns[column])


def ridge_map(x, y, ridge):
    mean_x, mean_y = x.mean(0), y.mean(0)
    x, y = x - mean_x, y - mean_y
    gram = x.T @ x + ridge * (x**2).sum() / x.shape[1] * numpy.eye(x.shape[1])
    matrix = numpy.linalg.solve(gram, x.T @ y)
    return matrix, mean_y - mean_x @ matrix


def check_tuned_lens(add, out, model):
    capture, results = Capture(out / "base.h5"), Results(out / "tuned-lens.json")
    x, y = capture.rows("hidden", 19), capture.rows("hidden", 29)
    parts, ids = capture.parts(), capture.ids()
    maps = [ridge_map(*(rows[numpy.concatenate(parts[1 - parity::2])] for rows in (x, y)), 0.001) for parity in (0, 1)]
    found = []
    for number, part in enumerate(parts):
        matrix, offset = maps[number % 2]
        logs = distributions(model, x[part] @ matrix + offset)
        kl, entropy, loss = lens_columns(logs, distributions(model, y[part]), ids[number])
        found.append((kl[:-1].mean(), entropy[:-1].mean(), loss.mean()))
    add("tuned lens of layer 19: divergence, entropy, loss", "numpy and transformers",
        [(results.find(layer=19, measure=name)["mean"], value)
         for name, value in zip(("kl_to_final", "entropy", "loss"), numpy.mean(found, axis=0))])


def log_likelihood(model, context, continuation):
    """Returns the sum of the log-probabilities of the continuation's ids."""
    with torch.no_grad():
        logs = torch.log_softmax(model(torch.tensor([context + continuation])).logits[0], -1)
    picked = logs[len(context) - 1:-1].gather(1, torch.tensor(continuation)[:, None])
    return picked.double().sum().item()


def check_blimp(add, out, model, tokenizer, items):
    scores = []
    for line in (out / "judgements.jsonl").read_text().splitlines():
        item = json.loads(line)
        if item["pair"] < items:
            for kind in ("good", "bad"):
                ids = tokenizer(" " + item[f"sentence_{kind}"], add_special_tokens=False).input_ids
                prefix = [tokenizer.bos_token_id]
                scores.append((item[f"log_likelihood_{kind}"], log_likelihood(model, prefix, ids)))
    add("BLiMP, log-likelihoods of sentences", "transformers", scores)


def check_benchmarks(add, out, model, tokenizer, items):
    scores, equal = {}, {}
    for line in (out / "samples.jsonl").read_text().splitlines():
        item = json.loads(line)
        if item["doc_id"] >= items:
            continue
        theirs = []
        for request in item["arguments"].values() if isinstance(item["arguments"], dict) else item["arguments"]:
            context, continuation = request.values() if isinstance(request, dict) else request
            whole = tokenizer(context + continuation, add_special_tokens=False).input_ids
            ids = tokenizer(context, add_special_tokens=False).input_ids
            theirs.append(log_likelihood(model, ids, whole[len(ids):]))
        ours = [float(response[0][0]) for response in item["resps"]]
        scores.setdefault(item["task"], []).extend(zip(ours, theirs))
        equal.setdefault(item["task"], []).append((numpy.argmax(ours), numpy.argmax(theirs)))
    for task in scores:
        add(f"{task}, log-likelihoods of the choices of {items} items", "transformers", scores[task])
    add("the selected choices", "transformers", [pair for pairs in equal.values() for pair in pairs])


def check_generation(add, out, model, tokenizer):
    for name, prompt in (("generation", "The capital of France is"), ("chat", None)):
        if prompt is None:
            message = [{"role": "user", "content": "What is the capital of France?"}]
            prompt = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
        result = model.generate(ids, max_new_tokens=40, do_sample=False, repetition_penalty=1.0)
        theirs = tokenizer.decode(result[0, ids.shape[1]:], skip_special_tokens=True)
        ours = (out / f"{name}.txt").read_text()
        add(f"greedy {name}, characters that differ at the end of the text", "transformers",
            [(0 if theirs.strip() and ours.strip().endswith(theirs.strip()) else len(theirs), 0)])


def check_quantised(add, out, paths, sequences):
    compared, hidden = [], []
    for name, path in paths.items():
        model = load(path)
        lens, base = Capture(out / f"lens-{name}.h5"), Capture(out / f"{name}.h5")
        ids = lens.ids()[:sequences]
        ours = [lens.file["activations/logit_lens/029"][begin:end - 1, 3].mean()
                for begin, end in zip(lens.offsets[:sequences], lens.offsets[1:])]
        compared += zip(ours, losses(model, ids))
        streams = []
        with hooked([(model.model.layers[11], lambda _, __, result: streams.append(first(result)[0].numpy()))]):
            losses(model, ids[:1])
        # The first tokens have the same context in both captures.
        hidden.append((relative(base.file["activations/hidden/011"][:len(ids[0])], streams[0]), 0))
    add(f"loss of {sequences} sequences in {', '.join(paths)}", "transformers", compared)
    add("hidden states of layer 11 of these: largest relative error of a row", "transformers", hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--sequences", type=int, default=2)
    parser.add_argument("--items", type=int, default=2)
    arguments = parser.parse_args()
    out, count, report = arguments.out, arguments.sequences, Report(arguments.out)
    model = load(arguments.model)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model.parent, gguf_file=arguments.model.name)
    report.run("activations", check_activations, out, model, count)
    report.run("layers", check_sweeps, out, model)
    report.run("edits", check_edits, out, model)
    report.run("sublayers", check_sublayers, out, model)
    report.run("heads", check_heads, out, model)
    report.run("lens", check_lens, out, model)
    report.run("tuned lens", check_tuned_lens, out, model)
    report.run("blimp scores", check_blimp, out, model, tokenizer, arguments.items)
    report.run("benchmark scores", check_benchmarks, out, model, tokenizer, 2 * arguments.items)
    report.run("generation", check_generation, out, model, tokenizer)
    paths = {name: out / "quantised" / f"{name}.gguf" for name in ("F16", "Q8_0", "Q4_0")}
    report.run("quantised scores", check_quantised, out, paths, count)
    report.print()


if __name__ == "__main__":
    main()
