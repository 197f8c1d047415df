"""ringctl watchers, watch --name and --wait-for against a real ringd.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_client import Client, Watch  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, Server, Watcher, environment, eventually  # noqa: E402
from stubs import pb  # noqa: E402

# So long that a test which waits for it fails.
LONG = ("--wait-timeout", "10m")
SHORT = ("--wait-timeout", "100ms")


class WaitCase(RingctlCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = Client(cls.server.endpoint)
        cls.addClassCleanup(cls.client.close)

    def follow(self, name):
        """A `ringctl watch` that reports what it prints."""
        watcher = Watcher(self.server.endpoint, self.ring, "--name", name, "-o", "json")
        self.addCleanup(watcher.stop)
        self.wait_listed(name)
        return watcher

    def stare(self, name):
        """A watcher that reports nothing."""
        watch = Watch(self.client, rings=[self.ring], name=name)
        self.addCleanup(watch.cancel)
        watch.wait_in_sync()
        return watch

    def row(self, name):
        """The tsv row of a watcher, as cells; nothing when it is not listed."""
        rows = [line.split("\t") for line in self.out("watchers", "-o", "tsv").splitlines()]
        return next((row for row in rows if row[:2] == [self.ring, name]), None)

    def wait_listed(self, name):
        eventually(lambda: self.row(name), "%s is listed" % name, every=0.05)

    def version(self):
        head = self.json("ring", "get", self.ring)["version"]
        return "%s/%s" % (head["epoch"], head["revision"])


class WatchersTest(WaitCase):
    def test_table_and_documents(self):
        """Who watches, since when, at which version and how far behind; a ring that nobody knows is 1."""
        self.make_ring("n1")
        self.stare("w\u00e9 1")
        version = self.version()
        self.out("ring", "update", self.ring, "--label", "a=b")
        eventually(lambda: self.row("w\u00e9 1")[3] != version, "the change is sent", every=0.05)
        header, row = self.out("watchers", self.ring).splitlines()
        self.assertEqual(header.split(), ["RING", "NAME", "PEER", "SENT", "APPLIED", "HEAD", "BEHIND", "SINCE"])
        head = self.version()
        self.assertRegex(row, r"^%s +w\u00e9 1 +ipv4:127.0.0.1:\d+ +%s +- +%s +0 +\d{4}-\d\d-\d\dT[0-9:]+Z$" %
                         (self.ring, head, head))
        [watcher] = self.json("watchers", self.ring)["watchers"]
        self.assertEqual((watcher["name"], watcher["behind"], watcher["sent"]["revision"]),
                         ("w\u00e9 1", "0", head.split("/")[1]))
        self.assertNotIn("applied", watcher)
        self.assertIn("NOT_FOUND", self.err("watchers", "no-such-ring", code=1))
        self.run_it("watchers", "a", "b", code=2)

    def test_a_named_watch_reports_what_it_printed(self):
        """Each version that has been printed, the snapshot's, the changes', and where it goes on without either."""
        self.make_ring("n1")
        watcher = self.follow("w")
        eventually(lambda: self.row("w")[4] == self.version(), "the snapshot is reported", every=0.05)
        self.out("node", "add", self.ring, "n2")
        self.assertEqual(watcher.event("change")["nodes"][0]["added"]["id"], "n2")
        eventually(lambda: self.row("w")[4:7] == [self.version(), self.version(), "0"], "the change is reported", every=0.05)
        watcher.stop()
        resumed = Watcher(self.server.endpoint, self.ring, "--name", "again", "--from", self.version())
        self.addCleanup(resumed.stop)
        eventually(lambda: (self.row("again") or [None] * 5)[4] == self.version(), "what is held is reported", every=0.05)

    def test_what_is_not_printed_is_not_reported(self):
        """A snapshot that is larger than a pipe, which nobody reads, is reported only when somebody does."""
        self.make_ring("n1")
        process = subprocess.Popen([RINGCTL, "watch", self.ring, "--name", "stuck", "-o", "json"],
                                   env=environment(self.server.endpoint), stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.wait_listed("stuck")
        eventually(lambda: self.row("stuck")[3] == self.version(), "the snapshot is sent", every=0.05)
        for _ in range(5):
            self.assertEqual(self.row("stuck")[4], "")
        self.assertGreater(len(process.stdout.readline()), 1 << 16)
        eventually(lambda: self.row("stuck")[4] == self.version(), "the snapshot is reported", every=0.05)

    def test_an_odd_name(self):
        """A control character in a name is refused for good; a name of quotes and tabs' look is shown escaped."""
        self.make_ring()
        self.assertIn("watcher", self.err("watch", self.ring, "--name", "a\nb", code=1))
        self.stare("a\\b\"'")
        self.assertIsNotNone(self.row("a\\x5Cb\"'"))


