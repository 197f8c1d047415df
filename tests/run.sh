#!/usr/bin/env bash
# Installs what the tests need, builds, and runs every test. See --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'HELP'
usage: tests/run.sh [--all] [--no-install]

Installs the packages that are missing (Debian 12 or Ubuntu, as root or with sudo), builds with g++ and warnings as
errors in build-tests/, and runs the lints and every test. The last line is the number of tests that passed and failed.

  --all          then what takes longer: clang++ with -Wthread-safety, clang-tidy, AddressSanitizer and
                 UndefinedBehaviorSanitizer over all tests, ThreadSanitizer over those without gRPC, the stages
                 of deploy/Dockerfile (as root, with Debian's mirror), each bench once, each fuzz target for a minute,
                 and the tests that take minutes
  --no-install   install nothing
  -h, --help     this text
HELP
}

all=no
install_options=()
for argument in "$@"; do
  case $argument in
    --all) all=yes ;;
    --no-install) install_options=(--no-install) ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'unknown option %s\n\n' "$argument" >&2; usage >&2; exit 2 ;;
  esac
done

jobs=$(nproc)
work=$(mktemp -d)
timings=$work/timings
: >"$timings"
passed=0
failed=0
current_stage=

# ---- stages ---------------------------------------------------------------------------------------------------------

# stage NAME COMMAND...: the first one that fails ends the run.
stage() {
  local start=$SECONDS
  current_stage=$1
  printf '\n==> %s\n' "$current_stage"
  shift
  "$@"
  printf '%5d s  %s\n' $((SECONDS - start)) "$current_stage" >>"$timings"
  current_stage=
}

finish() {
  local status=$?
  printf '\n'
  cat "$timings"
  rm -rf "$work"
  printf '%5d s  in all\n\n' $SECONDS
  if [ -n "$current_stage" ]; then
    printf 'FAILED: %s\n' "$current_stage"
    [ $failed -ne 0 ] || failed=1 # no test, but the stage itself
  fi
  printf '%d passed, %d failed\n' $passed $failed
  exit $status
}
trap finish EXIT

packages() {
  local status=0
  deploy/install_packages.sh ${install_options[@]+"${install_options[@]}"} deploy/packages.txt tests/packages.txt || status=$?
  case $status in
    0) ;;
    3) printf 'going on with what is there\n' ;;
    *) return "$status" ;;
  esac
  if [ ${#install_options[@]} -eq 0 ]; then tests/lint/buf.sh --install; fi
}

configure() { cmake --preset "$1" >"$work/configure" || { cat "$work/configure"; return 1; }; }

build() {
  configure "$1"
  cmake --build --preset "$1" --parallel "$jobs"
}

# run_tests PRESET [OPTION...]: runs the tests and adds their numbers to the sum.
run_tests() {
  local status=0 summary
  ctest --preset "$@" --parallel "$jobs" 2>&1 | tee "$work/ctest" || status=$?
  # "98% tests passed, 1 tests failed out of 50"
  summary=$(grep -E 'tests passed, [0-9]+ tests failed out of [0-9]+' "$work/ctest" || true)
  if [[ $summary =~ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
  fi
  return $status
}

lint() {
  configure tests
  run_tests lint
}

sanitizer() {
  build "$1"
  run_tests "$1"
}

# The tests that take minutes mostly wait, so the targets are fuzzed meanwhile.
fuzz_and_long_tests() {
  local fuzzing status=0
  tests/fuzz/run.sh >"$work/fuzz" 2>&1 &
  fuzzing=$!
  run_tests long || status=$?
  wait $fuzzing || status=$?
  printf '\n'
  cat "$work/fuzz"
  return $status
}

stage 'packages' packages
stage 'lint' lint
stage 'build, g++' build tests
stage 'tests' run_tests tests --label-exclude '^(lint|long)$'
if [ $all = yes ]; then
  stage 'build, clang++' build clang
  stage 'clang-tidy' tests/lint/tidy.py build-clang
  stage 'tests, asan and ubsan' sanitizer asan
  stage 'tests without gRPC, tsan' sanitizer tsan
  stage 'Dockerfile' tests/integration/dockerfile_test.py
  if [ -x tests/bench/run.sh ]; then stage 'benches, once' tests/bench/run.sh --quick; fi
  stage 'build, fuzz targets' build fuzz
  stage 'fuzzing, and long tests' fuzz_and_long_tests
fi
