#!/usr/bin/env bash
# From a fresh clone to a running directory: installs what the build needs, builds, starts ringd, makes a ring of five
# nodes, looks up the package names of this machine, adds a sixth node and shows what moved. See --help.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly ring=demo weight=100
readonly grpc_port=7440 http_port=7441
readonly start_seconds=30 stop_seconds=30

usage() {
  cat <<'HELP'
usage: deploy/quickstart.sh [options]

Installs the packages that are missing (Debian 12 or Ubuntu, as root or with sudo), builds ringd and ringctl, starts
ringd with its embedded store, and shows a ring at work. Run again, it stops the server that it started before.

  --no-install      install nothing: name what is missing and build with what is there
  --build-dir DIR   build in DIR instead of build/; server log and data go to DIR/quickstart/
  --bin-dir DIR     take ringd and ringctl from DIR: neither install nor build
  --stop            stop the server of an earlier run, and nothing else
  -h, --help        this text
HELP
}

die() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}

# ---- options --------------------------------------------------------------------------------------------------------

build_dir=$root/build
bin_dir=
only_stop=no
install_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install_options=(--no-install) ;;
    --build-dir | --bin-dir)
      [ $# -ge 2 ] || { printf '%s needs a directory\n' "$1" >&2; exit 2; }
      [ "$1" = --build-dir ] && build_dir=$2 || bin_dir=$2
      shift
      ;;
    --stop) only_stop=yes ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'unknown option %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

no_server() { printf 'No ringd of an earlier quick start is running.\n'; }

if [ $only_stop = yes ] && [ ! -d "$build_dir/quickstart" ]; then no_server; exit 0; fi
mkdir -p "$build_dir/quickstart" || die 'cannot write there; --build-dir takes another place'
build_dir=$(cd "$build_dir" && pwd)
state_dir=$build_dir/quickstart
pid_file=$state_dir/ringd.pid
server_log=$state_dir/ringd.log
build_log=$state_dir/build.log

# Paths below the clone are shown as one would type them there.
shown() { printf '%s' "${1#"$root"/}"; }

stop_command=deploy/quickstart.sh
[ "$build_dir" = "$root/build" ] || stop_command+=" --build-dir $(shown "$build_dir")"
stop_command+=' --stop'

# ---- the server's process -------------------------------------------------------------------------------------------

# start_ticks PID: when the process started, in clock ticks since boot; fails when there is none, or only a zombie.
start_ticks() {
  local stat fields
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  read -ra fields <<<"${stat##*) }"
  [ "${fields[0]}" != Z ] || return 1
  printf '%s' "${fields[19]}"
}

# executable PID: what it runs, also when a build has replaced the file since.
executable() {
  local path
  path=$(readlink "/proc/$1/exe" 2>/dev/null) || return 1
  printf '%s' "${path% (deleted)}"
}

remember_server() { printf '%s %s %s\n' "$1" "$(start_ticks "$1")" "$(executable "$1")" >"$pid_file"; }

# earlier_server prints the pid of the server that an earlier run started. A pid that went to another process since is
# told by its start time and its executable.
earlier_server() {
  local pid ticks path
  [ -s "$pid_file" ] && read -r pid ticks path <"$pid_file" || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  [ "$(start_ticks "$pid")" = "$ticks" ] && [ "$(executable "$pid")" = "$path" ] && printf '%s' "$pid"
}

# stop_server PID: SIGTERM, then wait until it has drained.
stop_server() {
  local pid=$1 ticks deadline=$((SECONDS + stop_seconds))
  ticks=$(start_ticks "$pid") || return 0
  kill -TERM "$pid" 2>/dev/null || true
  while [ "$(start_ticks "$pid")" = "$ticks" ]; do
    if [ $SECONDS -ge $deadline ]; then
      printf 'ringd (pid %s) does not end after %d s: killed\n' "$pid" $stop_seconds >&2
      kill -KILL "$pid" 2>/dev/null || true
      deadline=$((SECONDS + stop_seconds))
    fi
    sleep 0.05
  done
}

if [ $only_stop = yes ]; then
  if pid=$(earlier_server); then
    stop_server "$pid"
    printf 'Stopped ringd (pid %s).\n' "$pid"
  else
    no_server
  fi
  rm -f "$pid_file"
  exit 0
fi

# ---- packages and build ---------------------------------------------------------------------------------------------

