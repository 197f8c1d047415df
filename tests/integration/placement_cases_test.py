"""Fault reports of others on how rings place keys (cases B10 to B45, and B125) as small scenarios for ringd. Each test names its
case and its report.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import collections
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from metrics_page import Page, get  # noqa: E402
from ringd_client import hashed  # noqa: E402
from ringd_process import ringctl  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

SLOTS = pb.Placement(slots=pb.SlotsPlacement())
# Keys that hash to 0, 1, INT_MAX, INT_MIN and to the two largest numbers of 32 bits.
EDGES = {
    pb.HASH_FUNCTION_CRC32: ["sypuiuga", "tfxvntka", "zsjytspa", "kynahnda", "ycokusia", "maeqbpja"],
    pb.HASH_FUNCTION_FNV1_32: ["bxyapnza", "wooitxpb", "nxbgcjia", "ftprsscb", "nrmxhnhb", "nrmxhnhc"],
    pb.HASH_FUNCTION_MURMUR3_32: ["jcygwvub", "ntjbvdla", "ojwmapea", "uwymouna", "hrybljoa", "ghgktfga"],
}
EDGE_VALUES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]


def keys(count):
    return [b"user:%d" % i for i in range(count)]


def everyone(owners):
    return collections.Counter(owner for (owner,) in owners)


class PlacementCasesTest(ServerCase):
    def test_the_smallest_number_is_a_position_like_others(self):
        """B10 (Netflix/atlas#515, apache/rocketmq#2421): the hash INT_MIN, whose absolute value is itself, has an owner."""
        for function in range(1, 15):
            ring = "%s-%d" % (self.ring, function)
            self.client.CreateRing(ring=ring, placement=hashed(50, hash=function), default_weight=1)
            self.client.apply(ring, [{"add": {"node": {"id": "n%d" % i}}} for i in range(7)])
            edges = EDGES.get(function, [])
            for key, value in zip(edges, EDGE_VALUES):
                answer = self.client.Lookup(ring=ring, key=key.encode())
                self.assertEqual(answer.hash, value, key)
                self.assertEqual(answer.owners, self.client.Lookup(ring=ring, position=value).owners)
            # What lies between a range's ends, INT_MIN and INT_MAX among them, is its node's.
            ranges = {node: self.client.ListRanges(ring=ring, node_id=node).ranges for node in self.client.nodes(ring)}
            bits16 = function == pb.HASH_FUNCTION_CRC16
            for value in (0, 0x7FFF) if bits16 else (0, 1, 0x7FFFFFFF, 0x80000000):
                owner = self.client.Lookup(ring=ring, position=value).owners[0].id
                self.assertTrue(any(each.first <= value <= each.last for each in ranges[owner]), (function, value))
            both = [key.encode() for key in (edges[2:4] or ["a", "b"])]
            self.assertEqual(self.client.owners(ring, both),
                             [[self.client.Lookup(ring=ring, key=key).owners[0].id] for key in both])

    def test_all_weights_zero(self):
        """B26 (sysown/proxysql#4384): who set the last weight to 0 is told what is missing."""
        for placement in (hashed(), SLOTS):
            ring = self.ring + "-" + placement.WhichOneof("kind")
            self.client.CreateRing(ring=ring, placement=placement)
            self.client.AddNode(ring=ring, node=pb.Node(id="a", weight=0))
            self.refused("FAILED_PRECONDITION", self.client.Lookup, ring=ring, key=b"k", reason="RING_EMPTY",
                         mentions=[ring, "no node has a weight above 0"])
            self.client.AddNode(ring=ring, node=pb.Node(id="b", weight=1))
            self.assertEqual(self.client.owners(ring, [b"k"]), [["b"]])
            self.client.update(ring, "b", pb.MutationOptions(force=True), weight=0)
            self.refused("FAILED_PRECONDITION", self.client.Lookup, ring=ring, key=b"k", reason="RING_EMPTY",
                         mentions=[ring])
            self.assertEqual([node.share for node in self.client.GetRing(ring=ring).nodes], [0, 0])
            page = Page(get(self.server.http_endpoint)[2])
            for node in ("a", "b"):
                self.assertEqual(page.get("ringd_node_key_share_ratio", ring=ring, node=node), 0)

    def test_the_defaults_have_points_enough(self):
        """B31 (golang/groupcache#29): a default of 3 points split two nodes 37 to 63."""
        for placement, most in ((hashed(), 1.35), (hashed(hash=pb.HASH_FUNCTION_MURMUR3_32), 1.35),
                                (hashed(hash=pb.HASH_FUNCTION_MD5), 1.35), (SLOTS, 1.03)):
            for nodes in (2, 3, 7, 10):
                ring = "%s-%s-%d-%d" % (self.ring, placement.WhichOneof("kind"), placement.hashed.hash, nodes)
                self.client.CreateRing(ring=ring, placement=placement)
                self.client.apply(ring, [{"add": {"node": {"id": "node-%d" % i}}} for i in range(nodes)])
                counts = everyone(self.client.owners(ring, keys(100000)))
                self.assertLessEqual(max(counts.values()) * nodes / 100000, most, ring)
                points = self.client.GetRing(ring=ring).ring.point_count
                self.assertEqual(points, 0 if placement.HasField("slots") else 200 * nodes)

    def test_a_key_is_hashed_as_it_is_given(self):
        """B39 (3rd-Eden/memcached#307): no name of a ring and no prefix is a part of what is hashed."""
        other = self.ring + "-other"
        for ring in (self.ring, other):
            self.client.make_ring(ring, ["a", "b", "c"])
        plain = self.client.Lookup(ring=self.ring, key=b"k1")
        self.assertEqual(plain.hash, self.client.Lookup(ring=other, key=b"k1").hash)
        self.assertNotEqual(plain.hash, self.client.Lookup(ring=self.ring, key=b"ns:k1").hash)

    def test_a_copy_has_all_settings(self):
        """B40 (lericson/pylibmc#157): the snapshot of a Watch and an export have the settings, so that a copy does not
        fall back on a default."""
        placement = hashed(7, hash=pb.HASH_FUNCTION_MURMUR3_32, label="{index}:{key}", hash_tag="{}",
                           match=pb.POINT_MATCH_STRICTLY_AFTER, tie_rule=pb.TIE_RULE_LATER_JOIN)
        self.client.CreateRing(ring=self.ring, placement=placement, default_weight=9)
        weights = {"z": 1, "a": 40, "m": None}
        for node, weight in weights.items():
            self.client.add(self.ring, node, weight=weight)
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        snapshot = watch.copies[self.ring]
        self.assertEqual((snapshot.ring.placement, snapshot.ring.default_weight), (placement, 9))
        self.assertEqual({node.id: node.weight for node in snapshot.nodes.values()},
                         {node: weight or 9 for node, weight in weights.items()})
        watch.check_equal(self, self.client, self.ring)

        export = ringctl(self.server.endpoint, "ring", "get", self.ring, "-o", "json")
        path = os.path.join(self.folder.name, "export.json")
        with open(path, "wb") as file:
            file.write(export.stdout)
        copy = self.ring + "-copy"
        done = ringctl(self.server.endpoint, "ring", "import", copy, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.client.GetRing(ring=copy).ring.checksum, snapshot.checksum)
        self.assertEqual(self.client.owners(copy, keys(10000)), self.client.owners(self.ring, keys(10000)))

    def test_a_node_that_was_just_added_is_there(self):
        """B44 (haproxy/haproxy#3413, envoyproxy/envoy#45212): each answer after an AddNode's has the node, on any
        connection."""
        for placement in (hashed(), SLOTS):
            ring = self.ring + "-" + placement.WhichOneof("kind")
            self.client.CreateRing(ring=ring, placement=placement)
            self.client.AddNode(ring=ring, node=pb.Node(id="n1"))
            self.assertEqual(set(everyone(self.client.owners(ring, keys(1000)))), {"n1"})
            version = self.client.AddNode(ring=ring, node=pb.Node(id="n2")).version
            second = self.connect()
            for client in (self.client, second):
                counts = collections.Counter()
                for key in keys(1000):
                    answer = client.Lookup(ring=ring, key=key)
                    self.assertGreaterEqual(answer.version.revision, version.revision)
                    counts[answer.owners[0].id] += 1
                self.assertTrue(400 <= counts["n2"] <= 600, counts)
                self.assertEqual(everyone(client.owners(ring, keys(1000))), counts)


class PlacementHistoriesTest(ProcessCase):
    def test_the_order_of_adding_does_not_matter(self):
        """B43 (xiaokai-wang/nginx-stream-upsync-module#47): two servers, nodes added in opposite order."""
        answers = []
        for name, order in (("one", 1), ("two", -1)):
            client = self.connect(self.serve(os.path.join(self.folder, name)))
            client.CreateRing(ring="r", placement=hashed())
            client.CreateRing(ring="s", placement=SLOTS)
            for i in list(range(10))[::order]:
                for ring in ("r", "s"):
                    client.AddNode(ring=ring, node=pb.Node(id="n%d" % i, weight=100 + i))
            answers.append((client.GetRing(ring="r").ring.checksum, client.owners("r", keys(20000))))
            # A table of slots depends on its history: what stays is that each node has its share, rounded.
            for node in client.GetRing(ring="s").nodes:
                self.assertLess(abs(node.share * 65536 - 65536 * node.weight / 1045), 1)
        self.assertEqual(answers[0], answers[1])

    def test_a_node_in_the_middle_goes(self):
        """B45 (jcmoraisjr/haproxy-ingress#798): ids stay what they are when one in the middle goes, and over a restart."""
        server = self.serve()
        client = self.connect(server)
        client.CreateRing(ring="r", placement=hashed())
        client.CreateRing(ring="s", placement=SLOTS)
        for ring in ("r", "s"):
            client.apply(ring, [{"add": {"node": {"id": "n%d" % i}}} for i in range(10)])
        before = {ring: client.owners(ring, keys(50000)) for ring in ("r", "s")}
        for ring in ("r", "s"):
            client.remove(ring, "n4")
            after = client.owners(ring, keys(50000))
            self.assertEqual({old[0] for old, new in zip(before[ring], after) if old != new}, {"n4"})
            before[ring + " without"] = after
        server.stop()
        client = self.connect(self.serve())
        for ring in ("r", "s"):
            self.assertEqual(client.owners(ring, keys(50000)), before[ring + " without"])
            moved = client.add(ring, "n4").movement.moved_share
            after = client.owners(ring, keys(50000))
            self.assertEqual({new[0] for old, new in zip(before[ring + " without"], after) if old != new}, {"n4"})
            if ring == "r":
                self.assertEqual(after, before["r"])
            else:
                self.assertIn(moved, (6553 / 65536, 6554 / 65536))


class OneChangeTest(ProcessCase):
    def test_all_views_show_a_node_without_a_further_change(self):
        """B125 (envoyproxy/envoy#45212, envoyproxy/envoy#38525): with heartbeats that never come, what one AddNode
        added is in GetRing, in lookups, in a Watch copy, in the metrics, and on the disk."""
        server = self.serve(None, "127.0.0.1:0", "--heartbeat-interval", "24h")
        client = self.connect(server)
        placements = {"slots": SLOTS, "hashed": hashed()}
        watches = {}
        for ring, placement in placements.items():
            client.CreateRing(ring=ring, placement=placement)
            client.add(ring, "n1")
            watches[ring] = self.watch(client, ring)
            watches[ring].wait_in_sync()
        for ring, watch in watches.items():
            version = client.add(ring, "n2").version
            self.assertEqual(sorted(client.nodes(ring)), ["n1", "n2"])
            self.assertAlmostEqual(client.owners(ring, keys(1000)).count(["n2"]), 500, delta=150)
            share = Page(get(server.http_endpoint)[2]).get("ringd_node_key_share_ratio", ring=ring, node="n2")
            self.assertAlmostEqual(share, 0.5, delta=0.15)
            watch.wait_at(ring, version)
            watch.check_equal(self, client, ring)
        server.kill()
        client = self.connect(self.serve(init=False))
        for ring in placements:
            self.assertEqual(sorted(client.nodes(ring)), ["n1", "n2"])


if __name__ == "__main__":
    unittest.main()
