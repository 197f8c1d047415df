"""How ringd starts, and how it is refused a start.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_process import RINGD, closed_port, refused_start, ringctl  # noqa: E402
from server_case import ProcessCase  # noqa: E402

NOBODY = 65534


class StartCase(ProcessCase):
    def refused(self, *flags, mentions=(), **popen):
        """The start is refused, in one line of ringd's that mentions these texts; gRPC may have warned before it."""
        started = time.monotonic()
        code, text = refused_start(*flags, **popen)
        self.assertLess(time.monotonic() - started, 10)
        self.assertGreater(code, 0, text)  # a signal would be negative
        self.assertNotRegex(text, r"ringd \S+ listening on")
        lines = [line for line in text.splitlines() if "warning grpc:" not in line]
        self.assertEqual(len(lines), 1, text)
        for mention in mentions:
            self.assertIn(mention, lines[0])
        return text

    def flags(self, *more, listen="127.0.0.1:0", http="127.0.0.1:0", data_dir=None):
        return ["--listen", listen, "--http-listen", http, "--data-dir", data_dir or self.data, *more]


class StartTest(StartCase):
    def test_port_in_use(self):
        """B86 (grpc/grpc#17298), B106 (jupp0r/prometheus-cpp#560): a taken port of any listener is one line with the
        address, and no start; by another server, another program, or another listener of its own."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for flags in (self.flags("--init", listen=address), self.flags("--init", http=address),
                          self.flags("--init", "--metrics-listen", address)):
                self.refused(*flags, mentions=[address, "in use"])
        one = "127.0.0.1:%d" % closed_port()
        for flags in (self.flags("--init", listen=one, http=one), self.flags("--init", "--metrics-listen", one, http=one)):
            self.refused(*flags, mentions=[one, "in use"])
        server = self.serve(os.path.join(self.folder, "other"))
        self.refused(*self.flags("--init", listen=server.endpoint), mentions=[server.endpoint, "in use"])
        self.refused(*self.flags("--init", http=server.http_endpoint), mentions=[server.http_endpoint, "in use"])
        client = self.connect(server)
        client.make_ring("r", ["a"])
        self.assertEqual(client.Lookup(ring="r", key=b"k").owners[0].id, "a")

    def test_bad_addresses(self):
        """An address that is no loopback, or none at all, is refused in one line, before a data directory is made."""
        made = []
        for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:7440", "127.0.0.1", "127.0.0.1:", ":7440", "127.0.0.1:70000",
                        "127.0.0.1:-1", "127.0.0.1:http", "::1:0", "[::1]", "unix:", "unix://", "unix:" + "x" * 200):
            for name in ("listen", "http"):
                self.refused(*self.flags("--init", **{name: address}), mentions=[address[:20]])
                if os.path.exists(self.data):
                    made.append((name, address))
                    shutil.rmtree(self.data)
        self.refused(*self.flags("--init", listen=""))
        self.assertEqual(made, [], "a data directory was made")
        self.assertFalse(os.path.exists(self.data))

    def test_bad_metrics_addresses(self):
        """B106 (jupp0r/prometheus-cpp#457): an address that is none, or not this machine's, is one line that names
        it, and no start."""
        for address in ("127.0.0.1", "127.0.0.1:70000", "[::1]", "unix:", "x" * 300):
            self.refused(*self.flags("--init", "--metrics-listen", address), mentions=[address[:20]])
            self.assertFalse(os.path.exists(self.data))
        # An address of the documentation (RFC 5737), which is nobody's.
        self.refused(*self.flags("--init", "--metrics-listen", "192.0.2.1:0"), mentions=["192.0.2.1:0"])

    def test_no_http(self):
        """An empty --http-listen is no http listener; B106: metrics disabled works."""
        server = self.serve(None, "127.0.0.1:0", "--metrics-listen", "", http="")
        self.connect(server).make_ring("r", ["a"])
        server.stop()
        self.assertEqual((server.http_endpoint, server.metrics_endpoint), (None, None))

    def test_usage(self):
        """A wrong command line is exit 2 and makes nothing."""
        for flags in (["--no-such-flag"], ["--max-nodes", "0"], ["--max-nodes", "-1"], ["--max-nodes", "x"],
                      ["--history-max", "0"], ["--heartbeat-interval", "10"], ["--heartbeat-interval", "-1s"],
                      ["--heartbeat-interval", "0s"], ["extra"]):
            with self.subTest(flags=flags):
                code, text = refused_start(*self.flags("--init", *flags))
                self.assertEqual(code, 2, text)
                self.assertTrue(text.startswith("error: "), text)
                self.assertFalse(os.path.exists(self.data))
        code, text = refused_start("--listen", "127.0.0.1:0")
        self.assertEqual((code, "--data-dir" in text), (2, True))

    def test_init(self):
        """Without --init nothing is made; with it, again and again, what is there stays."""
        self.refused(*self.flags(), mentions=[self.data, "--init"])
        self.assertFalse(os.path.exists(self.data))
        os.mkdir(self.data)
        self.refused(*self.flags(), mentions=[self.data, "--init"])
        self.assertEqual(os.listdir(self.data), [])
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        before = client.GetRing(ring="r")
        client.close()
        for init in (True, False, True):
            self.assertEqual(server.stop(), 0)
            server = self.serve(init=init)
            client = self.connect(server)
            self.assertEqual(client.GetRing(ring="r"), before)
            client.close()

    def test_unix_socket(self):
        """ringd listens on a unix socket, for ringctl and for others; after kill -9 the next start takes it again."""
        path = os.path.join(self.folder, "ringd.sock")
        server = self.serve(None, "unix://" + path)
        self.assertEqual(server.endpoint, "unix:" + path)
        client = self.connect("unix:" + path)
        client.make_ring("r", ["a"])
        done = ringctl("unix:" + path, "lookup", "r", "k", "-o", "tsv")
        self.assertEqual((done.returncode, done.stdout), (0, b"k\ta\n"), done.stderr)
        watch = self.watch(client, "r")
        watch.wait_in_sync()
        server.kill()
        self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
        self.serve(None, "unix:" + path, init=False)
        self.assertEqual(self.connect("unix:" + path).owners("r", [b"k"]), [["a"]])

    def test_watches_on_a_unix_socket(self):
        """B92 (grpc/grpc#33111): many Watches on one connection of a unix socket, where gRPC does not tell connections
        apart, do not make lookups beside them wait."""
        path = "unix:" + os.path.join(self.folder, "ringd.sock")
        self.serve(None, path)
        client = self.connect(path)
        client.make_ring("r", ["a"])
        for _ in range(200):
            self.watch(client, "r").wait_in_sync()
        self.assertEqual(client.Lookup(ring="r", key=b"k", timeout=10).owners[0].id, "a")
        self.watch(self.connect(path), "r").wait_in_sync()

    def test_unix_socket_in_use(self):
        """B86: a second server does not take the unix socket of one that runs: it is refused, and the first still
        answers."""
        path = os.path.join(self.folder, "ringd.sock")
        self.serve(os.path.join(self.folder, "first"), "unix:" + path)
        self.connect("unix:" + path).make_ring("of-the-first", ["a"])
        try:
            self.refused(*self.flags("--init", listen="unix:" + path), mentions=[path], patience=5)
        except subprocess.TimeoutExpired:
            self.fail("the second server took the socket")
        self.assertEqual(self.connect("unix:" + path).owners("of-the-first", [b"k"]), [["a"]])

    def test_two_processes_on_one_directory(self):
        """B114 (nambok/mentedb#97): the second start is refused at once and names the directory and the holder."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        link = os.path.join(self.folder, "link")
        os.symlink(self.data, link)
        for data_dir in (self.data, link, os.path.join(self.folder, ".", "data") + "/"):
            for init in ([], ["--init"]):
                self.refused(*self.flags(*init, data_dir=data_dir),
                             mentions=[data_dir, "in use", str(server.process.pid)])
        client.add("r", "b")
        client.close()
        server.kill()
        # A lock of the operating system goes with its process; a file that only looks like one is nothing.
        for name in ("LOCK", "lock", "ringd.pid"):
            with open(os.path.join(self.data, name), "w", encoding="utf-8") as file:
                file.write("1\n")
        client = self.connect(self.serve(init=False))
        self.assertEqual(list(client.nodes("r")), ["a", "b"])

    def test_what_is_no_store(self):
        """B118 (anyproto/any-store#170): newer, foreign, empty, not a file: a message each, none called corrupt,
        none touched."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        client.close()
        server.stop()
        with open(os.path.join(self.data, "ringd.db"), "rb") as file:
            good = file.read()
        other = os.path.join(self.folder, "other.db")
        connection = sqlite3.connect(other)
        connection.execute("CREATE TABLE t(x)")
        connection.commit()
        connection.close()
        with open(other, "rb") as file:
            foreign = file.read()
        texts = set()
        for number, (content, mentions) in enumerate((
                (good[:60] + (99).to_bytes(4, "big") + good[64:], ["format 99", "reads format 1"]),
                (good[:60] + (0).to_bytes(4, "big") + good[64:], ["format 0", "reads format 1"]),
                (foreign, ["not a ringd store"]),
                (b"hello world\n" * 100, ["not a ringd store"]),
                (good[:50], ["not a ringd store"]),
                (b"", ["empty"]),
                (None, ["is a directory"]))):
            for init in ([], ["--init"]):
                data_dir = os.path.join(self.folder, "data-%d%s" % (number, "".join(init)))
                path = os.path.join(data_dir, "ringd.db")
                os.mkdir(data_dir)
                if content is None:
                    os.mkdir(path)
                else:
                    with open(path, "wb") as file:
                        file.write(content)
                text = self.refused(*self.flags(*init, data_dir=data_dir), mentions=mentions + [path])
                self.assertNotIn("corrupt", text)
                texts.add(text.split(path, 1)[1])
                self.assertEqual(os.listdir(data_dir), ["ringd.db"])
                if content is not None:
                    with open(path, "rb") as file:
                        self.assertEqual(file.read(), content)
        self.assertGreaterEqual(len(texts), 5)


class NobodyTest(StartCase):
    """Starts as a user that owns nothing. B119 (influxdata/influxdb#4946)."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.user = {}
            return
        os.chmod(self.folder, 0o755)
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            subprocess.run([RINGD, "--version"], check=True, capture_output=True, **self.user)
        except PermissionError:
            self.skipTest("%s cannot be run by another user" % RINGD)

    def own(self, *paths):
        if self.user:
            for path in paths:
                os.chown(path, NOBODY, NOBODY)

    def refused_here(self, *flags, mentions=(), data_dir=None):
        return self.refused(*self.flags(*flags, data_dir=data_dir), mentions=[data_dir or self.data, *mentions],
                            **self.user)

    def test_read_only_directory(self):
        """B119: a data directory of mode 0555, empty or with a store: path and errno text in one line, nothing made."""
        os.mkdir(self.data)
        self.own(self.data)
        os.chmod(self.data, 0o555)
        self.refused_here("--init", mentions=["Permission denied"])
        self.assertEqual(os.listdir(self.data), [])
        os.chmod(self.data, 0o755)
        self.serve(**self.user).stop()
        before = os.listdir(self.data)
        os.chmod(self.data, 0o555)
        for init in ([], ["--init"]):
            self.refused_here(*init, mentions=["Permission denied"])
        self.assertEqual(os.listdir(self.data), before)
        os.chmod(self.data, 0o755)
        self.serve(init=False, **self.user)

    def test_unreadable_file(self):
        """B119: a store file of mode 0000 or 0444 is refused with its path and the errno text, and is not replaced."""
        os.mkdir(self.data)
        self.own(self.data)
        self.serve(**self.user).stop()
        path = os.path.join(self.data, "ringd.db")
        with open(path, "rb") as file:
            before = file.read()
        for mode in (0o000, 0o444):
            os.chmod(path, mode)
            for init in ([], ["--init"]):
                self.refused_here(*init, mentions=[path, "Permission denied"])
            self.assertEqual(os.listdir(self.data), ["ringd.db"])
        os.chmod(path, 0o600)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_directory_that_cannot_be_made(self):
        """B119: a missing parent, a parent that may not be written, a path that is a file: one line each, nothing
        made."""
        missing = os.path.join(self.folder, "no", "such")
        self.refused_here("--init", data_dir=missing, mentions=["No such file or directory"])
        self.refused_here(data_dir=missing, mentions=["No such file or directory"])
        self.assertFalse(os.path.exists(os.path.dirname(missing)))
        if self.user:  # the folder is root's
            self.refused_here("--init", mentions=["Permission denied"])
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.own(file)
        for init in ([], ["--init"]):
            self.refused_here(*init, data_dir=file, mentions=["Not a directory"])
        self.assertEqual(os.path.getsize(file), 0)


if __name__ == "__main__":
    unittest.main()
