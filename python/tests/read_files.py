# SPDX-License-Identifier: Apache-2.0
"""Reads files as captures and as embeddings, with every accessor, each in a process that may crash or hang.

    python3 python/tests/read_files.py FILE...      # prints kind and text of each outcome, then their counts
    python3 python/tests/read_files.py --mutants 500 --seed 1 FILE...    # of random changes of these files
"""

import argparse
import collections
import json
import random
import select
import subprocess
import sys
import tempfile
from pathlib import Path

#: Far above the time that a helper process may take for a file of a few KB.
MOST_SECONDS = 120

REFUSALS = ("ValueError", "OSError", "FileNotFoundError")


class Reader:
    """Reads files in another process."""

    def __init__(self):
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def __call__(self, path: Path) -> list[str]:
        """Returns how reads of the file ended, one "what: kind: text" for each that did not succeed."""
        if self._process is None:
            command = [sys.executable, __file__, "--serve"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], MOST_SECONDS)[0]:
            self._end()
            return ["file: hang: no answer"]
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            status = self._process.returncode
            self._end()
            return [f"file: crash: status {status}"]
        return json.loads(answer)

    def _end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def unexpected(outcomes: list[str]) -> list[str]:
    """Returns the outcomes that docs/python.md does not allow."""
    return [one for one in outcomes if one.split(": ")[1] not in REFUSALS or "\n" in one]


def mutant(content: bytes, generator: random.Random) -> bytes:
    """Changes a few bytes, or an aligned number, or the length."""
    changed = bytearray(content)
    for _ in range(generator.choice((1, 1, 2, 4, 16))):
        at = generator.randrange(len(changed))
        kind = generator.randrange(4)
        if kind == 0:
            changed[at] ^= 1 << generator.randrange(8)
        elif kind == 1:
            changed[at] = generator.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            number = generator.choice((0, 1, len(content), 1 << 31, 1 << 40, (1 << 64) - 1))
            changed[at & ~7 : (at & ~7) + 8] = number.to_bytes(8, "little")
        else:
            start = generator.randrange(len(changed))
            changed[at : at + 8] = changed[start : start + 8]
    if generator.randrange(20) == 0:
        del changed[generator.randrange(len(changed)) :]
    return bytes(changed)


def _accessors(path: str):
    import numpy as np

    import lime_toolkit as lt

    capture = None

    def open_capture():
        nonlocal capture
        capture = lt.Capture(path)

    yield "open", open_capture
    if capture is not None:
        for site in capture.sites:
            for layer in capture.layers(site):
                yield "activations", lambda: np.asarray(capture[site, layer])
                yield "statistics", lambda: capture.statistics(site, layer)
        yield "tables", lambda: (repr(capture), capture._repr_html_(), capture.rows, capture.sequences)
        yield "provenance", lambda: (capture.attributes, capture.config, capture.complete, capture.classes)
        yield "router", lambda: [capture.router(layer) for layer in range(4)]
        capture.close()

    def read_embeddings():
        embeddings = lt.Embeddings(path)
        for key in embeddings.keys():
            assert embeddings[key].shape == (len(embeddings.rows(key[0])["row"]), 2)
            embeddings.kl_divergence(*key)

    yield "embeddings", read_embeddings


def _serve():
    for line in sys.stdin:
        outcomes = []
        for what, use in _accessors(line.rstrip("\n")):
            try:
                use()
            except BaseException as error:  # the kind is what is asked for
                outcomes.append(f"{what}: {type(error).__name__}: {error}")
        print(json.dumps(outcomes), flush=True)


def _parts(path: Path, mutants: int, seed: int, scratch: Path):
    if not mutants:
        yield path.name, path
    generator = random.Random(f"{seed} {path.name}")
    for i in range(mutants):
        changed = scratch / "mutant.h5"
        changed.write_bytes(mutant(path.read_bytes(), generator))
        yield f"{path.name} {i}", changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return _serve()
    counts = collections.Counter()
    with Reader() as read, tempfile.TemporaryDirectory() as scratch:
        for path in arguments.files:
            for name, file in _parts(path, arguments.mutants, arguments.seed, Path(scratch)):
                outcomes = read(file)
                counts.update(one.split(": ")[1] for one in outcomes)
                counts["files"] += 1
                for one in unexpected(outcomes) if arguments.mutants else outcomes:
                    print(f"{name}: {one}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
