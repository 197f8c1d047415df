"""Work that nobody waits for is not done: calls whose time is up, and calls that were cancelled.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402

from http2 import END_STREAM, HEADERS, Http2  # noqa: E402
from metrics_page import scrape  # noqa: E402
from process_status import cpu_seconds  # noqa: E402
from ringd_client import Refused, hashed  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

GONE = ("DEADLINE_EXCEEDED", "CANCELLED")


class DeadlineTest(ServerCase):
    def handled(self, method, code):
        return scrape(self.server.http_endpoint).get("grpc_server_handled_total", grpc_method=method, grpc_code=code)

    def looked_up(self):
        return scrape(self.server.http_endpoint).get("ringd_rpc_ring_lookups_total", ring=self.ring)

    def test_a_time_that_is_up_already(self):
        """B122 (grpc/grpc#10418): a call that comes with no time left is not done, whichever it is."""
        self.client.make_ring(self.ring, ["a"])
        before = self.client.GetRing(ring=self.ring)
        requests = (pb.LookupRequest(ring=self.ring, key=b"k"), pb.BatchLookupRequest(ring=self.ring, keys=[b"k"]),
                    pb.AddNodeRequest(ring=self.ring, node=pb.Node(id="late")),
                    pb.CreateRingRequest(ring=self.ring + "-2", placement=hashed()),
                    pb.RemoveNodeRequest(ring=self.ring, node_id="a", options=pb.MutationOptions(force=True)))
        connection = Http2(self.server.endpoint)
        self.addCleanup(connection.close)
        for request in requests:
            method = type(request).__name__[:-len("Request")]
            for _ in range(20):
                connection.call("/ringd.v1.Directory/" + method, request.SerializeToString(), grpc_timeout="0n")
        last = connection.call("/ringd.v1.Directory/ListRings", b"")
        connection.frames_until(lambda kind, flags, stream, _: kind == HEADERS and stream == last and flags & END_STREAM)
        self.client.add(self.ring, "sentinel")  # behind whatever waits to be written
        self.assertEqual(self.looked_up(), 0)
        self.assertEqual(self.client.GetRing(ring=self.ring).version.revision, before.version.revision + 1)
        self.refused("NOT_FOUND", self.client.GetRing, ring=self.ring + "-2")

    def test_a_batch_is_given_up_on_the_way(self):
        """B122: of a batch that takes longer than its caller waits, the rest is not done."""
        self.client.make_ring(self.ring, ["n%d" % i for i in range(1000)])
        request = pb.BatchLookupRequest(ring=self.ring, keys=[b"k%d" % i for i in range(10000)], owners=64)
        started = time.monotonic()
        self.client.send("BatchLookup", request)
        whole = time.monotonic() - started
        given_up = 0
        for _ in range(40):
            try:
                self.client.send("BatchLookup", request, whole / 4)
            except Refused as refused:
                self.assertIn(refused.code, GONE)
                given_up += 1
        self.assertGreater(given_up, 20, "the machine has become faster meanwhile")
        eventually(lambda: self.handled("BatchLookup", "OK") + self.handled("BatchLookup", "DeadlineExceeded") +
                   self.handled("BatchLookup", "Canceled") == scrape(self.server.http_endpoint).get(
                       "grpc_server_started_total", grpc_method="BatchLookup"), "nothing is in flight")
        done = self.looked_up() / 10000 - 1
        print("%d of 40 calls were given up; %d were done to their ends" % (given_up, done))
        self.assertLess(done, 40 - given_up / 2)

    def test_a_thousand_batches_without_time(self):
        """B122: 1000 batches of 10,000 keys with a deadline of 1 ms at once: DEADLINE_EXCEEDED, and within a second
        after them the server is idle."""
        self.client.make_ring(self.ring, ["n%d" % i for i in range(100)])
        request = pb.BatchLookupRequest(ring=self.ring, keys=[b"k%d" % i for i in range(10000)], owners=64)
        pid = self.server.process.pid
        calls = [self.client.stub.BatchLookup.future(request, timeout=0.001) for _ in range(1000)]
        codes = [call.exception(PATIENCE).code().name if call.exception(PATIENCE) else "OK" for call in calls]
        self.assertLessEqual(set(codes), {"OK", "DEADLINE_EXCEEDED"})
        self.assertGreater(codes.count("DEADLINE_EXCEEDED"), 900)
        time.sleep(1)  # nothing is waited for: how long it goes on is what is asked
        before = cpu_seconds(pid)
        time.sleep(0.5)
        self.assertLess(cpu_seconds(pid) - before, 0.1)

    def test_changes_that_wait(self):
        """A change that waits behind others until its time is up, or its caller has gone, is not made."""
        self.client.make_ring(self.ring, ["a"])
        large = self.ring + "-large"
        self.client.make_ring(large, points_per_weight=65536, default_weight=1)
        self.client.add(large, "a", weight=16)
        revision = self.client.GetRing(ring=self.ring).version.revision
        # Plans of a ring of a million points keep the writer busy, and leave nothing behind.
        plan = pb.AddNodeRequest(ring=large, node=pb.Node(id="b", weight=1), options=pb.MutationOptions(validate_only=True))
        started = time.monotonic()
        plans = [self.client.stub.AddNode.future(plan, timeout=120) for _ in range(60)]

        def change(node_id, timeout=120):
            return self.client.stub.AddNode.future(pb.AddNodeRequest(ring=self.ring, node=pb.Node(id=node_id)),
                                                   timeout=timeout)
        late, gone, wanted = change("late", 0.1), change("gone"), change("wanted")
        with self.assertRaises(grpc.RpcError) as caught:
            late.result()
        self.assertEqual(caught.exception.code().name, "DEADLINE_EXCEEDED")
        gone.cancel()
        for call in plans:
            call.result()
        took = time.monotonic() - started
        self.assertGreater(took, 0.2, "the writer was not busy for long enough")
        wanted.result()
        self.assertEqual(list(self.client.nodes(self.ring)), ["a", "wanted"])
        self.assertEqual(self.client.GetRing(ring=self.ring).version.revision, revision + 1)
        self.client.delete(large)


if __name__ == "__main__":
    unittest.main()
