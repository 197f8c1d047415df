"""Reliability row 33: nothing of a private key is ever told, whatever is done to the server.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import base64
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from certificates import ADMIN, Certificates  # noqa: E402
from metrics_page import get  # noqa: E402
from ringd_client import Refused  # noqa: E402
from ringd_process import RINGD, eventually, refused_start, ringctl  # noqa: E402
from server_case import ProcessCase  # noqa: E402

PATHS = ("/", "/metrics", "/livez", "/readyz", "/version", "/config", "/rings", "/debug", "/status")


class Secret:
    """A private key, and the traces that any part of it would leave."""

    def __init__(self, pem):
        body = b"".join(line for line in pem.split(b"\n") if line and b"-----" not in line)
        der = base64.b64decode(body)
        # The head of a key of one kind is the same for all. Each piece stands for those that hold it.
        self.traces = {der[at:at + 12] for at in range(28, len(der) - 12)}
        self.traces |= {piece.hex().encode() for piece in list(self.traces)}
        self.traces |= {body[at:at + 16] for at in range(40, len(body) - 16)}

    def is_in(self, text):
        return any(trace in text for trace in self.traces)


class SecretsTest(ProcessCase):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(os.path.join(self.folder, "certificates"))
        self.keys = ("server-key.pem", "admin-key.pem", "ca-key.pem")
        self.secrets = [Secret(self.certificates.read(name)) for name in self.keys]
        self.told = []

    def tell(self, what, text):
        self.told.append((what, text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text))

    def assert_nothing_was_told(self):
        self.assertTrue(self.told)
        for what, text in self.told:
            for name, secret in zip(self.keys, self.secrets):
                self.assertFalse(secret.is_in(text), "%s holds a part of %s" % (what, name))

    def test_the_traces_are_found(self):
        """The test sees a key, whole or in part, as text, in hex or as bytes."""
        pem = self.certificates.read("server-key.pem")
        body = b"".join(line for line in pem.split(b"\n") if b"-----" not in line)
        der = base64.b64decode(body)
        secret = self.secrets[0]
        self.assertFalse(secret.is_in(self.certificates.read("admin-key.pem") + self.certificates.read("server.pem")))
        for text in (pem, b"x" + body[60:90] + b"y", der, der[-30:], der[-40:].hex().encode()):
            self.assertTrue(secret.is_in(text))

    def test_a_server_in_use(self):
        """Log at its loudest, pages, arguments, data directory, ringctl, reflection: after good and bad handshakes, after
        keys that were changed, mixed up and damaged, and in a drain."""
        files = self.certificates
        server = self.serve(None, "127.0.0.1:0", *files.flags(ADMIN), "--log-level", "debug", "--metrics-listen",
                            "127.0.0.1:0", env=os.environ | {"GRPC_VERBOSITY": "DEBUG", "GRPC_TRACE": "tsi,secure_endpoint"})
        client = self.connect(server, credentials=files.credentials("admin"))
        client.make_ring("r", ["a"])
        other = Certificates(os.path.join(self.folder, "other"))
        for credentials in (None, other.credentials("admin", ca=files), files.credentials("expired")):
            with self.assertRaises(Refused):
                self.connect(server, credentials=credentials).ListRings(timeout=5)
        with socket.create_connection(server.endpoint.rsplit(":", 1), timeout=10) as garbage:
            garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
        good = files.read("server-key.pem")
        for content in (files.read("admin-key.pem"), good[:100], good.replace(b"\nM", b"\nN", 1), good.replace(b"=", b"!"),
                        good[:-40] + b"\n", b"prefix " + good, good * 2):
            refused = len([line for line in server.log if " error " in line])
            files.put("server-key.pem", content)
            server.signal(signal.SIGHUP)
            eventually(lambda: "reloaded" in server.log[-1] or len(
                [line for line in server.log if " error " in line]) > refused, "it was looked at")
        files.put("server-key.pem", good)
        with open("/proc/%d/cmdline" % server.process.pid, "rb") as file:
            self.tell("the arguments", file.read())
        for endpoint in (server.http_endpoint, server.metrics_endpoint):
            for path in PATHS:
                status, headers, body = get(endpoint, path)
                self.tell("%s (%d)" % (path, status), str(headers).encode() + body)
        for command in (("status", "--debug"), ("ring", "get", "r"), ("status", "-o", "json")):
            done = ringctl(server.endpoint, *command, *files.ctl_flags("admin"))
            self.tell("ringctl %s" % " ".join(command), done.stdout + done.stderr)
        self.assertEqual(server.stop(), 0)
        self.assertGreater(len([line for line in server.log if " error " in line]), 3)
        self.tell("the log", "".join(server.log))
        for name in os.listdir(self.data):
            with open(os.path.join(self.data, name), "rb") as file:
                self.tell(name, file.read())
        self.assert_nothing_was_told()

    def test_a_start_that_is_refused(self):
        """What is said of a bad key at the start names its file and shows nothing of it; nor does --check-config."""
        good = self.certificates.read("server-key.pem")
        config = os.path.join(self.folder, "ringd.yaml")
        for content in (self.certificates.read("admin-key.pem"), good[:100], good[:-40], good.replace(b"-----END", b"-----"),
                        good.replace(b"\nM", b"\nN", 1)):
            self.certificates.put("server-key.pem", content)
            for check in ((), ("--check-config",)):
                code, text = refused_start("--listen", "127.0.0.1:0", "--data-dir", self.data, "--init", "--log-level",
                                           "debug", *self.certificates.flags(ADMIN), *check)
                self.assertNotEqual(code, 0, text)
                self.assertRegex(text, re.escape(self.certificates.path("server-key.pem")))
                self.tell("the refusal", text)
        # A key where something else was meant: its first line at most is quoted, cut.
        with open(config, "wb") as file:
            file.write(good)
        for flags in (["--config", self.certificates.path("admin-key.pem")], ["--config", config],
                      ["--tls-cert-file", self.certificates.path("admin-key.pem")]):
            done = subprocess.run([RINGD, "--data-dir", self.data, *flags], capture_output=True, timeout=30, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.tell(" ".join(flags), done.stdout + done.stderr)
        self.assert_nothing_was_told()


if __name__ == "__main__":
    unittest.main()
