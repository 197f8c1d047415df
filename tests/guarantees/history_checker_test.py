"""The history checker, fed with small histories made by hand: a good one that all promises hold of, and for each promise
histories that break it. Whoever weakens a check sees its test fail.
"""

import unittest

import history
from history import Call, History, Kill, LogEntry, Message, Stream

RING = "r"
CHECKSUMS = {revision: 100 + revision for revision in range(1, 9)}
LEAST = {"least": 1}
RATES = {"writes": 0, "reads": 0}


def v(revision):
    return (7, revision)


class Model:
    """Of a ring to which node a1 was added, then a2, then a3; the newest owns everything."""

    def checksum(self, ring, version):
        return CHECKSUMS[version[1]]

    def nodes(self, ring, version):
        return {"a%d" % i: (1, "id%d" % i) for i in range(1, version[1])}

    def owner(self, ring, version, key):
        return "a%d" % (version[1] - 1)


def added(revision):
    return {"a%d" % (revision - 1): (1, "id%d" % (revision - 1))}


def change(revision, called, returned, **fields):
    """The call that made that revision."""
    values = {"version": v(revision), "previous": v(revision - 1), "content": added(revision),
              "request_id": "id%d" % (revision - 1)} | fields
    return Call("w", "AddNode", RING, called, returned, **values)


def unknown(revision, called, returned, **fields):
    return change(revision, called, returned, **{"code": "UNAVAILABLE", "version": None, "previous": None} | fields)


def lookup(revision, called, returned, **fields):
    return Call("r", "Lookup", RING, called, returned, version=v(revision), **fields)


def entry(revision, **fields):
    values = {"checksum": CHECKSUMS[revision], "content": added(revision) if revision > 1 else {},
              "request_id": "id%d" % (revision - 1) if revision > 1 else ""} | fields
    return LogEntry(RING, v(revision), revision - 1, **values)


def log(head):
    return [entry(revision) for revision in range(1, head + 1)]


def snapshot(revision, **fields):
    values = {"nodes": Model().nodes(RING, v(revision)), "node_count": revision - 1, "last": True,
              "checksum": CHECKSUMS[revision]} | fields
    return Message(0, "snapshot", RING, v(revision), **values)


def delivered(revision, **fields):
    values = {"from_revision": revision - 1, "content": added(revision), "checksum": CHECKSUMS[revision]} | fields
    return Message(0, "change", RING, v(revision), **values)


def in_sync(revision=None):
    return Message(0, "in_sync", RING, v(revision)) if revision else Message(0, "in_sync")


def heartbeat(revision=None):
    return Message(0, "heartbeat", moved={RING: v(revision)} if revision else {})


def stream(*messages, held=None, **fields):
    return Stream("o", [RING], {RING: v(held)} if held else {}, list(messages), **fields)


def heads(head):
    return {RING: (v(head), CHECKSUMS[head])}


def run(calls=(), streams=(), kills=(), head=4, **fields):
    return History(calls, streams, kills, **{"log": log(head), "heads": heads(head)} | fields)


