#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of docs/ in build/site with MkDocs, in a virtual environment under build/, and the pages of the C++
# headers in build/site/cpp with Doxygen. A link to a missing page or heading is an error, and so is a comment that
# Doxygen does not understand. Exits with 3 and one line if the packages cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/site-venv
mkdir -p build
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'mkdocs-material<10' 'mkdocstrings[python]<2' \
  doxygen-awesome-css; } >build/site.log 2>&1; then
  echo "site: MkDocs cannot be installed (see build/site.log); the site was not built" >&2
  exit 3
fi
if ! command -v doxygen >/dev/null; then
  echo "site: Doxygen is not installed (Debian's package doxygen); the site was not built" >&2
  exit 3
fi
if ! NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --quiet >>build/site.log 2>&1; then
  grep -E 'WARNING|ERROR|Error' build/site.log >&2 || tail -n 20 build/site.log >&2
  exit 1
fi
theme=$(echo "$PWD/$venv"/lib/python3*/site-packages/doxygen_awesome_css)
if ! { cat scripts/Doxyfile && printf '%s\n' "PROJECT_NUMBER = $(cat VERSION)" "OUTPUT_DIRECTORY = build/site" \
  "HTML_EXTRA_STYLESHEET = $theme/doxygen-awesome.css"; } | doxygen - >>build/site.log 2>build/site-cpp.log; then
  cat build/site-cpp.log >&2
  exit 1
fi
for page in namespacelime files; do
  [ -s "build/site/cpp/$page.html" ] || { echo "site: Doxygen did not write cpp/$page.html" >&2; exit 1; }
done
echo "The site is in build/site"
