#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documentation and compares what they print with the pages.

    scripts/check_docs.py [--times] [PAGE...]     default: README.md, docs/*.md and others

Needs the programs (scripts/build.sh) and the results of scripts/demo.sh in out/, which stay as they are: every page
runs in a folder of its own with a copy of them. The blocks of a page run in their order.

- A block of commands runs if all its inputs exist: files of the repository, of the demo, or of an earlier block of
  the page. It must succeed, and print the next block if that follows within a sentence. "..." stands for any text.
- Other blocks (placeholders such as MODEL, synopses, marked blocks) are not run. Every option in them must occur in
  --help of its command.
- An HTML comment above a block states what it needs: <!-- check: real-model -->, gpu, cluster, long, install, or
  data. <!-- check-page: long --> does so for all blocks of a page. <!-- check: varies --> runs a block and compares
  nothing; <!-- check: fails --> expects an error.
- The examples of --help run on small captures, as far as their files are among EXAMPLE_FILES; the others only need
  options that exist.
- Links to files and headings must exist. VERSION, CITATION.cff, README.md and CHANGELOG.md state one version.

Numbers may differ by two units of their last digit; times, rates, memory and disk space are not compared.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build/release/bin"
PROGRAMS = ("lime-capture", "lime-metrics", "lime-figure", "lime-train", "lime-generate", "lime-eval", "lime-explorer")
# What a reader starts in a shell. A block whose lines begin otherwise is an output, a file or a program text.
STARTS = PROGRAMS + ("scripts/", "bench/", "build/release/bin/", "mpirun", "srun", "torchrun", "head ", "jq ", "awk ",
                     "for ", "mkdir ", "cat ", "export ", "sudo ", "pip ", "cmake ", "python3 ", "tests/")
# Builds, installs, opens a window, or is not a part of the programs.
NOT_RUN = re.compile(r"scripts/(?!agreement_pairs|arithmetic_pairs)|bench/|tests/|\b(pip|sudo|cmake|ssh|srun|torchrun|"
                     r"python3?) |lime-explorer (?!.*--(screenshot|help|version))|--device (cuda|auto)")
NEEDS = ("real-model", "gpu", "cluster", "long", "install", "data")
TIMEOUT_SECONDS = 300


@dataclasses.dataclass
class Block:
    """A fenced block of a page."""

    line: int
    language: str
    text: str
    marks: list[str]
    distance: int  # characters of text since the block before, -1 across a heading

    def is_command(self):
        lines = [line for line in self.text.splitlines() if line and not line.startswith("#")]
        return self.language in ("", "bash", "sh") and bool(lines) and lines[0].startswith(STARTS)


def blocks_of(text):
    """Returns the fenced blocks of a Markdown text, with the comments above them."""
    blocks, marks, distance = [], [], -1
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        fence = re.match(r"( *)```(\w*)$", line)
        if fence:
            body = []
            for _, inner in lines:
                if inner.strip() == "```":
                    break
                body.append(inner[len(fence[1]):])
            blocks.append(Block(number, fence[2], "\n".join(body), marks, distance))
            marks, distance = [], 0
        elif mark := re.match(r" *<!-- check: ([\w -]+?) -->$", line):
            marks = marks + mark[1].split()
        elif line.startswith("#"):
            distance = -1
        elif distance >= 0:
            distance += len(line)
    return blocks


# --------------------------------------------------------------------------------------- options


HELP = {}


def help_of(words):
    if words not in HELP:
        done = subprocess.run([BIN / words[0], *words[1:], "--help"], capture_output=True, text=True, check=False)
        HELP[words] = done.stdout if done.returncode == 0 else ""
    return HELP[words]


def unknown_options(text):
    """Returns the options in a text that --help of the program before them does not name."""
    unknown = []
    plain = re.sub(r"\s#.*$", "", re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", text), flags=re.M)
    starts = list(re.finditer(r"(?<![\w-])(" + "|".join(PROGRAMS) + r")\b(?: ([a-z]+)\b)?", plain))
    for found, after in zip(starts, starts[1:] + [None]):
        words = (found[1],)
        if found[2] and help_of((found[1], found[2])) not in ("", help_of((found[1],))):
            words = (found[1], found[2])
        known = set(re.findall(r"--[a-z][a-z0-9-]*", help_of(words))) | {"--help", "--help-man", "--completion"}
        part = re.split(r"\s[|&;]|\n(?=\S)", re.sub(r"\\\n", " ", plain[found.end(1):after.start() if after else None]))[0]
        unknown += [f"{' '.join(words)} has no option {option}"
                    for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", part) if option not in known]
    return unknown


# ---------------------------------------------------------------------------------------- running


def placeholder(text):
    """Returns true if a block describes commands rather than being some."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", re.sub(r"\\\n", "", text))
    bare = re.sub(r"\$\w+|\$\{[^}]*\}|\$\([^)]*\)|\b[A-Z_]+=", "", bare)
    return bool(re.search(r"\[[^\]]|\.\.\.|\w\|\w|(?<![\w./-])[A-Z][A-Z]+(?![\w])|[/.][A-Z]{2,}\b", bare))


def missing_inputs(text, folder):
    """Returns the files that a block reads and that neither exist nor are written by the block itself."""
    text = re.sub(r"\s#.*", "", re.sub(r"\\\n", " ", text))
    written = [re.sub(r"\\\$\w+", ".*", re.escape(name).replace("\\$", "$").replace("$", "\\$"))
               for name in re.findall(r"(?:-o|>|>>|mkdir -p|--judgements) ?\"?([\w./${}-]+)", text)]
    read = re.findall(r"(?<![\w./=$-])((?:data|out|shared)/[\w./-]+)(?![\w./${*-])", text)
    read += re.findall(r"(?<![\w./$}-])([\w./-]+\.(?:h5|json|jsonl|txt|npy|csv|yaml|tsv))\b", text)
    read += re.findall(r"(?:--checkpoint|lime-metrics router|lime-metrics cost) ([\w./-]+)(?![\w./${*-])", text)
    return [word for word in read
            if not (folder / word).exists() and not any(re.fullmatch(name, word) for name in written)]


def sandbox(folder):
    """Fills a folder with what commands need: links to the repository, and a copy of the results of the demo."""
    for entry in ROOT.iterdir():
        if entry.name not in ("out", ".git"):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "out", folder / "out", symlinks=True)


def run_block(block, folder):
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", QT_QPA_PLATFORM="offscreen", COLUMNS="160",
                       OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", XDG_CONFIG_HOME=str(folder / ".config"),
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with subprocess.Popen(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT_SECONDS)
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            return 124, *process.communicate()


# ------------------------------------------------------------------------------------- comparison

VARIES = re.compile(r"tokens/s|iB/s|peak memory|free disk|disk space|up to about|in \d+ s\b|seconds|\d ms\b|\d s\b")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def equal_numbers(expected, printed):
    if expected == printed:
        return True
    digits = len(expected.partition(".")[2].partition("e")[0])
    if digits == 0:
        return False
    return abs(float(expected) - float(printed)) <= 2.01 * 10.0 ** -digits * max(1.0, 10.0 ** int(
        (expected.partition("e")[2] or "0")))


def equal_lines(expected, printed):
    """Returns true if two lines are equal up to the last digits of numbers, bars and spaces of alignment."""
    def plain(line):
        return " ".join(re.sub(r"[▏▎▍▌▋▊▉█·]+", "", line).split())
    expected, printed = plain(expected), plain(printed)
    if expected == printed:
        return True
    if VARIES.search(expected) or VARIES.search(printed):
        return NUMBER.sub("0", expected).split()[:1] == NUMBER.sub("0", printed).split()[:1]
    if NUMBER.sub("0", expected) != NUMBER.sub("0", printed):
        return False
    return all(map(equal_numbers, NUMBER.findall(expected), NUMBER.findall(printed)))


def first_difference(expected, printed):
    """Returns the first line of the page that the output lacks, or None. A line "..." skips lines."""
    rest = [line for line in printed.splitlines() if line.strip()]
    anywhere = False
    for line in (line for line in expected.splitlines() if line.strip()):
        if line.strip() == "...":
            anywhere = True
            continue
        while rest and anywhere and not equal_lines(line, rest[0]):
            rest.pop(0)
        if not rest or not equal_lines(line, rest[0]):
            return line, rest[0] if rest and not anywhere else "(no such line)"
        rest.pop(0)
        anywhere = False
    return None if anywhere or not rest else ("(the end)", rest[0])


# ------------------------------------------------------------------------------------------ pages


@dataclasses.dataclass
class Count:
    """What was checked."""

    run: int = 0
    compared: int = 0
    options: int = 0


def check_commands(page, text, count):
    """Yields the faults of the commands of a page."""
    name = page.relative_to(ROOT)
    blocks = blocks_of(text)
    page_marks = re.findall(r"<!-- check-page: (\w[\w-]*) -->", text)
    with tempfile.TemporaryDirectory(prefix="check-docs-") as temporary:
        folder = pathlib.Path(temporary)
        sandbox(folder)
        for index, block in enumerate(blocks):
            if not block.is_command():
                continue
            where = f"{name}:{block.line}"
            marks = block.marks + page_marks
            yield from (f"{where}: {fault}" for fault in unknown_options(block.text))
            count.options += 1
            if set(marks) & set(NEEDS) or placeholder(block.text) or NOT_RUN.search(block.text):
                continue
            if missing := missing_inputs(block.text, folder):
                if not re.search(r"(?<![\w/-])(data|out)/", " ".join(missing)):
                    continue
                yield f"{where}: {missing[0]} does not exist after scripts/demo.sh and the blocks above"
                continue
            status, out, err = run_block(block, folder)
            count.run += 1
            if (status != 0) != ("fails" in marks):
                yield f"{where}: exit status {status}: {(err or out).strip().splitlines()[-1:]}"
                continue
            following = blocks[index + 1] if index + 1 < len(blocks) else None
            if not following or following.is_command() or following.language or "varies" in marks + following.marks:
                continue
            if 0 <= following.distance < 120:
                count.compared += 1
                differences = [first_difference(following.text, printed) for printed in (out, err + out, err, out + err)]
                if None not in differences:
                    expected, printed = differences[0]
                    yield f"{name}:{following.line}: expected: {expected}\n    printed: {printed}"


def anchors_of(text):
    """Returns the anchors of a page, as GitHub makes them from its headings."""
    without_code = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", without_code, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchors.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return anchors


def check_links(page, text):
    """Yields the links of a page to files or headings that do not exist."""
    without_code = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_code)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: {target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file.read_text(encoding="utf-8")):
            yield f"{page.relative_to(ROOT)}: {target}: no such heading"


def check_versions():
    """Yields the files that state another version than VERSION; CMake and Python read it."""
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    for name, pattern in (("CITATION.cff", r"^version: (.*)$"), ("README.md", r"^  version = \{(.*)\}"),
                          ("CHANGELOG.md", r"^## (\d[\d.]*)")):
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if not found or found[1] != version:
            yield f"{name}: states version {found[1] if found else 'none'}, VERSION states {version}"


def check_option_files():
    """Yields the options in docs/configs that lime-train does not have."""
    for file in sorted((ROOT / "docs/configs").glob("*.options")):
        text = re.sub(r"^#.*$", "", file.read_text(encoding="utf-8"), flags=re.M).replace("\n", " ")
        yield from (f"{file.relative_to(ROOT)}: {fault}" for fault in unknown_options("lime-train " + text))


# The files of examples in --help, captures of this many of the expressions of the demo.
EXAMPLE_LINES = 40
EXAMPLE_FILES = {"capture.h5": "aet-lime", "llama.h5": "aet-llama", "lime.h5": "aet-lime"}
# What an example may lack in these small captures. Any other error is a fault of the example.
EXAMPLE_LACKS = re.compile(r"does not exist|has no classes|no minimal pairs|contains no |the rank of the covariance|"
                           r"no such file|must be an object with 'event'")


def examples_of_help():
    """Yields a command of --help and its lines with examples."""
    for program in PROGRAMS:
        listed = re.search(r"^Commands:\n(.*?)\n\n", help_of((program,)), re.S | re.M)
        commands = re.findall(r"^  ([a-z-]+) ", listed[1], re.M) if listed else []
        for words in [(program,), *((program, command) for command in commands)]:
            examples = help_of(words).partition("\nExamples:\n")[2]
            yield " ".join(words), re.sub(r" *\\\n *", " ", examples).splitlines()


def check_examples(count):
    """Yields the faults of the examples in --help."""
    with tempfile.TemporaryDirectory(prefix="check-docs-") as temporary:
        folder = pathlib.Path(temporary)
        sandbox(folder)
        lines = (folder / "out/expressions.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "lines.txt").write_text("".join(lines[:EXAMPLE_LINES]), encoding="utf-8")
        for name, model in EXAMPLE_FILES.items():
            subprocess.run([BIN / "lime-capture", "--checkpoint", f"data/{model}", "--lines", "lines.txt", "--sites",
                            "values,routed_values,hidden,attn.hook_pattern,logit_lens", "-o", name, "--quiet"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(folder / "out/words-lime.h5", folder / "words.h5")
        shutil.copytree(folder / "out/words-lime.shards", folder / "words-lime.shards")
        for command, examples in examples_of_help():
            for example in (line.strip() for line in examples if line.strip().startswith("lime-")):
                yield from (f"{command} --help: {fault}" for fault in unknown_options(example))
                files = re.findall(r"[\w*./-]+\.(?:h5|jsonl?|csv|txt|npy)\b|\b[A-Z]{3,}\b", example.partition(" -o ")[0])
                if not example.startswith("lime-metrics") or not all((folder / file).exists() for file in files):
                    continue
                count.run += 1
                status, out, err = run_block(Block(0, "", example + " --quiet", [], 0), folder)
                if status != 0 and not EXAMPLE_LACKS.search(err):
                    yield f"{command} --help: '{example}': exit status {status}: {(err or out).strip().splitlines()[-1:]}"


def check_page(page):
    text = page.read_text(encoding="utf-8")
    count = Count()
    start = time.monotonic()
    faults = [*check_links(page, text), *check_commands(page, text, count)]
    return page, faults, count, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="default: all pages")
    parser.add_argument("--times", action="store_true", help="print the seconds of every page")
    parser.add_argument("--version-only", action="store_true", help="check only that all files state one version")
    arguments = parser.parse_args()
    faults = [*check_versions()]
    if arguments.version_only:
        sys.exit("\n".join(faults) or 0)
    if not (ROOT / "out/entropy.json").exists() or not (BIN / "lime-metrics").exists():
        sys.exit("check_docs: out/entropy.json or the programs are missing; run scripts/demo.sh first")
    pages = [page.resolve() for page in arguments.pages] or sorted(
        [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "data/README.md", *ROOT.glob("docs/**/*.md")])
    faults += check_option_files()
    print("".join(fault + "\n" for fault in faults), end="")
    total = Count()
    failed = bool(faults)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        of_examples = Count()
        examples = pool.submit(lambda: [*check_examples(of_examples)]) if not arguments.pages else None
        for page, faults, count, seconds in pool.map(check_page, pages):
            for fault in faults:
                print(fault)
            failed = failed or bool(faults)
            for field in dataclasses.fields(Count):
                setattr(total, field.name, getattr(total, field.name) + getattr(count, field.name))
            if arguments.times:
                print(f"{seconds:6.1f} s  {page.relative_to(ROOT)}: {count.run} run, {count.compared} compared")
    for fault in examples.result() if examples else []:
        print(fault)
        failed = True
    total.run += of_examples.run
    print(f"check_docs: {len(pages)} pages, {total.run} blocks run, {total.compared} outputs compared, "
          f"options of {total.options} blocks checked")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
