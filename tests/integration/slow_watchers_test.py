"""Watchers that do not read: they cost a bounded memory, slow nobody, and are in order again when they read.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import json
import os
import select
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from metrics_page import scrape  # noqa: E402
from process_status import forget_peak, status  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

# As many changes as one writer's queue takes at a time, with room for others.
IN_FLIGHT = 100
# The address sanitizer keeps what is freed, so memory tells nothing there.
MEMORY_COUNTS = "ASAN_OPTIONS" not in os.environ
# A window of HTTP/2 that does not grow: what a reader that stands still takes is the same in each run.
SMALL_WINDOW = (("grpc.http2.bdp_probe", 0),)


class SlowWatchersCase(ProcessCase):
    def start(self, *flags):
        self.server = self.serve(None, "127.0.0.1:0", *flags)
        self.client = self.connect(self.server)
        self.pid = self.server.process.pid

    def watches(self):
        return scrape(self.server.http_endpoint).get("ringd_watchers")

    def open_unread(self, connections, per_connection):
        """Watches of the ring "r" that take the window of their connection and then nothing."""
        calls = []
        for _ in range(connections):
            client = self.connect(self.server, *SMALL_WINDOW)
            calls += [client.stub.Watch(pb.WatchRequest(selector={"names": {"rings": ["r"]}}))
                      for _ in range(per_connection)]
        self.addCleanup(lambda: [call.cancel() for call in calls])
        eventually(lambda: self.watches() >= connections * per_connection, "%d Watches" % len(calls))
        return calls

    def make_ring(self, nodes):
        self.nodes = ["n%04d" % i for i in range(nodes)]
        self.client.make_ring("r", self.nodes, points_per_weight=1, default_weight=1)

    def change(self, count):
        """So many UpdateNodes, some at a time, each of another node than the one before; answers the last version."""
        calls, version = [], None
        for i in range(count):
            node = pb.Node(id=self.nodes[i % len(self.nodes)], weight=2 + i // len(self.nodes) % 2)
            request = pb.UpdateNodeRequest(ring="r", node=node)
            request.update_mask.paths.append("weight")
            calls.append(self.client.stub.UpdateNode.future(request, timeout=PATIENCE))
            if len(calls) == IN_FLIGHT or i == count - 1:
                version = max((call.result().version for call in calls), key=lambda version: version.revision)
                calls = []
        return version

    def python(self, program, *arguments):
        """A client in a process of its own, which shares no lock of Python's with those that are measured."""
        head = "import json, sys, time\nsys.path[:0] = %r\nfrom ringd_client import Client, Watch\nfrom stubs import pb\n"
        process = subprocess.Popen([sys.executable, "-c", head % sys.path[:2] + program, self.server.endpoint, *arguments],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def times(self, call, count):
        """The seconds that each of so many calls took, sorted."""
        times = []
        for i in range(count):
            started = time.monotonic()
            call(i)
            times.append(time.monotonic() - started)
        return sorted(times)


class MemoryTest(SlowWatchersCase):
    """B71 (etcd-io/etcd#16839, etcd-io/etcd#8387): clients that do not read, or leave Watches behind, do not drive the
    server out of memory."""

    def test_readers_that_stand_still(self):
        """500 streams that nobody reads, 20,000 changes of a ring of 2,000 nodes: the server grows by less than
        200 MB; one that reads again gets a fresh snapshot and is at the head."""
        self.start()
        self.make_ring(2000)
        calls = self.open_unread(connections=5, per_connection=100)
        forget_peak(self.pid)
        before = status(self.pid, "VmRSS")
        version = self.change(20000)
        peak = status(self.pid, "VmHWM")
        print("500 readers that stand still, 20,000 changes: %.0f MB more" % ((peak - before) / 1024))
        if MEMORY_COUNTS:
            self.assertLess(peak - before, 200 << 10)
        changes = snapshots = 0
        for message in calls[0]:
            changes += message.HasField("change")
            snapshots += message.HasField("snapshot") and message.snapshot.last
            if message.HasField("snapshot") and message.snapshot.last and message.snapshot.ring.version == version:
                break
        self.assertEqual(snapshots, 2, "the first one, and a fresh one in place of what was missed")
        self.assertLess(changes, 20000)

    def test_streams_that_are_left_behind(self):
        """One client that opens 10,000 streams on one connection and leaves them unread: those over the limit are refused at
        once, and when it dies nothing is left."""
        self.start()
        self.client.make_ring("r", ["a"])
        before = status(self.pid, "VmRSS")
        holder = self.python(LEAVE_BEHIND, "10000")
        self.assertEqual(holder.stdout.readline(), "9900 RESOURCE_EXHAUSTED\n")
        self.assertEqual(self.watches(), 100)
        grown = status(self.pid, "VmRSS") - before
        print("10,000 streams on one connection, 9,900 of them refused: %.0f MB more" % (grown / 1024))
        if MEMORY_COUNTS:
            self.assertLess(grown, 200 << 10)
        holder.kill()
        eventually(lambda: self.watches() == 0, "no Watch is left")


# Opens Watches on one connection, says how many were refused, and how, and reads no more of the others.
LEAVE_BEHIND = """
client = Client(sys.argv[1])
client.ListRings()
request = pb.WatchRequest(selector={"names": {"rings": ["r"]}})
calls = [client.stub.Watch(request) for _ in range(100)]
for call in calls:
    next(call)  # it is taken: calls that come together have no order
refused = [client.stub.Watch(request) for _ in range(int(sys.argv[2]) - 100)]
refused = [call.code().name for call in refused]
print(len(refused), *sorted(set(refused)), flush=True)
time.sleep(3600)
"""

# Resumes from a position, and says when it has begun, and when it is in sync what came, and which promises were broken.
RESUME = """
held = pb.WatchPosition(version=pb.Version(epoch=int(sys.argv[2]), revision=int(sys.argv[3])))
watch = Watch(Client(sys.argv[1]), rings=["r"], held={"r": held}, keep=False)
watch.wait(lambda watch: watch.kinds, "a first message")
print("begun", flush=True)
watch.wait(lambda watch: watch.in_sync, "in_sync", patience=600)
print(json.dumps([watch.kinds, watch.broken]), flush=True)
"""


class LatencyTest(SlowWatchersCase):
    """B72 (etcd-io/etcd#18109, etcd-io/etcd#22264, etcd-io/etcd#4567): watchers that lag do not hold up writers."""

    def test_writers_beside_readers_that_lag(self):
        """50 streams that stand still, and one that resumes 100,000 revisions behind: changes and lookups take no more
        than three times as long as without them."""
        self.start("--history-max", "200000")
        self.make_ring(100)
        held = pb.WatchPosition(version=self.client.GetRing(ring="r", page_size=1).ring.version)
        self.change(100000)

        def look_up(_):
            self.client.Lookup(ring="r", key=b"k")

        def add_and_remove(i):
            self.client.add("r", "x%d" % i)

        def update(i):
            self.client.update("r", self.nodes[0], weight=100 + i)

        def measure(first):
            return [self.times(lambda i: call(first + i), 200) for call in (look_up, add_and_remove, update)]
        measure(0)
        idle = measure(1000)
        self.open_unread(connections=1, per_connection=50)
        late = self.python(RESUME, str(held.version.epoch), str(held.version.revision))
        self.assertEqual(late.stdout.readline(), "begun\n")
        beside = measure(2000)
        self.assertEqual(select.select([late.stdout], [], [], 0)[0], [], "it is still catching up")
        for name, before, now in zip(("Lookup", "AddNode", "UpdateNode"), idle, beside):
            median, p99 = len(now) // 2, len(now) * 99 // 100
            print("%s: median %.2f -> %.2f ms, p99 %.2f -> %.2f ms" % (
                name, before[median] * 1e3, now[median] * 1e3, before[p99] * 1e3, now[p99] * 1e3))
            self.assertLess(now[median], 3 * before[median] + 0.005, name)
        kinds, broken = json.loads(late.stdout.readline())
        self.assertEqual(broken, [])
        self.assertEqual(kinds.get("snapshot", 0), 0, "all of it is kept")
        self.assertGreaterEqual(kinds["change"], 100000)


if __name__ == "__main__":
    unittest.main()