build() {
  local missing=0 lacking='' options=() build_options=()
  "$root/deploy/install_packages.sh" ${install_options[@]+"${install_options[@]}"} "$root/deploy/packages.txt" || missing=$?
  case $missing in
    0) ;;
    3)
      printf 'Building with what is there.\n'
      lacking=' (packages are missing: see above)'
      ;;
    *) die 'could not install the packages; --no-install builds with what is there' ;;
  esac
  command -v cmake >/dev/null || die 'cmake is not installed'
  # A build directory keeps the generator that it was made with, also one that was not there.
  if [ ! -f "$build_dir/build.ninja" ] && [ ! -f "$build_dir/Makefile" ]; then
    rm -rf "$build_dir/CMakeCache.txt" "$build_dir/CMakeFiles"
  fi
  if [ ! -f "$build_dir/CMakeCache.txt" ] && command -v ninja >/dev/null; then options=(-G Ninja); fi
  if ! cmake -S "$root" -B "$build_dir" ${options[@]+"${options[@]}"} >"$build_log" 2>&1; then
    grep -A 20 'CMake Error' "$build_log" | head -n 40 >&2 || tail -n 20 "$build_log" >&2
    die "cmake could not configure the build$lacking; all of it is in $(shown "$build_log")"
  fi
  local first_time=
  [ -x "$build_dir/bin/ringctl" ] || first_time="; the first time takes minutes, and $(shown "$build_log") has the progress"
  # On a terminal the build shows it itself.
  if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then first_time=${first_time%%, and*}; fi
  printf 'Building ringd and ringctl%s.\n' "$first_time"
  build_options=(--build "$build_dir" --parallel "$(nproc)" --target ringd ringctl)
  if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
    cmake "${build_options[@]}" || die "the build failed$lacking"
  elif ! cmake "${build_options[@]}" >>"$build_log" 2>&1; then
    tail -n 40 "$build_log" >&2
    die "the build failed$lacking; all of it is in $(shown "$build_log")"
  fi
  bin_dir=$build_dir/bin
}

if [ -z "$bin_dir" ]; then
  SECONDS=0
  build
  printf 'Built in %d s.\n' $SECONDS
fi
[ -d "$bin_dir" ] || die "there is no directory $bin_dir"
bin_dir=$(cd "$bin_dir" && pwd)
for program in ringd ringctl; do
  [ -x "$bin_dir/$program" ] || die "there is no $(shown "$bin_dir")/$program"
done

# ---- server ---------------------------------------------------------------------------------------------------------

if pid=$(earlier_server); then
  stop_server "$pid"
  printf 'Stopped the ringd of the earlier run (pid %s).\n' "$pid"
fi
rm -f "$pid_file"

is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# address_of WORDS: where the server says that it listens.
address_of() { grep -oE '(http )?listening on 127\.0\.0\.1:[0-9]+' "$server_log" | sed -n "s/^$1 //p" | tail -n 1; }

# start_server GRPC_PORT HTTP_PORT: fails when it ended before it listened.
server_pid=
start_server() {
  local deadline=$((SECONDS + start_seconds))
  : >"$server_log"
  # A session of its own: neither Ctrl-C nor the end of this terminal reaches it.
  setsid nohup "$bin_dir/ringd" --listen "127.0.0.1:$1" --http-listen "127.0.0.1:$2" \
    --data-dir "$state_dir/data" --init >"$server_log" 2>&1 </dev/null &
  server_pid=$!
  until [ -n "$(address_of 'listening on')" ] && [ -n "$(address_of 'http listening on')" ]; do
    start_ticks $server_pid >/dev/null || return 1
    if [ $SECONDS -ge $deadline ]; then
      tail -n 20 "$server_log" >&2
      die "ringd does not listen after $start_seconds s; its log is $(shown "$server_log")"
    fi
    sleep 0.05
  done
  remember_server $server_pid || return 1
}

# Until the end is reached, a server that this run started is stopped with it.
stop_unfinished() {
  local status=$?
  if [ -n "$server_pid" ]; then stop_server "$server_pid"; rm -f "$pid_file"; fi
  exit $status
}
trap stop_unfinished EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

want_grpc=$grpc_port
want_http=$http_port
if is_taken $grpc_port; then want_grpc=0; fi
if is_taken $http_port; then want_http=0; fi
# A port can be taken without answering; then ringd says so, and a free one takes its place.
started=no
for ports in "$want_grpc $want_http" "$want_grpc 0" "0 $want_http" "0 0"; do
  if start_server "${ports% *}" "${ports#* }"; then started=yes; break; fi
  grep -qiE 'in use|bind' "$server_log" || break
done
if [ $started = no ]; then
  tail -n 20 "$server_log" >&2
  printf 'quickstart: ringd ended before it listened; the lines above are from %s.\n' "$(shown "$server_log")" >&2
  if grep -q 'in use by process' "$server_log"; then die 'stop that process and run again'; fi
  die "if they are about data of another build, remove $(shown "$state_dir") and run again"
fi
grpc_address=$(address_of 'listening on')
http_address=$(address_of 'http listening on')
[ "${grpc_address##*:}" = $grpc_port ] || printf 'Port %s is taken: gRPC listens on the free port %s.\n' $grpc_port "${grpc_address##*:}"
[ "${http_address##*:}" = $http_port ] || printf 'Port %s is taken: HTTP listens on the free port %s.\n' $http_port "${http_address##*:}"

