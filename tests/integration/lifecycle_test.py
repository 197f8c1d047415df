"""How ringd starts, is refused a start, stops, dies and comes back.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path.insert(0, SUPPORT)

import grpc  # noqa: E402

from ringd_client import Refused, Watch, key_of  # noqa: E402
from ringd_process import PATIENCE, RINGD, closed_port, eventually, refused_start, ringctl  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import health_pb, pb  # noqa: E402

NOBODY = 65534
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
        """B84 (grpc/grpc#7755): 50 Watches, 10 of them of a stopped process, and lookups in flight: UNAVAILABLE, exit 0."""
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
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGINT)
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

    def test_waiting_reads(self):
        """A read that waits for min_version when the server stops is UNAVAILABLE, not left hanging."""
        server = self.serve()
        client = self.connect(server)
        version = client.make_ring("r", ["a"])
        calls = [client.stub.Lookup.future(pb.LookupRequest(
            ring="r", key=b"k", min_version=pb.Version(epoch=version.epoch, revision=9)), timeout=PATIENCE)
            for _ in range(10)]
        client.Lookup(ring="r", key=b"k")  # behind the others on the same connection
        server.signal(signal.SIGTERM)
        self.assertEqual({call.exception(PATIENCE).code().name for call in calls}, {"UNAVAILABLE"})
        self.assertEqual(self.exit_code(server), 0)

    def test_health_while_draining(self):
        """B97 (nebulastream/nebulastream#2053): watched health turns NOT_SERVING when the drain begins; an unknown name is no obstacle."""
        server = self.serve()
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
        server = self.serve()
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
        """B122 (grpc/grpc#10418): no server is UNAVAILABLE, no time left DEADLINE_EXCEEDED; such a change is there once or not."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        batch = pb.BatchLookupRequest(ring="r", keys=[b"k%d" % i for i in range(10000)])
        calls = [client.stub.BatchLookup.future(batch, timeout=0.001) for _ in range(100)]
        codes = {call.exception(PATIENCE).code().name if call.exception(PATIENCE) else "OK" for call in calls}
        self.assertLessEqual(codes, {"OK", "DEADLINE_EXCEEDED"})
        for i in range(20):
            try:
                client.AddNode(ring="r", node=pb.Node(id="n%d" % i), timeout=i * 0.0003)
            except Refused as refused:
                self.assertIn(refused.code, ("DEADLINE_EXCEEDED", "CANCELLED"))
        answer = client.GetRing(ring="r")
        self.assertEqual(answer.version.revision, 1 + len(answer.nodes))
        server.kill()
        started = time.monotonic()
        with self.assertRaises(Refused) as caught:
            client.Lookup(ring="r", key=b"k", timeout=20)
        self.assertEqual(caught.exception.code, "UNAVAILABLE")
        self.assertLess(time.monotonic() - started, 10)


class StartTest(ProcessCase):
    def refused(self, *flags, mentions=(), **popen):
        """The start is refused, in one line of ringd's that mentions these texts; gRPC may have warned before it."""
        started = time.monotonic()
        code, text = refused_start(*flags, **popen)
        self.assertLess(time.monotonic() - started, 10)
        self.assertGreater(code, 0, text)  # a signal would be negative
        self.assertNotRegex(text, r"ringd \S+ listening on")
        lines = [line for line in text.splitlines() if "warning grpc:" not in line]
        self.assertEqual(len(lines), 1, text)
        for mention in mentions:
            self.assertIn(mention, lines[0])
        return text

    def flags(self, *more, listen="127.0.0.1:0", http="127.0.0.1:0", data_dir=None):
        return ["--listen", listen, "--http-listen", http, "--data-dir", data_dir or self.data, *more]

    def test_port_in_use(self):
        """B86, B106 (jupp0r/prometheus-cpp#560): a taken port of either listener is one line with the address, and no start."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for flags in (self.flags("--init", listen=address), self.flags("--init", http=address)):
                self.refused(*flags, mentions=[address, "in use"])
        server = self.serve(os.path.join(self.folder, "other"))
        self.refused(*self.flags("--init", listen=server.endpoint), mentions=[server.endpoint, "in use"])
        self.refused(*self.flags("--init", http=server.http_endpoint), mentions=[server.http_endpoint, "in use"])
        client = self.connect(server)
        client.make_ring("r", ["a"])
        self.assertEqual(client.Lookup(ring="r", key=b"k").owners[0].id, "a")

    def test_bad_addresses(self):
        """An address that is no loopback, or none at all, is refused in one line, before a data directory is made."""
        made = []
        for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:7440", "127.0.0.1", "127.0.0.1:", ":7440", "127.0.0.1:70000",
                        "127.0.0.1:-1", "127.0.0.1:http", "::1:0", "[::1]", "unix:", "unix://", "unix:" + "x" * 200):
            for name in ("listen", "http"):
                self.refused(*self.flags("--init", **{name: address}), mentions=[address[:20]])
                if os.path.exists(self.data):
                    made.append((name, address))
                    shutil.rmtree(self.data)
        self.refused(*self.flags("--init", listen=""))
        self.assertEqual(made, [], "a data directory was made")
        self.assertFalse(os.path.exists(self.data))

    def test_no_http(self):
        """An empty --http-listen is no http listener; B106: metrics disabled works."""
        server = self.serve(http="")
        self.assertIsNone(server.http_endpoint)
        self.connect(server).make_ring("r", ["a"])

    def test_usage(self):
        """A wrong command line is exit 2 and makes nothing."""
        for flags in (["--no-such-flag"], ["--max-nodes", "0"], ["--max-nodes", "-1"], ["--max-nodes", "x"],
                      ["--history-max", "0"], ["--heartbeat-interval", "10"], ["--heartbeat-interval", "-1s"],
                      ["--heartbeat-interval", "0s"], ["extra"]):
            with self.subTest(flags=flags):
                code, text = refused_start(*self.flags("--init", *flags))
                self.assertEqual(code, 2, text)
                self.assertTrue(text.startswith("error: "), text)
                self.assertFalse(os.path.exists(self.data))
        code, text = refused_start("--listen", "127.0.0.1:0")
        self.assertEqual((code, "--data-dir" in text), (2, True))

    def test_init(self):
        """Without --init nothing is made; with it, again and again, what is there stays."""
        self.refused(*self.flags(), mentions=[self.data, "--init"])
        self.assertFalse(os.path.exists(self.data))
        os.mkdir(self.data)
        self.refused(*self.flags(), mentions=[self.data, "--init"])
        self.assertEqual(os.listdir(self.data), [])
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        before = client.GetRing(ring="r")
        client.close()
        for init in (True, False, True):
            self.assertEqual(server.stop(), 0)
            server = self.serve(init=init)
            client = self.connect(server)
            self.assertEqual(client.GetRing(ring="r"), before)
            client.close()

    def test_unix_socket(self):
        """ringd listens on a unix socket, for ringctl and for others; after kill -9 the next start takes it again."""
        path = os.path.join(self.folder, "ringd.sock")
        server = self.serve(None, "unix://" + path)
        self.assertEqual(server.endpoint, "unix:" + path)
        client = self.connect("unix:" + path)
        client.make_ring("r", ["a"])
        done = ringctl("unix:" + path, "lookup", "r", "k", "-o", "tsv")
        self.assertEqual((done.returncode, done.stdout), (0, b"k\ta\n"), done.stderr)
        watch = self.watch(client, "r")
        watch.wait_in_sync()
        server.kill()
        self.serve(None, "unix:" + path, init=False)
        self.assertEqual(self.connect("unix:" + path).owners("r", [b"k"]), [["a"]])

    def test_unix_socket_in_use(self):
        """B86: a second server does not take the unix socket of one that runs: it is refused, and the first still answers."""
        path = os.path.join(self.folder, "ringd.sock")
        self.serve(os.path.join(self.folder, "first"), "unix:" + path)
        self.connect("unix:" + path).make_ring("of-the-first", ["a"])
        try:
            self.refused(*self.flags("--init", listen="unix:" + path), mentions=[path], patience=5)
        except subprocess.TimeoutExpired:
            self.fail("the second server took the socket")
        self.assertEqual(self.connect("unix:" + path).owners("of-the-first", [b"k"]), [["a"]])

    def test_two_processes_on_one_directory(self):
        """B114 (nambok/mentedb#97): the second start is refused at once and names the directory and the holder."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        link = os.path.join(self.folder, "link")
        os.symlink(self.data, link)
        for data_dir in (self.data, link, os.path.join(self.folder, ".", "data") + "/"):
            for init in ([], ["--init"]):
                self.refused(*self.flags(*init, data_dir=data_dir),
                             mentions=[data_dir, "in use", str(server.process.pid)])
        client.add("r", "b")
        client.close()
        server.kill()
        # A lock of the operating system goes with its process; a file that only looks like one is nothing.
        for name in ("LOCK", "lock", "ringd.pid"):
            with open(os.path.join(self.data, name), "w", encoding="utf-8") as file:
                file.write("1\n")
        client = self.connect(self.serve(init=False))
        self.assertEqual(list(client.nodes("r")), ["a", "b"])

    def test_what_is_no_store(self):
        """B118 (anyproto/any-store#170): newer, foreign, empty, not a file: a message each, none called corrupt, none touched."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        client.close()
        server.stop()
        with open(os.path.join(self.data, "ringd.db"), "rb") as file:
            good = file.read()
        other = os.path.join(self.folder, "other.db")
        connection = sqlite3.connect(other)
        connection.execute("CREATE TABLE t(x)")
        connection.commit()
        connection.close()
        with open(other, "rb") as file:
            foreign = file.read()
        texts = set()
        for number, (content, mentions) in enumerate((
                (good[:60] + (99).to_bytes(4, "big") + good[64:], ["format 99", "reads format 1"]),
                (good[:60] + (0).to_bytes(4, "big") + good[64:], ["format 0", "reads format 1"]),
                (foreign, ["not a directory store"]),
                (b"hello world\n" * 100, ["not a directory store"]),
                (good[:50], ["not a directory store"]),
                (b"", ["empty"]),
                (None, ["is a directory"]))):
            for init in ([], ["--init"]):
                data_dir = os.path.join(self.folder, "data-%d%s" % (number, "".join(init)))
                path = os.path.join(data_dir, "ringd.db")
                os.mkdir(data_dir)
                if content is None:
                    os.mkdir(path)
                else:
                    with open(path, "wb") as file:
                        file.write(content)
                text = self.refused(*self.flags(*init, data_dir=data_dir), mentions=mentions + [path])
                self.assertNotIn("corrupt", text)
                texts.add(text.split(path, 1)[1])
                self.assertEqual(os.listdir(data_dir), ["ringd.db"])
                if content is not None:
                    with open(path, "rb") as file:
                        self.assertEqual(file.read(), content)
        self.assertGreaterEqual(len(texts), 5)


class NobodyTest(StartTest):
    """Starts as a user that owns nothing. B119 (influxdata/influxdb#4946)."""

    # The tests of StartTest run once, not here too.
    for inherited in [name for name in vars(StartTest) if name.startswith("test_")]:
        vars()[inherited] = None
    del inherited

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.user = {}
            return
        os.chmod(self.folder, 0o755)
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            subprocess.run([RINGD, "--version"], check=True, capture_output=True, **self.user)
        except PermissionError:
            self.skipTest("%s cannot be run by another user" % RINGD)

    def own(self, *paths):
        if self.user:
            for path in paths:
                os.chown(path, NOBODY, NOBODY)

    def refused_here(self, *flags, mentions=(), data_dir=None):
        return self.refused(*self.flags(*flags, data_dir=data_dir), mentions=[data_dir or self.data, *mentions],
                            **self.user)

    def test_read_only_directory(self):
        """B119: a data directory of mode 0555, empty or with a store: path and errno text in one line, nothing made."""
        os.mkdir(self.data)
        self.own(self.data)
        os.chmod(self.data, 0o555)
        self.refused_here("--init", mentions=["Permission denied"])
        self.assertEqual(os.listdir(self.data), [])
        os.chmod(self.data, 0o755)
        self.serve(**self.user).stop()
        before = os.listdir(self.data)
        os.chmod(self.data, 0o555)
        for init in ([], ["--init"]):
            self.refused_here(*init, mentions=["Permission denied"])
        self.assertEqual(os.listdir(self.data), before)
        os.chmod(self.data, 0o755)
        self.serve(init=False, **self.user)

    def test_unreadable_file(self):
        """B119: a store file of mode 0000 or 0444 is refused with its path and the errno text, and is not replaced."""
        os.mkdir(self.data)
        self.own(self.data)
        self.serve(**self.user).stop()
        path = os.path.join(self.data, "ringd.db")
        with open(path, "rb") as file:
            before = file.read()
        for mode in (0o000, 0o444):
            os.chmod(path, mode)
            for init in ([], ["--init"]):
                self.refused_here(*init, mentions=[path, "Permission denied"])
            self.assertEqual(os.listdir(self.data), ["ringd.db"])
        os.chmod(path, 0o600)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_directory_that_cannot_be_made(self):
        """B119: a missing parent, a parent that may not be written, a path that is a file: one line each, nothing made."""
        missing = os.path.join(self.folder, "no", "such")
        self.refused_here("--init", data_dir=missing, mentions=["No such file or directory"])
        self.refused_here(data_dir=missing, mentions=["No such file or directory"])
        self.assertFalse(os.path.exists(os.path.dirname(missing)))
        if self.user:  # the folder is root's
            self.refused_here("--init", mentions=["Permission denied"])
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.own(file)
        for init in ([], ["--init"]):
            self.refused_here(*init, data_dir=file, mentions=["Not a directory"])
        self.assertEqual(os.path.getsize(file), 0)


class KillTest(ProcessCase):
    def test_kill_at_random_moments(self):
        """B120 (gsd-build/gsd-2#5189): 30 times kill -9 under a writer: nothing acknowledged is lost, no revision has two contents."""
        server = self.serve()
        client = self.connect(server)
        version = client.make_ring("r", ["keep"], points_per_weight=1)
        journal = {}  # node id -> weight, as acknowledged
        in_flight = None
        revision, checksums, held = version.revision, {}, None
        randomness = random.Random(120)
        for round_number in range(30):
            watch = self.watch(client, "r", held=held)
            watch.wait_in_sync()
            self.assertEqual(watch.kinds.get("snapshot", 0), 0 if held else 1)
            killer = threading.Timer(randomness.uniform(0.01, 0.25), server.process.kill)
            killer.start()
            for i in range(1 << 30):
                node_id, weight = "n%d" % randomness.randrange(40), 1 + (round_number + i) % 1000
                in_flight = (node_id, weight)
                try:
                    if node_id in journal:
                        answer = client.update("r", node_id, weight=weight, metadata={"k": "v" * 500},
                                               options=pb.MutationOptions(force=True))
                    else:
                        answer = client.add("r", node_id, weight=weight)
                except Refused as refused:
                    self.assertEqual(refused.code, "UNAVAILABLE", refused.text)
                    break
                if answer.version.revision != revision:
                    self.assertEqual(answer.version.revision, revision + 1)
                revision = answer.version.revision
                journal[node_id] = weight
            killer.join()
            self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
            watch.check(self)
            for change in watch.events("change"):
                seen = checksums.setdefault(change.version.revision, change.checksum.value)
                self.assertEqual(seen, change.checksum.value, "revision %d had another content" % change.version.revision)
            if "r" in watch.copies:
                held = {"r": watch.copies["r"].position}
            client.close()
            server.kill()
            server = self.serve(init=False)
            client = self.connect(server)
            head = client.GetRing(ring="r")
            self.assertEqual(head.version.epoch, version.epoch)
            self.assertIn(head.version.revision - revision, (0, 1))
            self.assertGreaterEqual(key_of(head.version), key_of(held["r"].version), "a watcher was shown what was lost")
            if head.version.revision == revision + 1:  # the one that was not acknowledged was made
                journal[in_flight[0]] = in_flight[1]
            revision = head.version.revision
            seen = checksums.setdefault(revision, head.ring.checksum.value)
            self.assertEqual(seen, head.ring.checksum.value, "revision %d had another content" % revision)
            self.assertEqual({node_id: node.weight for node_id, node in client.nodes("r").items() if node_id != "keep"},
                             journal)
        print("%d revisions over 30 kills" % revision)
        self.assertGreater(revision, 100)


if __name__ == "__main__":
    unittest.main()
