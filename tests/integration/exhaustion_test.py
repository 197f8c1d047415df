"""What ringd does when the machine gives it no more: descriptors, room for a file, a reader of its log.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Refused  # noqa: E402
from ringd_process import PATIENCE, RINGD, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402


def limited(what, soft, hard):
    """For Popen: the process gets these limits."""
    return {"preexec_fn": lambda: resource.setrlimit(what, (soft, hard))}


def serves(client):
    try:
        return bool(client.owners("r", [b"k"]))
    except Refused:
        return False


class ExhaustionTest(ProcessCase):
    def test_descriptors(self):
        """Reliability row 35, grpc/grpc#33656: more connections than descriptors; when they have gone, it serves."""
        server = self.serve(**limited(resource.RLIMIT_NOFILE, 100, 100))
        held = self.connect(server)
        held.make_ring("r", ["a"])
        silent = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(150)]
        self.assertTrue(server.wait_for_log("new connections are closed or wait"))
        self.assertTrue(serves(held), "a connection that was there")
        held.add("r", "b")  # the store has descriptors left
        for connection in silent:
            connection.close()
        eventually(lambda: serves(self.connect(server)), "new connections are served")

    def test_file_size(self):
        """Reliability row 5: a file that may not grow is told like a full disk, and nothing that was acknowledged goes."""
        server = self.serve(**limited(resource.RLIMIT_FSIZE, 400 << 10, resource.RLIM_INFINITY))
        client = self.connect(server)
        client.make_ring("r", ["n"])
        added = ["n"]
        with self.assertRaises(Refused) as refused:
            while len(added) < 1000:
                name = "n%d" % len(added)
                client.add("r", name, metadata={"padding": "x" * 3000})
                added.append(name)
        self.assertEqual(refused.exception.code, "RESOURCE_EXHAUSTED", refused.exception.text)
        self.assertGreater(len(added), 5)
        self.assertTrue(serves(client))
        # B97 (alexfalkowski/go-service#2830): what does not work is told, and only that.
        self.assertEqual([client.health(service) for service in ("", "ringd.v1.Directory", "ringd.v1.Directory.Write")],
                         ["SERVING", "SERVING", "NOT_SERVING"])
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        client.add("r", "room again")
        added.append("room again")
        self.assertEqual(client.health("ringd.v1.Directory.Write"), "SERVING")
        server.kill()
        client = self.connect(self.serve(init=False))
        self.assertEqual(sorted(client.nodes("r")), sorted(added))
        client.add("r", "after")

    def test_nobody_reads_the_log(self):
        """A log whose reader has stalled costs lines, not changes, and does not keep ringd from stopping."""
        path = os.path.join(self.folder, "socket")
        process = subprocess.Popen([RINGD, "--listen", "unix:" + path, "--http-listen", "", "--data-dir", self.data,
                                    "--init"], stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stderr.close()))
        eventually(lambda: os.path.exists(path), "it listens")
        client = self.connect("unix:" + path)
        client.make_ring("r", ["a"])
        for number in range(1000):  # a line each, far more than a pipe holds
            client.update("r", "a", zone="z%d" % number)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
