"""ringd as a service of systemd: what it tells, and the unit in deploy/.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_process import PATIENCE, RINGD  # noqa: E402
from server_case import ProcessCase  # noqa: E402

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "ringd.service")


class NotifyTest(ProcessCase):
    def test_ready_reloading_stopping(self):
        """READY once it serves, RELOADING and READY around SIGHUP, STOPPING at its end."""
        libraries = subprocess.run(["ldd", RINGD], capture_output=True, text=True, check=True).stdout
        if "libsystemd" not in libraries:
            self.skipTest("this build has no libsystemd (libsystemd-dev)")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(os.path.join(self.folder, "notify"))
            systemd.settimeout(PATIENCE)
            server = self.serve(env=os.environ | {"NOTIFY_SOCKET": systemd.getsockname()})
            self.assertEqual(systemd.recv(100), b"READY=1")
            self.connect(server).make_ring("r")
            server.signal(signal.SIGHUP)
            self.assertEqual([systemd.recv(100), systemd.recv(100)], [b"RELOADING=1", b"READY=1"])
            self.assertEqual(server.stop(), 0)
            self.assertEqual(systemd.recv(100), b"STOPPING=1")


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not there: the Debian package systemd")
class UnitTest(ProcessCase):
    def analyze(self, *arguments):
        """With the unit, whose program is the one that is tested."""
        with open(UNIT, encoding="utf-8") as file:
            unit = file.read()
        self.assertIn("ExecStart=/usr/bin/ringd ", unit)
        path = os.path.join(self.folder, "ringd.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit.replace("/usr/bin/ringd", RINGD))
        return subprocess.run(["systemd-analyze", *arguments, path], capture_output=True, text=True, timeout=60)

    def test_verify(self):
        done = self.analyze("verify")
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_security(self):
        """The exposure is 2.0 at most."""
        done = self.analyze("security", "--offline=true", "--threshold=20")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
