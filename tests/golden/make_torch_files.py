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
import struct
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


def changed(content, old, new):
    """The archive with other bytes in its pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as read, zipfile.ZipFile(out, "w") as written:
        for name in read.namelist():
            part = read.read(name)
            written.writestr(name, part.replace(old, new) if name.endswith("data.pkl") else part)
    return out.getvalue()


def pickled(tensors, shape):
    """An archive whose tensors share one list of sizes."""
    text = lambda value: b"X" + struct.pack("<I", len(value)) + value.encode()
    sizes = b"(" + b"".join(b"J" + struct.pack("<i", size) for size in shape) + b"t"
    content = b"\x80\x02}" + b"0" + sizes + b"q\x010}"
    for name in tensors:
        content += (text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
                    b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x01tQK\x00h\x01h\x01" +
                    b"\x89NtRs")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        written.writestr("archive/data.pkl", content + b".")
        written.writestr("archive/data/0", bytes(4))
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
        # Bytes of float32 as another type: torch refuses the archive, and reads the numbers of the
        # older form wrong.
        "other_type.bin": changed(saved({"a": torch.ones(4)}), b"FloatStorage", b"BFloat16Storage"),
        "other_type_legacy.bin": saved({"a": torch.ones(4)}, _use_new_zipfile_serialization=False)
                                 .replace(b"FloatStorage", b"BFloat16Storage"),
        "other_size.bin": changed(saved({"a": torch.ones(4)}), b"K\x04tq\x07Q", b"K\x03tq\x07Q"),
        "two_types.bin": changed(saved({"a": torch.ones(1), "b": torch.ones(1).bfloat16()}),
                                 b"X\x01\x00\x00\x001", b"X\x01\x00\x00\x000"),
        "many_sizes.bin": pickled(["a", "b"], [1] * 65),
        "same_name.bin": pickled(["a", "a"], [1]),
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
