#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the layout of all sources and runs clang-tidy over the modules that do not need LibTorch
# (over every module with --all). Needs a configured build/release.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.h' '*.cpp')
clang-format --dry-run -Werror "${sources[@]}"

torch_free='^(src/(core|checkpoint|store|metrics|analysis)|app/lime-metrics)/.*\.cpp$'
[ "${1:-}" = "--all" ] && torch_free='^(src|app)/.*\.cpp$'
git ls-files '*.cpp' | grep -E "$torch_free" |
  xargs -P "$(nproc)" -n 2 clang-tidy -p build/release --quiet 2>/dev/null
echo "lint: ${#sources[@]} files are clean"
