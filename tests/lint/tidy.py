#!/usr/bin/python3
"""Runs clang-tidy 14 over ring/, proto/, server/ and client/, by a build's compile_commands.json.

A file takes half a minute, so what was found clean is remembered: under a hash of the source as the compiler sees it, with
its headers and its comments, of .clang-tidy and of the tool. The folder is $XDG_CACHE_HOME/ringd-tidy, or
~/.cache/ringd-tidy; deleting it costs time alone.

Usage: tidy.py BUILD_DIR [PATTERN...]      files whose path has one of the patterns; none = all
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = tuple(f"{ROOT}/{room}/" for room in ("ring", "proto", "server", "client"))
TOOL = "clang-tidy-14"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ringd-tidy"
# Of the output; the rest tells how many findings in foreign headers were left out.
NOISE = ("warnings generated.", "warning generated.", "Suppressed ", "Use -header-filter", "warnings treated as errors")


def commands(build_dir):
    """What compiles each of our sources, once. Generated ones lie in the build and are not among them."""
    entries = json.loads((build_dir / "compile_commands.json").read_text())
    return {entry["file"]: entry for entry in entries if entry["file"].startswith(ROOMS)}


def digest(entry, settings):
    """The hash, or None where the source does not even preprocess: then clang-tidy says why."""
    words = [word for word in shlex.split(entry["command"]) if word != "-c"]
    words = words[:words.index("-o")] + words[words.index("-o") + 2:]
    # -C keeps comments: NOLINT is one. -P leaves out the lines' numbers, and with them the path of the tree.
    seen = subprocess.run(words + ["-E", "-P", "-C"], cwd=entry["directory"], capture_output=True, check=False)
    if seen.returncode != 0:
        return None
    return hashlib.sha256(settings + seen.stdout.replace(bytes(ROOT), b"")).hexdigest()


def check(build_dir, entry, settings):
    """The findings in one file, as text; empty = clean."""
    name = digest(entry, settings)
    if name and (CACHE / name).exists():
        return ""
    ran = subprocess.run([TOOL, "-p", build_dir, "-quiet", entry["file"]], capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        if name:
            (CACHE / name).touch()
        return ""
    lines = (ran.stdout + ran.stderr).splitlines(keepends=True)
    return "".join(line for line in lines if not any(noise in line for noise in NOISE)) or f"{entry['file']}: failed\n"


def main():
    build_dir = pathlib.Path(sys.argv[1]).resolve()
    patterns = sys.argv[2:]
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    settings = version + (ROOT / ".clang-tidy").read_bytes()
    files = [entry for file, entry in sorted(commands(build_dir).items())
             if not patterns or any(pattern in file for pattern in patterns)]
    found = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda entry: check(build_dir, entry, settings), files):
            found |= bool(findings)
            print(findings, end="", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
