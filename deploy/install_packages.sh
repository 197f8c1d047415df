#!/usr/bin/env bash
# Installs the packages that the given lists name and that are not there yet.
#
#   deploy/install_packages.sh [--no-install] LIST...
#
# On Debian and Ubuntu, as root or with sudo. Elsewhere, or with --no-install, it names what is missing and installs
# nothing. When all is there it does not call apt at all.
#
# Exit code: 0 all is there (now), 3 something is missing and was not installed, 1 the installation failed, 2 usage.
set -euo pipefail

install=yes
lists=()
for argument in "$@"; do
  case $argument in
    --no-install) install=no ;;
    -*) printf 'unknown option %s\n' "$argument" >&2; exit 2 ;;
    *) lists+=("$argument") ;;
  esac
done
if [ ${#lists[@]} -eq 0 ]; then
  printf 'usage: %s [--no-install] LIST...\n' "$0" >&2
  exit 2
fi

has_dpkg=no
if command -v dpkg-query >/dev/null; then has_dpkg=yes; fi

# is_there PACKAGE PROBE
is_there() {
  case $2 in
    '<'*) [ $has_dpkg = no ] && printf '#include %s\n' "$2" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 && return 0 ;;
    py:*) [ $has_dpkg = no ] && /usr/bin/python3 -c "import ${2#py:}" >/dev/null 2>&1 && return 0 ;;
    /*) [ -e "$2" ] && return 0 ;;
    *) command -v "$2" >/dev/null && return 0 ;;
  esac
  # Not in a pipe: dpkg-query exits 1 as soon as one name is unknown, and that is no error here.
  [[ $installed == *" $1 "* ]]
}

wanted=()
probes=()
while read -r package probe _; do
  case $package in '' | '#'*) continue ;; esac
  wanted+=("$package")
  probes+=("$probe")
done < <(cat -- "${lists[@]}")

installed=' '
if [ $has_dpkg = yes ]; then
  # shellcheck disable=SC2016  # ${...} is dpkg-query's own syntax
  installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
    sed -n 's/^installed //p' | tr '\n' ' ' || true) "
fi

missing=()
for i in "${!wanted[@]}"; do
  is_there "${wanted[$i]}" "${probes[$i]}" || missing+=("${wanted[$i]}")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

give_up() {
  printf 'missing (by their Debian names): %s\n' "${missing[*]}" >&2
  printf '%s: nothing was installed\n' "$1" >&2
  exit 3
}

if [ $install = no ]; then give_up 'told not to install'; fi
system=$(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null | tr -d '"' || true)
case $system in
  debian | ubuntu) ;;
  *) give_up "this is not Debian or Ubuntu but ${system:-unknown}" ;;
esac
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then give_up 'neither root nor sudo'; fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq "$@" >>"$log" 2>&1 </dev/null
}
if [ ${#as_root[@]} -gt 0 ] && ! sudo -v; then give_up 'sudo refuses'; fi
printf 'installing: %s\n' "${missing[*]}"
apt_get update || true # one broken source need not matter; if it does, the next step says so
if ! apt_get install -y --no-install-recommends "${missing[@]}"; then
  tail -n 20 "$log" >&2
  printf 'apt-get could not install: %s\n' "${missing[*]}" >&2
  exit 1
fi
