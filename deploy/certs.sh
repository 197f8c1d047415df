#!/usr/bin/env bash
# Makes a CA and, issued by it, certificates for ringd and for clients of it: to try mTLS out. See --help.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: deploy/certs.sh [options] DIR [CLIENT...]

Makes in DIR: ca.pem and ca-key.pem; server.pem and server-key.pem; CLIENT.pem and CLIENT-key.pem for each CLIENT (when
none is named: admin and reader). A client's name, for --admin-san, is the URI spiffe://ringd.local/CLIENT. A CA that is
there stays, so that a second run renews the others, which a running ringd takes up by itself.

For trying it out: the key of the CA lies beside the rest, without a passphrase.

  --host NAME   a name or an IP address of the server, for clients to compare; repeat it [localhost, 127.0.0.1, ::1]
  --days N      how long the certificates of server and clients are valid [90]
  -h, --help    this text
HELP
}

hosts=()
days=90
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --host | --days)
      [ $# -ge 2 ] || { printf '%s needs a value\n' "$1" >&2; exit 2; }
      if [ "$1" = --host ]; then hosts+=("$2"); else days=$2; fi
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    -*) printf 'unknown option %s\n\n' "$1" >&2; usage >&2; exit 2 ;;
    *) words+=("$1") ;;
  esac
  shift
done
if [ ${#words[@]} -eq 0 ]; then usage >&2; exit 2; fi
[ ${#hosts[@]} -gt 0 ] || hosts=(localhost 127.0.0.1 ::1)
dir=${words[0]}
clients=("${words[@]:1}")
[ ${#clients[@]} -gt 0 ] || clients=(admin reader)
for client in "${clients[@]}"; do
  [[ $client =~ ^[A-Za-z0-9._-]+$ && $client != ca && $client != server ]] ||
    { printf 'not a name for a client: %s\n' "$client" >&2; exit 2; }
done

[[ $days =~ ^-?[0-9]{1,5}$ ]] || { printf -- '--days is a number of days, not %s\n' "$days" >&2; exit 2; }
if [ ! -e "$dir/ca.pem" ] && [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
  printf '%s is there and holds other files than certificates: name a new directory\n' "$dir" >&2
  exit 2
fi

command -v openssl >/dev/null || { printf 'openssl is needed: the Debian package openssl\n' >&2; exit 1; }
umask 077
mkdir -p "$dir"
work=$(mktemp -d "$dir/.new-XXXXXX")
trap 'rm -rf "$work"' EXIT

run_openssl() { openssl "$@" 2>"$work/error" || { cat "$work/error" >&2; exit 1; }; }

new_key() { run_openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$1"; }

# issue NAME USAGE SAN: NAME.pem and NAME-key.pem in the directory. Each file changes at once, the key first.
issue() {
  local name=$1 usage=$2 san=$3
  new_key "$work/$name-key.pem"
  run_openssl req -new -key "$work/$name-key.pem" -subj "/O=ringd/CN=$name" -out "$work/$name.csr"
  printf '%s\n' "basicConstraints=critical,CA:FALSE" "keyUsage=critical,digitalSignature" "extendedKeyUsage=$usage" \
    "subjectAltName=$san" >"$work/$name.ext"
  run_openssl x509 -req -in "$work/$name.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -days "$days" -sha256 \
    -extfile "$work/$name.ext" -out "$work/$name.pem"
  mv "$work/$name-key.pem" "$work/$name.pem" "$dir/"
}

if [ ! -e "$dir/ca.pem" ]; then
  new_key "$work/ca-key.pem"
  run_openssl req -x509 -new -key "$work/ca-key.pem" -days 3650 -sha256 -subj '/O=ringd/CN=a CA for trying ringd out' \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' -out "$work/ca.pem"
  mv "$work/ca-key.pem" "$work/ca.pem" "$dir/"
fi
names=()
for host in "${hosts[@]}"; do
  if [[ $host =~ ^[0-9.]+$ || $host == *:* ]]; then names+=("IP:$host"); else names+=("DNS:$host"); fi
done
issue server serverAuth "$(IFS=,; printf '%s' "${names[*]}")"
for client in "${clients[@]}"; do issue "$client" clientAuth "URI:spiffe://ringd.local/$client"; done

cat <<NEXT
Certificates are in $dir. For example:

  ringd --data-dir DATA --init --tls-cert-file $dir/server.pem --tls-key-file $dir/server-key.pem \\
    --tls-client-ca-file $dir/ca.pem --admin-san spiffe://ringd.local/${clients[0]}
  ringctl --cacert $dir/ca.pem --cert $dir/${clients[0]}.pem --key $dir/${clients[0]}-key.pem status
NEXT
