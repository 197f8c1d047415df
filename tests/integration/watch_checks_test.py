"""That ringd_client.Watch, on whose judgement the other tests rest, notes each kind of broken promise. No server.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Watch  # noqa: E402
from stubs import pb  # noqa: E402

EPOCH = 7


def version(revision, epoch=EPOCH):
    return pb.Version(epoch=epoch, revision=revision)


def snapshot(revision, *nodes, chunk=0, last=True, rewound=False, count=None, epoch=EPOCH):
    ring = pb.Ring(name="r", version=version(revision, epoch), node_count=len(nodes) if count is None else count)
    return pb.WatchResponse(snapshot=pb.Snapshot(ring=ring, nodes=[pb.Node(id=node_id) for node_id in nodes],
                                                 chunk=chunk, last=last, rewound=rewound))


def change(start, end=None, epoch=EPOCH, **nodes):
    entries = []
    for node_id, kind in nodes.items():
        entries.append(pb.NodeChange(removed=node_id) if kind == "removed" else
                       pb.NodeChange(**{kind: pb.Node(id=node_id)}))
    return pb.WatchResponse(change=pb.Change(ring="r", from_revision=start, nodes=entries,
                                             version=version(end or start + 1, epoch)))


def heartbeat(*revisions):
    return pb.WatchResponse(heartbeat=pb.Heartbeat(moved=[pb.RingVersion(ring="r", version=version(revision))
                                                          for revision in revisions]))


def in_sync(revision=None):
    if revision is None:
        return pb.WatchResponse(in_sync=pb.InSync())
    return pb.WatchResponse(in_sync=pb.InSync(ring="r", version=version(revision)))


def deleted(revision):
    return pb.WatchResponse(deleted=pb.RingDeleted(ring="r", version=version(revision)))


ABSENT = pb.WatchResponse(absent=pb.RingAbsent(ring="r"))


def read(*messages, held=None):
    """A Watch that has read these messages."""
    client = types.SimpleNamespace(stub=types.SimpleNamespace(Watch=lambda request: iter(messages)))
    held = {"r": pb.WatchPosition(version=held)} if held else None
    watch = Watch(client, rings=["r"], held=held)
    watch.wait_ended()
    return watch


class WatchChecksTest(unittest.TestCase):
    def test_good_streams(self):
        """What keeps every promise is not complained of."""
        for messages, held in (
                ([snapshot(3, "a", "b"), in_sync(3), in_sync(), change(3, a="updated"), heartbeat(4), heartbeat()], None),
                ([snapshot(3, "a", last=False, count=2), snapshot(3, "b", chunk=1, count=2), in_sync(3)], None),
                ([ABSENT, in_sync(), snapshot(1), in_sync(1), change(1, a="added"), heartbeat(2)], None),
                ([snapshot(3, "a"), deleted(3), heartbeat(), snapshot(1, epoch=EPOCH + 1)], None),
                ([snapshot(3, "a"), snapshot(9, "b"), change(9, b="removed")], None),
                ([change(3, a="added"), in_sync(4)], version(3)), ([in_sync(3)], version(3)),
                ([snapshot(2, "a", rewound=True)], version(3)), ([deleted(3)], version(3))):
            self.assertEqual(read(*messages, held=held).broken, [], messages)

    def test_broken_promises(self):
        """Each of these streams breaks one promise, and it is noted."""
        two_chunks = snapshot(3, "a", last=False, count=2)
        for text, messages, held in (
                ("to one that holds", [snapshot(3, "a"), change(4, a="updated")], None),
                ("to one that holds", [snapshot(3, "a"), change(3, a="updated"), change(3, a="updated")], None),
                ("to one that holds", [snapshot(3, "a"), change(3, 5, a="updated")], None),
                ("to one that holds", [snapshot(3, "a"), change(3, epoch=EPOCH + 1, a="updated")], None),
                ("to one that holds", [change(4, a="added")], version(3)),
                ("of which nothing is held", [change(3, a="added")], None),
                ("of which nothing is held", [snapshot(3, "a"), deleted(3), change(3, a="updated")], None),
                ("in its snapshot", [two_chunks, change(3, a="updated")], None),
                ("inside another", [two_chunks, snapshot(4, "a")], None),
                ("after [0]", [two_chunks, snapshot(3, "b", chunk=2, count=2)], None),
                ("differ", [two_chunks, snapshot(4, "b", chunk=1, count=2)], None),
                ("out of order", [snapshot(3, "b", "a")], None),
                ("1 of 2 nodes", [snapshot(3, "a", count=2)], None),
                ("goes back", [snapshot(3, "a"), snapshot(2, "a")], None),
                ("goes back", [snapshot(3, "a"), snapshot(3, "a")], None),
                ("is not behind", [snapshot(3, "a", rewound=True)], version(3)),
                ("is not behind", [snapshot(3, "a", rewound=True)], None),
                ("added of 'a'", [snapshot(3, "a"), change(3, a="added")], None),
                ("removed of 'b'", [snapshot(3, "a"), change(3, b="removed")], None),
                ("updated of 'b'", [snapshot(3, "a"), change(3, b="updated")], None),
                ("changes nothing", [snapshot(3, "a"), change(3)], None),
                ("heartbeat names", [snapshot(3, "a"), heartbeat()], None),
                ("heartbeat names", [snapshot(3, "a"), heartbeat(4)], None),
                ("heartbeat names", [snapshot(3, "a"), heartbeat(3), heartbeat(3)], None),
                ("before all its rings", [in_sync()], None),
                ("two in_sync", [snapshot(3, "a"), in_sync(), in_sync()], None),
                ("in_sync of r at", [snapshot(3, "a"), in_sync(4)], None),
                ("absent, not deleted", [snapshot(3, "a"), ABSENT], None),
                ("is deleted at", [snapshot(3, "a"), deleted(4)], None)):
            watch = read(*messages, held=held)
            self.assertTrue(any(text in note for note in watch.broken), (text, watch.broken))
            with self.assertRaises(AssertionError):
                watch.check(self)


if __name__ == "__main__":
    unittest.main()
