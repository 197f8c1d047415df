#!/usr/bin/python3
"""Builds deploy/Dockerfile without Docker: each stage is a Debian 12 made by debootstrap, in which its instructions run.
Then the image is run as a container would be, and asked.

Needs root, debootstrap, and Debian's mirror; so tests/run.sh --all runs it, and ctest does not.
"""

import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DOCKERFILE = os.path.join(SOURCE, "deploy", "Dockerfile")
BASE = "debian:bookworm-slim"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def say(text):
    print("dockerfile_test: " + text, flush=True)


def instructions(path):
    """(word, rest) of each instruction; continued lines joined, comments left out."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", " ", "".join(lines))
    return [tuple(line.strip().split(None, 1)) for line in text.split("\n") if line.strip()]


class Stage:
    """One stage: a root file system, and what the instructions said about how it is run."""

    def __init__(self, root):
        self.root = root
        self.workdir, self.user = "/", "0:0"
        self.environment = {"PATH": PATH, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
        self.entrypoint, self.command = [], []
        self.mounts = []

    def path(self, inside):
        return os.path.join(self.root, os.path.join(self.workdir, inside).lstrip("/"))

    def mount(self, *what, inside):
        os.makedirs(self.path(inside), exist_ok=True)
        subprocess.run(["mount", *what, self.path(inside)], check=True)
        self.mounts.append(self.path(inside))

    def unmount(self):
        while self.mounts:
            subprocess.run(["umount", self.mounts.pop()], check=False)

    def chroot(self, command, *flags):
        return ["chroot", *flags, self.root, "env", "-i", "-C", self.workdir,
                *("%s=%s" % pair for pair in self.environment.items()), *command]

    def run(self, text):
        caches = re.findall(r"--mount=type=cache,target=(\S+)", text)
        script = re.sub(r"--mount=\S+\s*", "", text)
        self.mount("-t", "proc", "proc", inside="/proc")
        for target in caches:  # what this machine has there, if anything
            if os.path.isdir(target):
                self.mount("--bind", target, inside=target)
        try:
            subprocess.run(self.chroot(["/bin/sh", "-ec", script]), check=True)
        finally:
            self.unmount()

    def copy(self, origin, words):
        *sources, target = words
        folder = target.endswith(("/", ".")) or len(sources) > 1
        for pattern in sources:
            found = glob.glob(os.path.join(origin, pattern.lstrip("/"))) or [os.path.join(origin, pattern)]
            for source in found:
                if os.path.isdir(source):
                    shutil.copytree(source, self.path(target), symlinks=True, dirs_exist_ok=True)
                    continue
                place = os.path.join(self.path(target), os.path.basename(source)) if folder else self.path(target)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copy2(source, place)


class Build:
    """The stages of one Dockerfile, in roots below a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.stages = {}
        self.base = os.path.join(folder, "base")
        self.context = os.path.join(folder, "context")

    def prepare(self):
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", self.base], check=True,
                       stdout=subprocess.DEVNULL)
        # What a commit holds: a clone has no build folders, as .dockerignore says.
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", SOURCE, self.context], check=True)

    def run(self):
        stage = None
        for word, rest in instructions(DOCKERFILE):
            say("%s %s" % (word, rest if len(rest) < 100 else rest[:97] + "..."))
            if word == "FROM":
                image, _, name = rest.partition(" AS ")
                if image != BASE:
                    raise AssertionError("a stage from %s, which this test does not know" % image)
                stage = Stage(os.path.join(self.folder, "stage-%d" % len(self.stages)))
                subprocess.run(["cp", "-a", self.base, stage.root], check=True)
                self.stages[name or "final"] = stage
            elif word == "RUN":
                stage.run(rest)
            elif word == "WORKDIR":
                stage.workdir = rest
                os.makedirs(stage.path("."), exist_ok=True)
            elif word == "COPY":
                words = rest.split()
                origin = self.context
                if words[0].startswith("--from="):
                    origin = self.stages[words.pop(0)[len("--from="):]].root
                stage.copy(origin, words)
            elif word == "ENV":
                stage.environment.update(pair.split("=", 1) for pair in shlex.split(rest))
            elif word == "USER":
                stage.user = rest
            elif word == "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            elif word not in ("EXPOSE", "VOLUME"):
                raise AssertionError("%s is an instruction that this test does not know" % word)
        return stage

    def unmount(self):
        for stage in self.stages.values():
            stage.unmount()


def container(image, *arguments):
    """The image as process 1 of namespaces of its own, as its user, with these arguments; its log can be read."""
    command = image.chroot(image.entrypoint + list(arguments), "--userspec=" + image.user)
    return subprocess.Popen(["unshare", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-ec",
                             'ip link set lo up; exec "$@"', "sh", *command], stderr=subprocess.PIPE, text=True)


def inside(running, image, *command):
    """Runs a command in the namespaces of a running container."""
    with open("/proc/%d/task/%d/children" % (running.pid, running.pid), encoding="ascii") as file:
        first = file.read().split()[0]
    return subprocess.run(["nsenter", "--target", first, "--net", *image.chroot(list(command))], check=True, text=True,
                          capture_output=True).stdout, int(first)


def await_ready(running):
    log = []
    for line in running.stderr:
        log.append(line)
        if " is ready" in line:
            return
    raise AssertionError("ringd did not start: " + "".join(log))


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError("%s: %r is not %r" % (what, found, wanted))


def check(image):
    """A ring is made and found again by the next container; SIGTERM reaches a process 1 and ends it with 0."""
    expect(image.user.split(":")[0] != "0", True, "the image runs as root")
    for owner in ("", "a"):
        running = container(image, "--http-listen", "")
        await_ready(running)
        if not owner:
            inside(running, image, "ringctl", "ring", "create", "cache")
            inside(running, image, "ringctl", "node", "add", "cache", "a")
        found, first = inside(running, image, "ringctl", "lookup", "cache", "k", "-o", "tsv")
        expect(found, "k\ta\n", "the owner")
        with open("/proc/%d/status" % first, encoding="ascii") as file:
            user = re.search(r"^Uid:\s+(\d+)", file.read(), re.MULTILINE).group(1)
        expect(user, image.user.split(":")[0], "the user of process 1")
        os.kill(first, signal.SIGTERM)
        running.stderr.read()
        expect(running.wait(), 0, "the exit code")


def main():
    if os.geteuid() != 0:
        sys.exit("dockerfile_test: needs root, for chroot and mount")
    folder = tempfile.mkdtemp(prefix="ringd-dockerfile-")
    build = Build(folder)
    try:
        build.prepare()
        image = build.run()
        check(image)
        say("passed")
    finally:
        build.unmount()
        # Nothing of this machine, should it still be mounted there.
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


if __name__ == "__main__":
    main()
