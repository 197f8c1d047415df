"""ringctl over mTLS: its flags, its environment, and exit code 4.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import contextlib
import os
import socket
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from certificates import ADMIN, Certificates  # noqa: E402
from ringd_process import Server, Watcher, closed_port, ringctl  # noqa: E402
from server_case import ProcessCase  # noqa: E402


class RingctlTlsTest(ProcessCase):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(os.path.join(self.folder, "certificates"))
        self.socket = "unix:" + os.path.join(self.folder, "ringd.sock")
        self.server = self.serve(None, "127.0.0.1:0", "--listen", self.socket, *self.certificates.flags(ADMIN))

    def run_it(self, *arguments, code=0, endpoint=None, mentions=(), **variables):
        done = ringctl(endpoint or self.server.endpoint, *arguments, **variables)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, (arguments, done.stdout, text))
        if code:
            self.assertTrue(text.startswith("error: "), text)
            self.assertLessEqual(len(text.splitlines()), 2, text)
        for mention in mentions:
            self.assertIn(mention, text)
        return done.stdout.decode()

    def test_flags_and_environment(self):
        admin = self.certificates.ctl_flags("admin")
        self.run_it("ring", "create", "r", *admin)
        self.run_it(*admin, "node", "add", "r", "a")
        reader = self.certificates.ctl_flags("reader")
        variables = {"RINGCTL_CACERT": reader[1], "RINGCTL_CERT": reader[3], "RINGCTL_KEY": reader[5]}
        self.assertEqual(self.run_it("lookup", "r", "k", "-o", "tsv", **variables), "k\ta\n")
        self.assertIn("SERVING", self.run_it("status", **variables))
        self.run_it("node", "add", "r", "b", *admin, **variables)  # a flag goes before the environment
        watcher = Watcher(self.server.endpoint, "r", "-o", "json", *reader)
        self.addCleanup(watcher.stop)
        self.assertTrue(watcher.event("snapshot")["last"])

    def test_a_reader_may_not_change(self):
        self.run_it("ring", "create", "r", *self.certificates.ctl_flags("reader"), code=4,
                    mentions=["spiffe://ringd.local/reader", "PERMISSION_DENIED", "hint: ", "--admin-san"])

    def test_a_unix_socket_needs_no_tls(self):
        for flags in ([], self.certificates.ctl_flags("reader")):
            self.run_it("ring", "create", "r%d" % len(flags), *flags, endpoint=self.socket)

    def test_tls_that_fails_is_4_and_says_why(self):
        good = self.certificates
        rogue = Certificates(os.path.join(self.folder, "rogue"))
        plaintext = Server(os.path.join(self.folder, "plaintext"))
        self.addCleanup(plaintext.kill)
        cacert = ["--cacert", good.path("ca.pem")]
        for flags, endpoint, mention in (
                ([], None, "it speaks TLS, and --cacert, --cert and --key are not given"),
                (cacert, None, "it wants a certificate"),
                (cacert + rogue.ctl_flags("admin")[2:], None, "it does not take the certificate"),
                (good.ctl_flags("expired"), None, "expired.pem\" has expired at"),
                (rogue.ctl_flags("admin")[:2] + good.ctl_flags("admin")[2:], None, "is not to be trusted"),
                (good.ctl_flags("admin"), plaintext.endpoint, "it does not speak TLS")):
            for command in (["ring", "list"], ["watch", "r"], ["status"]):
                with self.subTest(mention=mention, command=command):
                    done = ringctl(endpoint or self.server.endpoint, *command, *flags, patience=20)
                    self.assertEqual(done.returncode, 4, done.stderr)
                    self.assertIn(mention, done.stderr.decode())
        certificates = Certificates(os.path.join(self.folder, "other-name"), hosts=["ringd.example.org"])
        other = Server(os.path.join(self.folder, "other"), "127.0.0.1:0", *certificates.flags(ADMIN))
        self.addCleanup(other.kill)
        self.run_it("ring", "list", *certificates.ctl_flags("admin"), endpoint=other.endpoint, code=4,
                    mentions=["its certificate is not for"])

    def test_an_endpoint_that_fails_is_passed_over(self):
        """One that speaks no TLS, and one that closes at once, which is no fault of TLS."""
        flags = self.certificates.ctl_flags("admin")
        self.run_it("ring", "create", "r", *flags)
        plaintext = Server(os.path.join(self.folder, "plaintext"))
        self.addCleanup(plaintext.kill)
        closer = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(closer.close)

        def close_all():
            with contextlib.suppress(OSError):
                while True:
                    closer.accept()[0].close()
        threading.Thread(target=close_all, daemon=True).start()
        closing = "127.0.0.1:%d" % closer.getsockname()[1]
        for bad in (plaintext.endpoint, closing):
            endpoints = bad + "," + self.server.endpoint
            self.run_it("ring", "list", *flags, endpoint=endpoints)
            watcher = Watcher(endpoints, "r", "-o", "json", *flags)
            self.addCleanup(watcher.stop)
            self.assertTrue(watcher.event("snapshot")["last"])
        self.run_it("ring", "list", *flags, "--timeout", "1s", endpoint=closing, code=3)

    def test_files_that_cannot_be_used_are_4(self):
        good = self.certificates
        flags = good.ctl_flags("admin")
        empty = os.path.join(self.folder, "empty")
        with open(empty, "wb"):
            pass
        for number, other, why in ((1, "/no/such/file", "No such file"), (1, empty, "is empty"),
                                   (1, self.folder, "is not a regular file"), (3, "/no/such/file", "No such file"),
                                   (3, empty, "is empty"), (5, empty, "is empty"),
                                   (5, "/no/such/file", "No such file"),
                                   (5, good.path("reader-key.pem"), "does not belong to the certificate")):
            changed = flags[:number] + [other] + flags[number + 1:]
            what = {1: "CA", 3: "certificate", 5: "key"}[number]
            self.run_it("ring", "list", *changed, code=4, mentions=['%s "%s"' % (what, other), why])

    def test_half_a_configuration_is_2(self):
        flags = self.certificates.ctl_flags("admin")
        for some in (flags[:4], flags[:2] + flags[4:], flags[2:], flags[2:4]):
            self.run_it("ring", "list", *some, code=2, mentions=["--cert"])

    def test_nobody_there_is_3(self):
        self.run_it("ring", "list", *self.certificates.ctl_flags("admin"), "--timeout", "500ms", code=3,
                    endpoint="127.0.0.1:%d" % closed_port())


if __name__ == "__main__":
    unittest.main()
