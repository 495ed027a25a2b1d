# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in calls that take seconds."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import lime_toolkit as lt
from lime_toolkit import _calls

SLOW = {
    "spectrum": "lt.spectrum(x)",
    "entropy": "lt.entropy(x, preset='raw')",
    "effective_rank": "lt.effective_rank(x)",
    "geometry": "lt.geometry([x], measure='rank')",
    "procrustes": "lt.procrustes(x, x[::-1])",
    "tsne": "lt.TSNE(iterations=100000, patience=100000).fit(x)",
}


@pytest.mark.parametrize("call", SLOW.values(), ids=list(SLOW))
def test_an_interrupt_ends_the_call(call):
    """The child prints its seconds after the signal, which it sends itself."""
    code = (
        "import numpy as np, os, signal, sys, threading, time, lime_toolkit as lt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "x = np.random.default_rng(0).normal(size=(5000, 5000)).astype(np.float32)\n"
        "sent = []\n"
        "def send():\n"
        "    time.sleep(0.5); sent.append(time.monotonic()); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=send, daemon=True).start()\n"
        f"try:\n    {call}\n    print('finished')\n"
        "except KeyboardInterrupt:\n    print('interrupted', time.monotonic() - sent[0], flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("interrupted"), done.stdout + done.stderr


def test_errors_and_results_of_large_calls_are_those_of_small_ones():
    x = np.random.default_rng(0).normal(size=(600, 600)).astype(np.float32)
    assert _calls._is_large([[x], None]) and not _calls._is_large([[x[:100]], 3])
    found = lt.spectrum(x)
    results = []
    thread = threading.Thread(target=lambda: results.append(lt.spectrum(x)))
    thread.start()
    thread.join()
    assert np.array_equal(found, results[0])
    x[3, 4] = np.nan
    with pytest.raises(ValueError, match="finite"):
        lt.spectrum(x)


def test_statistics_are_pickled():
    statistics = lt.statistics_of(np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32))
    copy = pickle.loads(pickle.dumps(statistics))
    assert copy.count == 20 and np.array_equal(copy.mean, statistics.mean) and np.array_equal(copy.m2, statistics.m2)
    assert repr(copy) == "<RunningStatistics: 20 rows of 3 values>" and "sum of squared deviations" in type(copy).__doc__
