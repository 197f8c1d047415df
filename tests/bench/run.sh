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

# A ringd with nothing in it.
ringd_at() {
  "$bin/ringd" --listen 127.0.0.1:0 --http-listen '' --data-dir "$1" --init 2> "$1.log" &
  servers+=($!)
  ringd=127.0.0.1:$(await "$1.log" 'listening on 127.0.0.1:([0-9]+)')
}

# An echo of a bench, with its arguments.
echo_of() {
  local bench=$1 log=$scratch/$1.log
  shift
  "$bin/$bench" serve-echo "$@" > "$log" &
  servers+=($!)
  echo_server=127.0.0.1:$(await "$log" '^([0-9]+)$')
}

# Ports that nobody has: for servers that do not choose their own.
free_ports() {
  python3 -c '
import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(one.getsockname()[1] for one in held))' "$1"
}

if [ $quick = yes ]; then
  repetitions=1 min_time=0.05 rounds=1 millis=200 batch_rounds=1 watch_rounds=1 storms=1
else
  repetitions=5 min_time=0.5 rounds=150 millis=100 batch_rounds=30 watch_rounds=30 storms=5
fi

for name in ring durable copy; do
  echo "${name}_bench ..." >&2
  "$bin/${name}_bench" --benchmark_repetitions=$repetitions --benchmark_min_time=$min_time \
    --benchmark_format=json --benchmark_out_format=json > "$scratch/$name.json"
done

echo "rpc_bench ..." >&2
ringd_at "$scratch/other"
other_ringd=$ringd
"$bin/watch_bench" prepare "$other_ringd"
ringd_at "$scratch/rpc"
read -r request_bytes response_bytes < <("$bin/rpc_bench" prepare "$ringd")
echo_of rpc_bench "$response_bytes"
"$bin/rpc_bench" measure "$ringd" "$other_ringd" "$echo_server" "$request_bytes" $rounds $millis \
  > "$scratch/rpc.json"

echo "batch_bench ..." >&2
echo_of batch_bench
read -r redis_port < <(free_ports 1)
redis-server --bind 127.0.0.1 --port "$redis_port" --save '' --dir "$scratch" > "$scratch/redis.log" &
servers+=($!)
await "$scratch/redis.log" '(Ready to accept connections)' > /dev/null
"$bin/batch_bench" measure "$ringd" "$echo_server" "$redis_port" $batch_rounds 200 > "$scratch/batch.json"

# Servers that had no streams before: what each stream adds to them is measured.
echo "watch_bench ..." >&2
ringd_at "$scratch/watch"
ringd_pid=${servers[-1]}
read -r etcd_port peer_port < <(free_ports 2)
etcd --data-dir "$scratch/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$peer_port" \
  --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
  --initial-cluster "default=http://127.0.0.1:$peer_port" > "$scratch/etcd.log" 2>&1 &
servers+=($!)
etcd_pid=$!
await "$scratch/etcd.log" '(ready to serve client requests)' > /dev/null
"$bin/watch_bench" prepare "$ringd"
for watchers in 10000 1000; do
  "$bin/watch_bench" measure "$ringd" "$ringd_pid" "127.0.0.1:$etcd_port" "$etcd_pid" $watchers $watch_rounds \
    > "$scratch/watch_$watchers.json"
done
"$bin/watch_bench" storm "$ringd" "$other_ringd" 10000 $storms > "$scratch/storm.json"

python3 tests/bench/report.py "$scratch" ${json:+--json "$json"}
