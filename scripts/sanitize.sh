#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests under a tool that detects memory and threading errors:
#   scripts/sanitize.sh asan [OPTION]       address and undefined-behaviour sanitizers, build/asan
#   scripts/sanitize.sh tsan [OPTION]       thread sanitizer, build/tsan
#   scripts/sanitize.sh valgrind [OPTION]   memcheck on the tests without LibTorch, build/valgrind
#   scripts/sanitize.sh fuzz [SECONDS [NAME...]]
#                                           the harnesses of tests/fuzz, all if none is named, under
#                                           libFuzzer, over their corpora and then 1800 s of changes
#                                           each; needs Clang; build/fuzz
# --readers builds and tests only the file readers (core, checkpoint, store, and tests/fuzz on its
# corpora with LIME_FUZZ_SECONDS, 20, of random changes each); --corpora only the latter;
# --window the explorer and the programs that it starts; --only NAME[,NAME...] these test programs
# (GTEST_FILTER narrows them), each in one process, as always under memcheck; ctest would start one
# process per test. --programs runs every command of lime-metrics and lime-figure once, and every view
# of lime-explorer, on captures of the LIME_CAPTURE program of another build (build/release).
# Other options go to ctest if it runs the tests, else to the programs. Suppressions and their reasons
# are in tests/sanitizers. LIME_JOBS sets the number of parallel compilers and tests.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '3,19s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# If the system randomizes more address bits than the sanitizers of GCC 12 support, their programs
# sometimes fail to start. Runs them without address randomization.
if [[ ${1:-} =~ ^[at]san$ ]] && [ -z "${LIME_FIXED_ADDRESSES:-}" ]; then
  export LIME_FIXED_ADDRESSES=1
  if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
    exec setarch "$(uname -m)" --addr-no-randomize scripts/sanitize.sh "$@"
  fi
fi

tool=${1:-}
[ $# -gt 0 ] && shift
jobs=${LIME_JOBS:-$(nproc)}
build=build/$tool
suppressions=$PWD/tests/sanitizers
fuzzers=(capture chat_template config edits embeddings gguf merges npy pairs part results safetensors
  samples sentencepiece shards task tokenizer_json torch_file views)
readers=(lime_core_tests lime_checkpoint_tests lime_tokenizer_tests lime_store_tests)
# The intervention tests depend on the programs that they start.
window=(lime_explorer_tests lime_explorer_capture_views_tests lime_explorer_token_views_tests
  lime_explorer_interventions_tests lime_layer_analysis_tests)
# Tests for memcheck, which does not support LibTorch's instructions.
torch_free=("${readers[@]}" lime_metrics_tests lime_metrics_golden_tests lime_neighbors_tests
  lime_tsne_tests lime_probes_tests lime_router_tests lime_geometry_tests lime_geometry_golden_tests
  lime_gpu_tests lime_framework_tests lime_analysis_tests lime_blimp_tests lime_separability_tests
  lime_tsne_analysis_tests lime_layer_analysis_tests)

# configure OPTION...
configure() {
  mkdir -p "$build"
  cmake --preset "$tool" "$@" >"$build/cmake.log" 2>&1 || {
    echo "sanitize: CMake could not configure; see $build/cmake.log" >&2
    exit 1
  }
}

# compile TARGET...: builds the targets, or all if none is named
compile() {
  ninja -C "$build" -j "$jobs" "$@" >"$build/build.log" 2>&1 || {
    grep -nE 'error|FAILED' "$build/build.log" | head -n 10 >&2
    echo "sanitize: the build failed; see $build/build.log" >&2
    exit 1
  }
}

# run_process NAME ARGUMENT...: runs the test program or harness NAME
run_process() {
  local name=$1 status=0
  shift
  if [[ $name == lime_fuzz_* ]]; then
    set -- --seconds "${LIME_FUZZ_SECONDS:-20}" "$corpora/${name#lime_fuzz_}"
  else
    set -- --gtest_brief=1 "$@"
  fi
  (cd "$build" && ${checker:+"$checker"} "bin/$name" "$@" >"$name.log" 2>&1) || status=$?
  [ "$status" = 0 ] || tail -n 60 "$build/$name.log"
  echo "$name: status $status, $SECONDS s, $(tail -n 2 "$build/$name.log" | paste -sd ' ')"
  return "$status"
}

# run_processes ARGUMENT...: runs the programs in `only`
run_processes() {
  export -f run_process
  export build checker corpora=$PWD/tests/fuzz/corpus
  printf '%s\0' "${only[@]}" |
    xargs -0 -P "$jobs" -I{} bash -c 'run_process "$@" || exit 1' bash {} "$@"
}

# run_tests CTEST_ARGUMENT...: runs the tests of the built programs, except the one that compiles
run_tests() {
  ctest --test-dir "$build" --output-on-failure -j "$jobs" -E 'NOT_BUILT$|^HeadersCompileAlone$' "$@"
}

# run_every_command: runs every command under `checker`
run_every_command() {
  tests/sanitizers/every_command.sh "$build/bin" "${LIME_CAPTURE:-build/release/bin/lime-capture}" \
    "$build/every_command" ${checker:+"$checker"}
}

# find_leaks: disables LeakSanitizer if the process may not trace its own threads, as in some
# containers, because every program would fail at exit. Runs before the build, which lists the tests.
find_leaks() {
  if ! echo 'int main(void) { return 0; }' | cc -x c -fsanitize=address -o "$build/leaks" - ||
    ! "$build/leaks" 2>"$build/leaks.log"; then
    echo "sanitize: leak detection is disabled; see $build/leaks.log"
    export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
  fi
}

export QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$suppressions/lsan.supp:print_suppressions=0

only=()
run=run_tests
checker=
case "${1:-}" in
  --readers)
    shift
    only=("${readers[@]}")
    [ "$tool" = valgrind ] || only+=("${fuzzers[@]/#/lime_fuzz_}")
    run=run_processes
    ;;
  --corpora)
    shift
    only=("${fuzzers[@]/#/lime_fuzz_}")
    run=run_processes
    ;;
  --only)
    [ $# -lt 2 ] && usage
    IFS=, read -ra only <<<"$2"
    shift 2
    run=run_processes
    ;;
  --programs)
    shift
    only=(lime-metrics lime-figure lime-explorer)
    run=run_every_command
    ;;
  --window)
    [ "$tool" = valgrind ] && usage
    shift
    only=("${window[@]}")
    run=run_processes
    ;;
