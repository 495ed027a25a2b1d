#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the layout of every source (clang-format) and the habits of some of them (clang-tidy):
#   scripts/lint.sh                  of what changed since the last commit, or else in it
#   scripts/lint.sh --since COMMIT   of what changed since COMMIT
#   scripts/lint.sh PATH...          of what lies there; src, app, tests and bench take an hour
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.h' '*.cpp')
clang-format --dry-run -Werror "${sources[@]}"

# Sources that changed, and those of headers that changed.
changed() {
  git diff --name-only --diff-filter=d "$1" -- '*.h' '*.cpp' | sed 's/\.h$/.cpp/' | sort -u |
    while read -r file; do [ -f "$file" ] && echo "$file"; done
}

case "${1:-}" in
  [!-]*) mapfile -t files < <(git ls-files "$@" | grep '\.cpp$') ;;
  --since) mapfile -t files < <(changed "${2:?lint: --since needs a commit}") ;;
  *)
    base=HEAD
    if git diff --quiet HEAD -- '*.h' '*.cpp'; then base=HEAD~1; fi
    git rev-parse --quiet --verify "$base" >/dev/null || base=HEAD  # a clone of one commit
    mapfile -t files < <(changed "$base")
    ;;
esac

if [ ${#files[@]} -gt 0 ]; then
  # A list of commands without precompiled headers, which clang cannot read from GCC.
  build=build/lint
  mkdir -p "$build"
  cmake --preset release -B "$build" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >"$build/cmake.log" 2>&1 || {
    echo "lint: CMake could not configure; see $build/cmake.log" >&2
    exit 1
  }
  printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy -p "$build" --quiet 2>/dev/null
fi
echo "lint: the layout of ${#sources[@]} files is right, clang-tidy finds nothing in ${#files[@]}"
