#!/usr/bin/env bash
# Installs what was built into an empty tree, and compiles the README's C++ example against that tree alone: once with
# client/README.md's CMakeLists.txt, once with pkg-config. Both must find an owner in a real ringd. Then a program that
# uses the messages too, which must start.
#
# usage: install_test.sh SOURCE_DIR BUILD_DIR CXX_COMPILER [CXX_FLAGS]
set -euo pipefail
source_dir=$1
build_dir=$2
compiler=$3
read -ra flags <<<"${4-}"
work=$(mktemp -d)
server=
# shellcheck disable=SC2317  # called by the trap
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# block LANGUAGE FILE: the first code block of that language in a page.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2" | sed -e '1d' -e '/^```$/,$d'; }

cmake --install "$build_dir" --prefix "$work/tree" >"$work/install.log"
export LD_LIBRARY_PATH=$work/tree/lib:$work/tree/lib/x86_64-linux-gnu
"$work/tree/bin/ringd" --version
ringctl="$work/tree/bin/ringctl"

"$work/tree/bin/ringd" --data-dir "$work/data" --init --listen "unix:$work/ringd.sock" --http-listen '' 2>"$work/log" &
server=$!
export RINGCTL_ENDPOINTS=unix:$work/ringd.sock
until "$ringctl" ring create cache 2>/dev/null; do kill -0 "$server"; done
"$ringctl" node add cache n1 --address 10.0.0.1:7000

mkdir "$work/example" "$work/messages"
block cpp "$source_dir/README.md" >"$work/example/example.cc"
block cmake "$source_dir/client/README.md" >"$work/example/CMakeLists.txt"
# Of the tree alone: nothing of the source or of its build may be needed.
cmake -S "$work/example" -B "$work/example/build" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
cmake --build "$work/example/build" >/dev/null
expect() {
  [ "$1" = 10.0.0.1:7000 ] && return
  echo "an owner's address was expected, not \"$1\"" >&2
  exit 1
}
expect "$("$work/example/build/example" "unix:$work/ringd.sock")"

export PKG_CONFIG_PATH=$work/tree/lib/pkgconfig:$work/tree/lib/x86_64-linux-gnu/pkgconfig
# shellcheck disable=SC2046  # pkg-config's answer is many words
"$compiler" -std=c++20 ${flags[@]+"${flags[@]}"} "$work/example/example.cc" -o "$work/by-pkg-config" $(pkg-config --cflags --libs ringd-local)
expect "$("$work/by-pkg-config" "unix:$work/ringd.sock")"

cat >"$work/messages/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(messages C CXX)
find_package(ringd REQUIRED COMPONENTS proto local)
add_executable(messages messages.cc)
target_link_libraries(messages ringd::local ringd::proto)
CMAKE
cat >"$work/messages/messages.cc" <<'CXX'
#include <iostream>
#include "ringd/local_ring.h"
#include "ringd/v1/directory.pb.h"

int main() {
  ringd::v1::LookupRequest request;
  request.set_ring("cache");
  std::cout << request.ring() << ringd::LocalRing::Start("", {}).ok() << "\n";
}
CXX
cmake -S "$work/messages" -B "$work/messages/build" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
cmake --build "$work/messages/build" >/dev/null
[ "$("$work/messages/build/messages")" = cache0 ]
echo "installed, compiled and run"
