#!/usr/bin/env bash
# Checks every shell script of the repository with shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v shellcheck >/dev/null; then
  printf 'shellcheck is needed: the Debian package shellcheck\n' >&2
  exit 1
fi
mapfile -d '' -t scripts < <(find .ci deploy tests -type f \( -name '*.sh' -o -path '.ci/*' \) -print0 | LC_ALL=C sort -z)
shellcheck -- "${scripts[@]}"
