#!/usr/bin/env bash
# Checks the .proto files with `buf lint`, as proto/buf.yaml says. `buf.sh --install` first installs buf itself, in the
# version that package.json names, into build-tools/; nothing happens when it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's|.*"@bufbuild/buf": *"\([0-9.]*\)".*|\1|p' tests/lint/package.json)
tools=build-tools
buf=$tools/node_modules/.bin/buf
have() { [ -x $buf ] && [ "$($buf --version 2>/dev/null)" = "$version" ]; }

if [ "${1-}" = --install ]; then
  if have; then exit 0; fi
  if ! command -v npm >/dev/null; then
    printf 'npm is needed to install buf: the Debian package npm\n' >&2
    exit 1
  fi
  mkdir -p $tools
  cp tests/lint/package.json $tools/
  npm install --prefix $tools --no-save --no-package-lock --no-audit --no-fund --loglevel=error >/dev/null
  have || { printf 'npm did not install buf %s\n' "$version" >&2; exit 1; }
  exit 0
fi

if ! have; then
  printf 'buf %s is not installed: run tests/lint/buf.sh --install (needs npm and the network)\n' "$version" >&2
  exit 1
fi
$buf lint proto
