"""Fault reports of others (cases B14 to B93) as small scenarios for ringd. Each test names its case and its report.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Refused, add, hashed  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, closed_port, environment, ringctl  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

PRECONDITION, INVALID = "FAILED_PRECONDITION", "INVALID_ARGUMENT"


def keys(count):
    return [b"user:%d" % i for i in range(count)]


class CasesTest(ServerCase):
    def test_placement_does_not_look_at_addresses(self):
        """B14 (apache/gluten#12350): address, zone and metadata move no key; nor does a restart. Weight and
        hash_key do."""
        nodes = [{"id": "n%d" % i, "address": "10.0.0.%d:1" % i} for i in (1, 2, 3)]
        self.client.make_ring(self.ring, nodes)
        before = self.client.owners(self.ring, keys(5000))
        self.client.update(self.ring, "n1", address="192.168.0.1:77", metadata={"k": "v"})
        self.assertEqual(self.client.owners(self.ring, keys(5000)), before)
        self.client.remove(self.ring, "n1")
        self.assertNotEqual(self.client.owners(self.ring, keys(5000)), before)
        self.client.add(self.ring, "n1", address="another:1")
        self.assertEqual(self.client.owners(self.ring, keys(5000)), before)
        self.assertEqual({self.client.Lookup(ring=self.ring, key=key).owners[0].address
                          for key, owner in zip(keys(100), before) if owner == ["n1"]}, {"another:1"})
        self.client.apply(self.ring, [add(id="other", hash_key="other-key", weight=100)])
        changed = self.client.owners(self.ring, keys(5000))
        self.client.remove(self.ring, "other")
        self.client.add(self.ring, "other", hash_key="yet-another-key", weight=100)
        self.assertNotEqual(self.client.owners(self.ring, keys(5000)), changed)

    def test_readded_node_has_its_new_address(self):
        """B17 (Effect-TS/effect#6911): adding a known id is ALREADY_EXISTS, never OK with the old address."""
        self.client.make_ring(self.ring, ["other"])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        first_try = pb.MutationOptions(request_id="first")
        first = self.client.add(self.ring, "n1", first_try, address="10.0.0.1:1", weight=1)
        self.refused("ALREADY_EXISTS", self.client.add, self.ring, "n1", address="10.0.0.2:1", weight=1)
        self.refused("ALREADY_EXISTS", self.client.add, self.ring, "n1", address="10.0.0.1:1", weight=1)
        self.assertEqual(self.client.add(self.ring, "n1", first_try, address="10.0.0.1:1", weight=1), first)
        self.assertEqual(self.client.nodes(self.ring)["n1"].address, "10.0.0.1:1")
        self.assertEqual(self.client.GetRing(ring=self.ring).version, first.version)
        self.client.remove(self.ring, "n1")
        version = self.client.add(self.ring, "n1", address="10.0.0.2:1", weight=1).version
        self.client.update(self.ring, "other", pb.MutationOptions(force=True), weight=0)
        for key in keys(100):
            self.assertEqual(self.client.Lookup(ring=self.ring, key=key).owners[0].address, "10.0.0.2:1")
        watch.wait_at(self.ring, version)
        added = [entry.added.address for change in watch.events("change") for entry in change.nodes
                 if entry.WhichOneof("change") == "added"]
        self.assertEqual(added, ["10.0.0.1:1", "10.0.0.2:1"])
        watch.check(self)

    def test_empty_ring(self):
        """B18 (dgryski/go-rendezvous#1): lookups of an empty ring are FAILED_PRECONDITION, of no ring NOT_FOUND."""
        self.client.make_ring(self.ring)

        def all_refused():
            for lookup in (lambda: self.client.Lookup(ring=self.ring, key=b"hello"),
                           lambda: self.client.Lookup(ring=self.ring, key=b"hello", owners=3),
                           lambda: self.client.Lookup(ring=self.ring, position=0),
                           lambda: self.client.BatchLookup(ring=self.ring, keys=keys(1000))):
                self.refused(PRECONDITION, lookup, reason="RING_EMPTY", mentions=[self.ring])
        all_refused()
        self.client.add(self.ring, "n1")
        self.refused(PRECONDITION, self.client.RemoveNode, ring=self.ring, node_id="n1")
        self.assertEqual(self.client.Lookup(ring=self.ring, key=b"hello").owners[0].id, "n1")
        self.client.remove(self.ring, "n1")
        all_refused()
        self.client.add(self.ring, "idle", weight=0)
        all_refused()
        watch = self.watch(self.ring, self.ring + "-2")
        watch.wait_in_sync()
        self.assertEqual((watch.kinds["snapshot"], watch.absent), (1, {self.ring + "-2"}))
        self.refused("NOT_FOUND", self.client.Lookup, ring=self.ring + "-2", key=b"hello")
        self.refused("NOT_FOUND", self.client.BatchLookup, ring=self.ring + "-2", keys=[b"hello"])
        version = self.client.make_ring(self.ring + "-2")
        watch.wait_at(self.ring + "-2", version)
        watch.check(self)

    def test_distinct_owners(self):
        """B20 (bitwalker/libring#39): n owners are n distinct nodes, the first as without n, also with lopsided
        weights."""
        self.client.make_ring(self.ring, ["a@localhost", "b@localhost"], points_per_weight=128, default_weight=1)
        self.client.make_ring(self.ring + "-2", [{"id": "n%d" % i, "weight": weight}
                                                 for i, weight in enumerate((1, 1, 1, 1, 50))], points_per_weight=1)
        for ring, owners in ((self.ring, 2), (self.ring + "-2", 5)):
            numbers = [b"%d" % i for i in range(10000)]
            first = self.client.owners(ring, numbers)
            several = self.client.owners(ring, numbers, owners)
            self.assertEqual({len(set(names)) for names in several}, {owners})
            self.assertEqual([names[:1] for names in several], first)

    def test_more_owners_than_nodes(self):
        """B21 (coreos/torus#263): more owners than nodes are those there are, marked short; 0 and over 64 are
        refused."""
        self.client.make_ring(self.ring, ["a", "b", "c", {"id": "idle", "weight": 0}])
        for owners, count, short in ((None, 1, False), (1, 1, False), (3, 3, False), (4, 3, True), (64, 3, True)):
            answer = self.client.Lookup(ring=self.ring, key=b"k", owners=owners, timeout=2)
            self.assertEqual((len({owner.id for owner in answer.owners}), answer.owners_short), (count, short), owners)
            self.assertNotIn("idle", [owner.id for owner in answer.owners])
        for owners in (0, 65, 4294967295):
            self.refused(INVALID, self.client.Lookup, ring=self.ring, key=b"k", owners=owners, timeout=2)
        # A client whose field is signed sends -1 as ten bytes.
        request = pb.LookupRequest(ring=self.ring, key=b"k").SerializeToString() + b"\x20" + b"\xff" * 9 + b"\x01"
        with self.assertRaises(Refused) as caught:
            self.client.send_bytes("Lookup", request, pb.LookupResponse, timeout=2)
        self.assertEqual(caught.exception.code, INVALID)


class TwoServersTest(ProcessCase):
    def test_same_ring_on_another_server(self):
        """B15 (twitter/twemproxy#25): on two servers, nodes of the same ids and weights but other addresses map
        alike."""
        owners = []
        for i in (1, 2):
            client = self.connect(self.serve(os.path.join(self.folder, "data-%d" % i)))
            nodes = [{"id": "n%d" % n, "weight": 10 + n, "address": "10.%d.0.%d:1" % (i, n)} for n in range(8)]
            client.make_ring("r" if i == 1 else "another-name", nodes if i == 1 else nodes[::-1])
            owners.append(client.owners("r" if i == 1 else "another-name", keys(10000), 3))
        self.assertEqual(owners[0], owners[1])

    def test_restart_moves_no_key(self):
        """B14: after a restart every key has the owners it had, and the ring its checksum."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["n%d" % i for i in range(5)])
        client.update("r", "n1", address="h:1")
        before = client.GetRing(ring="r"), client.owners("r", keys(5000), 2)
        client.close()
        self.assertEqual(server.stop(), 0)
        client = self.connect(self.serve(init=False))
        self.assertEqual((client.GetRing(ring="r"), client.owners("r", keys(5000), 2)), before)


class BigRingTest(ServerCase):
    """B93 (dgraph-io/dgraph#5919): 10,000 nodes with ids of 200 bytes and 1 KiB of metadata; clients with a 4 MiB
    limit."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = ["node-%05d-" % i + "x" * 189 for i in range(10000)]
        cls.client.CreateRing(ring="big", placement=hashed(1), default_weight=1)
        for first in range(0, 10000, 500):
            cls.client.apply("big", [add(id=node_id, address="h:1", metadata={"k" * 24: "v" * 1000})
                                     for node_id in cls.ids[first:first + 500]])

    def test_watch(self):
        """The snapshot comes in chunks that a stock client takes, complete, and equal to what GetRing pages."""
        watch = self.watch("big")
        watch.wait_in_sync()
        chunks = watch.events("snapshot")
        self.assertGreater(len(chunks), 3)
        self.assertLess(max(chunk.ByteSize() for chunk in chunks), 4 << 20)
        watch.check_equal(self, self.client, "big")

    def test_get_ring(self):
        """Pages stay below 4 MiB, whatever page_size asks for, and hold every node once."""
        for size in (0, 10000, 2147483647):
            nodes, token = [], ""
            while True:
                page = self.client.GetRing(ring="big", page_size=size, page_token=token)
                self.assertLess(page.ByteSize(), 4 << 20)
                nodes += [node.id for node in page.nodes]
                token = page.next_page_token
                if not token:
                    break
            self.assertEqual(nodes, self.ids)

    def test_ringctl(self):
        """`ringctl ring get -o json` joins the pages to one document."""
        done = ringctl(self.server.endpoint, "ring", "get", "big", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([node["id"] for node in document["nodes"]], self.ids)
        self.assertEqual({len(node["metadata"]["k" * 24]) for node in document["nodes"]}, {1000})

    def test_batch_lookup(self):
        """A batch of 10,000 keys of 90 bytes is answered; of 120 bytes it is over the request limit, and says so."""
        batch = [b"%090d" % i for i in range(10000)]
        answer = self.client.BatchLookup(ring="big", keys=batch)
        self.assertLess(answer.ByteSize(), 4 << 20)
        self.assertEqual(len(answer.owner_indices), 10000)
        for i in (0, 1, 5000, 9999):
            self.assertEqual(answer.nodes[answer.owner_indices[i]].id,
                             self.client.Lookup(ring="big", key=batch[i]).owners[0].id)
        with self.assertRaises(Refused) as caught:
            self.client.BatchLookup(ring="big", keys=[b"%0120d" % i for i in range(10000)])
        self.assertEqual(caught.exception.code, "RESOURCE_EXHAUSTED")
        self.assertIn("1048576", caught.exception.text)

    def test_batch_lookup_of_many_owners(self):
        """The largest batch, 10,000 keys with 64 owners, is answered below 4 MiB or refused as too many, never
        broken."""
        try:
            answer = self.client.BatchLookup(ring="big", keys=keys(10000), owners=64)
        except Refused as refused:
            self.assertEqual(refused.code, "RESOURCE_EXHAUSTED", refused.text)
            self.assertIsNotNone(refused.reason, refused.text)
        else:
            self.assertLess(answer.ByteSize(), 4 << 20)
            self.assertEqual(len(answer.owner_indices), 640000)

    def test_plan(self):
        """The plan of a change of such a ring stays below 4 MiB and counts what it leaves out."""
        answer = self.client.update("big", self.ids[0], pb.MutationOptions(validate_only=True), weight=2)
        self.assertLess(answer.ByteSize(), 4 << 20)
        self.assertEqual(len(answer.plan.nodes) + answer.plan.nodes_left_out, 10000)

    def test_large_change(self):
        """A change that is too large for a message reaches watchers as a snapshot, and the copy is equal."""
        watch = self.watch("big")
        watch.wait_in_sync()
        operations = [add(id="more-%04d" % i, metadata={"k": "v"}) for i in range(1)]
        self.refused("RESOURCE_EXHAUSTED", self.client.apply, "big", operations)  # 10,000 nodes are the limit
        done = []
        for first in range(0, 5000, 1000):
            done.append(self.client.apply("big", [pb.NodeOperation(remove=pb.RemoveOperation(node_id=node_id))
                                                  for node_id in self.ids[first:first + 1000]], force=True))
        watch.wait_at("big", done[-1].version)
        watch.check_equal(self, self.client, "big")
        for first in range(0, 5000, 500):
            version = self.client.apply("big", [add(id=node_id, address="h:1", metadata={"k" * 24: "v" * 1000})
                                                for node_id in self.ids[first:first + 500]]).version
        watch.wait_at("big", version)
        watch.check_equal(self, self.client, "big")


class RingctlExitTest(unittest.TestCase):
    def test_stdout_is_closed(self):
        """B57 (ethersphere/swarm-cli#154): a failure is not 0 when the reader of stdout has gone, and nothing is
        dumped."""
        process = subprocess.Popen([RINGCTL, "ring", "list", "--timeout", "300ms"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment("127.0.0.1:%d" % closed_port()))
        process.stdout.close()
        text = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(PATIENCE), 3, text)
        self.assertTrue(text.startswith(b"error: "), text)


if __name__ == "__main__":
    unittest.main()
