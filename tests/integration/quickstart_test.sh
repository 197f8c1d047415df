#!/usr/bin/env bash
# deploy/quickstart.sh with the programs RINGD_BIN and RINGCTL_BIN: what it shows, that it replaces its own earlier
# server and no other process, and that a taken port is no obstacle.
set -euo pipefail

quickstart=$(cd "$(dirname "$0")/../.." && pwd)/deploy/quickstart.sh
work=$(mktemp -d)
bin=$work/bin
mkdir "$bin"
ln -s "$(readlink -f "$RINGD_BIN")" "$bin/ringd"
ln -s "$(readlink -f "$RINGCTL_BIN")" "$bin/ringctl"
pid_file=$work/build/quickstart/ringd.pid
output=$work/output
holder=
stranger=

clean_up() {
  "$quickstart" --build-dir "$work/build" --stop >/dev/null || true
  for pid in $holder $stranger; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  [ ! -f "$output" ] || { printf -- '--- output of the quick start:\n' >&2; cat "$output" >&2; }
  exit 1
}

run() { "$quickstart" --build-dir "$work/build" "$@" >"$output" 2>&1 || fail "quickstart.sh $* exits $?"; }
says() { grep -qE -- "$1" "$output" || fail "the output has no line with: $1"; }
server_pid() { cut -d ' ' -f 1 "$pid_file"; }
is_running() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status"; }

# Both of the usual ports are taken: by this process, or by somebody else on the machine.
/usr/bin/python3 -c '
import signal, socket
held = []
for port in 7440, 7441:
    held.append(socket.socket())
    held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held[-1].bind(("127.0.0.1", port))
        held[-1].listen()
    except OSError:
        pass
print("held", flush=True)
signal.pause()' >"$work/held" &
holder=$!
for _ in $(seq 200); do [ -s "$work/held" ] && break; sleep 0.05; done
[ -s "$work/held" ] || fail 'the ports are not held'

# A first run shows five nodes, a plan, then six, with all moved keys on the sixth.
run --bin-dir "$bin"
says '^Port 7440 is taken: gRPC listens on the free port [0-9]+\.$'
says '^Port 7441 is taken: HTTP listens on the free port [0-9]+\.$'
for node in n1 n2 n3 n4 n5; do
  [ "$(grep -cE "^  $node +[0-9]+ +[0-9.]+% +[0-9.]+%$" "$output")" -eq 2 ] || fail "$node is not in both tables"
done
[ "$(grep -cE '^  n6 +[0-9]+ +[0-9.]+% +[0-9.]+%$' "$output")" -eq 1 ] || fail 'n6 is not in the second table alone'
[ "$(grep -cE '^  n[1-5] +n6 +[0-9.]+%$' "$output")" -eq 5 ] || fail 'the plan does not show what each node would give to n6'
says '^[1-9][0-9]* of [0-9]+ keys moved, all of them to n6'
says '^  gRPC      127\.0\.0\.1:[0-9]+'
says '^  stop it   .*quickstart\.sh .*--stop$'
first=$(server_pid)
is_running "$first" || fail 'the server does not run after the first run'
address=$(sed -n 's/^  gRPC  *\([0-9.:]*\) .*/\1/p' "$output")
[ "$("$bin/ringctl" --endpoints "$address" lookup demo - -o tsv <<<some-key | wc -l)" -eq 1 ] || fail 'the server does not answer'

# A second run replaces the first one's server.
run --bin-dir "$bin"
says "^Stopped the ringd of the earlier run \(pid $first\)\.$"
is_running "$first" && fail 'the earlier server still runs'
second=$(server_pid)
is_running "$second" || fail 'the server does not run after the second run'

# --stop stops it, and once is enough.
run --stop
says "^Stopped ringd \(pid $second\)\.$"
is_running "$second" && fail 'the server runs after --stop'
run --stop
says '^No ringd of an earlier quick start is running\.$'

# A pid that now belongs to another process is left alone: other start time, other executable.
sleep 600 &
stranger=$!
ticks=$(sed 's/.*) //' "/proc/$stranger/stat" | cut -d ' ' -f 20)
executable=$(readlink "/proc/$stranger/exe")
for remembered in "$stranger $((ticks - 1)) $executable" "$stranger $ticks $(readlink -f "$RINGD_BIN")" 'no pid' ''; do
  printf '%s\n' "$remembered" >"$pid_file"
  run --stop
  is_running "$stranger" || fail "a process that is not ours was stopped: $remembered"
done

# What cannot work is said, and leaves no server behind.
if "$quickstart" --build-dir "$work/build" --bin-dir "$work/nothing" >"$output" 2>&1; then fail 'works without programs'; fi
says 'there is no directory'
printf '#!/bin/sh\nexit 1\n' >"$work/ringctl"
chmod +x "$work/ringctl"
ln -sf "$work/ringctl" "$bin/ringctl"
if "$quickstart" --build-dir "$work/build" --bin-dir "$bin" >"$output" 2>&1; then fail 'works with a ringctl that fails'; fi
says 'ringctl ring delete demo failed'
[ ! -f "$pid_file" ] || fail 'a failed run leaves its server'

printf 'quick start: all as it should be\n'
