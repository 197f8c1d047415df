#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, as many at once as there are processors. See --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'HELP'
usage: tests/fuzz/run.sh [--seconds N] [TARGET...]

Builds the preset fuzz and runs the targets, all of them or those that are named, N seconds each (60). What a target
finds new stays in build-fuzz/corpus/TARGET, and the next run begins from it. An input that goes wrong, or takes more
than a second, is kept in build-fuzz/found; the last lines say how to run it again. Exit code 1 when there is one.

TARGET is the name of a folder in tests/fuzz/corpus.
HELP
}

seconds=60
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) printf 'unknown option %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(ls tests/fuzz/corpus); fi
for target in "${targets[@]}"; do
  if [ ! -d "tests/fuzz/corpus/$target" ]; then
    printf 'no target %s; there are: %s\n' "$target" "$(echo tests/fuzz/corpus/* | sed 's|tests/fuzz/corpus/||g')" >&2
    exit 2
  fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --preset fuzz >"$scratch/configure" || { cat "$scratch/configure"; exit 1; }
cmake --build --preset fuzz --parallel "$(nproc)"
mkdir -p build-fuzz/found

# fuzz TARGET: leaves what it says in TARGET.log, and a file TARGET.failed where something was found.
fuzz() {
  local target=$1 dictionary=tests/fuzz/dictionary/$1 status=0 found
  local options=(-max_total_time="$seconds" -timeout=1 -rss_limit_mb=2048 -print_final_stats=1 -use_value_profile=1
    -max_len=4096 -artifact_prefix="build-fuzz/found/$target-")
  if [ -f "$dictionary" ]; then options+=(-dict="$dictionary"); fi
  mkdir -p "build-fuzz/corpus/$target"
  # Temporary files of a target that is ended by an input go with the folder.
  TMPDIR=$scratch "build-fuzz/bin/${target}_fuzz" "${options[@]}" "build-fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    >"$scratch/$target.log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    found='nothing found'
  else
    found=FAILED
    touch "$scratch/$target.failed"
  fi
  printf '%s: %s inputs, %s\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$target.log")" "$found"
}

running=0
for target in "${targets[@]}"; do
  if [ $running -ge "$(nproc)" ]; then
    wait -n
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
wait

failed=0
for target in "${targets[@]}"; do
  [ -f "$scratch/$target.failed" ] || continue
  failed=1
  printf '\n==> %s\n' "$target"
  tail -n 60 "$scratch/$target.log"
  sed -n "s|.*Test unit written to \(.*\)|\nagain: build-fuzz/bin/${target}_fuzz \1|p" "$scratch/$target.log"
done
exit $failed
