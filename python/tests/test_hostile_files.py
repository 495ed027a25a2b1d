# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged, or made to read other files, crash or hang: read or refused as documented."""

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from read_files import Reader, mutant, unexpected

import lime_toolkit as lt
from lime_toolkit import _lime_toolkit as _core
from lime_toolkit import _provenance

h5py = pytest.importorskip("h5py")

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
SECRET = 1234.5


@pytest.fixture(scope="module")
def reader():
    with Reader() as one:
        yield one


@pytest.fixture
def secret(tmp_path) -> Path:
    """A file of the user that is no part of the capture: HDF5 and raw numbers at once."""
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["data"] = np.full((166, 24), SECRET, np.float32)
        file["flat"] = np.full(166, 77, np.int32)
    (tmp_path / "secret.raw").write_bytes(np.full((166, 24), SECRET, np.float32).tobytes())
    return path


def replaced(plain, name, put):
    """Replaces a dataset of a capture by what `put(group, name)` creates."""
    with h5py.File(plain, "r+") as file:
        attributes = dict(file[name].attrs)
        del file[name]
        group, _, last = name.rpartition("/")
        put(file[group], last)
        if isinstance(file[group].get(last, getlink=True), h5py.HardLink):
            file[name].attrs.update(attributes)
    return plain


def external_data(group, name):
    group.create_dataset(name, (166, 24), "<f4", external=[("secret.raw", 0, 166 * 24 * 4)])


def external_link(group, name):
    group[name] = h5py.ExternalLink("secret.h5", "/data")


def soft_link(group, name):
    group[name] = h5py.SoftLink("/activations/hidden/001")


def virtual(group, name):
    layout = h5py.VirtualLayout((166, 24), "<f4")
    layout[:] = h5py.VirtualSource("secret.h5", "data", (166, 24))
    group.create_virtual_dataset(name, layout)


@pytest.mark.parametrize("put", [external_data, external_link, soft_link, virtual])
def test_no_activations_of_other_files_are_read(plain, secret, put):
    replaced(plain, "activations/hidden/000", put)
    with pytest.raises((ValueError, KeyError), match="in other files|virtual dataset|has no layer 0 of site"):
        lt.Capture(plain)["hidden", 0][:]


@pytest.mark.parametrize("name", ["rows/token", "sequences/offset", "statistics/hidden/000/mean"])
def test_no_tables_of_other_files_are_read(plain, secret, name):
    with h5py.File(plain) as file:
        shape, dtype = file[name].shape, file[name].dtype
    (secret.parent / "secret.raw").write_bytes(b"\1" * 4096)
    replaced(plain, name, lambda group, last: group.create_dataset(
        last, shape, dtype, external=[("secret.raw", 0, int(np.prod(shape)) * dtype.itemsize)]))
    with pytest.raises(ValueError, match="stores its data in other files, which is not allowed"):
        capture = lt.Capture(plain)
        capture.statistics("hidden", 0)
        capture.rows


@pytest.mark.parametrize("folder", ["../secret.shards/0.h5", "secret.h5", "/etc/0.h5", "a.shards/../../x.h5"])
def test_shards_are_beside_the_capture(plain, folder):
    record = f'[{{"shard": 0, "file": "{folder}", "first_sequence": 0, "num_sequences": 12, "num_rows": 166, "bytes": 9}}]'
    with h5py.File(plain, "r+") as file:
        file.attrs["shards"] = record
        file.attrs["identity_sha256"] = ""
    with pytest.raises(ValueError, match="which is not a shard next to it"):
        lt.Capture(plain)


def embeddings_file(path):
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "lime-embeddings"
        file.attrs["schema_version"] = 1
        group = file.create_group("captures/0")
        group.attrs["label"] = "LIMe"
        for name, dtype in (("row", "<i8"), ("sequence", "<i4"), ("position", "<i4"), ("token", "<i4"), ("class", "<i2")):
            group[f"rows/{name}"] = np.zeros(5, dtype)
        group["rows/class"].attrs["names"] = ["a", "b"]
        group["values/003"] = np.arange(10, dtype=np.float32).reshape(5, 2)
        group["values/003"].attrs["kl_divergence"] = 0.5
    return path


