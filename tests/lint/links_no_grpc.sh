#!/usr/bin/env bash
# links_no_grpc.sh PROGRAM: fails when PROGRAM loads gRPC. ThreadSanitizer reports races that are none in a gRPC that
# was built without it, so what carries the label `nogrpc` must stay free of it.
set -euo pipefail
libraries=$(ldd "$1")
if grep -E 'libgrpc|libgpr' <<<"$libraries"; then
  printf '%s carries the label nogrpc and links gRPC\n' "$1" >&2
  exit 1
fi