class HistoryCheckerTest(unittest.TestCase):
    def holds(self, check, recorded, *arguments, **options):
        self.assertEqual(list(check(recorded, *arguments, **options)), [])

    def breaks(self, text, check, recorded, *arguments, **options):
        """The check finds something, and says that."""
        found = list(check(recorded, *arguments, **options))
        self.assertTrue(any(text in one for one in found), (text, found))

    def test_good_run(self):
        """All promises hold of a run with a kill, a retry, reads and a Watch that is cut and goes on."""
        good = run(
            [change(2, 1, 2), unknown(3, 2.5, 4), change(3, 4.5, 5), change(4, 6, 7),
             lookup(2, 2.1, 2.2, owners=(("k", "a1"),)), lookup(4, 8, 9, owners=(("k", "a3"),), min_version=v(4)),
             Call("r", "GetRing", RING, 8, 9, version=v(4), checksum=104, nodes=Model().nodes(RING, v(4)))],
            [stream(snapshot(2), in_sync(2), in_sync(), heartbeat(2), code="UNAVAILABLE"),
             stream(delivered(3), in_sync(3), in_sync(), delivered(4), heartbeat(4), held=2, final=True)],
            [Kill(3, 4.2)])
        self.assertEqual({one.promise for one in history.check(good, Model(), least_owners=2)}, {"C12"})
        self.holds(history.c12_the_run_counts, good, writes=0.3, reads=0.3)

    def test_all_are_named(self):
        """A violation has the name of its promise."""
        bad = run([change(2, 1, 2), lookup(9, 3, 4)])
        self.assertIn("C10", {one.promise for one in history.check(bad, Model())})
        self.assertIn("C12", {one.promise for one in history.check(run(), Model())})

    def test_c1(self):
        check = history.c1_revisions_are_distinct_and_dense
        self.holds(check, run([change(2, 1, 2), change(3, 1, 2), change(3, 3, 4)]))
        self.holds(check, run([change(2, 1, 2), change(3, 3, 4, version=v(2), previous=v(2))]))  # changed nothing
        self.breaks("was given to id1 and to id2", check,
                    run([change(2, 1, 2), change(3, 3, 4, version=v(2), previous=v(1))]))
        self.breaks("missing [(7, 3)]", check, run(log=[entry(1), entry(2), entry(4)]))
        self.breaks("more than once or not of it [(7, 2)]", check, run(log=log(4) + [entry(2)]))
        self.breaks("more than once or not of it [(7, 5)]", check, run(log=log(5)))
        skipped = entry(4)
        skipped.from_revision = 2
        self.breaks("was made on 2", check, run(log=log(3) + [skipped]))

    def test_c2(self):
        check = history.c2_order_of_real_time
        self.holds(check, run([change(3, 1, 3), change(2, 2, 4)]))  # at the same time
        self.breaks("asked for after (7, 3)", check, run([change(3, 1, 2), change(2, 3, 4)]))
        # A retry was asked for when its first attempt was.
        self.holds(check, run([unknown(2, 1, 2), change(3, 3, 4), change(2, 5, 6)]))

    def test_c3(self):
        check = history.c3_log_is_what_was_asked_for
        failed = change(5, 9, 10, code="ABORTED", version=None, previous=None)
        made = [change(2, 1, 2), change(3, 3, 4), change(4, 5, 6)]
        self.holds(check, run(made + [failed, unknown(6, 9, 10)]))
        self.holds(check, run(made[:2] + [unknown(4, 5, 6)]))
        self.breaks("the log has it at []", check, run(made, head=3))
        self.breaks("the log has it at [(7, 4)]", check, run(made[:2] + [change(4, 5, 6, version=v(5))]))
        self.breaks("asked for was", check, run(made, log=log(3) + [entry(4, content={"a3": None})]))
        self.breaks("failed, and is in the log", check, run(made + [failed], head=5))
        self.breaks("was made 2 times", check, run(made + [change(4, 7, 8)], log=log(4) + [entry(5, request_id="id3")]))
        self.breaks("a retry is answered as the first", check, run(made + [change(4, 7, 8, version=v(5))]))
        again = change(3, 8, 9, version=v(4), previous=v(4))  # told that it changes nothing
        self.breaks("a retry of it is answered OK (7, 4)", check, run(made + [again]))
        again.version = again.previous = v(2)  # nor did it, at that time
        self.holds(check, run(made[:1] + [made[2], again, unknown(3, 3, 4)]))
        again = change(3, 8, 9, code="ALREADY_EXISTS", version=None)
        self.breaks("a retry of it is answered ALREADY_EXISTS", check, run(made + [again]))
        again.called = 3.5  # before anybody was told of the first
        self.holds(check, run(made + [again]))
        self.breaks("is not above (7, 4)", check, run([unknown(3, 7, 8), change(2, 1, 2), change(4, 5, 6)]))
        self.breaks("asked for by nobody", check, run(made[:2]))

    def test_c4(self):
        check = history.c4_states_are_those_of_the_log
        read = Call("r", "GetRing", RING, 1, 2, version=v(3), checksum=103, nodes=Model().nodes(RING, v(3)))
        parts = [snapshot(3, nodes={"a1": (1, "id1")}, last=False), snapshot(3, nodes={"a2": (1, "id2")}, chunk=1)]
        self.holds(check, run([read], [stream(*parts, delivered(4))]), Model())
        lost = snapshot(3)
        lost.version = v(9)
        self.holds(check, run(streams=[stream(lost)]), Model())
        self.breaks("the log has another checksum", check, run(log=log(3) + [entry(4, checksum=1)]), Model())
        for seen in (stream(snapshot(3, checksum=1)), stream(delivered(3, checksum=1))):
            self.breaks("the Watch of o told another checksum", check, run(streams=[seen]), Model())
        self.breaks("GetRing of r told another", check, run([Call("r", "GetRing", RING, 1, 2, version=v(3), checksum=1)]),
                    Model())
        self.breaks("other nodes", check, run([Call("r", "GetRing", RING, 1, 2, version=v(3), nodes={})]), Model())
        self.breaks("other nodes", check, run(streams=[stream(snapshot(3, nodes={"a1": (2, "id1")}))]), Model())

    def test_c5(self):
        check = history.c5_reads_are_linearizable
        made = [change(2, 1, 2), change(3, 3, 4)]
        self.holds(check, run(made + [lookup(2, 3.1, 3.2), lookup(3, 3.3, 3.4), lookup(3, 5, 6)]))
        self.breaks("after (7, 3) had been told", check, run(made + [lookup(2, 5, 6)]))
        self.breaks("after (7, 3) had been told", check, run(made + [lookup(3, 3.1, 3.2), lookup(2, 3.3, 3.4)]))
        self.breaks("before anybody asked for it", check, run(made + [lookup(3, 2.1, 2.2)]))

    def test_c7(self):
        check = history.c7_min_version_is_honoured
        late = Call("r", "Lookup", RING, 1, 4.1, "UNAVAILABLE", min_version=v(9))
        slow = lookup(3, 1, 9, min_version=v(2))  # it had its answer, and told it slowly
        self.holds(check, run([lookup(3, 1, 2, min_version=v(3)), late, slow]))
        self.breaks("wanted was (7, 4)", check, run([lookup(3, 1, 2, min_version=v(4))]))
        late.returned = 5
        self.breaks("refused after 4.00 s", check, run([late]))

    def test_c8(self):
        check = history.c8_owners_are_those_of_the_model
        good = lookup(3, 1, 2, owners=(("k", "a2"), ("l", "a2")))
        self.holds(check, run([good]), Model(), least=2)
        self.breaks("2 owners were looked up", check, run([good]), Model())
        lost = lookup(9, 1, 2, owners=(("k", "a9"),))  # the model has no such version: that is for C10 to say
        self.holds(check, run([good, lost]), Model(), least=2)
        torn = Call("r", "BatchLookup", RING, 1, 2, version=v(3), owners=(("k", "a2"), ("l", "a3")))
        self.breaks("'l' is owned by a2, told was a3", check, run([torn]), Model(), **LEAST)

    def test_c9_changes(self):
        check = history.c9_watches_are_whole
        begin = (snapshot(2), in_sync(2), in_sync())
        self.holds(check, run(streams=[stream(*begin, delivered(3), delivered(4))]))
        self.breaks("change 3 -> (7, 4) of r to one that holds (7, 2)", check, run(streams=[stream(*begin, delivered(4))]))
        self.breaks("change 2 -> (7, 3)", check, run(streams=[stream(*begin, delivered(3), delivered(3))]))
        self.breaks("change 2 -> (7, 4)", check, run(streams=[stream(*begin, delivered(4, from_revision=2))]))
        self.breaks("of which nothing is held", check, run(streams=[stream(delivered(3))]))
        self.breaks("the log has", check, run(streams=[stream(*begin, delivered(3, content={}))]))
        self.breaks("within its snapshot", check, run(streams=[stream(snapshot(2, last=False), delivered(3))]))
        self.holds(check, run(streams=[stream(*begin, delivered(3))], head=2))  # that it is not in the log is for C10

    def test_c9_resume(self):
        check = history.c9_watches_are_whole
        self.holds(check, run(streams=[stream(delivered(4), held=3)]))
        self.holds(check, run(streams=[stream(in_sync(4), in_sync(), held=4, final=True)]))
        self.breaks("holds (7, 3), which is in the log", check, run(streams=[stream(snapshot(4), held=3)]))
        self.holds(check, run(streams=[stream(snapshot(4), held=3)], log=[entry(4)]))  # not kept any more
        self.breaks("change 2 -> (7, 3)", check, run(streams=[stream(delivered(3), held=3)]))
        self.breaks("change 3 -> (7, 4)", check, run(streams=[stream(delivered(4), held=2)]))
        self.breaks("ended with OUT_OF_RANGE", check, run(streams=[stream(held=2, code="OUT_OF_RANGE")]))

    def test_c9_snapshots(self):
        check = history.c9_watches_are_whole
        parts = [snapshot(3, nodes={"a1": (1, "id1")}, last=False), snapshot(3, nodes={"a2": (1, "id2")}, chunk=1)]
        self.holds(check, run(streams=[stream(*parts, in_sync(3))]))
        self.breaks("in_sync of r within its snapshot", check, run(streams=[stream(snapshot(3, last=False), in_sync(3))]))
        self.breaks("change of r within its snapshot", check, run(streams=[stream(snapshot(3, last=False), delivered(4))]))
        self.breaks("out of its order", check, run(streams=[stream(parts[1])]))
        self.breaks("out of its order", check, run(streams=[stream(parts[0], snapshot(3, chunk=2))]))
        self.breaks("out of its order", check, run(streams=[stream(parts[0], snapshot(4, chunk=1))]))
        self.breaks("within that of r", check, run(streams=[stream(parts[0], *parts)]))
        self.breaks("1 of 2 nodes", check, run(streams=[stream(snapshot(3, nodes={"a1": (1, "id1")}))]))
        self.breaks("goes back from (7, 3)", check, run(streams=[stream(snapshot(3), snapshot(2))]))
        self.breaks("goes back", check, run(streams=[stream(snapshot(3, rewound=True))]))

    def test_c9_what_is_said_of_the_stream(self):
        check = history.c9_watches_are_whole
        begin = (snapshot(3), in_sync(3), in_sync())
        self.holds(check, run(streams=[stream(*begin, heartbeat(3), heartbeat(), delivered(4), heartbeat(4), final=True)]))
        self.breaks("a heartbeat names {}", check, run(streams=[stream(*begin, heartbeat())]))
        self.breaks("delivered was {'r': (7, 4)}", check, run(streams=[stream(*begin, delivered(4), heartbeat(3))]))
        self.breaks("the head is (7, 4)", check, run(streams=[stream(*begin, final=True)]))
        self.breaks("in_sync of r at (7, 4)", check, run(streams=[stream(snapshot(3), in_sync(4))]))
        self.breaks("in_sync of the stream before", check, run(streams=[stream(snapshot(3), in_sync())]))
        self.breaks("two in_sync of the stream", check, run(streams=[stream(*begin, in_sync())]))
        self.breaks("no in_sync of r ever came", check, run(streams=[stream(snapshot(4), final=True)]))
        self.breaks("no in_sync of the stream", check, run(streams=[stream(snapshot(4), in_sync(4), final=True)]))
        for kind in ("absent", "deleted"):
            self.breaks("told " + kind, check, run(streams=[stream(Message(0, kind, RING))]))

    def test_c10(self):
        check = history.c10_nothing_seen_is_lost
        made = [change(2, 1, 2), change(3, 3, 4)]
        seen = stream(snapshot(3))
        seen.messages[0].at = 4.5
        kills = [Kill(5, 6)]
        self.holds(check, run(made + [lookup(3, 7, 8)], [seen], kills, head=3))
        self.holds(check, run(made + [lookup(2, 1, 7)], [seen], kills, head=3))  # asked for before
        self.holds(check, run([unknown(3, 1, 2), change(3, 1, 2, code="ABORTED", version=None)], kills=kills, head=2))
        self.breaks("AddNode of w told of r (7, 3)", check, run(made, head=2))
        self.breaks("the Watch of o told of r (7, 3)", check, run(made[:1], [seen], head=2))
        self.breaks("in whose place the log has another", check, run(made, [stream(delivered(3, checksum=1))], head=3))
        self.breaks("after a kill, (7, 3) had been told", check, run(made[:1] + [lookup(2, 7, 8)], [seen], kills, head=3))

    def test_c11(self):
        check = history.c11_no_version_has_two_checksums
        read = Call("r", "GetRing", RING, 1, 2, version=v(3), checksum=103)
        self.holds(check, run([read], [stream(snapshot(3), delivered(4))]))
        read.checksum = 1
        self.breaks("(7, 3) has checksum 67 by the log, and 1 by GetRing of r", check, run([read]))
        self.breaks("the Watch of o", check, run(streams=[stream(delivered(4, checksum=1))]))
        self.breaks("by the head", check, run(heads={RING: (v(4), 1)}))

    def test_c12(self):
        check = history.c12_the_run_counts
        calls = [change(2, 0, 1), lookup(2, 1, 2), lookup(2, 1, 2)]
        kills = [Kill(1.5, 2)]
        self.holds(check, run(calls, kills=kills), writes=0.5, reads=1)
        self.breaks("1 changes in 2.0 s", check, run(calls, kills=kills), writes=1, reads=1)
        self.breaks("2 reads in 2.0 s", check, run(calls, kills=kills), writes=0.5, reads=2)
        self.breaks("nothing was killed", check, run(calls), **RATES)
        self.breaks("no operation met the kill", check, run(calls, kills=[Kill(3, 4)]), **RATES)
        self.breaks("ended by 15", check, run(calls, kills=[Kill(1.5, 2, by_signal=15)]), **RATES)
        self.breaks("nothing was asked for", check, run())


if __name__ == "__main__":
    unittest.main()
