"""The promises of Watch, asked of a real ringd; ringd_client.Watch checks each message as it comes.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import random
import shutil
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Watch, add, key_of, update  # noqa: E402
from ringd_process import PATIENCE, Watcher, closed_port, eventually  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402


def version_of(epoch, revision):
    return pb.Version(epoch=epoch, revision=revision)


def at(version, checksum=None):
    return pb.WatchPosition(version=version, checksum=checksum)


def order(watch):
    """The kinds of all messages in order."""
    with watch.changed:
        return [message.WhichOneof("event") for message in watch.messages]


class StreamTest(ServerCase):
    def test_beginning(self):
        """First a snapshot of the ring, then its in_sync, then that of the stream; an empty ring too. B18
        (xoom-lattice#12)."""
        self.client.make_ring(self.ring, labels={"l": "1"})
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["snapshot", "in_sync", "in_sync"])
        snapshot = watch.events("snapshot")[0]
        self.assertEqual((snapshot.last, snapshot.rewound, list(snapshot.nodes)), (True, False, []))
        self.assertEqual(snapshot.ring, self.client.GetRing(ring=self.ring).ring)
        self.assertEqual([in_sync.HasField("ring") for in_sync in watch.events("in_sync")], [True, False])
        watch.check_equal(self, self.client, self.ring)

    def test_changes(self):
        """Each change comes once and whole, with the times, nodes and checksum that the server has."""
        self.client.make_ring(self.ring, ["a", "b", "c"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        self.client.add(self.ring, "d", address="h:1", zone="z", metadata={"k": "v"}, hash_key="key", weight=7)
        self.client.update(self.ring, "a", weight=99)
        self.client.remove(self.ring, "b")
        version = self.client.apply(self.ring, [add(id="e"), update("c", zone="z")]).version
        watch.wait_at(self.ring, version)
        watch.check_equal(self, self.client, self.ring)
        changes = watch.events("change")
        self.assertEqual([[entry.WhichOneof("change") for entry in change.nodes] for change in changes[:3]],
                         [["added"], ["updated"], ["removed"]])
        self.assertEqual(sorted(entry.WhichOneof("change") for entry in changes[3].nodes), ["added", "updated"])
        updated = changes[1].nodes[0].updated
        self.assertEqual(updated, pb.Node(id="a", weight=99, hash_key="a", join_number=updated.join_number))
        self.assertEqual(changes[3].time, self.client.GetRing(ring=self.ring).ring.update_time)

    def test_absent_and_created(self):
        """A ring that does not exist is told absent, in sync, and its snapshot comes when it is created. B18."""
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["absent", "in_sync"])
        version = self.client.make_ring(self.ring)
        watch.wait_at(self.ring, version)
        watch.wait_at(self.ring, self.client.add(self.ring, "a").version)
        self.assertEqual(watch.copies[self.ring].version.epoch, version.epoch)
        watch.check_equal(self, self.client, self.ring)

    def test_deleted_and_made_anew(self):
        """A deleted ring is told deleted with the version last delivered, and one of that name later has a higher
        epoch."""
        version = self.client.make_ring(self.ring, ["a"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        for _ in range(3):
            self.client.delete(self.ring)
            watch.wait(lambda watch: watch.deleted.get(self.ring) == version, "deleted")
            new = self.client.make_ring(self.ring, ["a", "b"])
            self.assertGreater(new.epoch, version.epoch)
            version = new
            watch.wait_at(self.ring, version)
            watch.check_equal(self, self.client, self.ring)

    def test_deleted_and_made_anew_at_once(self):
        """However fast a ring goes and comes back, the copy is at last that of the new one, and nothing is broken."""
        self.client.make_ring(self.ring, ["a"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        for i in range(30):
            self.client.delete(self.ring)
            version = self.client.make_ring(self.ring, ["n%d" % i])
        watch.wait_at(self.ring, version)
        watch.check_equal(self, self.client, self.ring)

    def test_many_rings_on_one_stream(self):
        """Rings by name on one stream, there or not: one in_sync each, one for the stream after them, and all their
        changes."""
        names = ["%s-%d" % (self.ring, i) for i in range(20)]
        for name in names[:15]:
            self.client.make_ring(name, ["a"])
        watch = self.watch(*names)
        watch.wait_in_sync()
        messages = order(watch)
        self.assertEqual(messages.count("in_sync"), 16)
        self.assertEqual((messages.count("snapshot"), messages.count("absent")), (15, 5))
        self.assertFalse(watch.messages[-1].in_sync.HasField("ring"))
        last = {}
        for i in range(10):
            for name in names[:15]:
                last[name] = self.client.add(name, "n%d" % i).version
        for name in names[15:]:
            last[name] = self.client.make_ring(name, ["late"])
        for name in names:
            watch.wait_at(name, last[name])
            watch.check_equal(self, self.client, name)

    def test_same_ring_twice(self):
        """A name that is given twice is one ring."""
        self.client.make_ring(self.ring, ["a"])
        watch = self.watch(self.ring, self.ring)
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["snapshot", "in_sync", "in_sync"])

    def test_prefix(self):
        """A prefix selects rings that are there and those that come; others are never told."""
        for name in ("-a1", "-a2", "-b1"):
            self.client.make_ring(self.ring + name, ["n"])
        watch = self.watch(prefix=self.ring + "-a")
        watch.wait_in_sync()
        self.assertEqual(set(watch.copies), {self.ring + "-a1", self.ring + "-a2"})
        self.client.make_ring(self.ring + "-b2")
        self.client.add(self.ring + "-b1", "m")
        self.client.delete(self.ring + "-a1")
        version = self.client.make_ring(self.ring + "-a3", ["n"])
        watch.wait_at(self.ring + "-a3", version)
        watch.wait(lambda watch: self.ring + "-a1" in watch.deleted, "deleted")
        again = self.client.make_ring(self.ring + "-a1", ["n"])
        watch.wait_at(self.ring + "-a1", again)
        self.assertEqual(set(watch.copies), {self.ring + "-a%d" % i for i in (1, 2, 3)})
        for name in watch.copies:
            watch.check_equal(self, self.client, name)

    def test_all(self):
        """All rings: those that are there, those that come; a stream of none is in sync at once."""
        names = {ring.name for ring in self.client.ListRings(page_size=10000).rings}
        watch = self.watch(all_rings=True)
        watch.wait_in_sync()
        self.assertEqual(set(watch.copies), names)
        version = self.client.make_ring(self.ring, ["n"])
        watch.wait_at(self.ring, version)
        nothing = self.watch(prefix="no-such-ring")
        nothing.wait_in_sync()
        self.assertEqual(order(nothing), ["in_sync"])

    def test_resume(self):
        """From a position held: nothing but in_sync at the head, else exactly the changes since, each once."""
        first = self.client.make_ring(self.ring, ["a"])
        for i in range(10):
            self.client.add(self.ring, "n%d" % i)
        head = self.client.GetRing(ring=self.ring)
        for behind in (0, 1, 10):
            held = version_of(first.epoch, head.version.revision - behind)
            watch = self.watch(self.ring, held={self.ring: at(held)})
            watch.wait_in_sync()
            self.assertEqual(order(watch), ["change"] * behind + ["in_sync", "in_sync"])
            self.assertEqual(watch.events("in_sync")[0].version, head.version)
            watch.check(self)
        watch = self.watch(self.ring, held={self.ring: at(head.version, head.ring.checksum)})
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["in_sync", "in_sync"])
        version = self.client.add(self.ring, "last").version
        watch.wait_at(self.ring, version)
        watch.check(self)

    def test_resume_with_a_checksum(self):
        """The right checksum of an older position is served by changes; a wrong one by a snapshot, at the head too."""
        self.client.make_ring(self.ring, ["a"])
        old = self.client.GetRing(ring=self.ring)
        self.client.add(self.ring, "b")
        head = self.client.GetRing(ring=self.ring)
        watch = self.watch(self.ring, held={self.ring: at(old.version, old.ring.checksum)})
        watch.wait_in_sync()
        self.assertEqual(order(watch)[0], "change")
        for state in (old, head):
            wrong = pb.Checksum(algorithm=state.ring.checksum.algorithm, value=state.ring.checksum.value ^ 1)
            watch = self.watch(self.ring, held={self.ring: at(state.version, wrong)})
            watch.wait_in_sync()
            self.assertEqual(order(watch), ["snapshot", "in_sync", "in_sync"])
            self.assertFalse(watch.events("snapshot")[0].rewound)
            watch.check_equal(self, self.client, self.ring)
            unknown = pb.Checksum(algorithm=99, value=1)
            watch = self.watch(self.ring, held={self.ring: at(state.version, unknown)})
            watch.wait_in_sync()
            self.assertNotIn("snapshot", order(watch), "an algorithm that is not known is not verified")

    def test_resume_from_where_it_cannot(self):
        """A position of another epoch, or at revision 0, gets a snapshot; one ahead a rewound one; a deleted ring
        absent."""
        version = self.client.make_ring(self.ring, ["a", "b"])
        for held, rewound in ((version_of(version.epoch - 1, 1), False), (version_of(version.epoch + 1, 1), False),
                              (version_of(0, 0), False), (version_of(version.epoch, 0), False),
                              (version_of(version.epoch, version.revision + 1), True),
                              (version_of(version.epoch, (1 << 64) - 1), True),
                              (version_of((1 << 64) - 1, (1 << 64) - 1), False)):
            with self.subTest(held=key_of(held), head=key_of(version)):
                watch = self.watch(self.ring, held={self.ring: at(held)})
                watch.wait_in_sync()
                self.assertEqual(order(watch), ["snapshot", "in_sync", "in_sync"])
                self.assertEqual(watch.events("snapshot")[0].rewound, rewound)
                watch.check_equal(self, self.client, self.ring)
        watch = self.watch(self.ring + "-2", held={self.ring + "-2": at(version)})
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["absent", "in_sync"])

    def test_resume_of_many_rings(self):
        """Held rings resume, the others of the same stream start with a snapshot; with a prefix as well."""
        names = ["%s-%d" % (self.ring, i) for i in range(6)]
        for name in names:
            self.client.make_ring(name, ["a"])
        held = {name: at(self.client.GetRing(ring=name).version) for name in names[:3]}
        for name in names:
            self.client.add(name, "b")
        for options in ({"rings": names}, {"prefix": self.ring + "-"}):
            watch = Watch(self.client, held=held, **options)
            self.addCleanup(watch.cancel)
            watch.wait_in_sync()
            self.assertEqual({change.ring for change in watch.events("change")}, set(names[:3]))
            self.assertEqual({snapshot.ring.name for snapshot in watch.events("snapshot")}, set(names[3:]))
            watch.check(self)

    def test_hundred_watches_on_a_connection(self):
        """B92 (grpc/grpc#33111): the 101st Watch is RESOURCE_EXHAUSTED at once, lookups go on, a freed place is
        used again."""
        self.client.make_ring(self.ring, ["a"])
        client = self.connect()
        watches = [self.watch(self.ring, client=client) for _ in range(100)]
        for watch in watches:
            watch.wait_in_sync()
        started = time.monotonic()
        self.assertEqual(self.watch(self.ring, client=client).wait_ended(), "RESOURCE_EXHAUSTED")
        self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(client.Lookup(ring=self.ring, key=b"k", timeout=10).owners[0].id, "a")
        self.watch(self.ring, client=self.connect()).wait_in_sync()
        watches[50].cancel()

        def has_place():
            watch = self.watch(self.ring, client=client)
            watch.wait(lambda watch: watch.in_sync or watch.code)
            return watch.in_sync
        eventually(has_place, "a place for another Watch")
        self.assertEqual(self.watch(self.ring, client=client).wait_ended(), "RESOURCE_EXHAUSTED")
        version = self.client.add(self.ring, "b").version
        for index, watch in enumerate(watches):
            if index != 50:
                watch.wait_at(self.ring, version)
                watch.check(self)


class CrowdTest(ServerCase):
    def test_join_under_a_writer(self):
        """B59 (risa-labs-inc/BossConsole#1179): 200 watchers that join while nodes come and go all end equal to the
        server."""
        self.client.make_ring(self.ring, ["n%d" % i for i in range(5)], points_per_weight=1, default_weight=10)
        stop = threading.Event()
        written = []

        def write():
            writer, i = self.connect(), 0
            while not stop.is_set():
                writer.add(self.ring, "t%d" % (i % 7))
                written.append(writer.remove(self.ring, "t%d" % (i % 7)).version)
                i += 1
                time.sleep(0.01)  # or 200 readers in Python cannot keep up
        thread = threading.Thread(target=write)
        thread.start()
        randomness = random.Random(59)
        try:
            clients = [self.connect() for _ in range(10)]
            watches = []
            for _ in range(200):
                wanted = len(written) + randomness.randrange(3)
                eventually(lambda wanted=wanted: len(written) >= wanted, "the writer's next change")
                watches.append(self.watch(self.ring, client=randomness.choice(clients), keep=False))
            for watch in watches:
                watch.wait_in_sync()
        finally:
            stop.set()
            thread.join(PATIENCE)
        self.assertGreater(len(written), 50)
        for watch in watches:
            watch.wait_at(self.ring, written[-1])
            watch.check_equal(self, self.client, self.ring)

    def test_slow_reader(self):
        """B60 (flyteorg/flyte#7250): one that reads nothing during 2000 changes gets them in order or a new
        snapshot."""
        self.client.make_ring(self.ring, points_per_weight=1, default_weight=1)
        text = {"k": "v" * 150}
        for first in range(0, 5000, 2500):
            self.client.apply(self.ring, [add(id="n%04d" % i, metadata=text) for i in range(first, first + 2500)])
        go_on = threading.Event()
        begun = threading.Event()

        def gate(watch):
            if watch.messages:
                begun.set()
                go_on.wait(120)
        slow = self.watch(self.ring, client=self.connect(), gate=gate)
        quick = self.watch(self.ring, client=self.connect())
        self.addCleanup(go_on.set)
        quick.wait_in_sync()
        self.assertTrue(begun.wait(PATIENCE))
        worst = 0
        for i in range(2000):
            started = time.monotonic()
            version = self.client.update(self.ring, "n%04d" % (i % 100), weight=2 + i % 3 + i // 100 % 2).version
            worst = max(worst, time.monotonic() - started)
        print("worst of 2000 changes beside a reader that does not read: %.0f ms" % (worst * 1000))
        self.assertLess(worst, 10)
        quick.wait_at(self.ring, version)
        quick.check_equal(self, self.client, self.ring)
        self.assertEqual(len(slow.messages), 1)
        go_on.set()
        slow.wait_at(self.ring, version)
        slow.check_equal(self, self.client, self.ring)
        self.assertLess(slow.kinds["snapshot"] + slow.kinds.get("change", 0), 2000 + 50)

    def test_slow_reader_of_few_changes(self):
        """B60: changes that come while the snapshot is being read are all delivered after it, in order, with no
        second one."""
        self.client.make_ring(self.ring, points_per_weight=1, default_weight=1)
        self.client.apply(self.ring, [add(id="n%04d" % i, metadata={"k": "v" * 300}) for i in range(2000)])
        go_on = threading.Event()
        slow = self.watch(self.ring, client=self.connect(), gate=lambda watch: watch.messages and go_on.wait(120))
        self.addCleanup(go_on.set)
        slow.wait(lambda watch: watch.messages, "the first chunk")
        for i in range(200):
            version = self.client.update(self.ring, "n%04d" % i, weight=2).version
        go_on.set()
        slow.wait_at(self.ring, version)
        slow.check_equal(self, self.client, self.ring)
        self.assertEqual(slow.kinds["change"], 200)
        self.assertEqual(sum(chunk.last for chunk in slow.events("snapshot")), 1)


class HeartbeatTest(ServerCase):
    FLAGS = ("--heartbeat-interval", "100ms")

    def test_heartbeats(self):
        """Heartbeats come by themselves and name just the rings that moved since the last, with the versions
        delivered."""
        names = ["%s-%d" % (self.ring, i) for i in range(3)]
        for name in names:
            self.client.make_ring(name, ["a"])
        watch = self.watch(*names)
        watch.wait(lambda watch: watch.kinds.get("heartbeat", 0) >= 2, "two heartbeats")
        self.assertEqual({entry.ring for entry in watch.events("heartbeat")[0].moved}, set(names))
        self.assertEqual(list(watch.events("heartbeat")[1].moved), [])
        version = self.client.add(names[1], "b").version
        watch.wait_at(names[1], version)
        seen = watch.kinds["heartbeat"]
        watch.wait(lambda watch: watch.kinds["heartbeat"] >= seen + 3, "three heartbeats more")
        moved = [entry for heartbeat in watch.events("heartbeat")[1:] for entry in heartbeat.moved]
        self.assertEqual([(entry.ring, entry.version) for entry in moved], [(names[1], version)])
        watch.check(self)

    def test_heartbeat_comes_after_what_was_published(self):
        """Two heartbeats after a change was answered, the change has been delivered; no heartbeat uses a revision."""
        version = self.client.make_ring(self.ring, ["a"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        for i in range(15):
            new = self.client.update(self.ring, "a", weight=101 + i).version
            self.assertEqual(new.revision, version.revision + 1)
            version = new
            with watch.changed:
                seen = watch.kinds.get("heartbeat", 0)
            watch.wait(lambda watch, seen=seen: watch.kinds.get("heartbeat", 0) >= seen + 2, "two heartbeats")
            with watch.changed:
                self.assertEqual(watch.copies[self.ring].version, version)
        watch.check(self)

    def test_heartbeats_under_load(self):
        """Heartbeats go on while changes come without pause, and each names what was delivered before it."""
        self.client.make_ring(self.ring, ["a"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        writer, i = self.connect(), 0
        while watch.kinds.get("heartbeat", 0) < 10:
            i += 1
            self.assertLess(i, 20000)
            version = writer.update(self.ring, "a", weight=101 + i % 2).version
        watch.wait_at(self.ring, version)
        watch.check_equal(self, self.client, self.ring)


class ResumeTest(ProcessCase):
    def test_history_max(self):
        """B62 (grafana/grafana#130332): a snapshot exactly when the change after the position is not kept, else
        each change."""
        flags = ("--history-max", "100")
        server = self.serve(None, "127.0.0.1:0", *flags)
        client = self.connect(server)
        epoch = client.make_ring("r", ["a", "b"]).epoch
        for i in range(308):
            head = client.update("r", "a", weight=101 + i % 2).version
        self.assertEqual(head.revision, 310)

        def resumed(revision):
            watch = self.watch(client, "r", held={"r": at(version_of(epoch, revision))})
            watch.wait_in_sync()
            watch.check(self)
            return order(watch)
        # The running server may know more than it must keep, and then answers by changes.
        for revision in (10, 209, 210, 211, 309, 310):
            kinds = resumed(revision)
            allowed = [["change"] * (310 - revision) + ["in_sync"] * 2]
            if revision < 210:
                allowed.append(["snapshot"] + ["in_sync"] * 2)
            self.assertIn(kinds, allowed, revision)
        server.kill()
        server = self.serve(None, "127.0.0.1:0", *flags, init=False)
        client = self.connect(server)
        for revision in (1, 10, 208, 209):
            self.assertEqual(resumed(revision), ["snapshot"] + ["in_sync"] * 2, revision)
        for revision in (210, 211, 309, 310):
            self.assertEqual(resumed(revision), ["change"] * (310 - revision) + ["in_sync"] * 2, revision)
        # And goes on from there, over the edge between what was stored and what came since.
        client.update("r", "a", weight=300)
        self.assertEqual(resumed(211), ["change"] * 100 + ["in_sync"] * 2)
        self.assertEqual(resumed(210), ["snapshot"] + ["in_sync"] * 2)

    def test_history_limits_of_a_ring(self):
        """B62: history_limits.max_changes of a ring takes the place of --history-max."""
        server = self.serve()
        client = self.connect(server)
        epoch = client.make_ring("r", ["a", "b"], history_limits=pb.HistoryLimits(max_changes=5)).epoch
        for i in range(18):
            client.update("r", "a", weight=101 + i % 2)
        server.kill()
        client = self.connect(self.serve(init=False))
        for revision, kinds in ((14, ["snapshot"]), (15, ["change"] * 5), (20, [])):
            watch = self.watch(client, "r", held={"r": at(version_of(epoch, revision))})
            watch.wait_in_sync()
            watch.check(self)
            self.assertEqual(order(watch), kinds + ["in_sync"] * 2, revision)

    def test_a_position_that_was_compacted_away(self):
        """B63 (etcd-io/etcd#8231, Revolution1/etcd3-py#61, etcd-io/etcd#9386): a snapshot and `in_sync` at once, and the
        stream goes on: no end, no error, no silence."""
        server = self.serve()
        client = self.connect(server)
        epoch = client.make_ring("r", ["a", "b"], history_limits=pb.HistoryLimits(max_changes=5)).epoch
        for i in range(18):
            client.update("r", "a", weight=101 + i % 2)
        server.kill()
        client = self.connect(self.serve(init=False))
        watch = self.watch(client, "r", held={"r": at(version_of(epoch, 3))})
        watch.wait_in_sync()
        self.assertEqual(order(watch), ["snapshot"] + ["in_sync"] * 2)
        for i in range(20):
            version = client.update("r", "a", weight=201 + i).version
            watch.wait_at("r", version)
        self.assertEqual(order(watch), ["snapshot"] + ["in_sync"] * 2 + ["change"] * 20)
        watch.check_equal(self, client, "r")

    def test_history_age(self):
        """B62: a change that is older than --history-age goes with a later one; a position before it gets a
        snapshot."""
        flags = ("--history-age", "300ms")
        server = self.serve(None, "127.0.0.1:0", *flags)
        client = self.connect(server)
        epoch = client.make_ring("r", ["a", "b"]).epoch
        client.update("r", "a", weight=101)
        time.sleep(0.5)  # lets the age pass
        client.update("r", "a", weight=102)
        server.kill()
        client = self.connect(self.serve(None, "127.0.0.1:0", *flags, init=False))
        for revision, kinds in ((2, ["snapshot"]), (3, ["change"]), (4, [])):
            watch = self.watch(client, "r", held={"r": at(version_of(epoch, revision))})
            watch.wait_in_sync()
            watch.check(self)
            self.assertEqual(order(watch), kinds + ["in_sync"] * 2, revision)

    def test_resume_of_a_long_history(self):
        """A position far back, before what the server keeps in memory, is served change by change, also under a
        writer."""
        server = self.serve()
        client = self.connect(server)
        epoch = client.make_ring("r", ["a", "b"]).epoch
        threads = [threading.Thread(target=lambda i=i: [
            client.add("r", "w%d-%d" % (i, n), weight=1) for n in range(400)]) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE * 2)
        self.assertEqual(client.GetRing(ring="r").version.revision, 1602)
        server.kill()
        client = self.connect(self.serve(init=False))
        watch = self.watch(client, "r", held={"r": at(version_of(epoch, 2))})
        for i in range(20):
            version = client.add("r", "late%d" % i, weight=1).version
        watch.wait_at("r", version)
        watch.wait_in_sync()
        watch.check(self)
        self.assertEqual((watch.kinds["change"], watch.kinds.get("snapshot")), (1620, None))

    def test_resume_after_a_restart(self):
        """A Watch that ended with UNAVAILABLE goes on from what it holds as if nothing had been, however the server
        ended."""
        server = self.serve(None, "127.0.0.1:0", "--drain-timeout", "500ms")
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        held = None
        for i in range(6):
            watch = self.watch(client, "r", held=held)
            watch.wait_in_sync()
            version = client.update("r", "a", weight=200 + i).version
            watch.wait_at("r", version)
            watch.check(self)
            self.assertEqual(watch.kinds.get("snapshot", 0), 0 if held else 1)
            held = {"r": at(watch.copies["r"].version, watch.copies["r"].checksum)}
            server.kill() if i % 2 else server.stop()
            self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
            server = self.serve(None, "127.0.0.1:0", "--drain-timeout", "500ms", init=False)
            client = self.connect(server)

    def test_ringctl_watch_resumes(self):
        """B65 (shubhamranjan/dotnet-etcd#310): an idle `ringctl watch` sees the change made right after a restart,
        each time."""
        address = "127.0.0.1:%d" % closed_port()
        server = self.serve(None, address)
        client = self.connect(server)
        client.make_ring("r", ["n%d" % i for i in range(5)])
        steady = Watcher(server.endpoint, "r", "-o", "json")
        self.addCleanup(steady.stop)
        steady.event("snapshot")
        for i in range(20):
            idle = Watcher(server.endpoint, "r", "-o", "json")
            self.addCleanup(idle.stop)
            idle.event("in_sync")
            held = client.GetRing(ring="r").version
            client.close()  # an idle client would hold up the stop until the end of its time
            server.kill() if i % 2 else server.stop()
            server = self.serve(None, address, init=False)
            client = self.connect(server)
            client.add("r", "x%d" % i)
            for watcher in (steady, idle):
                change = watcher.event("change")
                self.assertEqual((int(change["from_revision"]), change["nodes"][0]["added"]["id"]),
                                 (held.revision, "x%d" % i))
            idle.stop()

    def test_rewound(self):
        """A store that was rolled back outside ringd: the watcher that holds more gets a snapshot marked rewound."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a", "b"])
        client.make_ring("same", ["a"])
        client.close()
        server.stop()
        old = os.path.join(self.folder, "old")
        shutil.copytree(self.data, old)
        server = self.serve(init=False)
        client = self.connect(server)
        before = client.GetRing(ring="r").version
        client.add("r", "lost-1")
        client.add("r", "lost-2")
        client.make_ring("lost", ["a"])
        watch = self.watch(client, "r", "same", "lost")
        watch.wait_in_sync()
        held = {name: at(copy.version, copy.checksum) for name, copy in watch.copies.items()}
        self.assertEqual(held["r"].version, version_of(before.epoch, before.revision + 2))
        server.kill()
        shutil.rmtree(self.data)
        shutil.copytree(old, self.data)
        server = self.serve(init=False)
        client = self.connect(server)
        watch = self.watch(client, "r", "same", "lost", held=held)
        watch.wait_in_sync()
        snapshot = watch.events("snapshot")
        self.assertEqual([(chunk.ring.name, chunk.rewound, chunk.ring.version) for chunk in snapshot],
                         [("r", True, before)])
        self.assertEqual(watch.absent, {"lost"})
        watch.check_equal(self, client, "r")
        self.assertTrue(server.wait_for_log("rolled back"))
        # The rolled-back ring goes another way to the same revision: the checksum tells, and it is not behind any more.
        client.add("r", "other-1")
        client.add("r", "other-2")
        watch = self.watch(client, "r", held={"r": held["r"]})
        watch.wait_in_sync()
        self.assertEqual([chunk.rewound for chunk in watch.events("snapshot")], [False])
        watch.check_equal(self, client, "r")


if __name__ == "__main__":
    unittest.main()
