"""As much as may be of what there may be thousands of, and one more: rings, Watches, reads that wait.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402

from metrics_page import scrape  # noqa: E402
from process_status import status  # noqa: E402
from ringd_client import Refused, hashed, infos_of  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

TOO_MANY = "RESOURCE_EXHAUSTED"


class CrowdCase(ProcessCase):
    def start(self, *flags):
        self.server = self.serve(None, "127.0.0.1:0", *flags)
        self.client = self.connect(self.server)
        self.pid = self.server.process.pid

    def open_watches(self, client, count):
        """Watches of the ring "r" that nobody reads: a thread for each would cost the test more than the server."""
        calls = [client.stub.Watch(pb.WatchRequest(selector={"names": {"rings": ["r"]}})) for _ in range(count)]
        self.addCleanup(lambda: [call.cancel() for call in calls])
        return calls

    def wait_watched(self, count):
        eventually(lambda: scrape(self.server.http_endpoint).get("ringd_watchers") == count, "%d Watches" % count)

    def assert_refused_at_once(self, client, bound):
        """The next Watch ends by itself, with the bound in its text."""
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.open_watches(client, 1)[0])
        error = caught.exception
        self.assertEqual((error.code().name, infos_of(error)[0].reason), (TOO_MANY, "LIMIT_EXCEEDED"))
        self.assertIn(str(bound), error.details())

    def lookup_times(self, client, count=500):
        """How long lookups take, sorted, in seconds."""
        times = []
        for _ in range(count):
            started = time.perf_counter()
            client.Lookup(ring="r", key=b"k", timeout=1)
            times.append(time.perf_counter() - started)
        return sorted(times)


class WatchesTest(CrowdCase):
    """B92 (grpc/grpc#33111, grpc/grpc#9716, cockroachdb/cockroach#14769): Watches cost no threads and starve nobody."""

    def test_one_channel(self):
        """99, 100, 101, 1000 Watches on one channel: from the 101st on all are refused, and a Lookup beside them never
        hangs."""
        self.start()
        self.client.make_ring("r", ["a"])
        for count, there in ((99, 99), (1, 100)):
            self.open_watches(self.client, count)
            self.wait_watched(there)
            self.lookup_times(self.client, 10)
        self.assert_refused_at_once(self.client, 100)
        more = self.open_watches(self.client, 899)
        self.lookup_times(self.client, 10)
        self.assertEqual({call.code().name for call in more}, {TOO_MANY})
        self.wait_watched(100)
        self.assert_refused_at_once(self.client, 100)

    def test_five_thousand_idle_watches(self):
        """5,000 Watches over 50 connections: the threads stay as many as they were, lookups as quick, and nothing is
        left of them when they have gone."""
        self.start("--heartbeat-interval", "1s")
        self.client.make_ring("r", ["a"])
        self.lookup_times(self.client)
        before = self.lookup_times(self.client)
        threads, memory = status(self.pid, "Threads"), status(self.pid, "VmRSS")
        clients = [self.connect(self.server) for _ in range(50)]
        calls = [call for client in clients for call in self.open_watches(client, 100)]
        self.wait_watched(5000)
        self.client.update("r", "a", zone="z")  # each is told
        beside = self.lookup_times(self.client)
        threads_beside, memory_beside = status(self.pid, "Threads"), status(self.pid, "VmRSS")
        on_the_same = self.lookup_times(clients[0])
        for call in calls:
            call.cancel()
        self.wait_watched(0)
        median = len(before) // 2
        print("threads %d -> %d; %.1f KiB a Watch; median Lookup %.2f -> %.2f ms, on a channel of 100 Watches %.2f ms" % (
            threads, threads_beside, (memory_beside - memory) / 5000, before[median] * 1000, beside[median] * 1000,
            on_the_same[median] * 1000))
        self.assertLess(threads_beside, threads + 32)
        self.assertLess(status(self.pid, "Threads"), threads + 32)
        self.assertLess(beside[median], 4 * before[median] + 0.005)
        self.assertLess(on_the_same[median], 0.05)
        page = scrape(self.server.http_endpoint)
        self.assertEqual(page.get("grpc_server_started_total", grpc_method="Watch"), 5000)
        eventually(lambda: scrape(self.server.http_endpoint).get(
            "grpc_server_handled_total", grpc_method="Watch", grpc_code="Canceled") == 5000, "each is answered")

    def test_a_unix_socket(self):
        """The connections of a unix socket have 5,000 Watches together: one more is refused, whoever asks, and one that
        goes makes room; TCP beside it is not meant."""
        path = "unix:" + os.path.join(self.folder, "ringd.sock")
        self.start("--listen", path)
        self.client.make_ring("r", ["a"])
        clients = [self.connect(path) for _ in range(5)]
        calls = [call for client in clients for call in self.open_watches(client, 1000)]
        self.wait_watched(5000)
        for client in (clients[0], self.connect(path)):
            self.assert_refused_at_once(client, 5000)
            self.lookup_times(client, 10)
        self.watch(self.client, "r").wait_in_sync()
        calls[2345].cancel()
        self.wait_watched(5000)
        self.watch(clients[0], "r").wait_in_sync()
        self.assert_refused_at_once(clients[0], 5000)


class RingsTest(CrowdCase):
    def test_ten_thousand_rings(self):
        """10,000 rings; one more is RESOURCE_EXHAUSTED and makes none; one that goes makes room; a start finds all."""
        self.start()
        names = ["r%05d" % i for i in range(10000)]
        for first in range(0, len(names), 200):  # fewer than may wait to be written
            for call in [self.client.stub.CreateRing.future(pb.CreateRingRequest(ring=name, placement=hashed(1)),
                                                            timeout=PATIENCE) for name in names[first:first + 200]]:
                call.result()

        def refused(name):
            with self.assertRaises(Refused) as caught:
                self.client.make_ring(name)
            self.assertEqual((caught.exception.code, caught.exception.reason), (TOO_MANY, "LIMIT_EXCEEDED"))
            self.assertIn("10000", caught.exception.text)
        refused("one-more")
        self.assertEqual(self.names(), names)
        self.assertEqual(scrape(self.server.http_endpoint).get("ringd_rings"), 10000)
        self.client.add(names[-1], "a")
        self.client.delete(names[17])
        self.client.make_ring("one-more")
        refused("and-another")
        self.assertEqual(self.server.stop(), 0)
        self.server = self.serve(init=False)
        self.client = self.connect(self.server)
        self.assertEqual(self.names(), ["one-more"] + names[:17] + names[18:])

    def names(self):
        names, token = [], ""
        while True:
            page = self.client.ListRings(page_size=10000, page_token=token)
            names += [ring.name for ring in page.rings]
            token = page.next_page_token
            if not token:
                return names


class WaitsTest(CrowdCase):
    def test_reads_that_wait(self):
        """Reads that wait for a min_version hold 64 MiB together: the next is RESOURCE_EXHAUSTED at once. Those whose
        caller has gone are waited for no longer, and hold nothing."""
        self.start()
        version = self.client.make_ring("r", ["a"])
        self.request = pb.BatchLookupRequest(ring="r", keys=[b"%080d" % i for i in range(10000)],
                                             min_version=pb.Version(epoch=version.epoch, revision=version.revision + 1))
        # They end by themselves 3 s after they began: on a slow machine it is tried again.
        took = [self.fill_and_leave()]
        while took[-1] > 2 and len(took) < 5:
            took.append(self.fill_and_leave())
        print("room again after %s s" % ", ".join("%.2f" % seconds for seconds in took))
        self.assertLess(took[-1], 2)
        last = self.ask()
        self.client.add("r", "b")
        self.assertEqual(len(last.result(timeout=PATIENCE).owner_indices), 10000)

    def ask(self):
        return self.client.stub.BatchLookup.future(self.request, timeout=PATIENCE)

    def fill_and_leave(self):
        """How long it took from the first of many reads until, all having gone, another is let in."""
        started = time.monotonic()
        waiting = [self.ask() for _ in range(100)]
        self.client.Lookup(ring="r", key=b"k")  # what needs no waiting is answered
        refused = eventually(lambda: [call for call in waiting if call.done()], "one of 100 MiB is refused")[0].exception()
        self.assertEqual((refused.code().name, infos_of(refused)[0].reason), (TOO_MANY, "LIMIT_EXCEEDED"))
        self.assertIn("67108864", refused.details())
        for call in waiting:
            call.cancel()
        eventually(self.is_let_in, "there is room again")
        return time.monotonic() - started

    def is_let_in(self):
        call = self.ask()
        try:
            call.result(timeout=0.1)
        except grpc.FutureTimeoutError:
            return True
        except grpc.RpcError as error:
            self.assertEqual(error.code().name, TOO_MANY)
        finally:
            call.cancel()
        return False


if __name__ == "__main__":
    unittest.main()
