# SPDX-License-Identifier: Apache-2.0
# Functions shared by the scripts of this folder, which source it after setting the defaults of
# their options, $programs, $out and $jobs among them.

# read_options VARIABLE... -- ARGUMENT...: sets the variable of each given option, $batch_size for
# --batch-size. On an unknown argument, prints the script's header as usage and exits.
read_options() {
  local variables=() variable
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  shift
  while [ $# -gt 0 ]; do
    variable=${1#--}
    variable=${variable//-/_}
    if [[ $1 != --* || $# -lt 2 || " ${variables[*]} " != *" $variable "* ]]; then
      sed -n '3,/^[^#]/ s/^# \{0,1\}//p' "$0" >&2
      exit 2
    fi
    printf -v "$variable" %s "$2"
    shift 2
  done
}

# need_programs NAME...: exits if one is not built.
need_programs() {
  local program
  for program in "$@"; do
    [ -x "$programs/$program" ] && continue
    echo "$programs/$program is not built; run scripts/build.sh, or name its folder with --programs" >&2
    exit 1
  done
}

failed=no

# start NAME COMMAND...: runs COMMAND in the background, at most $jobs at a time, with output to
# $out/NAME.log.
start() {
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || failed=yes; done
  echo "training $1: $out/$1.log" >&2
  "${@:2}" >"$out/$1.log" 2>&1 &
}

# wait_for_tokens: waits until the first training run has tokenised the text for all, or has ended.
wait_for_tokens() {
  while [ ! -e "$out/tokens/tokens.json" ] && [ -n "$(jobs -rp)" ]; do sleep 1; done
}

# finish: waits for all training runs; exits if one failed.
finish() {
  local job
  for job in $(jobs -p); do wait "$job" || failed=yes; done
  [ "$failed" = no ] && return
  echo "a training ended early; its log in $out says why, the same command goes on" >&2
  exit 1
}
