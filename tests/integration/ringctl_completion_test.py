"""Completion of ringctl in bash, zsh and fish themselves: what is on the line once Tab was pressed.

Environment: RINGD_BIN and RINGCTL_BIN name the two programs.
"""

import os
import pty
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, closed_port, environment  # noqa: E402

READY = "shell is ready"


class Shell:
    """An interactive shell on a terminal of its own, in which `ringctl` is the one under test."""

    def __init__(self, command, env, setup):
        leader, follower = pty.openpty()
        self.terminal = leader
        self.process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=env,
                                        start_new_session=True)
        os.close(follower)
        self.shown = b""
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        self.type(setup + "\n")
        self.wait_for(READY.encode())

    def _read(self):
        while True:
            try:
                part = os.read(self.terminal, 65536)
            except OSError:
                part = b""
            with self.changed:
                self.shown += part
                self.changed.notify_all()
            if not part:
                return

    def wait_for(self, text):
        with self.changed:
            if not self.changed.wait_for(lambda: text in self.shown, PATIENCE):
                raise AssertionError("the shell does not show %r: %r" % (text, self.shown[-2000:]))

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


class RingctlCompletionTest(RingctlCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bin = os.path.join(cls.folder.name, "bin")
        os.mkdir(cls.bin)
        os.symlink(os.path.abspath(RINGCTL), os.path.join(cls.bin, "ringctl"))
        for name in ("some file.yaml", "other.pem"):
            with open(os.path.join(cls.folder.name, name), "wb"):
                pass

    def setUp(self):
        super().setUp()
        if not getattr(type(self), "made", False):
            type(self).made = True
            self.out("ring", "create", "cache")
            self.out("ring", "create", "sessions")
            for node in ("10.0.0.1:7000", "10.0.0.2:7000", "plain", "two words", "q'uote$"):
                self.out("node", "add", "cache", node)
        self.results = os.path.join(self.folder.name, "results")

    def environment(self):
        env = environment(self.server.endpoint)
        return env | {"PATH": self.bin + ":" + os.environ["PATH"], "TERM": "dumb", "HOME": self.folder.name,
                      "XDG_CONFIG_HOME": self.folder.name, "INPUTRC": "/dev/null", "PS1": "$ "}

    # What is typed before Tab, and the words that the line then has.
    LINES = (
        ("ringctl node rem", ["ringctl", "node", "remove"]),
        ("ringctl comp", ["ringctl", "completion"]),
        ("ringctl completion fi", ["ringctl", "completion", "fish"]),
        ("ringctl help node rem", ["ringctl", "help", "node", "remove"]),
        ("ringctl ring get ca", ["ringctl", "ring", "get", "cache"]),
        ("ringctl -o json lookup se", ["ringctl", "-o", "json", "lookup", "sessions"]),
        ("ringctl node update cache pl", ["ringctl", "node", "update", "cache", "plain"]),
        ("ringctl node update cache 10.0.0.1", ["ringctl", "node", "update", "cache", "10.0.0.1:7000"]),
        ("ringctl node update cache 10.0.0.2:7", ["ringctl", "node", "update", "cache", "10.0.0.2:7000"]),
        ("ringctl node remove cache --dry-run tw", ["ringctl", "node", "remove", "cache", "--dry-run", "two words"]),
        ("ringctl node remove cache q", ["ringctl", "node", "remove", "cache", "q'uote$"]),
        ("ringctl node update cache plain --wei", ["ringctl", "node", "update", "cache", "plain", "--weight"]),
        ("ringctl ring list --endp", ["ringctl", "ring", "list", "--endpoints"]),
        ("ringctl ring list -o y", ["ringctl", "ring", "list", "-o", "yaml"]),
        ("ringctl ring list --output=y", ["ringctl", "ring", "list", "--output=yaml"]),
        ("ringctl ring create x --placement h", ["ringctl", "ring", "create", "x", "--placement", "hashed"]),
        ("ringctl apply cache -f oth", ["ringctl", "apply", "cache", "-f", "other.pem"]),
        ("ringctl apply cache -f som", ["ringctl", "apply", "cache", "-f", "some file.yaml"]),
        ("ringctl verify cache som", ["ringctl", "verify", "cache", "some file.yaml"]),
        ("ringctl --cacert=oth", ["ringctl", "--cacert=other.pem"]),
        ("ringctl ring create ca", ["ringctl", "ring", "create", "ca"]),
        ("ringctl lookup no-such-ring k", ["ringctl", "lookup", "no-such-ring", "k"]),
    )

    def check(self, shell):
        """Types each line and Tab, then makes of the line a command that writes its words down."""
        self.addCleanup(shell.close)
        for line, words in self.LINES:
            with self.subTest(line=line):
                # To the start of the line, to its end, Return.
                shell.type("%s\t\x01printf '<%%s>' \x05 > results\n" % line)
                self.assertEqual(self.result(), "".join("<%s>" % word for word in words))

    def result(self):
        """What the line wrote, once it is whole."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                with open(self.results, encoding="utf-8") as file:
                    text = file.read()
                if text.endswith(">"):
                    os.unlink(self.results)
                    return text
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        return "nothing was written"

    def test_bash(self):
        self.check(Shell(["bash", "--norc", "--noprofile", "-i"], self.environment(),
                         "cd '%s'; source <(ringctl completion bash); echo shell 'is ready'" % self.folder.name))

    def test_shellcheck(self):
        done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=self.out("completion", "bash").encode(),
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_bash_that_cuts_words_at_blanks_alone(self):
        """Some take `:` and `=` out of what bash cuts words at."""
        self.check(Shell(["bash", "--norc", "--noprofile", "-i"], self.environment(),
                         "COMP_WORDBREAKS=$' \\t\\n'; cd '%s'; source <(ringctl completion bash); echo shell 'is ready'" %
                         self.folder.name))

    def test_zsh(self):
        self.check(Shell(["zsh", "-f", "-i"], self.environment(),
                         "cd '%s'; autoload -U compinit; compinit -u -D; source <(ringctl completion zsh); "
                         "bindkey -e; echo shell 'is ready'" % self.folder.name))

    def test_zsh_from_fpath(self):
        """The same script works as a file of its name in $fpath."""
        functions = os.path.join(self.folder.name, "functions")
        os.makedirs(functions, exist_ok=True)
        with open(os.path.join(functions, "_ringctl"), "w", encoding="utf-8") as file:
            file.write(self.out("completion", "zsh"))
        self.check(Shell(["zsh", "-f", "-i"], self.environment(),
                         "cd '%s'; fpath=(%s $fpath); autoload -U compinit; compinit -u -D; bindkey -e; "
                         "echo shell 'is ready'" % (self.folder.name, functions)))

    def fish(self, line):
        """The candidates that fish has for a line, without what they mean."""
        script = "ringctl completion fish | source; complete -C %s" % ("'%s'" % line.replace("'", "\\'"))
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder.name, capture_output=True,
                              timeout=PATIENCE, env=self.environment())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [candidate.split("\t")[0] for candidate in done.stdout.decode().splitlines()]

    def test_fish(self):
        """Fish itself puts a candidate into the line."""
        for line, words in self.LINES:
            with self.subTest(line=line):
                typed = line.rsplit(" ", 1)[1]
                self.assertEqual(self.fish(line), [] if typed == words[-1] else [words[-1]])

    def test_all_candidates(self):
        """What they mean stands behind them."""
        answer = self.out("__complete", "ring", "")
        self.assertEqual(answer, "words\ncreate\tmake an empty ring\n"
                                 "import\tmake a ring, with its nodes, of a file that another program reads\n"
                                 "get\tshow a ring and its nodes with their shares\n"
                                 "list\tlist the rings\nupdate\tchange settings of a ring, which moves no key\n"
                                 "restore\tgo back to the nodes of an earlier version, as a new change\n"
                                 "delete\tdelete a ring with its nodes and its history\n")
        self.assertEqual(self.out("__complete", "ring", "get", ""), "words\ncache\t5 nodes\nsessions\t0 nodes\n")
        self.assertEqual(self.fish("ringctl node list "), ["cache", "sessions"])

    def test_no_server(self):
        """Nobody waits long for a name, and nothing is said."""
        for arguments in (["ring", "get", ""], ["node", "remove", "cache", ""], ["lookup", "cache", "k"]):
            done = self.run_it("__complete", *arguments, endpoint="127.0.0.1:%d" % closed_port())
            self.assertEqual((done.stdout, done.stderr), (b"words\n", b""))

    def test_flags_before_are_used(self):
        """The server is the one that the line names."""
        closed = "127.0.0.1:%d" % closed_port()
        for flags in (["--endpoints", self.server.endpoint], ["--endpoints=" + self.server.endpoint]):
            self.assertIn("cache\t", self.out("__complete", *flags, "ring", "get", "", endpoint=closed))


if __name__ == "__main__":
    unittest.main()
