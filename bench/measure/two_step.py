# SPDX-License-Identifier: Apache-2.0
"""Times lime-capture --measure against lime-capture followed by lime-metrics, in turns, and compares the results.

    python3 bench/measure/two_step.py build/release/bin CHECKPOINT TEXT --measure entropy --repeats 5

Each turn captures to FOLDER (by default a temporary one), computes the metric from the capture, and measures the
same in one step. The capture is deleted before the next turn. Times are of whole programs, with loading: elapsed, and
CPU time of all threads, which other programs on the machine disturb less.
"""

import argparse
import json
import math
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

OWN_SITES = {"attention": "attn.hook_profile", "lens": "logit_lens"}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(command):
    """Returns elapsed and CPU time of a command."""
    start, cpu_start = time.monotonic(), cpu_seconds()
    subprocess.run([str(part) for part in command], check=True)
    return time.monotonic() - start, cpu_seconds() - cpu_start


def largest_difference(found, expected):
    """Returns the largest difference of two results relative to the larger value, labels aside."""
    largest = 0.0
    for row, other in zip(found["rows"], expected["rows"], strict=True):
        assert row.keys() == other.keys()
        for name, value in other.items():
            if name == "label" or row[name] == value:
                continue
            assert isinstance(value, float) and isinstance(row[name], float), (name, row, other)
            largest = max(largest, abs(row[name] - value) / max(abs(row[name]), abs(value)))
    return largest


def summary(times):
    elapsed, cpu = zip(*times)
    return (f"{statistics.median(elapsed):.2f} s ({min(elapsed):.2f} to {max(elapsed):.2f}), "
            f"CPU {statistics.median(cpu):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("checkpoint")
    parser.add_argument("text")
    parser.add_argument("--measure", default="entropy", help="metric, and options as name=value")
    parser.add_argument("--sites", default="values,hidden")
    parser.add_argument("--sequences", type=int, default=24)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--activation-memory", default=None)
    options = parser.parse_args()

    metric, *metric_options = options.measure.split()
    flags = [part for option in metric_options for part in ("--" + option.split("=")[0], option.split("=", 1)[1])]
    run = ["--checkpoint", options.checkpoint, "--text", options.text, "--seq-len", options.seq_len,
           "--max-sequences", options.sequences, "--batch-size", options.batch_size, "--threads", options.threads,
           "--device", options.device, "--dtype", options.dtype, "--quiet"]
    own = OWN_SITES.get(metric)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        capture_times, metric_times, measure_times, sizes = [], [], [], []
        for _ in range(options.repeats):
            capture = folder / "capture.h5"
            capture_times.append(seconds(
                [options.programs / "lime-capture", *run, "--sites", own or options.sites, "-o", capture]))
            metric_times.append(seconds(
                [options.programs / "lime-metrics", metric, capture, *flags, "--threads", options.threads, "--quiet",
                 "-o", folder / "two.json"]))
            written = [capture, *folder.glob("capture.h5.shards/*"), *folder.glob("capture.shards/*")]
            sizes.append(sum(path.stat().st_size for path in set(written) if path.is_file()))
            subprocess.run(["rm", "-rf", *map(str, folder.glob("capture*"))], check=True)
            one_step = [options.programs / "lime-capture", *run, "--measure", options.measure, "-o",
                        folder / "one.json"]
            if own is None:
                one_step += ["--sites", options.sites]
            if options.activation_memory is not None:
                one_step += ["--activation-memory", options.activation_memory]
            measure_times.append(seconds(one_step))
        one = json.loads((folder / "one.json").read_text())
        two = json.loads((folder / "two.json").read_text())
    both = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(capture_times, metric_times)]
    ratios = [[a[i] / b[i] for a, b in zip(both, measure_times)] for i in (0, 1)]
    print(f"{options.measure}: {options.sequences} x {options.seq_len} tokens, {len(one['rows'])} rows")
    print(f"  capture   {summary(capture_times)}, {statistics.median(sizes) / 1e6:.0f} MB")
    print(f"  metric    {summary(metric_times)}")
    print(f"  two steps {summary(both)}")
    print(f"  one step  {summary(measure_times)}, repeated tokens {one['provenance']['repeated_tokens']}")
    for name, of in zip(("elapsed", "CPU"), ratios):
        print(f"  ratio of {name} times {statistics.median(of):.2f} ({min(of):.2f} to {max(of):.2f})")
    difference = largest_difference(one, two)
    print(f"  largest relative difference {difference:.1e}")
    assert not math.isnan(difference) and difference <= 1e-6


if __name__ == "__main__":
    main()
