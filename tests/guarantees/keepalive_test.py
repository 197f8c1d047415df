"""B89 (grpc/grpc#33661, grpc/grpc#18656, llm-d/llm-d-kv-cache#359): pings keep idle Watches, and cut off no stream.

IdleTest waits for ten minutes: a server of gRPC's own defaults would cut off such a client after two.

Environment: RINGD_BIN, RINGCTL_BIN, PROTO_DIR and HOLD_COPY_BIN.
"""

import os
import re
import socket
import struct
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_process import PATIENCE, Watcher  # noqa: E402
from server_case import ProcessCase  # noqa: E402

IDLE = 600  # seconds
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, PING, GOAWAY = 4, 6, 7
ENHANCE_YOUR_CALM = 11


# As client/channel.cc has it.
PINGING = (("grpc.keepalive_time_ms", 30000), ("grpc.keepalive_timeout_ms", 10000), ("grpc.http2.max_pings_without_data", 0))


class KeepaliveCase(ProcessCase):
    def start(self, *flags):
        """A server with a ring, and a client of it."""
        server = self.serve(os.path.join(self.folder, str(len(os.listdir(self.folder)))), "127.0.0.1:0", *flags)
        client = self.connect(server, *PINGING)
        return server, client, client.make_ring("r", ["a", "b"])

    @staticmethod
    def watches(server):
        """How many Watches began at the server, and how many have ended."""
        with urllib.request.urlopen("http://%s/metrics" % server.http_endpoint, timeout=PATIENCE) as answer:
            page = answer.read().decode()

        def total(name):
            return sum(float(value) for value in re.findall(r'^%s\{.*grpc_method="Watch".*\} (\S+)$' % name, page, re.M))
        return total("grpc_server_started_total"), total("grpc_server_handled_total")


class IdleTest(KeepaliveCase):
    def test_ten_minutes(self):
        """ringd::local and ringctl, each with an idle Watch of a server with its defaults; and one who pings as they do,
        at a server that has nothing to say, not even heartbeats. None is cut off."""
        server, client, version = self.start()
        copy = subprocess.Popen([os.environ["HOLD_COPY_BIN"], server.endpoint, "r"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (copy.kill(), copy.wait(), copy.stdin.close(), copy.stdout.close()))

        def wait_for_copy(revision):
            copy.stdin.write("%d\n" % revision)
            copy.stdin.flush()
            self.assertEqual(copy.stdout.readline(), "at %d\n" % revision)
        wait_for_copy(version.revision)
        ringctl = Watcher(server.endpoint, "r", "-o", "json")
        self.addCleanup(ringctl.stop)
        ringctl.event("in_sync")
        quiet_server, quiet_client, _ = self.start("--heartbeat-interval", "1h")
        quiet = self.watch(quiet_client, "r")
        quiet.wait_in_sync()

        time.sleep(IDLE)  # nothing is waited for: that nothing happens is what is tested
        self.assertEqual(self.watches(server), (2, 0), "Watches began anew")
        self.assertEqual(self.watches(quiet_server), (1, 0), "a quiet Watch ended: %s %s" % (quiet.code, quiet.error))
        version = client.add("r", "c").version
        wait_for_copy(version.revision)
        self.assertEqual(ringctl.event("change")["version"]["revision"], str(version.revision))
        self.assertTrue(ringctl.err.empty(), "ringctl says that it connected again")
        quiet.wait_at("r", quiet_client.add("r", "c").version)
        quiet.check(self)


class Http2:
    """A connection of HTTP/2, frame by frame."""

    def __init__(self, endpoint):
        host, port = endpoint.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.received = b""
        self.closed = False
        self.socket.sendall(PREFACE)
        self.send(SETTINGS)

    def send(self, kind, payload=b""):
        self.socket.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, 0]) + bytes(4) + payload)

    def next_frame(self, deadline):
        """Kind and payload of the next frame; None when there is none until then, or no more."""
        while len(self.received) < 9 or len(self.received) < 9 + int.from_bytes(self.received[:3], "big"):
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                more = self.socket.recv(4096)
            except TimeoutError:
                return None
            if not more:
                self.closed = True
                return None
            self.received += more
        end = 9 + int.from_bytes(self.received[:3], "big")
        kind, payload = self.received[3], self.received[9:end]
        self.received = self.received[end:]
        return kind, payload


class PingsTest(KeepaliveCase):
    def test_a_ping_a_second(self):
        """Who pings each second is told to calm down and is cut off, and nobody else."""
        server, client, _ = self.start()
        watch = self.watch(client, "r")
        watch.wait_in_sync()
        hostile = Http2(server.endpoint)
        self.addCleanup(hostile.socket.close)
        goaway = None
        for _ in range(PATIENCE):
            hostile.send(PING, b"01234567")
            goaway = self.goaway_until(hostile, time.monotonic() + 1)
            if goaway is not None:
                break
        self.assertIsNotNone(goaway, "pings without end are taken")
        self.assertEqual(int.from_bytes(goaway[4:8], "big"), ENHANCE_YOUR_CALM)
        self.assertEqual(goaway[8:], b"too_many_pings")
        self.assertIsNone(hostile.next_frame(time.monotonic() + PATIENCE))
        self.assertTrue(hostile.closed)
        watch.wait_at("r", client.add("r", "c").version)
        watch.check(self)
        self.assertEqual(self.watches(server), (1, 0))

    @staticmethod
    def goaway_until(connection, deadline):
        """The payload of a GOAWAY that comes until then."""
        while True:
            frame = connection.next_frame(deadline)
            if frame is None or frame[0] == GOAWAY:
                return frame and frame[1]


if __name__ == "__main__":
    unittest.main()