def test_reads_embeddings(tmp_path):
    embeddings = lt.Embeddings(embeddings_file(tmp_path / "e.h5"))
    assert embeddings.keys() == [("LIMe", "values", 3)] and embeddings.labels == ["LIMe"]
    assert np.array_equal(embeddings["LIMe", "values", 3], np.arange(10, dtype=np.float32).reshape(5, 2))
    assert embeddings.kl_divergence("LIMe", "values", 3) == 0.5 and embeddings.class_names == {"LIMe": ["a", "b"]}
    assert {name: column.dtype.name for name, column in embeddings.rows("LIMe").items()} == {
        "row": "int64", "sequence": "int32", "position": "int32", "token": "int32", "class": "int16"}
    with pytest.raises(KeyError, match="has no embedding of LIMe, values, layer 4"):
        embeddings["LIMe", "values", 4]


@pytest.mark.parametrize("put", [external_data, virtual])
def test_no_embeddings_of_other_files_are_read(tmp_path, secret, put):
    path = replaced(embeddings_file(tmp_path / "e.h5"), "captures/0/values/003", put)
    with pytest.raises(ValueError, match="in other files|virtual dataset"):
        lt.Embeddings(path)


def test_links_of_embeddings_are_not_followed(tmp_path, secret):
    path = replaced(embeddings_file(tmp_path / "e.h5"), "captures/0/values/003", external_link)
    assert lt.Embeddings(path).keys() == []
    replaced(path, "captures/0/rows/token", external_link)
    with pytest.raises(ValueError, match="has no 'captures/0/rows/token'"):
        lt.Embeddings(path)


@pytest.mark.parametrize("path", sorted((CORPUS / "capture").iterdir()), ids=lambda path: path.name)
def test_files_of_the_corpus_are_read_or_refused(reader, path):
    outcomes = reader(path)
    assert not unexpected(outcomes)
    if path.name.startswith("found-endless") or path.name == "found-unlisted":
        assert "is damaged or malicious: HDF5" in outcomes[0]


@pytest.mark.parametrize("path", sorted((CORPUS / "shards").iterdir()), ids=lambda path: path.name)
def test_shards_of_the_corpus_are_read_or_refused(reader, tmp_path, path):
    content = path.read_bytes()
    length = int.from_bytes(content[:4], "little")
    (tmp_path / "capture.shards").mkdir()
    (tmp_path / "capture.h5").write_bytes(content[4 : 4 + length])
    (tmp_path / "capture.shards" / "00000.h5").write_bytes(content[4 + length :])
    assert not unexpected(reader(tmp_path / "capture.h5"))


@pytest.mark.parametrize(
    "name, reason",
    [
        ("found-endless", "is damaged or malicious: HDF5"),
        ("found-unlisted", "is damaged or malicious: HDF5"),
        ("packed", "belongs to another capture"),
        ("wrong-trailer", "does not match its digest"),
    ],
)
def test_recorder_refuses_shards_of_others(tmp_path, name, reason):
    """A shard of a finished recording is replaced; its record has the new size."""
    path = tmp_path / "run.h5"
    writer = _core.CaptureWriter(path, json.dumps(_provenance.complete({})), [("hidden", 0, 2, "layers.0", 0)], 1, (0, 1))
    shard = writer.begin_shard(0, 0)
    rows = np.zeros((5, 2), np.float32)
    column = np.zeros(5, np.int32)
    shard.append([b"text"], (np.array([-1], np.int8), np.array([-1], np.int32)), np.array([5]), (column, column), [rows])
    shard.finish()
    assert writer.rows(0)[1].tolist() == [0] * 5
    content = (CORPUS / "capture" / name).read_bytes()
    (tmp_path / "run.shards" / "00000.h5").write_bytes(content)
    record = tmp_path / "run.shards" / "00000.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "bytes": len(content)}))
    with pytest.raises(ValueError, match=reason):
        writer.rows(0)


@pytest.mark.parametrize("name", ["packed", "early-format", "half"])
def test_mutants_are_read_or_refused(reader, tmp_path, name):
    """The seeds are fixed; read_files.py reads more of them."""
    content = (CORPUS / "capture" / name).read_bytes()
    generator = random.Random(name)
    wrong = {}
    for i in range(25):
        path = tmp_path / f"{i}.h5"
        path.write_bytes(mutant(content, generator))
        wrong[i] = unexpected(reader(path))
    assert not any(wrong.values()), wrong


