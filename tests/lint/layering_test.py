#!/usr/bin/python3
"""Each arrow of layering.py: what follows it passes, what goes against it is found."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layering  # noqa: E402  (the path must be set first)

ALLOWED = {
    "ring/ring.h": [
        "<vector>",
        "<atomic>",
        '"absl/container/flat_hash_map.h"',
        '"absl/time/time.h"',
        "<xxhash.h>",
        "<zlib.h>",
        "<openssl/evp.h>",
        "<fmt/format.h>",
        '"ring/node.h"',
    ],
    "ring/mutex.h": ["<mutex>", "<shared_mutex>", "<condition_variable>", "<chrono>", '"absl/base/thread_annotations.h"'],
    "proto/codec.cc": ['"ring/ring.h"', '"ringd/v1/directory.pb.h"', '"absl/status/statusor.h"'],
    "proto/status_codec.cc": ['"proto/status_codec.h"', '"ring/error.h"', "<grpcpp/grpcpp.h>", '"google/rpc/status.pb.h"'],
    "proto/certificates.cc": ['"proto/certificates.h"', '"ring/error.h"', "<openssl/ssl.h>"],
    "server/directory.cc": ['"proto/codec.h"', '"ring/ring.h"', '"server/store.h"', '"ring/mutex.h"', '"ringd/storage/v1/storage.pb.h"'],
    "client/client.cc": ['"proto/status_codec.h"', '"proto/certificates.h"', '"ring/error.h"', '"ring/mutex.h"', '"ringd/v1/directory.grpc.pb.h"', "<thread>", '"client/client.h"'],
    "client/ringctl/main.cc": ['"client/client.h"', '"client/ringctl/table.h"', '"ring/ring.h"', '"proto/codec.h"', "<CLI/CLI.hpp>", "<iostream>"],
    "client/local/local_ring.cc": ['"ring/ring.h"', '"proto/codec.h"', '"client/client.h"', '"client/local/watch_machine.h"'],
    "tests/server/directory_test.cc": ['"server/directory.h"', '"client/client.h"', '"tests/support/clock.h"', "<gtest/gtest.h>"],
}

REFUSED = {
    "ring/ring.h": [
        "<grpcpp/grpcpp.h>",
        "<google/protobuf/message.h>",
        '"ringd/v1/directory.pb.h"',
        "<thread>",
        "<mutex>",
        "<shared_mutex>",
        "<condition_variable>",
        "<future>",
        "<chrono>",
        "<ctime>",
        "<time.h>",
        "<random>",
        "<iostream>",
        "<fstream>",
        "<filesystem>",
        "<cstdio>",
        "<unistd.h>",
        "<sys/socket.h>",
        "<pthread.h>",
        '"absl/synchronization/mutex.h"',
        '"absl/time/clock.h"',
        '"absl/random/random.h"',
        "<spdlog/spdlog.h>",
        "<sqlite3.h>",
        '"proto/codec.h"',
        '"server/store.h"',
        '"client/client.h"',
        '"tests/support/clock.h"',
        '"node.h"',
        '"../ring/node.h"',
        "<ring/node.h>",
        '"ring/hash.cc"',
        '"ring/mutex.h"',
    ],
    "ring/mutex.h": ["<thread>", "<future>", "<iostream>", '"server/store.h"'],
    "proto/codec.cc": ['"server/directory.h"', '"client/client.h"', '"tests/support/clock.h"'],
    "proto/status_codec.cc": ['"ring/ring.h"', '"proto/codec.h"'],
    "proto/certificates.h": ['"ring/ring.h"', '"ring/mutex.h"', '"server/certificates.h"'],
    "server/directory.cc": ['"client/client.h"', '"tests/support/clock.h"', '"../client/client.h"'],
    "client/client.cc": [
        '"server/directory.h"',
        '"ring/ring.h"',
        '"proto/codec.h"',
        '"client/local/local_ring.h"',
        '"client/local/watch_machine.h"',
        '"ringd/storage/v1/storage.pb.h"',
        '"tests/support/clock.h"',
    ],
    "client/ringctl/main.cc": ['"client/local/local_ring.h"', '"server/options.h"', '"ringd/storage/v1/storage.pb.h"'],
    "client/local/local_ring.cc": ['"server/directory.h"', '"tests/support/clock.h"', '"ringd/storage/v1/storage.pb.h"'],
}


class LayeringTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.tree = pathlib.Path(directory.name)

    def check(self, file, text):
        path = self.tree / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        found = layering.check(self.tree)
        path.unlink()
        return found

    def test_what_follows_the_arrows_passes(self):
        for file, includes in ALLOWED.items():
            for include in includes:
                with self.subTest(file=file, include=include):
                    self.assertEqual(self.check(file, f"#include {include}\n"), [])

    def test_what_goes_against_the_arrows_is_found(self):
        for file, includes in REFUSED.items():
            for include in includes:
                with self.subTest(file=file, include=include):
                    found = self.check(file, f"// head\n\n#include {include}\n")
                    self.assertEqual(len(found), 1, found)
                    self.assertTrue(found[0].startswith(f"{file}:3: "), found)

    def test_spaces_do_not_hide_an_include(self):
        self.assertEqual(len(self.check("ring/ring.h", "  #  include\t<thread>\n#include<mutex>\n")), 2)

    def test_comments_are_no_includes(self):
        text = "// #include <thread>\n/* text\n#include <mutex>\n*/\n#include <vector>\n"
        self.assertEqual(self.check("ring/ring.h", text), [])

    def test_line_numbers_count_comments(self):
        self.assertIn("ring/ring.h:4:", self.check("ring/ring.h", "/* a\nb\n*/\n#include <thread>\n")[0])

    def test_every_finding_is_listed(self):
        self.assertEqual(len(self.check("ring/ring.h", "#include <thread>\n#include <mutex>\n")), 2)

    def test_other_endings_cannot_slip_by(self):
        self.assertEqual(len(self.check("ring/ring.cpp", "")), 1)


if __name__ == "__main__":
    unittest.main()
