"""Acknowledged = durable, over kill -9. B120 (gsd-build/gsd-2#5189).

ringd is killed at random moments under writers, readers and watchers, now and then a second time while it starts. After
each start: it was ready in time; what was acknowledged, and what anybody was shown, is there; no revision has two
contents; what had an unknown outcome was made once or not at all, and is made once by a retry.

kill_test.py [ROUNDS [SEED]]. The seed is printed, and brings the same moments again.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import random
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Client, Refused, add, key_of, plain, remove, update  # noqa: E402
from ringd_process import PATIENCE, RINGD  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

ROUNDS = 20
SEED = random.SystemRandom().randrange(1 << 32)
WRITERS = 4
WATCHERS = 2
NODES = 6  # of each writer
LONGEST_RUN = 0.25  # seconds before a kill
READY_WITHIN = 2.0
UNKNOWN = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN")
RING = "r"


class Change:
    """A change that a writer asked for. It is known in the ring's history by its request_id, which a node carries."""

    def __init__(self, method, request):
        self.method, self.request = method, request
        self.id = request.options.request_id
        self.called = self.returned = None
        self.revision = None  # when it was acknowledged
        self.refused = False  # for good

    def send(self, client):
        self.called = self.called or time.monotonic()
        try:
            version = client.send(self.method, self.request).version
        except Refused as refused:
            if refused.code in UNKNOWN:
                return False
            if refused.code != "ABORTED":
                raise
            self.refused = True
            return True
        self.returned = self.returned or time.monotonic()
        self.revision = version.revision
        return True


class Journal:
    """What everybody was told: changes by their ids, and the checksum of each revision."""

    def __init__(self):
        self._lock = threading.Lock()
        self.open = {}  # changes that were not looked for in the history yet
        self.checksums = {}  # by revision
        self.acknowledged = self.seen = 1  # the highest revisions
        self.contradictions = []
        self.reads = 0

    def note(self, change):
        with self._lock:
            self.open[change.id] = change

    def note_outcome(self, change):
        if change.revision is not None:
            with self._lock:
                self.acknowledged = max(self.acknowledged, change.revision)
                self.seen = max(self.seen, change.revision)

    def saw(self, revision, checksum, who):
        with self._lock:
            self.seen = max(self.seen, revision)
            known = self.checksums.setdefault(revision, checksum)
            if known != checksum:
                self.contradictions.append("revision %d has checksum %x, %s was told %x" % (revision, known, who, checksum))

    def read(self, version, floor, checksum=None):
        """A read that began when `floor` was acknowledged."""
        with self._lock:
            self.reads += 1
            self.seen = max(self.seen, version.revision)
            if version.revision < floor:
                self.contradictions.append("a read was at %d after %d was acknowledged" % (version.revision, floor))
        if checksum is not None:
            self.saw(version.revision, checksum, "a reader")


class Writer:
    """Changes nodes of its own, so that it knows what they are."""

    def __init__(self, number, journal, seed):
        self.number, self.journal = number, journal
        self.random = random.Random(seed)
        self.count = 0
        self.there = set()
        self.unknown = None  # the change whose outcome is not known

    def run(self, client):
        while self.unknown is None:
            change = self.next_change()
            self.journal.note(change)
            if not change.send(client):
                self.unknown = change
            elif not change.refused:
                self.made(change)
            self.journal.note_outcome(change)

    def retry(self, client):
        """The change of unknown outcome again; answers it, or None."""
        change, self.unknown = self.unknown, None
        if change is not None:
            if not change.send(client):
                raise AssertionError("the retry of %s has no outcome either" % change.id)
            self.journal.note_outcome(change)
            if not change.refused:
                self.made(change)
        return change

    def next_change(self):
        self.count += 1
        request_id = "%d-%d" % (self.number, self.count)
        node_id = "w%d-%d" % (self.number, self.random.randrange(NODES))
        # Large enough that the store's log is written back and begun anew now and then.
        fields = {"weight": self.random.randrange(1, 4), "metadata": {"change": request_id, "pad": "x" * 500}}
        options = pb.MutationOptions(request_id=request_id, force=True)
        if self.random.random() < 0.1:  # lost as a rule, and refused then
            options.expected_version.CopyFrom(pb.Version(epoch=self.epoch, revision=self.journal.seen))
        if self.random.random() < 0.3:
            operations = [update("w%d" % self.number, **fields)]
            operations.append(remove(node_id) if node_id in self.there else add(id=node_id, **fields))
            return Change("ApplyChanges", pb.ApplyChangesRequest(ring=RING, operations=operations, options=options))
        node = pb.Node(id=node_id, **fields)
        if node_id not in self.there:
            return Change("AddNode", pb.AddNodeRequest(ring=RING, node=node, options=options))
        request = pb.UpdateNodeRequest(ring=RING, node=node, options=options)
        request.update_mask.paths.extend(fields)
        return Change("UpdateNode", request)

    def made(self, change):
        if change.method == "AddNode":
            self.there.add(change.request.node.id)
        for operation in getattr(change.request, "operations", ()):
            if operation.HasField("add"):
                self.there.add(operation.add.node.id)
            self.there.discard(operation.remove.node_id)


