#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of lime-metrics on a capture of 4 times the memory that it is given.

  python3 bench/streaming/peak_memory.py [--limit-mib 256] [--bin build/release/bin] [COMMAND ...]

COMMANDs are those of lime-metrics with their options, e.g. 'entropy' 'geometry --site values'.
Prints, per command, the seconds, the exit status, the peak of the resident memory as the kernel
counts it, and its share of the limit.
"""
import argparse
import os
import pathlib
import shlex
import subprocess
import tempfile
import time


def run(command, folder):
    """Seconds, exit status, peak resident bytes and last line of standard error."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    lines = errors.strip().splitlines()
    return (time.perf_counter() - start, process.returncode, usage.ru_maxrss * 1024,
            lines[-1] if lines else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=["entropy"], metavar="COMMAND")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--limit-mib", type=int, default=256)
    parser.add_argument("--times", type=int, default=4, help="size of the capture over the limit")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--folder", help="for the capture; a temporary one by default")
    arguments = parser.parse_args()
    programs = arguments.bin.resolve()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        size = arguments.limit_mib * arguments.times
        subprocess.run([programs / "lime-bench-capture", "--size", f"{size}MiB"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        print(f"capture {size} MiB, --memory-limit {arguments.limit_mib} MiB, "
              f"{arguments.threads} threads")
        for command in arguments.commands:
            seconds, status, peak, error = run(
                [programs / "lime-metrics", *shlex.split(command), "--quiet", "--threads",
                 str(arguments.threads), "--memory-limit", f"{arguments.limit_mib}MiB"], folder)
            share = peak / (arguments.limit_mib * 2**20)
            print(f"{command}: {seconds:.1f} s, status {status}, peak {peak / 2**20:.0f} MiB, "
                  f"{share:.2f} of the limit{', ' + error if error else ''}")


if __name__ == "__main__":
    main()
