#!/usr/bin/python3
"""Checks every #include against the arrows between the rooms of the repository.

  ring/    values and functions: std, Abseil, fmt, xxHash, zlib, libcrypto; no gRPC, no protobuf, no I/O, clock, threads.
           ring/mutex.h, the lock of the rooms above, lies here for want of a lower place; nothing in ring/ includes it
  proto/   the .proto files, the codecs, the reading and judging of certificates -> ring/. status_codec, certificates and
           small_file take ring/error.h alone, as the thin client links them; so does retry_after
  server/  -> proto/, ring/
  client/  -> the generated code, status_codec.h, certificates.h, enum_names.h, serialize.h and yaml_document.h of proto/, and error.h, utf8.h,
           closest_word.h and mutex.h of ring/, so that ringd::client stays thin; the local copy of a ring (client/local/)
           and the fake directory (client/testing/) -> proto/, ring/ too, and so may ringctl (client/ringctl/), which
           places keys itself. Server and client never include each other
  tests/   -> everything; nothing else includes tests/

Usage: layering.py [TREE]
"""

import pathlib
import re
import sys

ROOMS = ("ring", "proto", "server", "client", "tests")
SOURCES = (".h", ".cc")
OTHER_CXX = (".hpp", ".hh", ".hxx", ".cpp", ".cxx", ".c", ".inc", ".ipp")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

# What ring/ may include of others: headers without I/O, clock, threads or randomness. Everything else is refused, so
# that a POSIX header needs no rule of its own.
STANDARD_OF_RING = frozenset(
    """
    algorithm any array atomic bit bitset cassert cerrno cfloat charconv cinttypes climits cmath compare complex
    concepts cstddef cstdint cstdlib cstring cwchar deque exception expected forward_list functional initializer_list
    iterator limits list map memory memory_resource new numbers numeric optional queue ranges ratio set span sstream
    stack stdexcept string string_view system_error tuple type_traits typeindex typeinfo unordered_map unordered_set
    utility valarray variant vector version
    """.split()
)
LIBRARIES_OF_RING = re.compile(r"(absl|fmt|openssl)/|(xxhash|zlib)\.h$")
REFUSED_ABSEIL_OF_RING = re.compile(r"absl/(synchronization|random|flags|log|debugging|time/(clock|civil_time))\b")
MUTEX = "ring/mutex.h"
STANDARD_OF_MUTEX = frozenset("chrono condition_variable mutex shared_mutex".split())

STORAGE = re.compile(r"ringd/storage/")
THIN_CLIENT = ("proto/certificates.h", "proto/status_codec.h", "proto/enum_names.h", "proto/serialize.h", "proto/yaml_document.h",
               "ring/closest_word.h", "ring/error.h", MUTEX, "ring/utf8.h")
BELOW_THIN_CLIENT = re.compile(r"proto/(status_codec|certificates|small_file|retry_after)\.")
LOCAL_COPY = re.compile(r"client/(local|testing)/")
WITH_RING = re.compile(r"client/(local|testing|ringctl)/")
ROOM = re.compile(rf"({'|'.join(ROOMS)})/")


def why_refused(file, quote, name):
    """Why `file` may not include `name`, or None. Both are paths from the root of the tree."""
    room = file.split("/")[0]
    if name.startswith((".", "/")) or (quote == '"' and "/" not in name):
        return "include by the path from the root"
    if ROOM.match(name) and quote == "<":
        return 'our own headers are included with ""'
    if name.endswith((".cc", ".cpp", ".cxx", ".c")):
        return "a source file is not included"
    target = name.split("/")[0] if ROOM.match(name) else None
    if room == "tests":
        return None
    if target == "tests":
        return "nothing but tests/ includes tests/"
    if STORAGE.match(name) and room == "client":
        return "what is kept on disk is no matter of client/"
    return {"ring": _ring, "proto": _proto, "server": _server, "client": _client}[room](file, name, target)


def _ring(file, name, target):
    if name == MUTEX:
        return "ring/ itself has no locks"
    if target == "ring" or (file == MUTEX and name in STANDARD_OF_MUTEX):
        return None
    if target:
        return f"ring/ does not know {target}/"
    if name in STANDARD_OF_RING:
        return None
    if LIBRARIES_OF_RING.match(name) and not REFUSED_ABSEIL_OF_RING.match(name):
        return None
    return "ring/ takes no gRPC, protobuf, I/O, clock, threads or randomness (allowed: lists in layering.py)"


def _proto(file, name, target):
    if target in ("server", "client"):
        return f"proto/ does not know {target}/"
    if BELOW_THIN_CLIENT.match(file) and target and not BELOW_THIN_CLIENT.match(name) and name != "ring/error.h":
        return "status_codec, retry_after, certificates and small_file take ring/error.h alone: the thin client links them"
    return None


def _server(_file, _name, target):
    return "server/ and client/ never include each other" if target == "client" else None


def _client(file, name, target):
    if target == "server":
        return "server/ and client/ never include each other"
    if LOCAL_COPY.match(file):
        return None
    if target == "client" and LOCAL_COPY.match(name):
        return "the thin client does not include the local copy"
    if target in ("ring", "proto") and name not in THIN_CLIENT and not WITH_RING.match(file):
        return f"the thin client takes only the generated code, {', '.join(THIN_CLIENT)}"
    return None


def check(tree):
    """Returns one line for every violation below `tree`."""
    found = []
    for room in ROOMS:
        for path in sorted((tree / room).rglob("*")):
            file = path.relative_to(tree).as_posix()
            if path.suffix in OTHER_CXX:
                found.append(f"{file}: C++ files end in .h and .cc")
            if path.suffix not in SOURCES or not path.is_file():
                continue
            # A comment is replaced by its line breaks, so that line numbers stay.
            text = BLOCK_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
            for match in INCLUDE.finditer(text):
                reason = why_refused(file, match[1], match[2])
                if reason:
                    line = text.count("\n", 0, match.start()) + 1
                    found.append(f"{file}:{line}: {match[2]}: {reason}")
    return found


def main():
    tree = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = check(tree)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
