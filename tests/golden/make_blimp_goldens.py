# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/blimp_log_likelihoods.json: log-likelihoods of BLiMP sentences by transformers.

Run:  python make_blimp_goldens.py DATA                      (numpy, torch, transformers, sentencepiece)
      python make_blimp_goldens.py DATA --check CAPTURE.h5   (also h5py) compares every sentence of a
                                                             capture made with --log-likelihood
      python make_blimp_goldens.py DATA --harness            (also lm_eval) scores the same sentences
                                                             with lm-evaluation-harness

DATA contains checkpoints/stories260k and blimp/*.jsonl. The file identifies sentences by task and
line, so it contains no text of BLiMP: for each pair, log-likelihood and number of tokens of the good
and the bad sentence. Scores are those of lm-evaluation-harness (task blimp: the empty context
becomes the prefix token, BOS or else EOS; the continuation is a space and the sentence, encoded
without special tokens; log-probabilities are summed), and without the space for blimp-paper.
"""

import argparse
import json
import pathlib

import numpy as np
import sentencepiece
import torch
import transformers

HERE = pathlib.Path(__file__).parent
SPACE = {"lm-eval": " ", "blimp-paper": ""}
LINES = (0, 500, 999)
TIES = {"passive_1": [324, 810], "principle_A_case_2": [105, 287, 372, 816, 967]}


class Scorer:
    """Sums the log-probabilities of sentences in batches."""

    def __init__(self, folder, dtype):
        self.tokenizer = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()

    def encode(self, sentence, preset):
        return self.tokenizer.encode(SPACE[preset] + sentence)

    def score(self, sentences, preset, batch_size=256):
        """Returns [(log-likelihood, tokens)] in the order of the sentences."""
        encoded = [[self.tokenizer.bos_id()] + self.encode(s, preset) for s in sentences]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        scores = [None] * len(encoded)
        for first in range(0, len(order), batch_size):
            chosen = order[first:first + batch_size]
            longest = max(len(encoded[i]) for i in chosen)
            ids = torch.tensor([encoded[i] + [0] * (longest - len(encoded[i])) for i in chosen])
            with torch.no_grad():
                logits = self.model(ids, use_cache=False).logits[:, :-1].double()
            picked = logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
            for row, i in enumerate(chosen):
                count = len(encoded[i]) - 1
                scores[i] = (picked[row, :count].sum().item(), count)
        return scores


def read_task(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_golden(data, scorer):
    entries = []
    for file in sorted((data / "blimp").glob("*.jsonl")):
        pairs = read_task(file)
        lines = list(LINES) + TIES.get(file.stem, [])
        entries += [(file.stem, line, pairs[line]) for line in lines]
    sentences = [p[key] for _, _, p in entries for key in ("sentence_good", "sentence_bad")]
    scores = {preset: scorer.score(sentences, preset) for preset in SPACE}
    golden = {
        "made_by": "tests/golden/make_blimp_goldens.py",
        "versions": f"transformers {transformers.__version__}, torch {torch.__version__}, "
                    f"sentencepiece {sentencepiece.__version__}",
        "layout": "pairs: task, line from 0, and per preset log-likelihood and tokens of the good "
                  "and of the bad sentence; model and sums in float64",
        "pairs": [],
    }
    for i, (task, line, _) in enumerate(entries):
        pair = {"task": task, "line": line}
        for preset in SPACE:
            (good, good_tokens), (bad, bad_tokens) = scores[preset][2 * i:2 * i + 2]
            pair[preset] = [good, good_tokens, bad, bad_tokens]
        golden["pairs"].append(pair)
    lines = json.dumps(golden).replace('{"task"', '\n{"task"')
    (HERE / "blimp_log_likelihoods.json").write_text(lines + "\n")
    print(f"{len(entries)} pairs")


def check_capture(scorer, path):
    import h5py
    with h5py.File(path) as file:
        preset = json.loads(file.attrs["options"])["blimp_preset"]
        texts = [text.decode() for text in file["sequences/text"][:]]
        ours = file["sequences/log_likelihood"][:]
        tokens = file["sequences/scored_tokens"][:]
        labels = file["sequences/label"][:]
        tasks = file["sequences/task"][:]
        names = [str(name) for name in file["sequences/task"].attrs["names"]]
    scores = scorer.score(texts, preset)
    theirs = np.array([score for score, _ in scores])
    assert (tokens == [count for _, count in scores]).all(), "numbers of tokens differ"
    assert (labels[0::2] == 1).all() and (labels[1::2] == 0).all()
    print(f"{preset}: {len(texts)} sentences, largest relative difference "
          f"{(np.abs(ours - theirs) / np.abs(theirs)).max():.3g}")
    strict = preset == "blimp-paper"
    accuracies = []
    for task, name in enumerate(names):
        chosen = tasks[0::2] == task
        good, bad = theirs[0::2][chosen], theirs[1::2][chosen]
        accuracies.append(((good > bad) if strict else (good >= bad)).mean())
        print(f"  {name} {accuracies[-1]:.4f}")
    print(f"mean over {len(names)} tasks: {np.mean(accuracies):.6f}")


def harness_model(scorer, batch_size=32):
    """Wraps the scorer's model in lm-evaluation-harness's own class."""
    from lm_eval.models.huggingface import HFLM

    class Tokenizer(transformers.PreTrainedTokenizer):
        """Adapts the checkpoint's tokenizer.model to the harness."""

        def __init__(self):
            self.model = scorer.tokenizer
            super().__init__(bos_token="<s>", eos_token="</s>", unk_token="<unk>")

        vocab_size = property(lambda self: self.model.vocab_size())

        def get_vocab(self):
            return {self.model.id_to_piece(i): i for i in range(self.vocab_size)}

        def _tokenize(self, text, **_):
            return self.model.encode(text, out_type=str)

        def _convert_token_to_id(self, token):
            return self.model.piece_to_id(token)

        def _convert_id_to_token(self, index):
            return self.model.id_to_piece(index)

    return HFLM(pretrained=scorer.model, tokenizer=Tokenizer(), batch_size=batch_size)


def check_harness(data, scorer):
    """Scores the same sentences with lm-evaluation-harness's own loglikelihood()."""
    from lm_eval.api.instance import Instance
    import lm_eval

    model = harness_model(scorer)
    sentences = []
    for file in sorted((data / "blimp").glob("*.jsonl")):
        for pair in read_task(file)[:20]:
            sentences += [pair["sentence_good"], pair["sentence_bad"]]
    requests = [Instance("loglikelihood", {}, ("", " " + s), i) for i, s in enumerate(sentences)]
    theirs = np.array([score for score, _ in model.loglikelihood(requests, disable_tqdm=True)])
    ours = np.array([score for score, _ in scorer.score(sentences, "lm-eval")])
    print(f"lm_eval {lm_eval.__version__}: {len(sentences)} sentences, largest relative difference "
          f"{(np.abs(ours - theirs) / np.abs(theirs)).max():.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--harness", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    folder = arguments.data / "checkpoints" / "stories260k"
    if arguments.check:
        check_capture(Scorer(folder, torch.float64), arguments.check)
    elif arguments.harness:
        check_harness(arguments.data, Scorer(folder, torch.float32))
    else:
        write_golden(arguments.data, Scorer(folder, torch.float64))


if __name__ == "__main__":
    main()
