#!/usr/bin/env bash
# Checks that the C++ sources are formatted by .clang-format. Fixer: tests/lint/format.sh --fix
set -euo pipefail
cd "$(dirname "$0")/../.."

tool=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$tool" ] || ! "$tool" --version | grep -q 'version 14\.'; then
  printf 'clang-format 14 is needed (other versions format otherwise): the Debian package clang-format-14\n' >&2
  exit 1
fi
rooms=()
for room in ring proto server client tests; do [ ! -d $room ] || rooms+=("$room"); done
mapfile -d '' -t files < <(find "${rooms[@]}" \( -name '*.h' -o -name '*.cc' \) -print0 | LC_ALL=C sort -z)

if [ "${1-}" = --fix ]; then
  "$tool" -i -- "${files[@]}"
elif ! "$tool" --dry-run --Werror -- "${files[@]}"; then
  printf '\nto format: tests/lint/format.sh --fix\n' >&2
  exit 1
fi
