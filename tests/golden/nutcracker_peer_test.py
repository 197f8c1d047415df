"""The preset twemproxy against nutcracker itself: pools in front of servers that speak as much of memcached as it takes
to say who they are. The rings are imported from the very file that nutcracker reads.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import hashlib
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from named_backends import NamedBackends  # noqa: E402
from ringd_client import Client  # noqa: E402
from ringd_process import PATIENCE, closed_port, eventually  # noqa: E402
from ringctl_case import RingctlCase  # noqa: E402

NUTCRACKER = "/usr/sbin/nutcracker"
AT_ONCE = 100  # requests on their way
HASHES = ("md5", "crc16", "crc32a", "fnv1_64", "fnv1a_64", "fnv1_32", "fnv1a_32", "murmur")  # that are served


def reply(name, data):
    lines = data.split(b"\r\n")
    return b"".join(b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (line.split()[1], len(name), name.encode())
                    for line in lines[:-1]), lines[-1]


class Nutcracker:
    """A running nutcracker with these pools, each a name and the lines of its settings."""

    def __init__(self, folder, pools):
        self.folder = folder
        self.config = os.path.join(folder, "nutcracker.yml")
        with open(self.config, "w", encoding="utf-8") as file:
            for name, lines in pools.items():
                file.write("%s:\n  listen: %s\n  timeout: %d\n%s" % (
                    name, self._front(name), 1000 * PATIENCE, "".join("  %s\n" % line for line in lines)))
        self.log = os.path.join(folder, "nutcracker.log")
        self.process = None
        # Its page of statistics needs a port, which cannot be 0: another program may take it first.
        eventually(lambda: self._start(pools), "nutcracker runs")
        self.connections = {}
        for name in pools:
            self.connections[name] = socket.socket(socket.AF_UNIX)
            self.connections[name].settimeout(PATIENCE)
            self.connections[name].connect(self._front(name))

    def _front(self, pool):
        return os.path.join(self.folder, pool + ".front")

    def _start(self, pools):
        for name in pools:
            if os.path.exists(self._front(name)):
                os.unlink(self._front(name))
        self.process = subprocess.Popen(
            [NUTCRACKER, "-c", self.config, "-o", self.log, "-p", os.path.join(self.folder, "nutcracker.pid"),
             "-a", "127.0.0.1", "-s", str(closed_port())], stderr=subprocess.DEVNULL)
        eventually(lambda: self.process.poll() is not None or self._listens(pools), "nutcracker listens or ends")
        if self.process.poll() is None:
            return True
        with open(self.log, encoding="utf-8") as log:
            text = log.read()
        if "Address already in use" in text:
            os.unlink(self.log)
            return False
        raise AssertionError("nutcracker did not start: " + text)

    def _listens(self, pools):
        for name in pools:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self._front(name)) != 0:
                    return False
        return True

    def owners(self, pool, keys):
        """The name of the server that answered, for each key."""
        connection = self.connections[pool]
        owners = []
        with connection.makefile("rb") as answers:
            for first in range(0, len(keys), AT_ONCE):
                part = keys[first:first + AT_ONCE]
                connection.sendall(b"".join(b"get %s\r\n" % key for key in part))
                for key in part:
                    head = answers.readline().split(b" ")
                    assert head[:2] == [b"VALUE", key], (head, key)
                    owners.append(answers.readline().rstrip(b"\r\n").decode())
                    assert answers.readline() == b"END\r\n"
        return owners

    def stop(self):
        for connection in self.connections.values():
            connection.close()
        self.process.terminate()
        self.process.wait(PATIENCE)


def points_of(name):
    """The points of a server, where all weigh the same and their number is one that floats divide well."""
    for index in range(40):
        yield from struct.unpack("<IIII", hashlib.md5(b"%s-%d" % (name.encode(), index)).digest())


def names_that_share_a_point():
    """Two names of one length, and a position that both have a point at. Some 700 names have such a pair."""
    seen = {}
    for number in range(10_000, 100_000):
        name = "s%d" % number
        for point in points_of(name):
            if seen.setdefault(point, name) != name:
                return seen[point], name, point
    raise AssertionError("no two names share a point")


class NutcrackerPeerTest(RingctlCase):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.endpoint)
        self.addCleanup(self.client.close)
        self.random = random.Random(20240301)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.backends = NamedBackends(reply)
        self.addCleanup(self.backends.stop)

    def start(self, pools):
        nutcracker = Nutcracker(self.folder, pools)
        self.addCleanup(nutcracker.stop)
        return nutcracker

    def sockets(self, count):
        """Names of servers, for lines of servers with names."""
        names = ["%s-%d" % (self.random.choice(("cache", "c", "a.long.name.of.a.server")), number)
                 for number in range(count)]
        for name in names:
            self.backends.add_unix(os.path.join(self.folder, name), name)
        return names

    def line(self, name, weight):
        return "- %s:%d %s" % (os.path.join(self.folder, name), weight, name)

    def keys(self, count):
        """Texts, and bytes that are none, with and without a tag: all that memcached takes as a key."""
        letters = bytes(set(range(0x21, 0x100)) - {0x7F})
        words = [b"user:%d:{%d}profile" % (self.random.getrandbits(40), self.random.getrandbits(40))
                 for _ in range(count // 2)]
        words += [b"{}%d" % self.random.getrandbits(40), b"{%d" % self.random.getrandbits(40), b"}{a}{b}"]
        return words + [bytes(self.random.choices(letters, k=self.random.randint(1, 40)))
                        for _ in range(count - len(words))]

    def expect_same(self, nutcracker, ring, keys):
        self.out("ring", "import", ring, nutcracker.config, "--pool", ring)
        theirs = nutcracker.owners(ring, keys)
        ours = [owners[0] for owners in self.client.owners(ring, keys)]
        self.assertEqual([(key, peer, own) for key, peer, own in zip(keys, theirs, ours) if peer != own], [])
        return theirs

    def test_ten_thousand_keys_of_every_hash(self):
        """Each hash with a node list of its own: equal and weighted, with and without a hash tag."""
        names = self.sockets(60)
        pools = {}
        for number, hash_name in enumerate(HASHES):
            weights = (1,) if number % 2 == 0 else (1, 2, 5, 30)
            servers = self.random.sample(names, (2, 5, 12, 60)[number % 4])
            tag = ["hash_tag: '{}'"] if number % 3 == 0 else []
            pools["by-" + hash_name] = ["hash: " + hash_name, *tag, "servers:",
                                        *[self.line(name, self.random.choice(weights)) for name in servers]]
        nutcracker = self.start(pools)
        for ring in pools:
            with self.subTest(ring=ring):
                seen = self.expect_same(nutcracker, ring, self.keys(1250))
                self.assertGreater(len(set(seen)), 1)

    def test_servers_without_names(self):
        """What is hashed of them is HOST:PORT, and of unix sockets the path and a colon."""
        names = [self.backends.add_tcp("127.0.%d.%d" % (number, number + 7)) for number in range(9)]
        lines = ["- %s:%d" % (name, weight) for weight, name in enumerate(names, 1)]
        paths = [os.path.join(self.folder, name) for name in ("x", "y")]
        for path in paths:
            self.backends.add_unix(path, path)
        lines += ["- %s:3" % path for path in paths]
        nutcracker = self.start({"nameless": ["servers:"] + lines})
        self.assertEqual(set(self.expect_same(nutcracker, "nameless", self.keys(2000))), {*names, *paths})

    def test_a_shared_point_is_the_first_servers(self):
        one, other, point = names_that_share_a_point()
        for name in (one, other):
            self.backends.add_unix(os.path.join(self.folder, name), name)
        before = max((p for name in (one, other) for p in points_of(name) if p < point), default=0)
        keys = [b"key-%d" % number for number in range(20_000)]
        keys = [key for key in keys if before < struct.unpack("<I", hashlib.md5(key).digest()[:4])[0] <= point]
        self.assertGreater(len(keys), 0)
        nutcracker = self.start({"shared": ["hash: md5", "servers:", self.line(other, 1), self.line(one, 1)]})
        # It sorts its servers by their names.
        owners = self.expect_same(nutcracker, "shared", keys)
        self.assertEqual(set(owners), {one})


if __name__ == "__main__":
    unittest.main()
