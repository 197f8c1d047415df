#!/usr/bin/env bash
# Installs what was built into an empty tree, and compiles programs against that tree alone, which must find an owner in
# a real ringd: the README's C++ example, with client/README.md's CMakeLists.txt and with pkg-config; and programs with
# metrics, with the messages, and with messages of the same names that they compile themselves, which must start.
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
export PKG_CONFIG_PATH=$work/tree/lib/pkgconfig:$work/tree/lib/x86_64-linux-gnu/pkgconfig
"$work/tree/bin/ringd" --version
for page in man1/ringctl.1 man5/ringd.yaml.5 man8/ringd.8; do grep -q '^\.TH' "$work/tree/share/man/$page"; done
ringctl="$work/tree/bin/ringctl"

"$work/tree/bin/ringd" --data-dir "$work/data" --init --listen "unix:$work/ringd.sock" --http-listen '' 2>"$work/log" &
server=$!
export RINGCTL_ENDPOINTS=unix:$work/ringd.sock
until "$ringctl" ring create cache 2>/dev/null; do kill -0 "$server"; done
"$ringctl" node add cache n1 --address 10.0.0.1:7000

# build NAME: the program of the folder $work/NAME, of the tree alone: nothing of the source or of its build may be
# needed.
build() {
  cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
  cmake --build "$work/$1/build" >/dev/null
}
# by_pkg_config MODULE SOURCE PROGRAM
by_pkg_config() {
  # shellcheck disable=SC2046  # pkg-config's answer is many words
  "$compiler" -std=c++20 ${flags[@]+"${flags[@]}"} "$2" -o "$3" $(pkg-config --cflags --libs "$1") \
    "-Wl,-rpath,$(pkg-config --variable=libdir "$1")"
}
# expect TEXT PROGRAM: that is what the program says.
expect() {
  local said
  said=$("$2" "unix:$work/ringd.sock")
  [ "$said" = "$1" ] && return
  printf '%s was to say "%s", not "%s"\n' "$2" "$1" "$said" >&2
  exit 1
}

mkdir "$work/example" "$work/messages" "$work/metrics" "$work/own"
block cpp "$source_dir/README.md" >"$work/example/example.cc"
block cmake "$source_dir/client/README.md" >"$work/example/CMakeLists.txt"
build example
expect 10.0.0.1:7000 "$work/example/build/example"
by_pkg_config ringd-local "$work/example/example.cc" "$work/by-pkg-config"
expect 10.0.0.1:7000 "$work/by-pkg-config"

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
build messages
expect cache0 "$work/messages/build/messages"

cat >"$work/metrics/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(metrics CXX)
find_package(ringd REQUIRED COMPONENTS local metrics)
add_executable(metrics metrics.cc)
target_link_libraries(metrics ringd::metrics)
CMAKE
cat >"$work/metrics/metrics.cc" <<'CXX'
#include <prometheus/text_serializer.h>
#include <iostream>
#include "ringd/local_ring_metrics.h"

int main(int, char** args) {
  std::shared_ptr<ringd::LocalRing> ring = *ringd::LocalRing::Start("cache", {.directory = {.endpoints = {args[1]}}});
  if (!ring->WaitReady(std::chrono::seconds(60)).ok() || !ring->Owner("k").ok()) return 1;
  ringd::LocalRingMetrics metrics;
  metrics.Add(ring);
  const std::string page = prometheus::TextSerializer().Serialize(metrics.Collect());
  std::cout << page.substr(page.find("ringd_local_lookups_total{"));
}
CXX
build metrics
counted='ringd_local_lookups_total{ring="cache",node="n1"} 1'
expect "$counted" "$work/metrics/build/metrics"
by_pkg_config ringd-metrics "$work/metrics/metrics.cc" "$work/metrics-by-pkg-config"
expect "$counted" "$work/metrics-by-pkg-config"

# Two programs that compile protos of their own: Google's, of which they have more than ringd uses; and directory.proto.
mkdir -p "$work/own/google/rpc"
cp "$source_dir/proto/google/rpc/status.proto" "$work/own/google/rpc"
{
  cat "$source_dir/proto/google/rpc/error_details.proto"
  echo 'message Help { string text = 1; }'
} >"$work/own/google/rpc/error_details.proto"
cat >"$work/own/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(own C CXX)
find_package(Protobuf REQUIRED)
find_package(ringd REQUIRED)
set(google google/rpc/status.proto google/rpc/error_details.proto)
set(directory ringd/v1/directory.proto)
foreach(name IN ITEMS google directory)
  execute_process(COMMAND protoc --cpp_out=${CMAKE_BINARY_DIR} -I${CMAKE_SOURCE_DIR} -I${CMAKE_PREFIX_PATH}/share/ringd/proto
    ${${name}} COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM ${name} REPLACE "proto$" "pb.cc")
  add_executable(own-${name} ${name}.cc ${${name}})
  target_include_directories(own-${name} BEFORE PRIVATE ${CMAKE_BINARY_DIR})
  target_link_libraries(own-${name} ringd::client protobuf::libprotobuf)
endforeach()
CMAKE
cat >"$work/own/google.cc" <<'CXX'
#include <iostream>
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "ringd/client.h"

int main(int, char** args) {
  google::rpc::Help help;
  help.set_text("mine, and ringd's: ");
  google::rpc::Status status;
  status.add_details()->PackFrom(help);
  status.mutable_details(0)->UnpackTo(&help);
  auto client = ringd::Client::Connect({.endpoints = {args[1]}});
  std::cout << help.text() << ringd::ErrorReason((*client)->Lookup("nosuch", "k").status()) << "\n";
}
CXX
cat >"$work/own/directory.cc" <<'CXX'
#include <iostream>
#include "ringd/client.h"
#include "ringd/v1/directory.pb.h"

int main(int, char** args) {
  ringd::v1::Node node;
  node.set_id("n1");
  auto client = ringd::Client::Connect({.endpoints = {args[1]}});
  std::cout << ((*client)->Lookup("cache", "k")->owners.front().id == node.id()) << "\n";
}
CXX
build own
# AddressSanitizer takes it for an error that a program has the same names as a library, which here is what is tried.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0
expect "mine, and ringd's: RING_NOT_FOUND" "$work/own/build/own-google"
expect 1 "$work/own/build/own-directory"
echo "installed, compiled and run"
