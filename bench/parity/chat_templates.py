#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the texts that lime-capture --chat makes of chat templates with transformers'.

    bench/parity/chat_templates.py FOLDER [--build build/release] [--checkpoint ../shared/checkpoints/stories260k]

FOLDER contains templates, *.jinja, of released models. Every conversation of
tests/golden/make_chat_goldens.py and one that ends with an answer is written with every template.
Prints the conversations whose text differs, or that only one side refuses; exits with 1 if there are
any. Needs h5py, jinja2 and transformers.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import jinja2
from transformers.utils.chat_template_utils import render_jinja_template

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

from make_chat_goldens import CHATS, TOKENS  # noqa: E402


def expected(template, messages):
    try:
        texts, _ = render_jinja_template(
            [messages], chat_template=template,
            add_generation_prompt=messages[-1]["role"] != "assistant", **TOKENS)
        return texts[0]
    except (jinja2.exceptions.TemplateError, TypeError):
        return None


def ours(program, folder, template, messages):
    (folder / "chat_template.jinja").write_text(template)
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENS))
    (folder / "chat.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    done = subprocess.run([program, "--checkpoint", folder, "--chat", "--lines",
                           folder / "chat.jsonl", "--log-likelihood", "--quiet", "-o",
                           folder / "chat.h5"], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip()
    with h5py.File(folder / "chat.h5") as file:
        text = file["sequences/text"][0].decode()
    (folder / "chat.h5").unlink()
    shutil.rmtree(folder / "chat.shards", ignore_errors=True)
    return text, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--checkpoint", type=pathlib.Path,
                        default=ROOT.parent / "shared" / "checkpoints" / "stories260k")
    options = parser.parse_args()
    chats = {**CHATS, "answered": CHATS["turns"][:2]}
    templates = sorted(options.folder.glob("*.jinja"))
    num_equal, num_refused, num_different = 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "model"
        shutil.copytree(options.checkpoint, folder)
        for template in templates:
            for name, messages in chats.items():
                want = expected(template.read_text(), messages)
                got, error = ours(options.build / "bin" / "lime-capture", folder,
                                  template.read_text(), messages)
                num_equal += got == want
                num_refused += got is None and want is None
                if got != want:
                    num_different += 1
                    print(f"{template.name}, {name}:\n  {want!r}\n  {got!r} {error}")
    print(f"{len(templates)} templates, {len(chats)} conversations: {num_equal} equal, of which "
          f"{num_refused} are refused by both, {num_different} different")
    sys.exit(num_different > 0)


if __name__ == "__main__":
    main()
