#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests lime-capture and lime-metrics on Slurm, as in docs/clusters.md: starts a private cluster on
# this machine (two nodes that claim 64 CPUs and 4 GPUs each), runs the measurements of
# docs/reliability.md on it, compares every capture with that of one process, and stops the cluster.
#   bench/reliability/slurm.sh [BUILD_FOLDER]
# Requires Debian's munge, slurmctld, slurmd, slurm-client and python3-h5py; neither root nor
# systemd, nor a running Slurm. With LIME_KEEP=1 its folder with all logs is kept.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=$(realpath "${1:-build/release}")
folder=$(mktemp -d -t lime-slurm-XXXXXX)
daemons=()
export SLURM_CONF=$folder/slurm.conf PATH=$build/bin:/usr/sbin:$PATH OMP_NUM_THREADS=1

fail() {
  echo "slurm: $*"
  tail -n 5 "$folder"/*.log
  exit 1
}

# Starts DAEMON in the background and records it.
start() {
  "$@" >>"$folder/$(basename "$1")-output.log" 2>&1 &
  daemons+=($!)
}

end_cluster() {
  scancel --user "$(id -un)" 2>/dev/null || true
  local i
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do
    kill "${daemons[i]}" 2>/dev/null || true
    wait "${daemons[i]}" 2>/dev/null || true
  done
  if [ -z "${LIME_KEEP:-}" ]; then rm -rf "$folder"; else echo "kept $folder"; fi
}
trap end_cluster EXIT

# Waits up to 120 s until a command succeeds.
wait_until() {
  local i
  for i in $(seq 1200); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "waited in vain for: $*"
}

write_configuration() {
  local host port=$((20000 + $$ % 20000))
  host=$(hostname -s)
  cat >"$SLURM_CONF" <<END
ClusterName=lime
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPort=$port
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
GresTypes=gpu
NodeName=node[0-1] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=64 Gres=gpu:4
PartitionName=all Nodes=ALL Default=YES State=UP
END
  touch "$folder"/gpu{0..3}  # Slurm accepts these as GPUs
  echo "NodeName=node[0-1] Name=gpu File=$folder/gpu[0-3]" >"$folder/gres.conf"
}

start_cluster() {
  mkdir -m 700 "$folder/state" "$folder/munge"
  write_configuration
  (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
  start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  wait_until test -S "$folder/munge.socket"
  start slurmctld -D
  start slurmd -D -N node0
  start slurmd -D -N node1
  wait_until sh -c 'test "$(sinfo --noheader --states idle --format %D)" = 2'
  sinfo --version
}

# 600 kB of sentences, always the same: six shards of at least 32768 tokens.
write_text() {
  awk 'BEGIN {
    srand(7)
    split("river wall bridge town stone sentence reader layer token winter", nouns)
    split("old long deep new quiet early heavy simple", adjectives)
    for (i = 0; i < '"$1"'; ++i)
      printf "The %s of the %s is %s, and the %s was %s in %d.\n", nouns[int(rand() * 10) + 1],
        nouns[int(rand() * 10) + 1], adjectives[int(rand() * 8) + 1], nouns[int(rand() * 10) + 1],
        adjectives[int(rand() * 8) + 1], 1700 + int(rand() * 300)
  }'
}

# Writes the batch script NAME.sh with the command from standard input; arguments are sbatch's
# options.
batch_script() {
  local name=$1
  shift
  { echo "#!/bin/bash"; printf '#SBATCH %s\n' --output="$name-%A-%a.out" "$@"; cat; } >"$name.sh"
}

same() { /usr/bin/python3 "$root/bench/reliability/equal_captures.py" "$@" || fail "see above"; }
capture="lime-capture --checkpoint model --text text/*.txt --sites hidden --layers 0,5 --seq-len 256 \
--threads 1 --quiet"

# Compares srun and a job array with one process.
share_work() {
  $capture -o alone.h5
  srun -n 4 $capture -o srun.h5 >srun.out 2>&1 || fail "srun: $(cat srun.out)"
  same alone.h5 srun.h5
  echo "$capture -o array.h5" | batch_script array --array=0-3
  sbatch --wait --quiet array.sh || fail "the array: $(cat array-*.out)"
  same alone.h5 array.h5
  echo "srun $capture -o both.h5" | batch_script both --array=0-1 --ntasks=2
  sbatch --wait --quiet both.sh || fail "srun in an array: $(cat both-*.out)"
  same alone.h5 both.h5
  lime-metrics entropy alone.h5 --quiet -o alone.json
  srun -n 2 lime-metrics entropy alone.h5 --quiet -o srun.json >srun.out 2>&1 || fail "$(cat srun.out)"
  same alone.json srun.json
}

has_state() { [ "$(squeue --noheader --jobs "$1" --format %T 2>/dev/null)" = "$2" ]; }

# submit_until FILE SCRIPT: submits it, waits until the shard FILE is finished, prints the job ID.
submit_until() {
  local job
  job=$(sbatch --parsable "$2")
  wait_until test -e "$1"
  echo "$job"
}

# interrupted NAME HOW: prints what an interrupted capture has kept; it must be incomplete.
interrupted() {
  local shards
  shards=$(find "$1.shards" -name '0*.h5' | wc -l)
  [ "$shards" -lt 6 ] || fail "the job had ended before $2"
  echo "$2: $shards of 6 shards kept"
}

# Compares scancel and scontrol requeue with one uninterrupted process.
interrupt_jobs() {
  local job
  echo "srun $capture --resume -o cancelled.h5" | batch_script cancelled --ntasks=2
  job=$(submit_until cancelled.shards/00000.h5 cancelled.sh)
  scancel "$job"
  wait_until has_state "$job" ""
  interrupted cancelled scancel
  sbatch --wait --quiet cancelled.sh || fail "the cancelled job: $(cat cancelled-*.out)"
  same alone.h5 cancelled.h5

  # One process needs --resume, several do not.
  echo "$capture --resume -o one.h5" | batch_script one --requeue
  echo "srun $capture -o two.h5" | batch_script two --requeue --ntasks=2
  for name in one two; do
    job=$(submit_until "$name.shards/00000.h5" "$name.sh")
    scontrol requeue "$job"
    wait_until has_state "$job" PENDING
    interrupted "$name" "scontrol requeue"
    sleep 3  # before that, Slurm confuses the job with the one that it has just ended
    scontrol update JobId="$job" StartTime=now
    wait_until has_state "$job" ""
    [ -e "$name.h5" ] || fail "the job put back: $(cat "$name"-*.out)"
    same alone.h5 "$name.h5"
  done
  [ -z "$(find . -name '.*' -type f)" ] || fail "left behind: $(find . -name '.*' -type f)"
}

# Two processes that communicate. Nodes of this cluster have no addresses of their own.
train_together() {
  MASTER_ADDR=127.0.0.1 srun -n 2 lime-train --task aet --decoder lime --operands 3 --train-samples 500 \
    --steps 20 --batch-size 16 --seed 1 --threads 1 -o trained >srun.out 2>&1 || fail "$(cat srun.out)"
  [ -s trained/model.safetensors ] || fail "lime-train wrote no model"
  echo "trained: $(tail -n 1 srun.out)"
}

# Runs the batch scripts of docs/clusters.md, by their headings, unchanged.
run_documented_scripts() {
  local heading
  lime-capture --checkpoint model --text text/*.txt --sites values,hidden --threads 1 --quiet -o expected.h5
  for heading in "one job" "a job array"; do
    awk -v heading="## Slurm: $heading" '
      $0 == heading { here = 1 }
      here && /^```bash/ { inside = 1; next }
      inside && /^```/ { exit }
      inside' "$root/docs/clusters.md" >documented.sh
    [ -s documented.sh ] || fail "docs/clusters.md has no script under '$heading'"
    sbatch --wait --quiet --output=documented-%j.out documented.sh || fail "$heading: $(cat documented-*.out)"
    same expected.h5 capture.h5
    if [ -e entropy.json ]; then
      lime-metrics entropy capture.h5 --quiet -o expected.json
      same expected.json entropy.json
    fi
    rm -rf capture.h5 capture.shards entropy.json
  done
}

start_cluster
mkdir -p "$folder/work/text"
cd "$folder/work"
cp -r "$root/data/lm-lime" model
write_text 6000 >text/a.txt
share_work
interrupt_jobs
train_together
write_text 2000 >text/a.txt
write_text 1000 >text/b.txt
run_documented_scripts
