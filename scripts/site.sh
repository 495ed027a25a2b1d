#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of docs/ in build/site with MkDocs, in a virtual environment under build/. A link to a missing page
# or heading is an error. Exits with 3 and one line if the packages cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/site-venv
mkdir -p build
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'mkdocs-material<10' 'mkdocstrings[python]<2'; } >build/site.log 2>&1; then
  echo "site: MkDocs cannot be installed (see build/site.log); the site was not built" >&2
  exit 3
fi
if ! NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --quiet >>build/site.log 2>&1; then
  grep -E 'WARNING|ERROR|Error' build/site.log >&2 || tail -n 20 build/site.log >&2
  exit 1
fi
echo "The site is in build/site"
