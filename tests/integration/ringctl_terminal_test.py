"""ringctl at a terminal and in pipes: progress, and readers that go away.

Environment: RINGD_BIN and RINGCTL_BIN name the two programs.
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_process import RINGCTL, environment, eventually  # noqa: E402


class Lookup:
    """A lookup of stdin, key by key, whose stderr is a terminal."""

    def __init__(self, ring, endpoint, *flags, stdout_is_terminal=False, **variables):
        self.terminal, follower = os.openpty()
        self.process = subprocess.Popen(
            [RINGCTL, "lookup", ring, "-", "-o", "tsv", *flags], stdin=subprocess.PIPE, stderr=follower,
            stdout=follower if stdout_is_terminal else subprocess.PIPE,
            env=environment(endpoint) | {"TERM": "xterm", "NO_COLOR": ""} | variables)
        os.close(follower)
        os.set_blocking(self.terminal, False)
        self.shown = b""  # on the terminal

    def read(self):
        try:
            self.shown += os.read(self.terminal, 65536)
        except OSError:  # nothing now, or nothing ever
            pass
        return self.shown

    def ask(self, key=b"key"):
        """Asks for a key and waits for its answer."""
        self.process.stdin.write(key + b"\n")
        self.process.stdin.flush()
        if self.process.stdout is None:
            seen = self.read().count(b"key\tn1")
            eventually(lambda: self.read().count(b"key\tn1") > seen, "the answer is on the terminal")
        else:
            self.process.stdout.readline()

    def progress(self):
        """Asks for keys until there is a new line of progress."""
        seen = self.read().count(b" keys answered")

        def shown():
            self.ask()
            return self.read().count(b" keys answered") > seen
        eventually(shown, "there is a line of progress")

    def end(self):
        """Ends the input; answers the exit code."""
        self.process.stdin.close()

        def ended():
            self.read()
            return self.process.poll() is not None
        eventually(ended, "the lookup ends")
        self.read()
        return self.process.wait()

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        os.close(self.terminal)


class RingctlTerminalTest(RingctlCase):
    def lookup(self, *flags, **options):
        lookup = Lookup(self.ring, self.server.endpoint, *flags, **options)
        self.addCleanup(lookup.close)
        return lookup

    def test_progress(self):
        """Long work on a terminal says how far it is, in one line, which goes when it ends."""
        self.make_ring("n1")
        lookup = self.lookup()
        lookup.progress()
        lookup.progress()
        self.assertRegex(lookup.shown, rb"^(\r[1-9]\d* keys answered\x1b\[K)+$")
        self.assertEqual(lookup.end(), 0)
        self.assertTrue(lookup.shown.endswith(b"\x1b[K\r\x1b[K"), lookup.shown)
        self.assertNotIn(b"\n", lookup.shown)

    def test_no_progress(self):
        """None where it is not wanted, or where the data themselves show how it goes."""
        self.make_ring("n1")
        without = [self.lookup("-q"), self.lookup(TERM="dumb"), self.lookup(NO_COLOR="1"),
                   self.lookup(stdout_is_terminal=True)]
        for lookup in without:
            lookup.ask()
        self.lookup().progress()  # the others began before
        for lookup in without:
            lookup.ask()
            self.assertEqual(lookup.end(), 0)
            self.assertNotIn(b"answered", lookup.shown)

    def test_an_error_takes_the_place_of_progress(self):
        self.make_ring("n1")
        lookup = self.lookup()
        lookup.progress()
        lookup.process.stdin.write(b"\n")
        self.assertEqual(lookup.end(), 1)
        self.assertRegex(lookup.shown, rb"\x1b\[K\r\x1b\[Kerror: line \d+: .*key is empty")

    def pipe(self, command, patience=60):
        """Runs a pipeline of bash that ends with a reader which goes away; answers what that had, and checks that
        nothing was said about it."""
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=patience, stdin=subprocess.DEVNULL,
                              env=environment(self.server.endpoint) | {"RINGCTL": RINGCTL, "RING": self.ring})
        self.assertEqual(done.stderr, b"", command)
        return done.stdout

    def test_a_reader_that_goes_away(self):
        """`| head -1` is silent, and ends what goes before it. B57."""
        nodes = "nodes:\n" + "".join("- {id: node-%d, address: '10.0.0.1:%d'}\n" % (i, i) for i in range(5000))
        self.out("ring", "create", self.ring)
        self.out("apply", self.ring, "-f", "-", stdin=nodes.encode())
        for verb in ("node list", "ring get"):
            for form in ("table", "json", "yaml", "tsv"):
                self.assertNotEqual(self.pipe('"$RINGCTL" %s "$RING" -o %s | head -1' % (verb, form)), b"")
        self.pipe('yes | "$RINGCTL" lookup "$RING" - | head -1')
        self.pipe('yes | "$RINGCTL" lookup "$RING" - -o json | head -1')
        self.pipe('echo "nodes: []" | "$RINGCTL" diff "$RING" -f - | head -1')
        for verb in ("--help", "completion bash", "status", "ring list"):
            self.pipe('"$RINGCTL" %s | true' % verb)

    def test_a_reader_of_watch_that_goes_away(self):
        """A watch ends when nobody reads it, although nothing happens to the ring."""
        self.make_ring("n1")
        for form in ("table", "json"):
            self.assertEqual(len(self.pipe('"$RINGCTL" watch "$RING" -o %s | head -1' % form).splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