def test_helper_that_reads_first_is_installed():
    helper = Path(_core.__file__).parent / "lime-trial-read"
    assert os.access(helper, os.X_OK)
    assert subprocess.run([helper, CORPUS / "capture" / "packed"], timeout=60).returncode == 0


@pytest.mark.parametrize("first", ["h5py", "lime_toolkit"])
def test_shares_a_process_with_h5py(first):
    """h5py brings an HDF5 of its own, of another version."""
    second = "h5py" if first == "lime_toolkit" else "lime_toolkit"
    script = f"""
import sys, {first}, {second}, h5py, lime_toolkit as lt, numpy as np
path = sys.argv[1]
with h5py.File(path) as file, lt.Capture(path) as capture:
    site = capture.sites[0]
    layer = capture.layers(site)[0]
    for _ in range(20):
        stored = file[f"activations/{{site}}/{{layer:03}}"][:]
        assert np.array_equal(capture[site, layer][:], stored)
        with lt.Capture(path) as other:
            assert other.num_rows == len(stored)
"""
    path = CORPUS / "capture" / "packed"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_refuses_to_use_the_library_of_h5py():
    """With RTLD_GLOBAL its symbols replace those of the system's HDF5, if their versions differ."""
    script = """
import os, sys
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
import h5py
sys.setdlopenflags(os.RTLD_NOW)
import lime_toolkit as lt
try:
    print(lt.Capture(sys.argv[1]).num_rows)
except OSError as error:
    print(error)
"""
    path = CORPUS / "capture" / "packed"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=300)
    assert done.stdout == "5\n" or "; load it without RTLD_GLOBAL" in done.stdout, done


def test_several_threads_read_beside_h5py(plain, sequences):
    expected = np.concatenate(sequences)
    failures = []

    def read_here():
        with lt.Capture(plain) as capture:
            for _ in range(30):
                if not np.array_equal(capture["hidden", 0][:], expected):
                    failures.append("lime_toolkit")

    def read_there():
        for _ in range(30):
            with h5py.File(plain) as file:
                if not np.array_equal(file["activations/hidden/000"][:], expected):
                    failures.append("h5py")

    threads = [threading.Thread(target=one) for one in (read_here, read_there, read_here, read_there)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_capture_may_be_closed_while_another_thread_reads(plain):
    capture = lt.Capture(plain)
    began = threading.Event()
    ended = []

    def read():
        try:
            while True:
                capture["hidden", 0][:]
                began.set()
        except ValueError as error:
            ended.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    began.wait()
    capture.close()
    thread.join()
    assert ended == [f"store: '{plain}' was closed; open it again"]


def test_files_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.h5")
    for read in (lt.Capture, lt.Embeddings):
        with pytest.raises(OSError, match="is not a regular file"):
            read(tmp_path / "pipe.h5")
        with pytest.raises(OSError, match="is a folder, expected an HDF5 file"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError, match="does not exist"):
            read(tmp_path / "none.h5")


def test_names_need_not_be_utf8(tmp_path, plain):
    with h5py.File(plain, "r+") as file:
        file.create_group(b"activations/\xff")
        file[b"activations/\xff/001"] = file["activations/hidden/001"]
        file.attrs["note"] = b"\xff\xfe"
        file.attrs["numbers"] = np.array([[1.5, 2.5]])
        file.attrs["empty"] = h5py.Empty("f4")
        file.attrs["flag"] = True
    renamed = tmp_path / os.fsdecode(b"\xff.h5")
    plain.rename(renamed)
    with lt.Capture(renamed) as capture:
        assert "\udcff" in capture.sites and capture["\udcff", 1][:].shape == (166, 24)
        attributes = capture.attributes
        assert attributes["note"] == "\ufffd\ufffd" and attributes["numbers"] == [1.5, 2.5]
        assert attributes["empty"] == [] and attributes["flag"] is None and attributes["schema_version"] == 1
    renamed.write_bytes(b"no HDF5")
    with pytest.raises(ValueError, match="is not an HDF5 file"):
        lt.Capture(renamed)
