#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the format of all sources (clang-format) and lints a selection of them (clang-tidy):
#   scripts/lint.sh                  files changed since the last commit, or else in it
#   scripts/lint.sh --since COMMIT   files changed since COMMIT
#   scripts/lint.sh PATH...          files under PATH
#   scripts/lint.sh --all            src and app, except files that need LibTorch's headers
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.h' '*.cpp')
clang-format --dry-run -Werror "${sources[@]}"

# Prints the changed sources, and the sources of changed headers.
changed() {
  git diff --name-only --diff-filter=d "$1" -- '*.h' '*.cpp' | sed 's/\.h$/.cpp/' | sort -u |
    while read -r file; do [ -f "$file" ] && echo "$file"; done
}

# configure FOLDER [OPTION...]: configures without precompiled headers, which clang cannot read
configure() {
  mkdir -p "$1"
  cmake --preset release -B "$1" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DLIME_PRECOMPILE=OFF "${@:2}" >"$1/cmake.log" 2>&1 || {
    echo "lint: CMake could not configure; see $1/cmake.log" >&2
    exit 1
  }
}

# Clang supports _Float16 (core/half.cpp) on x86 only with AVX512-FP16; nothing is executed here.
tidy_options=(--quiet)
[ "$(uname -m)" = x86_64 ] && tidy_options+=(--extra-arg=-mavx512fp16)

# tidy_files FILE...: checks each file separately
tidy_files() {
  [ $# -gt 0 ] || return 0
  configure build/lint
  printf '%s\n' "$@" |
    xargs -P "$(nproc)" -n 1 clang-tidy -p build/lint "${tidy_options[@]}" 2>/dev/null
}

# Checks a dozen sources at a time, so shared headers are read once. Sources that do not compile
# together (two may define a helper of the same name) are checked separately afterwards.
tidy_all() {
  local build=build/lint-all
  rm -rf "$build"  # removes batches of earlier trees
  configure "$build" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
  mkdir "$build/tidy"
  mapfile -t batches < <(cd "$build" && find src app -path '*/Unity/*.cxx' |
    grep -vE '^(src/(model|train|capture|measure|evaluation)|app/lime-(capture|eval|train|generate))/')
  printf '%s\n' "${batches[@]}" | BUILD=$build xargs -P "$(nproc)" -I{} bash -c '
    clang-tidy -p "$BUILD" "$@" --checks=-bugprone-suspicious-include \
      --header-filter="'"$PWD"'/(src|app)/" "$BUILD/{}" >"$BUILD/tidy/$(tr / _ <<<"{}")" 2>/dev/null || true
  ' tidy "${tidy_options[@]}"
  local batch report failed=0 singles=()
  for batch in "${batches[@]}"; do
    report=$build/tidy/$(tr / _ <<<"$batch")
    if grep -q clang-diagnostic-error "$report"; then
      mapfile -t -O "${#singles[@]}" singles < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$build/$batch")
    elif [ -s "$report" ]; then
      cat "$report"
      failed=1
    fi
  done
  tidy_files "${singles[@]}" || failed=1
  return "$failed"
}

case "${1:-}" in
  --all)
    tidy_all
    echo "lint: the format of ${#sources[@]} files is correct, clang-tidy reports nothing in src and app"
    exit
    ;;
  [!-]*) mapfile -t files < <(git ls-files "$@" | grep '\.cpp$') ;;
  --since) mapfile -t files < <(changed "${2:?lint: --since needs a commit}") ;;
  *)
    base=HEAD
    if git diff --quiet HEAD -- '*.h' '*.cpp'; then base=HEAD~1; fi
    git rev-parse --quiet --verify "$base" >/dev/null || base=HEAD  # a clone of one commit
    mapfile -t files < <(changed "$base")
    ;;
esac
tidy_files "${files[@]}"
echo "lint: the format of ${#sources[@]} files is correct, clang-tidy reports nothing in ${#files[@]}"
