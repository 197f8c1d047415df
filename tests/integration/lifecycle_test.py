"""How ringd stops, and what it leaves behind. (How it dies is for guarantees/kill_test.py.)

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from http.client import HTTPException

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path.insert(0, SUPPORT)

import grpc  # noqa: E402

from http2 import END_STREAM, HEADERS, Http2  # noqa: E402
from metrics_page import get, scrape  # noqa: E402
from ringd_client import Client, Refused, Watch  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, RINGD, environment, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import health_pb, pb  # noqa: E402

STOP = 15  # seconds within which a stop must end, with the 5 s of --drain-timeout in them


class StopTest(ProcessCase):
    def exit_code(self, server):
        started = time.monotonic()
        code = server.wait()
        self.assertLess(time.monotonic() - started, STOP)
        return code

    def assert_closed_cleanly(self):
        """No log of the store is left, and the next start has nothing to recover and the same rings."""
        self.assertEqual([name for name in os.listdir(self.data) if not name.endswith(".db")], [])
        server = self.serve(init=False)
        self.assertNotRegex("".join(server.log), "(?i)recover|warn|error")
        return server

    def test_idle(self):
        """SIGTERM and SIGINT end a server without clients at once, with exit code 0 and nothing left of its log."""
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve()
            server.signal(number)
            self.assertEqual(self.exit_code(server), 0)
            self.assertTrue(server.wait_for_log("stopped"))
        self.assert_closed_cleanly()

    def test_open_streams(self):
        """B84 (grpc/grpc#7755): 50 Watches, 10 of them of a stopped process, and lookups in flight: UNAVAILABLE,
        exit 0."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("idle", ["a", "b"])
        client.make_ring("busy", ["a", "b"])
        idle = [self.watch(client, "idle") for _ in range(20)]
        busy = [self.watch(client, "busy", keep=False) for _ in range(20)]
        for watch in idle + busy:
            watch.wait_in_sync()
        holder = subprocess.Popen([sys.executable, os.path.join(SUPPORT, "hold_watches.py"), server.endpoint, "busy", "10"],
                                  stdout=subprocess.PIPE)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        self.assertEqual(holder.stdout.readline(), b"ready\n")
        holder.send_signal(signal.SIGSTOP)

        outcomes, last = [], []

        def look_up():
            own = self.connect(server)
            while True:
                try:
                    own.owners("idle", [b"k%d" % i for i in range(5000)])
                    outcomes.append("OK")
                except Refused as refused:
                    outcomes.append(refused.code)
                    return

        def write():
            own, i = self.connect(server), 0
            while True:
                i += 1
                try:
                    last[:] = [own.update("busy", "a", metadata={"k": "%04000d" % i}).version]
                except Refused as refused:
                    outcomes.append(refused.code)
                    return
        threads = [threading.Thread(target=look_up) for _ in range(10)] + [threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        # More than what the windows of the connection hold, so that writes to the stopped process are stuck.
        eventually(lambda: last and last[0].revision > 300, "300 changes of the busy ring", 60)
        server.signal(signal.SIGTERM)
        self.assertTrue(server.wait_for_log("draining"))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            server.signal(number)
        self.assertEqual(self.exit_code(server), 0, "".join(server.log[-20:]))
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        self.assertEqual(set(outcomes) - {"OK"}, {"UNAVAILABLE"})
        for watch in idle + busy:
            self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
            watch.check(self)
        head = self.connect(self.assert_closed_cleanly()).GetRing(ring="busy").version
        self.assertIn(head.revision - last[0].revision, (0, 1))

    def test_ringctl_in_a_drain(self):
        """B84, B57: a `ringctl lookup` that is cut off by a stop says UNAVAILABLE and ends with 3, not that the
        server said no."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        client.close()
        processes = [subprocess.Popen([RINGCTL, "lookup", "r", "-", "-o", "tsv"], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      env=environment(server.endpoint)) for _ in range(8)]
        fed = [0] * len(processes)

        def feed(index, process):
            try:
                while process.poll() is None:
                    process.stdin.write("key\n" * 20000)
                    process.stdin.flush()
                    fed[index] += 1
            except BrokenPipeError:
                pass
        threads = [threading.Thread(target=feed, args=pair) for pair in enumerate(processes)]
        for thread in threads:
            thread.start()
        eventually(lambda: min(fed) > 5, "lookups under way")
        server.signal(signal.SIGTERM)
        self.assertEqual(self.exit_code(server), 0)
        ends = set()
        for process, thread in zip(processes, threads):
            text = process.stderr.read()
            ends.add((process.wait(PATIENCE), "UNAVAILABLE" if "(UNAVAILABLE)" in text else text))
            thread.join(PATIENCE)
            process.stderr.close()
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
        self.assertEqual(ends, {(3, "UNAVAILABLE")})

    def test_waiting_reads(self):
        """A read that waits for min_version when the server stops is UNAVAILABLE, not left hanging."""
        server = self.serve(None, "127.0.0.1:0", "--drain-timeout", "1s")
        client = self.connect(server)
        version = client.make_ring("r", ["a"])
        calls = [client.stub.Lookup.future(pb.LookupRequest(
            ring="r", key=b"k", min_version=pb.Version(epoch=version.epoch, revision=9)), timeout=PATIENCE)
            for _ in range(10)]
        client.Lookup(ring="r", key=b"k")  # behind the others on the same connection
        server.signal(signal.SIGTERM)
        self.assertEqual({call.exception(PATIENCE).code().name for call in calls}, {"UNAVAILABLE"})
        self.assertEqual(self.exit_code(server), 0)

    def test_health_turns_before_streams_end(self):
        """B97 (grpc/grpc#18112): on one connection, a watched health says NOT_SERVING before the first Watch ends, with
        UNAVAILABLE."""
        server = self.serve()
        self.connect(server).make_ring("r", ["a"])
        connection = Http2(server.endpoint)
        self.addCleanup(connection.close)
        watch = pb.WatchRequest(selector={"names": {"rings": ["r"]}}).SerializeToString()
        watches = [connection.call("/ringd.v1.Directory/Watch", watch) for _ in range(5)]
        health = connection.call("/grpc.health.v1.Health/Watch",
                                 health_pb.HealthCheckRequest(service="ringd.v1.Directory").SerializeToString())
        serving, not_serving = (b"\x00\x00\x00\x00\x02" + health_pb.HealthCheckResponse(status=status).SerializeToString()
                                for status in ("SERVING", "NOT_SERVING"))
        connection.frames_until(lambda kind, flags, stream, payload: stream == health and payload == serving)
        # A call that is answered after the Watches were: they are in sync.
        lookup = connection.call("/ringd.v1.Directory/ListRings", b"")
        connection.frames_until(lambda kind, flags, stream, _: stream == lookup and kind == HEADERS and flags & END_STREAM)
        server.signal(signal.SIGTERM)
        frames = connection.frames_until(lambda kind, flags, stream, _: stream in watches and flags & END_STREAM)
        self.assertIn(not_serving, [payload for kind, _, stream, payload in frames if stream == health])
        self.assertEqual(self.exit_code(server), 0)

    def test_health_checks_in_a_drain(self):
        """B97 (LogNet/grpc-spring-boot-starter#385): whoever asks for health during a drain is told NOT_SERVING, by gRPC
        and on the probe, while calls are UNAVAILABLE."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        watch = self.watch(client, "r")
        watch.wait_in_sync()
        server.signal(signal.SIGTERM)
        self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
        seen = {"check": set(), "probe": set(), "call": set()}
        while server.process.poll() is None:
            for service in ("", "ringd.v1.Directory", "ringd.v1.Directory.Write"):
                seen["check"].add(client.health(service, timeout=5))
            try:
                client.Lookup(ring="r", key=b"k", timeout=5)
                seen["call"].add("OK")
            except Refused as refused:
                seen["call"].add(refused.code)
            try:
                seen["probe"].add(get(server.http_endpoint, "/readyz")[0])
            except (OSError, HTTPException):  # it has gone, or went in the middle of an answer
                pass
        self.assertEqual(self.exit_code(server), 0)
        self.assertIn("NOT_SERVING", seen["check"])
        self.assertLessEqual(seen["check"], {"NOT_SERVING", "UNAVAILABLE", "CANCELLED"})
        self.assertLessEqual(seen["call"], {"UNAVAILABLE", "CANCELLED"})
        self.assertEqual(seen["probe"], {503})

    def test_health_before_the_rings_are_there(self):
        """B97: from the first moment of a start on, health is SERVING only when every ring can be looked up."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["n%d" % i for i in range(2000)], default_weight=1000)
        client.make_ring("last", ["a"])
        client.close()
        endpoint = server.endpoint
        self.assertEqual(server.stop(), 0)
        seen, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                own = Client(endpoint)
                seen.append(own.health("ringd.v1.Directory", timeout=5))
                if seen[-1] == "SERVING":
                    seen.append((own.owners("r", [b"k"]) != [], own.owners("last", [b"k"])))
                own.close()
        thread = threading.Thread(target=ask)
        thread.start()
        try:
            server = self.serve(self.data, endpoint, init=False)
            eventually(lambda: "SERVING" in seen, "it serves")
        finally:
            stop.set()
            thread.join(PATIENCE)
        self.assertGreater(seen.count("UNAVAILABLE"), 3, "too quick to be seen")
        self.assertLessEqual({answer for answer in seen if isinstance(answer, str)}, {"UNAVAILABLE", "SERVING"})
        self.assertEqual([answer for answer in seen if not isinstance(answer, str) and answer != (True, [["a"]])], [])

    def test_signals_at_any_moment_of_a_start(self):
        """A signal that comes while it starts ends it, in order or by the signal itself, and the next start is fine."""
        self.serve().stop()
        randomness = random.Random(97)
        codes = set()
        for _ in range(20):
            process = subprocess.Popen([RINGD, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", self.data],
                                       stderr=subprocess.DEVNULL)
            time.sleep(randomness.uniform(0, 0.06))  # the moment is what is tested
            process.send_signal(randomness.choice((signal.SIGTERM, signal.SIGINT)))
            codes.add(process.wait(PATIENCE))
        self.assertLessEqual(codes, {0, -signal.SIGTERM, -signal.SIGINT})
        self.assert_closed_cleanly()

    def test_health_while_draining(self):
        """B97 (nebulastream/nebulastream#2053): watched health turns NOT_SERVING when the drain begins; an unknown
        name is no obstacle."""
        server = self.serve(None, "127.0.0.1:0", "--drain-timeout", "1s")
        client = self.connect(server)
        seen = {}

        def watch(service):
            try:
                for answer in client.health_stub.Watch(health_pb.HealthCheckRequest(service=service)):
                    seen[service].append(health_pb.HealthCheckResponse.ServingStatus.Name(answer.status))
            except grpc.RpcError:
                pass
        services = ("", "ringd.v1.Directory", "ringd.v1.Directory.Write", "no.such.Service")
        threads = []
        for service in services:
            seen[service] = []
            threads.append(threading.Thread(target=watch, args=(service,), daemon=True))
            threads[-1].start()
        eventually(lambda: all(seen.values()), "a first status of each")
        self.assertEqual([seen[service] for service in services], [["SERVING"]] * 3 + [["SERVICE_UNKNOWN"]])
        server.signal(signal.SIGTERM)
        self.assertEqual(self.exit_code(server), 0)
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual([seen[service] for service in services[:3]], [["SERVING", "NOT_SERVING"]] * 3)

    def test_random_cancels(self):
        """B85 (grpc/grpc#39114): 1000 Watches cancelled at any stage leave nothing behind: all places free, exit 0."""
        server = self.serve(None, "127.0.0.1:0", "--drain-timeout", "1s")
        client = self.connect(server)
        client.make_ring("r", [{"id": "n%04d" % i, "metadata": {"k": "v" * 1000}} for i in range(600)],
                         points_per_weight=1, default_weight=1)
        stop = threading.Event()

        def write():
            own, i = self.connect(server), 0
            while not stop.is_set():
                i += 1
                own.update("r", "n0001", weight=1 + i % 2)

        def cancel(seed):
            randomness = random.Random(seed)
            for _ in range(125):
                stage = randomness.randrange(5)
                timeout = randomness.uniform(0, 0.02) if stage == 0 else None
                call = client.stub.Watch(pb.WatchRequest(selector={"names": {"rings": ["r"]}}), timeout=timeout)
                try:
                    for _ in range((0, 0, 1, 3, 8)[stage] if timeout is None else 1 << 30):
                        next(call)
                except grpc.RpcError as error:
                    self.assertIn(error.code().name, ("DEADLINE_EXCEEDED", "CANCELLED"))
                call.cancel()
        writer = threading.Thread(target=write)
        writer.start()
        failures = []
        threading.excepthook, hook = (lambda args: failures.append(args.exc_value)), threading.excepthook
        try:
            threads = [threading.Thread(target=cancel, args=(seed,)) for seed in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE * 2)
                self.assertFalse(thread.is_alive())
        finally:
            stop.set()
            writer.join(PATIENCE)
            threading.excepthook = hook
        self.assertEqual(failures, [])

        def nothing_is_active():
            page = scrape(server.http_endpoint)
            handled = sum(value for labels, value in page.series["grpc_server_handled_total"].items()
                          if ("grpc_method", "Watch") in labels)
            return page.get("ringd_watchers") == 0 and page.get("grpc_server_started_total", grpc_method="Watch") == handled
        eventually(nothing_is_active, "no Watch is active")

        def all_places_are_free():
            watches = [Watch(client, rings=["r"], keep=False) for _ in range(100)]
            for watch in watches:
                watch.wait(lambda watch: watch.in_sync or watch.code)
            free = all(watch.in_sync for watch in watches)
            if not free:
                for watch in watches:
                    watch.cancel()
            return watches if free else None
        watches = eventually(all_places_are_free, "100 places on the connection")
        server.signal(signal.SIGTERM)
        self.assertEqual(self.exit_code(server), 0)
        self.assertEqual({watch.wait_ended() for watch in watches}, {"UNAVAILABLE"})
        self.assert_closed_cleanly()

    def test_calls_without_a_server_or_time(self):
        """B122 (grpc/grpc#10418): no server is UNAVAILABLE, no time left DEADLINE_EXCEEDED; such a change is there
        once or not."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        for i in range(20):
            try:
                client.AddNode(ring="r", node=pb.Node(id="n%d" % i), timeout=i * 0.0003)
            except Refused as refused:
                self.assertIn(refused.code, ("DEADLINE_EXCEEDED", "CANCELLED"))
        answer = client.GetRing(ring="r")
        self.assertEqual(answer.version.revision, 1 + len(answer.nodes))
        server.stop()
        quickest = PATIENCE
        for _ in range(5):
            started = time.monotonic()
            with self.assertRaises(Refused) as caught:
                client.Lookup(ring="r", key=b"k", timeout=5)
            self.assertEqual(caught.exception.code, "UNAVAILABLE")
            quickest = min(quickest, time.monotonic() - started)
        self.assertLess(quickest, 1)


if __name__ == "__main__":
    unittest.main()
