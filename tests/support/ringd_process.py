"""ringd and ringctl as processes: started, killed, started again, each on addresses of its own.

Environment: RINGD_BIN and RINGCTL_BIN name the two programs.
"""

import json
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time

RINGD = os.environ["RINGD_BIN"]
RINGCTL = os.environ["RINGCTL_BIN"]
PATIENCE = 30  # seconds that anything here may take on a busy machine


class Server:
    """A ringd of its own, with its data in a folder that can outlive it. Ready for calls when it has been made."""

    def __init__(self, data_dir, address="127.0.0.1:0", *flags, init=True, http="127.0.0.1:0", **popen):
        self.data_dir = data_dir
        command = [RINGD, "--listen", address, "--http-listen", http, "--data-dir", data_dir, *flags]
        self.process = subprocess.Popen(command + (["--init"] if init else []), stderr=subprocess.PIPE, text=True,
                                        errors="replace", **popen)
        self.endpoint = self.http_endpoint = self.metrics_endpoint = None
        self.endpoints = []  # for gRPC, all of them; `endpoint` is the first
        self.log = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self.wait_for_log(r"ringd \S+ is ready"):
            self.kill()
            raise AssertionError("ringd did not start: " + "".join(self.log))

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                found = re.search(r"(http|metrics|ringd \S+) listening on (\S+)", line)
                if found and found.group(1) == "http":
                    self.http_endpoint = found.group(2)
                elif found and found.group(1) == "metrics":
                    self.metrics_endpoint = found.group(2)
                elif found:
                    self.endpoints.append(found.group(2))
                    self.endpoint = self.endpoints[0]
                self.log.append(line)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_for_log(self, pattern, patience=PATIENCE):
        """Whether a line of its log matches, now or later, before the log ends."""
        def matches():
            return any(re.search(pattern, line) for line in self.log)
        with self._changed:
            self._changed.wait_for(lambda: matches() or self.process.poll() is not None, patience)
            if matches():
                return True
        if self.process.poll() is not None:
            self._reader.join(patience)
        return matches()

    @property
    def port(self):
        return int(self.endpoint.rsplit(":", 1)[1])

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, patience=PATIENCE):
        """Waits for its end; answers the exit code."""
        code = self.process.wait(patience)
        self._reader.join(patience)
        self.process.stderr.close()
        return code

    def kill(self):
        """Ends it as kill -9 does; also when it was ended before."""
        if self.process.poll() is None:
            self.process.kill()
        return self.wait()

    def stop(self):
        """Ends it in order and answers its exit code; also when it was ended before."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.wait()


def refused_start(*flags, patience=PATIENCE, **popen):
    """Runs a ringd that is expected to end by itself; answers exit code and stderr."""
    done = subprocess.run([RINGD, *flags], capture_output=True, text=True, errors="replace", timeout=patience, **popen)
    return done.returncode, done.stderr


def environment(endpoint):
    """The environment of a ringctl that asks this server."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RINGCTL_")}
    env["RINGCTL_ENDPOINTS"] = endpoint
    return env


def ringctl(endpoint, *arguments, patience=60, **variables):
    """Runs ringctl, with these variables in its environment too, and answers what subprocess.run does."""
    return subprocess.run([RINGCTL, *arguments], capture_output=True, timeout=patience,
                          env=environment(endpoint) | variables)


def closed_port():
    """A port of 127.0.0.1 where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(condition, what, patience=PATIENCE, every=0.01):
    """Waits until the condition holds and answers its value. It is asked again after so many seconds."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("did not happen within %d s: %s" % (patience, what))
        time.sleep(every)


class Watcher:
    """A running `ringctl watch`, whose lines are read as they come."""

    def __init__(self, endpoint, *arguments):
        self.process = subprocess.Popen([RINGCTL, "watch", *arguments], env=environment(endpoint),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out, self.err = queue.Queue(), queue.Queue()
        self.threads = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.put(line)

    def event(self, kind):
        """The next event of that kind; those before it are dropped."""
        deadline = time.monotonic() + PATIENCE
        while True:
            event = json.loads(self.out.get(timeout=max(0.01, deadline - time.monotonic())))
            if kind in event:
                return event[kind]

    def note(self):
        return self.err.get(timeout=PATIENCE)

    def stop(self):
        """Interrupts it as Ctrl-C does and answers its exit code; also when it has ended before."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return code
