# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share. They source it once $programs, $out and $jobs are set.

# need_programs NAME...: ends the script where one is not built.
need_programs() {
  local program
  for program in "$@"; do
    [ -x "$programs/$program" ] && continue
    echo "$programs/$program is not built; run scripts/build.sh, or name its folder with --programs" >&2
    exit 1
  done
}

failed=no

# start NAME COMMAND...: runs COMMAND beside the trainings under way, of which there are $jobs at most;
# what it prints goes to $out/NAME.log.
start() {
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || failed=yes; done
  echo "training $1: $out/$1.log" >&2
  "${@:2}" >"$out/$1.log" 2>&1 &
}

# wait_for_tokens: until the first training has made the tokens of all, or has ended.
wait_for_tokens() {
  while [ ! -e "$out/tokens/tokens.json" ] && [ -n "$(jobs -rp)" ]; do sleep 1; done
}

# finish: until all have ended; ends the script where one of them failed.
finish() {
  local job
  for job in $(jobs -p); do wait "$job" || failed=yes; done
  [ "$failed" = no ] && return
  echo "a training ended early; its log in $out says why, the same command goes on" >&2
  exit 1
}
