#!/usr/bin/env bash
# Runs the benches and prints each figure beside its peer's, with the ratio and whether it reaches what is wanted.
#
#   tests/bench/run.sh [--quick] [--json FILE] [--bin-dir DIR]
#
# --quick proves that the benches run; its figures are worth nothing. --json writes a list of objects with name, value,
# unit, peer, peer_value, ratio, reach, met. DIR holds the programs of a build with -DRINGD_TESTS=ON (build-tests/bin).
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=build-tests/bin
json=
quick=no
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=yes ;;
    --json) json=${2:?--json needs a file}; shift ;;
    --bin-dir) bin=${2:?--bin-dir needs a directory}; shift ;;
    *) echo "usage: tests/bench/run.sh [--quick] [--json FILE] [--bin-dir DIR]" >&2; exit 2 ;;
  esac
  shift
done

scratch=$(mktemp -d)
servers=()
cleanup() {
  [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT

# Waits until a file holds a line that matches, and prints what the pattern captured.
await() {
  local file=$1 pattern=$2
  for _ in $(seq 200); do
    if found=$(sed -nE "s/.*$pattern.*/\\1/p" "$file" | tail -n 1) && [ -n "$found" ]; then
      echo "$found"
      return
    fi
    sleep 0.05
  done
  echo "no server: $(cat "$file")" >&2
  return 1
}

if [ $quick = yes ]; then
  repetitions=1 min_time=0.05 rounds=1 millis=200
else
  repetitions=5 min_time=0.5 rounds=150 millis=100
fi

for name in ring durable copy; do
  echo "${name}_bench ..." >&2
  "$bin/${name}_bench" --benchmark_repetitions=$repetitions --benchmark_min_time=$min_time \
    --benchmark_format=json --benchmark_out_format=json > "$scratch/$name.json"
done

echo "rpc_bench ..." >&2
"$bin/ringd" --listen 127.0.0.1:0 --http-listen '' --data-dir "$scratch/data" --init 2> "$scratch/ringd.log" &
servers+=($!)
ringd=127.0.0.1:$(await "$scratch/ringd.log" 'listening on 127.0.0.1:([0-9]+)')
read -r request_bytes response_bytes < <("$bin/rpc_bench" prepare "$ringd")
"$bin/rpc_bench" serve-echo "$response_bytes" > "$scratch/echo.log" &
servers+=($!)
echo_server=127.0.0.1:$(await "$scratch/echo.log" '^([0-9]+)$')
"$bin/rpc_bench" measure "$ringd" "$echo_server" "$request_bytes" $rounds $millis > "$scratch/rpc.json"

python3 tests/bench/report.py "$scratch/ring.json" "$scratch/durable.json" "$scratch/copy.json" "$scratch/rpc.json" ${json:+--json "$json"}
