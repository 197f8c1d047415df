"""The configuration of ringd: files, environment, --check-config, SIGHUP; and its log.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from certificates import ADMIN, Certificates  # noqa: E402
from ringd_client import Refused  # noqa: E402
from ringd_process import RINGD, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "ringd.yaml")


class ConfigCase(ProcessCase):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "ringd.yaml")

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        return self.file

    def check(self, *flags, code=0, **variables):
        """Runs --check-config; answers its standard output, or its standard error where it is not 0."""
        done = subprocess.run([RINGD, "--check-config", *flags], capture_output=True, text=True, timeout=30,
                              env=os.environ | variables)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr if code == 0 else done.stdout, "")
        return done.stdout if code == 0 else done.stderr


class CheckTest(ConfigCase):
    def test_the_example_is_good(self):
        self.assertEqual(self.check("--config", EXAMPLE), "ok\n")

    def test_good_settings_start_nothing(self):
        self.write("data-dir: %s\ninit: true\n" % self.data)
        self.assertEqual(self.check("--config", self.file), "ok\n")
        self.assertEqual(self.check(RINGD_CONFIG=self.file), "ok\n")
        self.assertFalse(os.path.exists(self.data))

    def test_numbers_are_decimal(self):
        """010 is neither 8 nor 10."""
        for value in ("010", "0x10", "1.5", "-1", "0", "1000000001", "1_000", ""):
            text = self.check("--data-dir", "d", "--max-rings", value, code=2)
            self.assertIn('"%s" is not a whole number within 1 and 1000000000' % value, text)
        for value in ("1", "1000000000"):
            self.assertEqual(self.check("--data-dir", "d", "--max-rings", value), "ok\n")

    def test_every_error_is_told(self):
        self.write("data-dir: d\nhistroy-age: 1h\nmax-nodes: none\n")
        text = self.check("--config", self.file, code=2, RINGD_MAX_RINGS="0")
        self.assertIn('error: %s:2: unknown key "histroy-age"; did you mean "history-age"?\n' % self.file, text)
        self.assertIn("error: %s:3: " % self.file, text)
        self.assertIn("error: RINGD_MAX_RINGS: ", text)
        self.assertIn("not within 1ms and", self.check("--data-dir", "d", code=2, RINGD_DRAIN_TIMEOUT="0s"))

    def test_addresses_and_certificates_are_looked_at(self):
        self.assertIn("--tls-cert-file is missing", self.check("--data-dir", "d", "--listen", "0.0.0.0:1", code=1))
        self.assertIn("is no address", self.check("--data-dir", "d", "--listen", "x", code=2))
        certificates = Certificates(os.path.join(self.folder, "certificates"))
        flags = ["--data-dir", "d", "--listen", "0.0.0.0:1", *certificates.flags(ADMIN)]
        self.assertEqual(self.check(*flags), "ok\n")
        certificates.put("server-key.pem", b"")
        self.assertIn('key "%s" is empty' % certificates.path("server-key.pem"), self.check(*flags, code=1))


class StartTest(ConfigCase):
    def test_the_three_places(self):
        """A flag goes before the environment, and that before the file."""
        self.write("max-rings: 1\nmax-nodes: 1\nmax-key-bytes: 1\ndata-dir: /no/such/directory\n")
        server = self.serve(None, "127.0.0.1:0", "--config", self.file, "--max-key-bytes", "3",
                            env=os.environ | {"RINGD_MAX_NODES": "2", "RINGD_MAX_KEY_BYTES": "2"})
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        self.assertEqual(len(client.owners("r", [b"kkk"])), 1)
        for call in (lambda: client.make_ring("s"), lambda: client.add("r", "c"), lambda: client.owners("r", [b"kkkk"])):
            self.assertRaises(Exception, call)

    def test_a_slip_in_the_environment_is_warned_of(self):
        server = self.serve(env=os.environ | {"RINGD_MAX_NODE": "2", "RINGD_PORT": "tcp://10.0.0.1:7440"})
        self.assertTrue(server.wait_for_log('RINGD_MAX_NODE is no setting; did you mean "RINGD_MAX_NODES"'))
        self.assertNotIn("RINGD_PORT", "".join(server.log))


class ReloadTest(ConfigCase):
    def reload(self, server, pattern):
        """Sends SIGHUP and waits for another line that matches."""
        def count():
            return len([line for line in server.log if pattern in line])
        before = count()
        server.signal(signal.SIGHUP)
        eventually(lambda: count() > before, "the log has another line with " + pattern)

    def test_certificates_that_are_not_taken_up(self):
        """Each SIGHUP tells what is wrong with them, and no line says that they were reloaded."""
        certificates = Certificates(os.path.join(self.folder, "certificates"))
        server = self.serve(None, "127.0.0.1:0", *certificates.flags(ADMIN))
        self.reload(server, "reloaded the log level (info) and the certificates")
        certificates.put("server.pem", b"")
        for _ in range(2):
            self.reload(server, "reloaded the log level (info), but not the certificates")
        told = [line for line in server.log if 'server.pem" is empty' in line]
        self.assertGreaterEqual(len(told), 2, server.log)

    def test_the_log_level(self):
        server = self.serve(None, "127.0.0.1:0", "--config", self.write("log-level: info\n"))
        client = self.connect(server)
        client.make_ring("r")
        self.assertTrue(server.wait_for_log("CreateRing"))
        self.write("log-level: warning\n")
        self.reload(server, "reloaded the log level (warning)")
        self.write("log-level: loud\n")
        self.reload(server, "not reloaded: %s:1: --log-level" % self.file)
        client.add("r", "after-a-bad-one")
        self.write("log-level: info\n")
        self.reload(server, "reloaded the log level (info)")
        client.add("r", "loud-again")
        self.assertTrue(server.wait_for_log("loud-again"))
        self.assertNotIn("after-a-bad-one", "".join(server.log))
        self.assertEqual(server.stop(), 0)

    def test_certificates_at_once_and_of_other_files(self):
        certificates = Certificates(os.path.join(self.folder, "certificates"))
        flags = certificates.flags(ADMIN)

        def configure(folder):
            self.write("".join("%s: %s\n" % (flag[2:], value.replace(certificates.folder, folder))
                               for flag, value in zip(flags[::2], flags[1::2])))
        configure(certificates.folder)
        server = self.serve(None, "127.0.0.1:0", "--config", self.file)
        other = Certificates(os.path.join(self.folder, "other"))
        other.put("ca.pem", certificates.read("ca.pem"))
        configure(other.folder)
        self.reload(server, "TLS: serving")
        # The new server certificate is of another CA, so it is compared without being verified.
        shown = subprocess.run(["openssl", "s_client", "-connect", server.endpoint, "-alpn", "h2"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30).stdout
        self.assertIn(other.read("server.pem").decode().strip(), shown)
        other.put("server.pem", b"")
        self.reload(server, "is empty; new connections get the certificate from before")
        configure(certificates.folder)
        self.reload(server, "TLS: serving")
        self.connect(server, credentials=certificates.credentials("admin")).make_ring("r", ["a"])

    def test_many_hangups(self):
        """Signals that come in a row harm nothing."""
        server = self.serve()
        for _ in range(50):
            server.signal(signal.SIGHUP)
        self.connect(server).make_ring("r", ["a"])
        self.reload(server, "reloaded")
        self.assertEqual(server.stop(), 0)


class LogTest(ConfigCase):
    """reliability: one event is one line; control bytes are escaped; JSON always parses; no line for a request."""

    def live(self, *flags):
        server = self.serve(None, "127.0.0.1:0", *flags)
        client = self.connect(server)
        client.make_ring("r", [{"id": "a"}, {"id": 'quote"\\ é \u202e'}])
        client.add("r", "b", options={"reason": 'why\r\n{"level":"error"} \x1b[31m'})
        client.remove("r", "b")
        for _ in range(50):
            client.owners("r", [b"k"])
            client.ListRings()
            with self.assertRaises(Refused):  # no UTF-8, which the library that parses it complains of
                client.send_bytes("Lookup", b"\x0a\x02\xff\xfe\x12\x01k", pb.LookupResponse)
        client.update("r", "a", weight=100)  # changes nothing
        client.delete("r")
        self.assertEqual(server.stop(), 0)
        return server.log

    def test_json(self):
        lines = self.live("--log-format", "json")
        events = [json.loads(line) for line in lines]
        for event in events:
            self.assertEqual(set(event) & {"time", "level", "msg"}, {"time", "level", "msg"})
        changes = [event for event in events if "ring" in event]
        self.assertEqual([change["msg"] for change in changes],
                         ["CreateRing", "ApplyChanges", "AddNode", "RemoveNode", "DeleteRing"])
        added = changes[2]
        self.assertEqual((added["ring"], added["node"], added["from_revision"], added["revision"]), ("r", "b", 2, 3))
        self.assertEqual(added["reason"], 'why\r\n{"level":"error"} \x1b[31m')
        self.assertTrue(added["actor"].startswith("ipv4:127.0.0.1:"))
        self.assertEqual([change.get("force") for change in changes], [None, None, None, "true", "true"])
        self.assertLess(len(events), 20)

    def test_text(self):
        lines = self.live()
        for line in lines:
            self.assertRegex(line, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (info|warning|error) [^\x00-\x1f\x7f]+\n$")
        added = [line for line in lines if " AddNode " in line]
        self.assertEqual(len(added), 1)
        self.assertIn(r'reason "why\x0D\x0A{\x22level\x22:\x22error\x22} \x1B[31m"', added[0])


if __name__ == "__main__":
    unittest.main()
