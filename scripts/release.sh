#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release: writes the version into VERSION, CITATION.cff and README.md, dates the changelog, and commits and
# tags the result. Does not push. Stops if anything is uncommitted or the changelog has nothing to release.
#   scripts/release.sh 0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release: $1" >&2
  exit 1
}
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "expected a version such as 0.2.0, got '$version'"
[ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes; commit or stash them"
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && fail "the tag v$version exists"
grep -q '^## Unreleased' CHANGELOG.md || fail "CHANGELOG.md has no section '## Unreleased'"
grep -A 4 '^## Unreleased' CHANGELOG.md | grep -q '^- \|^### ' || fail "the section '## Unreleased' of CHANGELOG.md is empty"

today=$(date -u +%Y-%m-%d)
echo "$version" >VERSION
sed -i "s/^version: .*/version: $version/; /^date-released: /d" CITATION.cff
sed -i "/^version: /a date-released: $today" CITATION.cff
sed -i "s/^  version = {[0-9.]*}/  version = {$version}/; s/^  year = {[0-9]*}/  year = {${today%%-*}}/" README.md
sed -i "s/^## Unreleased.*/## $version - $today/" CHANGELOG.md
scripts/check_docs.py --version-only
git commit -q -m "Release $version" VERSION CITATION.cff README.md CHANGELOG.md
git tag -a "v$version" -m "LIMe toolkit $version"
cat <<EOF
Committed and tagged v$version. Next:
  .ci/run                                   # all checks
  scripts/package.sh && scripts/package.sh --wheel
  git push --follow-tags                    # publishes
EOF