class WaitTest(WaitCase):
    def test_applied(self):
        """The answer comes when the share has applied it, and says so."""
        self.make_ring("n1")
        self.follow("w")
        text = self.out("node", "add", self.ring, "n2", "--wait-for", "100%", *LONG)
        self.assertIn("applied by 1 of 1 named watchers\n", text)
        answer = self.json("node", "add", self.ring, "n3", "--wait-for", "99%", *LONG)
        self.assertEqual(answer["wait_result"], {"watchers": 1, "applied": 1, "lagging": [], "reached": True})
        self.assertEqual(self.out("node", "add", self.ring, "n4", "-q", "--wait-for", "1%", *LONG), "")

    def test_every_change_takes_it_but_delete(self):
        """Each command that changes something."""
        self.make_ring("n1")
        self.follow("w")
        wait = ("--wait-for", "100%", *LONG)
        before = self.version()
        for arguments in (["node", "update", self.ring, "n1", "--weight", "107"], ["ring", "update", self.ring, "--label", "a=b"],
                          ["ring", "restore", self.ring, "--to", before, "--yes"],
                          ["node", "remove", self.ring, "n1", "--yes", "--force"]):
            self.assertIn("applied by 1 of 1", self.out(*arguments, *wait), arguments)
        self.assertIn("applied by 0 of 0", self.out("ring", "create", self.ring + "-2", *wait))
        self.run_it("ring", "delete", self.ring, "--yes", *wait, code=2)

    def test_too_few(self):
        """The change is made and told, who lags is told on stderr, and the exit code is none other's: 6."""
        self.make_ring("n1")
        self.follow("w")
        for i in range(12):
            self.stare("slow %02d" % i)
        done = self.run_it("node", "add", self.ring, "n2", "--wait-for", "50%", *SHORT, code=6)
        self.assertIn(b'node "n2" added', done.stdout)
        error, hint = done.stderr.decode().splitlines()
        self.assertRegex(error, r'^error: version %s was made and is applied by [01] of 13 named watchers, not by "slow 00", ' %
                         self.version())
        self.assertRegex(error, r'"slow 09" and [23] more$')
        self.assertIn("ringctl watchers", hint)
        done = self.run_it("node", "add", self.ring, "n3", "-q", "--wait-for", "50%", *SHORT, "-o", "json", code=6)
        self.assertIn(b'"reached": false', done.stdout)
        self.assertEqual(self.version().split("/")[1], "4")

    def test_longer_than_the_timeout(self):
        """--wait-timeout comes on top of --timeout."""
        self.make_ring()
        self.stare("slow")
        self.run_it("node", "add", self.ring, "n1", "--timeout", "500ms", "--wait-for", "50%", "--wait-timeout", "1s", code=6)

    def test_apply(self):
        """apply waits, also where the file makes no difference; dry runs and a time alone are wrong usage."""
        self.make_ring("n1")
        watch = self.stare("w")
        nodes = b"nodes: [{id: n1}, {id: n2}]"
        apply = ("apply", self.ring, "-f", "-", "--yes", "--wait-for", "100%")
        self.run_it(*apply, *SHORT, stdin=nodes, code=6)
        version = self.version()
        done = self.run_it(*apply, *SHORT, stdin=nodes, code=6)
        self.assertIn(b"nothing changed", done.stdout)
        epoch, revision = map(int, version.split("/"))
        position = pb.WatchPosition(version=pb.Version(epoch=epoch, revision=revision))
        self.client.ReportWatch(watcher="w", applied=[pb.HeldRing(ring=self.ring, position=position)])
        self.assertIn("applied by 1 of 1", self.out(*apply, *LONG, stdin=nodes))
        self.assertEqual(self.version(), version)
        watch.cancel()
        self.run_it(*apply, "--dry-run", stdin=nodes, code=2)
        self.run_it("apply", self.ring, "-f", "-", "--yes", *SHORT, stdin=nodes, code=2)
        for share in ("0%", "101%", "99", "all"):
            self.run_it("node", "add", self.ring, "n9", "--wait-for", share, code=2)

    def test_import(self):
        """The last change of an import waits, and too few that have applied it do not take it back."""
        watch = Watch(self.client, rings=[self.ring], name="w")
        self.addCleanup(watch.cancel)
        self.wait_listed("w")
        listed = b"10.0.0.1:1\n10.0.0.2:1\n"
        done = self.run_it("ring", "import", self.ring, "-", "--preset", "ketama", "--wait-for", "1%", *SHORT,
                           stdin=listed, code=6)
        self.assertIn(b"imported, 2 nodes", done.stdout)
        self.assertEqual(len(self.json("node", "list", self.ring)["nodes"]), 2)

    def test_import_of_slots(self):
        """As one of nodes."""
        watch = Watch(self.client, rings=[self.ring], name="w")
        self.addCleanup(watch.cancel)
        self.wait_listed("w")
        cluster = b"%s 10.0.0.1:6379@16379 master - 0 0 1 connected 0-16383\n" % (b"a" * 40)
        self.run_it("ring", "import", self.ring, "-", "--wait-for", "1%", *SHORT, stdin=cluster, code=6)
        self.assertEqual(len(self.json("node", "list", self.ring)["nodes"]), 1)

    def test_the_server_stops(self):
        """A drain ends the wait with 6: the change was made."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = Server(os.path.join(folder.name, "data"))
        self.addCleanup(server.kill)
        client = Client(server.endpoint)
        self.addCleanup(client.close)
        client.make_ring("r")
        watch = Watch(client, rings=["r"], name="w")
        self.addCleanup(watch.cancel)
        watch.wait_in_sync()
        process = subprocess.Popen([RINGCTL, "node", "add", "r", "n1", "--wait-for", "100%", *LONG], stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment(server.endpoint), text=True)
        eventually(lambda: client.GetRing(ring="r").version.revision == 2, "the change is published")
        server.signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 6, stderr)
        self.assertIn('not by "w"', stderr)


if __name__ == "__main__":
    unittest.main()