class KillTest(ProcessCase):
    def test_kill_at_random_moments(self):
        print("seed %d, %d rounds" % (SEED, ROUNDS), flush=True)
        self.random = random.Random(SEED)
        self.journal = Journal()
        self.history = {}  # by revision: the change, as a Watch tells it
        self.made = {}  # by the id of a change: its revision
        self.settled = []  # changes that were acknowledged, and found
        self.nodes = {}  # as the history makes them
        self.held = None
        self.slowest = 0.0
        unknown, killed_twice = 0, 0
        self.server = self.serve(None, "127.0.0.1:0", "--history-max", "10000000")
        client = self.connect(self.server)
        writers = [Writer(number, self.journal, self.random.random()) for number in range(WRITERS)]
        version = client.make_ring(RING, ["w%d" % number for number in range(WRITERS)], points_per_weight=1)
        Writer.epoch = self.epoch = version.epoch
        self.follow_history(client)
        self.positions = [self.held] * WATCHERS
        for _ in range(ROUNDS):
            self.run_until_killed(writers)
            unknown += sum(writer.unknown is not None for writer in writers)
            if self.random.random() < 0.2:
                self.kill_while_it_starts()
                killed_twice += 1
            client = self.start_again()
            self.follow_history(client)
            self.judge_history(client)
            self.judge_retries(client, writers)
        self.follow_history(client)
        self.judge_history(client)
        self.judge_whole_history(client)
        print("%d changes, %d of unknown outcome; %d reads; killed twice in %d rounds; ready within %.2f s" % (
            len(self.made), unknown, self.journal.reads, killed_twice, self.slowest))
        self.assertGreater(len(self.made), 5 * ROUNDS, "too little was going on")
        self.assertGreater(unknown, ROUNDS // 2, "the kills met too little")

    # --- A round

    def run_until_killed(self, writers):
        clients = [Client(self.server.endpoint) for _ in range(len(writers) + 1 + WATCHERS)]
        watches = [self.watch(client, RING, held={RING: position})
                   for client, position in zip(clients[-WATCHERS:], self.positions)]
        failures = []
        threads = [threading.Thread(target=self.guarded, args=(failures, writer.run, client))
                   for writer, client in zip(writers, clients)]
        threads.append(threading.Thread(target=self.guarded, args=(failures, self.read, clients[len(writers)])))
        for thread in threads:
            thread.start()
        time.sleep(self.random.uniform(0, LONGEST_RUN))  # no wait for anything: the moment is what is tested
        self.server.kill()
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        self.assertEqual(failures, [])
        for number, watch in enumerate(watches):
            self.assertEqual(watch.wait_ended(), "UNAVAILABLE")
            watch.check(self)
            self.assertEqual(watch.kinds.get("snapshot", 0), 0, "a position in the history was answered by a snapshot")
            for change in watch.events("change"):
                self.journal.saw(change.version.revision, change.checksum.value, "a watcher")
            if RING in watch.copies:
                self.positions[number] = watch.copies[RING].position
        for client in clients:
            client.close()

    @staticmethod
    def guarded(failures, work, client):
        try:
            work(client)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    def read(self, client):
        while True:
            floor = self.journal.acknowledged
            try:
                answer = client.GetRing(ring=RING, page_size=1)
                self.journal.read(answer.version, floor, answer.ring.checksum.value)
                floor = self.journal.acknowledged
                self.journal.read(client.Lookup(ring=RING, key=b"k").version, floor)
            except Refused as refused:
                if refused.code not in UNKNOWN:
                    raise
                return

    def kill_while_it_starts(self):
        process = subprocess.Popen([RINGD, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", self.data],
                                   stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0, 0.1))
        process.kill()
        process.wait(PATIENCE)

    def start_again(self):
        started = time.monotonic()
        self.server = self.serve(None, "127.0.0.1:0", "--history-max", "10000000", init=False)
        took = time.monotonic() - started
        self.slowest = max(self.slowest, took)
        self.assertLess(took, READY_WITHIN, "ready too late")
        return self.connect(self.server)

    # --- What is there

    def follow_history(self, client):
        """Reads what was added to the history since it was read last."""
        watch = self.watch(client, RING, held={RING: self.held} if self.held else None)
        watch.wait_in_sync()
        watch.cancel()
        watch.check(self)
        if self.held is None:
            self.nodes = plain(watch.copies[RING].nodes)
        for change in watch.events("change"):
            revision = change.version.revision
            self.assertNotIn(revision, self.history)
            self.history[revision] = change
            self.journal.saw(revision, change.checksum.value, "the history")
            self.apply(change)
        if RING in watch.copies:
            self.held = watch.copies[RING].position

    def apply(self, change):
        ids = set()
        for entry in change.nodes:
            if entry.HasField("removed"):
                del self.nodes[entry.removed]
                continue
            node = entry.added if entry.HasField("added") else entry.updated
            self.nodes[node.id] = node
            ids.add(node.metadata["change"])
        self.assertEqual(len(ids), 1, "a revision holds one change whole")
        made = ids.pop()
        self.assertNotIn(made, self.made, "a change was made twice")
        self.made[made] = change.version.revision

    def judge_history(self, client):
        journal = self.journal
        head = client.GetRing(ring=RING, page_size=1)
        self.assertEqual(head.version.epoch, self.epoch)
        self.assertEqual(key_of(head.version), key_of(self.held.version))
        self.assertGreaterEqual(head.version.revision, journal.seen, "what somebody was shown is lost")
        journal.saw(head.version.revision, head.ring.checksum.value, "a reader")
        self.assertEqual(journal.contradictions, [])
        there = plain(client.nodes(RING))
        self.assertEqual([(node_id, self.nodes.get(node_id), there.get(node_id))
                          for node_id in sorted(self.nodes.keys() | there.keys())
                          if self.nodes.get(node_id) != there.get(node_id)][:1], [], "the history makes other nodes")
        for change in journal.open.values():
            made = self.made.get(change.id)
            if change.refused:
                self.assertIsNone(made, "%s was refused, and is there" % change.id)
            elif change.revision is not None:
                self.assertEqual(made, change.revision, "%s was acknowledged at another revision" % change.id)
        self.judge_order([change for change in journal.open.values() if change.id in self.made])
        self.settled += [change for change in journal.open.values() if change.revision is not None]
        journal.open = {change.id: change for change in journal.open.values()
                        if change.revision is None and not change.refused}

    def judge_order(self, changes):
        """What was acknowledged before another was asked for comes before it."""
        earliest_return = float("inf")  # of those with a higher revision
        for change in sorted(changes, key=lambda change: -self.made[change.id]):
            self.assertLess(change.called, earliest_return, "%s comes too early in the history" % change.id)
            earliest_return = min(earliest_return, change.returned or float("inf"))

    def judge_retries(self, client, writers):
        """Unknown outcomes are asked for again, and some that are known."""
        for writer in writers:
            change = writer.retry(client)
            if change is None:
                continue
            if change.id in self.made:
                self.assertEqual(change.revision, self.made[change.id], "%s was made, and its retry is another" % change.id)
            else:
                head = client.GetRing(ring=RING, page_size=1).version.revision
                self.assertTrue(change.refused or change.revision == head, "%s: its retry made more than it" % change.id)
        head = client.GetRing(ring=RING, page_size=1).version
        for change in self.random.sample(self.settled, min(3, len(self.settled))):
            again = client.send(change.method, change.request).version.revision
            self.assertEqual(again, change.revision, "%s: a late retry is answered otherwise" % change.id)
        self.assertEqual(client.GetRing(ring=RING, page_size=1).version, head, "a retry of what was made made something")

    def judge_whole_history(self, client):
        """From its beginning, the history is what it was each time that a part of it was read."""
        first = min(self.history) - 1
        watch = self.watch(client, RING, held={RING: pb.WatchPosition(
            version=pb.Version(epoch=self.epoch, revision=first))})
        watch.wait_in_sync()
        self.assertEqual([change.SerializeToString(deterministic=True) for change in watch.events("change")],
                         [self.history[revision].SerializeToString(deterministic=True) for revision in sorted(self.history)])


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments:
        ROUNDS = int(arguments[0])
    if len(arguments) > 1:
        SEED = int(arguments[1])
    unittest.main(argv=sys.argv[:1])
