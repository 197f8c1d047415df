"""The preset nginx against nginx itself: `hash $arg_key consistent` in front of servers that say who they are. The
rings are imported from the very file that nginx reads.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from named_backends import NamedBackends  # noqa: E402
from ringd_client import Client  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from ringctl_case import RingctlCase  # noqa: E402

NGINX = "/usr/sbin/nginx"
AT_ONCE = 100  # requests on their way


def reply(name, data):
    requests = data.split(b"\r\n\r\n")
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name.encode())
    return answer * (len(requests) - 1), requests[-1]


class Nginx:
    """A running nginx with these upstreams, each a name and the lines of its servers."""

    def __init__(self, folder, upstreams):
        self.front = os.path.join(folder, "front.sock")
        self.log = os.path.join(folder, "error.log")
        self.config = os.path.join(folder, "nginx.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("daemon off; master_process off; pid %s/nginx.pid;\n"
                       "events { worker_connections 1000; }\n"
                       "http {\naccess_log off; keepalive_requests 1000000;\n" % folder)
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
                file.write("%s_temp_path %s/%s;\n" % (kind, folder, kind))
            for name, lines in upstreams.items():
                file.write("upstream %s {\n  hash $arg_key consistent;\n%s  keepalive 200;\n}\n" % (
                    name, "".join("  server %s;\n" % line for line in lines)))
            file.write("server {\nlisten unix:%s;\n"
                       "proxy_http_version 1.1; proxy_set_header Connection '';\n" % self.front)
            for name in upstreams:
                file.write("location /%s { proxy_pass http://%s; }\n" % (name, name))
            file.write("}\n}\n")
        self.process = subprocess.Popen([NGINX, "-p", folder, "-e", self.log, "-c", self.config],
                                        stderr=subprocess.DEVNULL)
        self.connection = eventually(self._connect, "nginx listens")
        self.answers = self.connection.makefile("rb")

    def _connect(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8") as log:
                raise AssertionError("nginx did not start: " + log.read())
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self.front)
        except OSError:
            connection.close()
            return None
        connection.settimeout(PATIENCE)
        return connection

    def owners(self, upstream, keys):
        """The name of the server that answered, for each key."""
        owners = []
        for first in range(0, len(keys), AT_ONCE):
            part = keys[first:first + AT_ONCE]
            self.connection.sendall(b"".join(b"GET /%s?key=%s HTTP/1.1\r\nHost: x\r\n\r\n" % (upstream.encode(), key)
                                             for key in part))
            owners += [self._answer() for _ in part]
        return owners

    def _answer(self):
        status = self.answers.readline()
        length = 0
        while (line := self.answers.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.answers.read(length).decode()
        assert b" 200 " in status, (status, body)
        return body

    def stop(self):
        self.answers.close()
        self.connection.close()
        self.process.terminate()
        self.process.wait(PATIENCE)


def points_of(path):
    """The points of `server unix:PATH` of weight 1."""
    base, point = zlib.crc32(path.encode() + b"\0"), 0
    for _ in range(160):
        point = zlib.crc32(struct.pack("<I", point), base)
        yield point


def paths_that_share_a_point(folder):
    """Two paths of sockets, and a position that both have a point at. Some 700 paths have such a pair."""
    seen = {}
    for number in range(100_000):
        path = "%s/s%05d" % (folder, number)
        for point in points_of(path):
            if seen.setdefault(point, path) != path:
                return seen[point], path, point
    raise AssertionError("no two paths share a point")


class NginxPeerTest(RingctlCase):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.endpoint)
        self.addCleanup(self.client.close)
        self.random = random.Random(20240229)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sockets = folder.name
        self.backends = NamedBackends(reply)
        self.addCleanup(self.backends.stop)

    def start(self, upstreams):
        nginx = Nginx(self.sockets, upstreams)
        self.addCleanup(nginx.stop)
        return nginx

    def keys(self, count):
        """Texts, and bytes that are none: all that may stand in an argument as it is."""
        letters = bytes(set(range(0x21, 0x100)) - set(b"&#?% \x7f"))
        words = [b"user:%d:profile" % self.random.getrandbits(60) for _ in range(count // 2)]
        return words + [bytes(self.random.choices(letters, k=self.random.randint(1, 40)))
                        for _ in range(count - len(words))]

    def expect_same(self, nginx, ring, keys):
        self.out("ring", "import", ring, nginx.config, "--upstream", ring)
        theirs = nginx.owners(ring, keys)
        ours = [owners[0] for owners in self.client.owners(ring, keys)]
        self.assertEqual([(key, peer, own) for key, peer, own in zip(keys, theirs, ours) if peer != own], [])
        return theirs

    def test_ten_thousand_keys_of_other_node_lists(self):
        hosts = ["127.%d.%d.%d" % tuple(self.random.choices(range(1, 255), k=3)) for _ in range(60)]
        tcp = [self.backends.add_tcp(host) for host in hosts]
        weights = [self.random.choice((1, 1, 2, 3, 7, 50)) for _ in tcp]
        unix = ["unix:%s/%s" % (self.sockets, name) for name in ("a", "b:1", "c")]
        for name in unix:
            self.backends.add_unix(name.removeprefix("unix:"), name)
        lists = {
            "two": [(name, 1) for name in tcp[:2]],
            "equal": [(name, 1) for name in tcp[10:20]],
            "weighted": list(zip(tcp[20:25], (1, 2, 3, 4, 100))),
            "many": list(zip(tcp, weights)),
            "mixed": [(unix[0], 1), (tcp[0], 2), (unix[1], 2), (unix[2], 1)],
        }
        nginx = self.start({ring: ["%s weight=%d" % node if node[1] > 1 else node[0] for node in nodes]
                            for ring, nodes in lists.items()})
        for ring, nodes in lists.items():
            with self.subTest(ring=ring):
                seen = self.expect_same(nginx, ring, self.keys(2000))
                self.assertGreater(len(set(seen)), len(nodes) * 0.7)

    def test_a_server_that_is_down_has_weight_0(self):
        tcp = [self.backends.add_tcp() for _ in range(4)]
        nginx = self.start({"down": [tcp[0], tcp[1] + " weight=2", tcp[2] + " weight=2 down", tcp[3]]})
        seen = self.expect_same(nginx, "down", self.keys(1000))
        self.assertEqual(set(seen), {tcp[0], tcp[1], tcp[3]})
        self.assertEqual(self.client.nodes("down")[tcp[2]].weight, 0)

    def test_a_shared_point_is_the_first_servers(self):
        one, other, point = paths_that_share_a_point(self.sockets)
        for path in (one, other):
            self.backends.add_unix(path, "unix:" + path)
        before = max((p for path in (one, other) for p in points_of(path) if p < point), default=0)
        keys = [b"key-%d" % number for number in range(100_000)]
        keys = [key for key in keys if before < zlib.crc32(key) <= point]
        self.assertGreater(len(keys), 0)
        lists = {"forth": ["unix:" + one, "unix:" + other], "back": ["unix:" + other, "unix:" + one]}
        nginx = self.start(lists)
        for ring, names in lists.items():
            owners = self.expect_same(nginx, ring, keys)
            self.assertEqual(set(owners), {names[0]})


if __name__ == "__main__":
    unittest.main()
