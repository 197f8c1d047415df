"""The base of tests that run ringctl against a ringd of their own."""

import json
import os
import subprocess
import tempfile
import unittest

from ringd_process import PATIENCE, RINGCTL, Server, environment


class RingctlCase(unittest.TestCase):
    """One server for all tests of the class; each test has the name of a ring of its own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server(os.path.join(cls.folder.name, "data"))

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.ring = self.id().rsplit(".", 1)[1].replace("_", "-")

    def run_it(self, *arguments, code=0, differs=False, stdin=b"", endpoint=None):
        """Runs ringctl; checks the exit code and that stderr is lines of text when it fails, and never a dump. Where
        `differs`, the code 1 is the answer of `diff`, and stderr is empty."""
        done = subprocess.run([RINGCTL, *arguments], input=stdin, capture_output=True, timeout=60,
                              env=environment(endpoint or self.server.endpoint))
        self.assertEqual(done.returncode, code, (arguments, done.stdout[-500:], done.stderr))
        if differs:
            self.assertEqual((code, done.stderr), (1, b""))
        elif code != 0:
            lines = done.stderr.decode().splitlines()
            self.assertTrue(lines and lines[0].startswith("error: "), done.stderr)
            self.assertLessEqual(len(lines), 2, done.stderr)
        return done

    def out(self, *arguments, **options):
        return self.run_it(*arguments, **options).stdout.decode()

    def err(self, *arguments, **options):
        return self.run_it(*arguments, **options).stderr.decode()

    def json(self, *arguments, **options):
        return json.loads(self.out(*arguments, "-o", "json", **options))

    def make_ring(self, *nodes, options=()):
        self.out("ring", "create", self.ring, *options)
        for node in nodes:
            self.out("node", "add", self.ring, node, "--address", node + ":1")

    def ask(self, *arguments, answer):
        """Runs ringctl on a terminal where `answer` is typed."""
        leader, follower = os.openpty()
        try:
            os.write(leader, answer)
            done = subprocess.run([RINGCTL, *arguments], stdin=follower, capture_output=True, timeout=PATIENCE,
                                  env=environment(self.server.endpoint))
        finally:
            os.close(leader)
            os.close(follower)
        return done
