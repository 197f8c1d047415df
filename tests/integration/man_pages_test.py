"""The man pages: valid, and about the flags and settings that there are, no more and no fewer.

Environment: RINGD_BIN and RINGCTL_BIN name the two programs.
"""

import os
import re
import subprocess
import unittest

RINGD = os.environ["RINGD_BIN"]
RINGCTL = os.environ["RINGCTL_BIN"]
PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "man")
# Of the command line alone; "SHARED" are the flags of ringctl that more than one command has.
NO_SETTINGS = {"--help", "--version", "--config", "--check-config"}
SHARED = {"--dry-run", "--reason", "--yes", "--wait-for", "--wait-timeout", "--if-version", "--force"}


def run(*command, stdin=b""):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout, done.stderr.decode()


def source(page):
    with open(os.path.join(PAGES, page + ".scd"), encoding="utf-8") as file:
        return file.read()


def sections(text, mark):
    """The text below each heading of that mark, up to the next heading of any."""
    found = {}
    heading = None
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line[len(mark) + 1:] if line.startswith(mark + " ") else None
        if heading is not None:
            found[heading] = found.get(heading, "") + line + "\n"
    return found


def told(text):
    """The long flags that a page explains, each in a line of their own that begins with one."""
    return {flag for line in text.splitlines() if line.startswith("*-")
            for flag in re.findall(r"\*(--[a-z-]+)\*", line)}


def offered(*command):
    """The long flags that --help lists."""
    text = run(*command, "--help")[0].decode()
    return {flag for line in re.findall(r"^  (-[^ ]+)", text, re.M) for flag in re.findall(r"--[a-z-]+", line)}


def subcommands(*command):
    text = run(RINGCTL, *command, "--help")[0].decode()
    listed = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]+)", listed, re.M)


def verbs(*command):
    """Each command of ringctl, as a tuple of words."""
    below = subcommands(*command)
    return [verb for name in below for verb in verbs(*command, name)] if below else [command]


class ManPagesTest(unittest.TestCase):
    def test_lint(self):
        """scdoc and groff find nothing to complain about."""
        for page in ("ringd.8", "ringd.yaml.5", "ringctl.1"):
            made, complaints = run("scdoc", stdin=source(page).encode())
            self.assertEqual(complaints, "")
            self.assertEqual(run("groff", "-ww", "-man", "-z", "-Tutf8", stdin=made)[1], "", page)

    def test_flags_of_ringd(self):
        self.assertEqual(told(source("ringd.8")), offered(RINGD))

    def test_settings_of_ringd(self):
        settings = sections(source("ringd.yaml.5"), "#")["SETTINGS"]
        settings += "".join(sections(source("ringd.yaml.5"), "##").values())
        names = {"--" + name for line in settings.splitlines() if line.startswith("*")
                 for name in re.findall(r"\*([a-z-]+)\*", line)}
        self.assertEqual(names, offered(RINGD) - NO_SETTINGS)

    def test_defaults_of_ringd(self):
        help_text = run(RINGD, "--help")[0].decode()
        defaults = re.findall(r"^\*([a-z-]+)\*: (.+)$", source("ringd.yaml.5"), re.M)
        self.assertGreater(len(defaults), 10)
        for name, default in defaults:
            if default != "false":
                self.assertRegex(help_text, r"--%s .*=%s\b" % (name, re.escape(default)))

    def test_flags_of_ringctl(self):
        """Of each command, in a section of its name and words."""
        page = source("ringctl.1")
        everywhere = told(sections(page, "#")["GLOBAL FLAGS"])
        self.assertEqual(everywhere, offered(RINGCTL))
        self.assertEqual(told(sections(page, "#")["CHANGES"]), SHARED)
        chapters = sections(page, "##")
        for verb in verbs():
            usage = re.search(r"^Usage: ringctl (.+) \[FLAGS\]", run(RINGCTL, *verb, "--help")[0].decode(), re.M).group(1)
            self.assertIn(usage, chapters)
            chapter = chapters.pop(usage)
            takes = re.search(r"Takes ([^.]+)\.", chapter)
            shared = set(re.findall(r"--[a-z-]+", takes.group(1))) if takes else set()
            self.assertLessEqual(shared, SHARED)
            self.assertEqual(told(chapter) | shared, offered(RINGCTL, *verb) - {"--help"}, usage)
        self.assertEqual(chapters, {})

    def test_environment_of_ringctl(self):
        chapter = sections(source("ringctl.1"), "#")["ENVIRONMENT"].replace("\\", "")
        offered_variables = set(re.findall(r"Env:(\w+)", run(RINGCTL, "--help")[0].decode()))
        self.assertEqual(set(re.findall(r"RINGCTL_\w+", chapter)), offered_variables)


if __name__ == "__main__":
    unittest.main()
