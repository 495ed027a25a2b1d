#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/torch: small files of torch.save and what they contain, for tests of
parse_torch_file(), and the seeds of the fuzzing corpus tests/fuzz/corpus/torch_file.

    python3 tests/golden/make_torch_files.py        (needs torch; last run with 2.15.0)
"""
import collections
import io
import json
import os
import pathlib
import pickle
import zipfile

import torch

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = [ROOT / "golden" / "torch", ROOT / "fuzz" / "corpus" / "torch_file"]


class Command:
    """Would run a command if the pickle were executed."""

    def __reduce__(self):
        return os.system, ("touch /tmp/lime-executed-a-pickle",)


class Model(torch.nn.Module):
    """Every weight dtype, views that share a storage, a scalar and an empty tensor."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        table = torch.randn(6, 4)
        self.embedding = torch.nn.Parameter(table)
        self.output = self.embedding
        self.register_buffer("rows", table[2:5])
        self.register_buffer("halves", torch.randn(3, 2).half())
        self.register_buffer("bfloats", torch.randn(5).bfloat16())
        self.register_buffer("doubles", torch.randn(2, 1, 2, dtype=torch.float64))
        self.register_buffer("scalar", torch.tensor(2.5))
        self.register_buffer("none", torch.zeros(0, 3))
        self.register_buffer("mask", torch.tensor([[True, False]]))
        self.register_buffer("counts", torch.tensor([1, -2, 3]))


def saved(value, **options):
    out = io.BytesIO()
    torch.save(value, out, **options)
    return out.getvalue()


def repacked(content, **options):
    """The same archive, written by Python's zipfile."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as read, zipfile.ZipFile(out, "w", **options) as written:
        for name in read.namelist():
            written.writestr(name, read.read(name))
    return out.getvalue()


def main():
    state = Model().state_dict()
    parameters = collections.OrderedDict(state, embedding=torch.nn.Parameter(state["embedding"]))
    contents = {
        "zip.bin": saved(state),
        "protocol4.bin": saved(state, pickle_protocol=4),
        "legacy.bin": saved(state, _use_new_zipfile_serialization=False),
        "dict.bin": saved(dict(state)),
        "parameters.bin": saved(parameters),
        "plain_zip.bin": repacked(saved(state)),
        "compressed.bin": repacked(saved(state), compression=zipfile.ZIP_DEFLATED),
        "transposed.bin": saved({"a": torch.zeros(2, 3).t()}),
        "nested.bin": saved({"model": dict(state)}),
        "module.bin": saved({"a": torch.nn.Identity()}),
        "command.bin": saved({"a": Command()}),
        "command_legacy.bin": saved({"a": Command()}, _use_new_zipfile_serialization=False),
        "pickle.bin": pickle.dumps({"a": 1}, protocol=2),
    }
    for folder in FOLDERS:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
    expected = {name: {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape),
                       "values": value.double().flatten().tolist()} for name, value in state.items()}
    (FOLDERS[0] / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
