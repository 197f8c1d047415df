"""The copy of a ring in Python that client/README.md shows, against a real ringd.

Environment: RINGD_BIN and PROTO_DIR.
"""

import os
import random
import re
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import hashed  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "client", "README.md")
KEYS = 100_000
BATCH = 10_000


def code_of_readme():
    with open(README, encoding="utf-8") as file:
        return re.search(r"```python\n(import bisect.*?)```", file.read(), re.S).group(1)


class Copy:
    """A RingCopy of the README that a thread feeds with a Watch."""

    def __init__(self, client, ring):
        names = {}
        exec(code_of_readme(), names)  # pylint: disable=exec-used
        self.copy = names["RingCopy"]()
        self.failure = None
        self.moved = threading.Condition()
        self.version = None
        self.call = client.stub.Watch(pb.WatchRequest(selector=pb.RingSelector(names=pb.RingNames(rings=[ring]))))
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        try:
            for message in self.call:
                with self.moved:
                    self.copy.take(message)
                    self.version = getattr(self.copy, "version", None)
                    self.moved.notify_all()
        except Exception as failure:  # pylint: disable=broad-except
            with self.moved:
                self.failure = failure
                self.moved.notify_all()

    def await_version(self, version):
        with self.moved:
            self.moved.wait_for(lambda: self.failure or (self.version and self.version.revision >= version.revision), 60)
            return self.version == version, self.failure

    def stop(self):
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
