# SPDX-License-Identifier: Apache-2.0
"""The source distribution has every file that its sources include."""

import os
import re
import tarfile

import pytest

from conftest import ROOT

#: Written by CMake.
GENERATED = {"core/version.h"}


def test_the_source_distribution_has_every_header(tmp_path):
    build = pytest.importorskip("scikit_build_core.build")
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        name = build.build_sdist(str(tmp_path))
    finally:
        os.chdir(before)
    with tarfile.open(tmp_path / name) as archive:
        files = {one.name.partition("/")[2]: one for one in archive.getmembers() if one.isfile()}
        missing = set()
        for path, one in files.items():
            if not path.endswith((".cpp", ".h")):
                continue
            folder = path.rpartition("/")[0]
            text = archive.extractfile(one).read().decode()
            for header in re.findall(r'^#include "([^"]+)"', text, re.M):
                places = (f"src/{header}", f"app/{header}", f"{folder}/{header}")
                if header not in GENERATED and not files.keys() & set(places):
                    missing.add((header, path))
    assert not missing and "src/metrics/entropy/matrix_entropy.h" in files