# ---- ring -----------------------------------------------------------------------------------------------------------

# gRPC sends even loopback through a proxy that the environment names.
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
unset RINGCTL_OUTPUT RINGCTL_ENDPOINTS

ringctl() { "$bin_dir/ringctl" --endpoints "$grpc_address" "$@"; }

# run COMMAND...: ringctl without its output, unless it fails.
run() {
  local output
  output=$(ringctl "$@" 2>&1 </dev/null) || die "ringctl $* failed: $output"
}

if ! output=$(ringctl ring delete $ring --force --yes 2>&1 </dev/null); then
  [[ $output == *NOT_FOUND* ]] || die "ringctl ring delete $ring failed: $output"
fi
run ring create $ring
for i in 1 2 3 4 5; do run node add $ring "n$i" --weight $weight --address "10.0.0.$i:9000"; done

package_names() {
  # shellcheck disable=SC2016  # ${...} is dpkg-query's own syntax
  if command -v dpkg-query >/dev/null; then
    dpkg-query -W -f '${Package}\n'
  elif command -v rpm >/dev/null; then
    rpm -qa --qf '%{NAME}\n'
  elif command -v pacman >/dev/null; then
    pacman -Qq
  elif command -v apk >/dev/null; then
    apk info
  else
    find /usr/bin/ -mindepth 1 -maxdepth 1 -printf '%f\n'
  fi
}
package_names | LC_ALL=C sort -u >"$state_dir/keys"
key_count=$(wc -l <"$state_dir/keys")
[ "$key_count" -gt 0 ] || die 'this machine names no packages to look up'

# look_up FILE: key and owner of every key, tab-separated.
look_up() {
  ringctl lookup $ring - -o tsv <"$state_dir/keys" >"$1" || die 'ringctl lookup failed'
  [ "$(wc -l <"$1")" -eq "$key_count" ] || die "$key_count keys were looked up, but $(shown "$1") has $(wc -l <"$1") answers"
}

# node_shares: id and share of every node. Each node is printed as one JSON object with both fields.
node_shares() {
  local nodes
  nodes=$(ringctl node list $ring -o json) || die 'ringctl node list failed'
  grep -oE '"(id|share)" *: *("[^"]*"|[0-9.eE+-]+)' <<<"$nodes" |
    tr -d '" ' | awk -F : '$1 == "id" { id = $2 } $1 == "share" { print id, $2 }'
}

# show_table OWNERS: keys per node next to the node's share of the ring.
show_table() {
  node_shares >"$state_dir/shares"
  LC_ALL=C awk -v total="$key_count" '
    NR == FNR { split($0, row, "\t"); keys[row[2]]++; next }
    FNR == 1  { printf "\n  %-6s %8s %9s %14s\n", "NODE", "KEYS", "OF KEYS", "SHARE OF RING" }
              { printf "  %-6s %8d %8.1f%% %13.1f%%\n", $1, keys[$1], 100 * keys[$1] / total, 100 * $2 }
    END       { printf "\n" }' "$1" "$state_dir/shares"
}

look_up "$state_dir/owners.5"
printf '\nFive nodes of weight %d, and who owns the %d package names of this machine:\n' $weight "$key_count"
show_table "$state_dir/owners.5"

plan=$(ringctl node add $ring n6 --weight $weight --address 10.0.0.6:9000 --dry-run) || die 'ringctl node add --dry-run failed'
printf 'What a sixth node, n6, would move, by node add --dry-run:\n\n'
# Of the plan, the paragraph with the pairs of nodes.
awk '/^FROM/ { on = 1 } /^$/ { on = 0 } on { print "  " $0 }' <<<"$plan"
printf '\n'

run node add $ring n6 --weight $weight --address 10.0.0.6:9000
look_up "$state_dir/owners.6"
printf 'It joins:\n'
show_table "$state_dir/owners.6"

read -r moved to_new < <(paste "$state_dir/owners.5" "$state_dir/owners.6" |
  awk -F '\t' '$1 != $3 { bad = 1 } $2 != $4 { moved++; if ($4 == "n6") to_new++ }
               END { print (bad ? "-" : moved + 0), to_new + 0 }')
[ "$moved" != - ] || die 'ringctl lookup answered the keys in another order'
if [ "$moved" -ne "$to_new" ]; then die "$moved keys moved, but only $to_new of them to n6"; fi
printf '%d of %d keys moved, all of them to n6; every other key stayed where it was.\n' "$moved" "$key_count"

server_pid=''
cat <<END

ringd is running (pid $(cut -d ' ' -f 1 "$pid_file")):
  gRPC      $grpc_address   (loopback only)
  HTTP      http://$http_address
  try       $(shown "$bin_dir")/ringctl --endpoints $grpc_address lookup $ring some-key
  log       $(shown "$server_log")
  stop it   $stop_command
END
