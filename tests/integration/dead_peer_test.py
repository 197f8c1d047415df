"""A client whose machine has vanished, without a FIN, or that stands still: how long the server holds on to it.

The client runs in a network namespace of its own, whose address is taken away. SlowTest, which waits for a minute, runs
when it is named.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import signal
import subprocess
import sys
import time
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path.insert(0, SUPPORT)

from metrics_page import scrape  # noqa: E402
from process_status import descriptors  # noqa: E402
from ringd_process import eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402

INSIDE = "RINGD_TEST_IS_IN_A_NAMESPACE"
# Addresses of the documentation (RFC 5737), here on the two ends of a cable of our own.
SERVER, CLIENT = "192.0.2.1", "192.0.2.2"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Machine:
    """A program in a network of its own, until the machine vanishes."""

    def __init__(self, *command):
        script = 'echo up; read go; ip link set lo up; ip addr add %s/24 dev there; ip link set there up; exec "$@"' % CLIENT
        self.process = subprocess.Popen(["unshare", "--net", "sh", "-ec", script, "sh", *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "up\n":
            raise AssertionError("the namespace was not made")
        ip("link", "add", "here", "type", "veth", "peer", "name", "there", "netns", str(self.process.pid))
        ip("addr", "add", SERVER + "/24", "dev", "here")
        ip("link", "set", "here", "up")

    def go(self):
        """Runs the program until it says that it is ready."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError("the client did not get through")

    def vanish(self):
        """From now on nothing answers at its address, and nothing comes from there. The program goes too."""
        subprocess.run(["nsenter", "--net=/proc/%d/ns/net" % self.process.pid, "ip", "addr", "flush", "dev", "there"],
                       check=True)
        self.process.kill()

    def remove(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        # The cable may go some time after the namespace.
        subprocess.run(["ip", "link", "delete", "here"], check=False, stderr=subprocess.DEVNULL)


@unittest.skipUnless(os.environ.get(INSIDE), "no network namespace can be made here")
class DeadPeerCase(ProcessCase):
    def start(self, watches, *flags):
        """A server, and a client on another machine with that many Watches."""
        port = 7440  # the namespace is our own
        self.machine = Machine(sys.executable, os.path.join(SUPPORT, "hold_watches.py"), "%s:%d" % (SERVER, port), "r",
                               str(watches))
        self.addCleanup(self.machine.remove)
        self.server = self.serve(None, "127.0.0.1:0,%s:%d" % (SERVER, port), "--allow-plaintext", "%s:%d" % (SERVER, port),
                                 *flags)
        self.client = self.connect(self.server)
        self.client.make_ring("r", ["a"])
        self.near = self.watch(self.client, "r")
        self.near.wait_in_sync()
        self.without = self.descriptors()
        self.machine.go()
        self.assertEqual((self.watchers(), self.descriptors()), (1 + watches, self.without + 1))

    def watchers(self):
        return scrape(self.server.http_endpoint).get("ringd_watchers")

    def descriptors(self):
        """Those of the server; each scrape has one for a moment."""
        return min(descriptors(self.server.process.pid) for _ in range(20))

    def gone_within(self, seconds):
        """The client's Watches and its connection are given up in that time from now, and nobody else's."""
        started = time.monotonic()
        eventually(lambda: self.watchers() == 1 and self.descriptors() == self.without, "it is noticed", seconds,
                   every=0.2)
        print("noticed after %.1f s" % (time.monotonic() - started))
        self.near.wait_at("r", self.client.add("r", "after").version)
        self.near.check(self)
        page = scrape(self.server.http_endpoint)
        self.assertEqual(page.get("grpc_server_started_total", grpc_method="Watch") -
                         sum(value for labels, value in page.series["grpc_server_handled_total"].items()
                             if ("grpc_method", "Watch") in labels), 1)


class DeadPeerTest(DeadPeerCase):
    def test_watches(self):
        """A heartbeat that is not taken in 10 s is the end of the connection and of its Watches."""
        self.start(3, "--heartbeat-interval", "1s")
        self.machine.vanish()
        self.gone_within(1 + 10 + 3)


class SlowTest(DeadPeerCase):
    def test_a_connection_without_a_watch(self):
        """Pings, each 30 s, notice a connection on which nothing is said."""
        self.start(0)
        self.machine.vanish()
        self.gone_within(30 + 10 + 3)

    def test_the_defaults(self):
        """With a heartbeat each 10 s, a Watch of a vanished machine ends within 20 s."""
        self.start(3)
        self.machine.vanish()
        self.gone_within(10 + 10 + 3)

    def test_a_process_that_stands_still(self):
        """Its machine takes what it is sent, but no ping is answered."""
        self.start(3)
        self.machine.process.send_signal(signal.SIGSTOP)
        self.gone_within(30 + 10 + 3)

    def test_a_process_that_stands_still_on_a_unix_socket(self):
        """No ping gets through behind what it does not take: its Watches end for that."""
        socket = "unix:" + os.path.join(self.folder, "s")
        server = self.serve(None, socket)
        client = self.connect(server)
        client.make_ring("r", ["a"])
        holder = subprocess.Popen([sys.executable, os.path.join(SUPPORT, "hold_watches.py"), socket, "r", "3"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), "ready\n")
        holder.send_signal(signal.SIGSTOP)
        for i in range(400):
            client.update("r", "a", metadata={"k": str(i) + 4000 * "x"})
        self.assertEqual(scrape(server.http_endpoint).get("ringd_watchers"), 3)
        eventually(lambda: scrape(server.http_endpoint).get("ringd_watchers") == 0, "it is noticed", 40 + 10 + 3,
                   every=0.2)


if __name__ == "__main__":
    if INSIDE not in os.environ:
        enter = ["unshare", "--net", "--map-root-user"]
        if subprocess.run(enter + ["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp(enter[0], enter + ["sh", "-ec", 'ip link set lo up; exec "$@"', "sh", sys.executable] + sys.argv)
    unittest.main(defaultTest="DeadPeerTest")