esac

case "$tool" in
  asan)
    configure -DLIME_FUZZ_SECONDS="${LIME_FUZZ_SECONDS:-20}"
    find_leaks
    compile "${only[@]}"
    "$run" "$@"
    ;;
  tsan)
    # GNU's OpenMP runtime is not instrumented, so its barriers are not recognised; the
    # tests cover the threads of the project's own pools.
    export OMP_NUM_THREADS=1
    export TSAN_OPTIONS=suppressions=$suppressions/tsan.supp:ignore_noninstrumented_modules=1
    # Otherwise a child process of the explorer tests that starts a thread aborts them.
    TSAN_OPTIONS+=:die_after_fork=0
    # Otherwise it forgets the stack of an earlier access and cannot match suppressions.
    TSAN_OPTIONS+=:history_size=7
    configure
    compile "${only[@]}"
    "$run" "$@"
    ;;
  valgrind)
    export OMP_NUM_THREADS=1
    if [ "$run" = run_tests ]; then
      only=("${torch_free[@]}")
      run=run_processes
    fi
    configure
    compile "${only[@]}"
    checker=$suppressions/memcheck.sh
    "$run" "$@"
    ;;
  fuzz)
    seconds=${1:-1800}
    [ $# -gt 1 ] && fuzzers=("${@:2}")
    configure
    find_leaks
    compile "${fuzzers[@]/#/lime_fuzz_}" lime_sentencepiece lime-trial-read
    failed=()
    for name in "${fuzzers[@]}"; do
      mkdir -p "$build/found/$name/corpus"
      # Wall time, so generous: other programs may keep the CPUs busy. HDF5 files are first read by
      # child processes.
      [[ $name =~ ^(capture|embeddings|shards)$ ]] && timeout=300 || timeout=60
      (cd "$build/found/$name" && "../../bin/lime_fuzz_$name" \
        -max_total_time="$seconds" -timeout="$timeout" -malloc_limit_mb=512 -rss_limit_mb=2048 \
        -print_final_stats=1 corpus "../../../../tests/fuzz/corpus/$name") \
        >"$build/found/$name.log" 2>&1 || failed+=("$name")
      runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/found/$name.log")
      coverage=$(grep -oE 'cov: [0-9]+' "$build/found/$name.log" | tail -n 1)
      longest=$(sed -n 's/^stat::slowest_unit_time_sec: *//p' "$build/found/$name.log")
      echo "$name: ${runs:-0} runs, ${coverage:-cov: 0}, longest ${longest:-0} s"
    done
    for name in "${failed[@]}"; do
      echo "sanitize: $name found something; its input is in $build/found/$name:" >&2
      tail -n 40 "$build/found/$name.log" >&2
    done
    [ ${#failed[@]} -eq 0 ]
    ;;
  *) usage ;;
esac
