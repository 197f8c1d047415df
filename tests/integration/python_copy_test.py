"""The copy of a ring in Python that client/README.md shows, against a real ringd.

Environment: RINGD_BIN and PROTO_DIR.
"""

import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from readme_copy import names_of_readme  # noqa: E402
from ringd_client import hashed  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

KEYS = 100_000
BATCH = 10_000


class Copy:
    """A RingCopy of the README that a thread feeds with a Watch."""

    def __init__(self, client, ring):
        names = names_of_readme()
        self.copy = names["RingCopy"]()
        self.follow, self.client, self.ring = names["follow"], client, ring
        self.failure = None
        self.moved = threading.Condition()
        self.version = None
        self.call = None
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def Watch(self, request):  # pylint: disable=invalid-name
        """As the stub has it; notes the version once a message was taken."""
        self.call = self.client.stub.Watch(request)
        for message in self.call:
            yield message
            with self.moved:
                self.version = self.copy.version
                self.moved.notify_all()

    def read(self):
        try:
            self.follow(self, pb, self.ring, self.copy)
        except Exception as failure:  # pylint: disable=broad-except
            with self.moved:
                self.failure = failure
                self.moved.notify_all()

    def await_version(self, version):
        with self.moved:
            self.moved.wait_for(lambda: self.failure or (self.version and self.version.revision >= version.revision), 60)
            return self.version == version, self.failure

    def await_failure(self):
        with self.moved:
            self.moved.wait_for(lambda: self.failure, 60)
            return self.failure

    def await_gone(self):
        with self.moved:
            return self.moved.wait_for(lambda: self.failure or self.version is None, 60), self.failure

    def stop(self):
        if self.call is not None:
            self.call.cancel()
        self.thread.join()


class PythonCopyTest(ServerCase):
    def change(self, chance, ring, nodes):
        """One random change of a ring whose nodes have these ids."""
        what = chance.randrange(4)
        if len(nodes) < 3 or what == 0:
            node = "node-%d-\u00e9" % chance.randrange(10**9)
            nodes.append(node)
            return self.client.AddNode(ring=ring, node=pb.Node(
                id=node, weight=chance.choice([0, 1, 2, 5]), zone=chance.choice(["", "a", "b"]),
                hash_key=chance.choice(["", "key of " + node]), metadata={"b": "2", "a": node}))
        options = pb.MutationOptions(force=True)
        node = chance.choice(nodes)
        if what == 1:
            nodes.remove(node)
            return self.client.RemoveNode(ring=ring, node_id=node, options=options)
        if what == 2:
            return self.client.UpdateRing(ring=ring, default_weight=chance.randrange(1, 9),
                                          update_mask={"paths": ["default_weight"]})
        return self.client.UpdateNode(ring=ring, node=pb.Node(id=node, weight=chance.randrange(6), address="h:1"),
                                      update_mask={"paths": ["weight", "address"]}, options=options)

    def compare(self, copy, ring):
        for first in range(0, KEYS, BATCH):
            keys = [b"key:%d" % i for i in range(first, first + BATCH)]
            answer = self.client.BatchLookup(ring=ring, keys=keys)
            ids = [node.id for node in answer.nodes]
            self.assertEqual([copy.owner(key) for key in keys], [ids[i] for i in answer.owner_indices])

    def test_refuses_what_it_does_not_know(self):
        slots = pb.SlotsPlacement
        for number, placement in enumerate((
                pb.Placement(slots=slots(hash_tag="{}")), pb.Placement(slots=slots(hash=pb.HASH_FUNCTION_XXH64)),
                hashed(hash_tag="{}"), hashed(hash=pb.HASH_FUNCTION_MD5),
                hashed(match=pb.POINT_MATCH_STRICTLY_AFTER), hashed(tie_rule=pb.TIE_RULE_LATER_JOIN),
                pb.Placement(preset=pb.PresetPlacement(preset=pb.PRESET_KETAMA)),
                pb.Placement(points=pb.PointsPlacement()))):
            ring = "%s-%d" % (self.ring, number)
            self.client.CreateRing(ring=ring, placement=placement)
            copy = Copy(self.client, ring)
            self.addCleanup(copy.stop)
            self.assertIn("not a ring for this program", str(copy.await_failure()), placement)
            self.assertIsNone(copy.copy.version)
            self.assertIsNone(copy.copy.owner(b"k"))

    def test_goes_with_its_ring(self):
        for placement in (hashed(), pb.Placement(slots=pb.SlotsPlacement())):
            ring = self.ring + "-" + placement.WhichOneof("kind")
            self.client.CreateRing(ring=ring, placement=placement)
            version = self.client.add(ring, "a").version
            copy = Copy(self.client, ring)
            self.addCleanup(copy.stop)
            self.assertEqual(copy.await_version(version), (True, None))
            self.assertEqual(copy.copy.owner(b"k"), "a")
            self.client.delete(ring)
            self.assertEqual(copy.await_gone(), (True, None))
            self.assertIsNone(copy.copy.owner(b"k"))

    def test_random_rings(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                placement = (hashed(chance.choice([None, 1, 40]), label=chance.choice(["", "{index}/{key}"]))
                             if seed % 2 else pb.Placement(slots=pb.SlotsPlacement(
                                 slot_bits=chance.choice([None, 10, 14]), owners=chance.choice([None, 3]))))
                ring = "random-%d" % seed
                self.client.CreateRing(ring=ring, placement=placement, default_weight=chance.choice([None, 3]))
                nodes = []
                for _ in range(5):
                    version = self.change(chance, ring, nodes).version
                copy = Copy(self.client, ring)
                self.addCleanup(copy.stop)
                for _ in range(10):
                    version = self.change(chance, ring, nodes).version
                if not any(node.weight for node in self.client.GetRing(ring=ring).nodes):
                    version = self.client.AddNode(ring=ring, node=pb.Node(id="last")).version
                self.assertEqual(copy.await_version(version), (True, None))
                self.compare(copy.copy, ring)


if __name__ == "__main__":
    unittest.main()
