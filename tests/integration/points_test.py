"""Rings whose nodes have points of their own, over the wire and with ringctl: a ring with a hash of its own moves in.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import hashlib
import json
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_client import Watch  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

LAST = 2 ** 24 - 1


def own_hash(text):
    """A hash that no directory knows: three bytes out of the middle of SHA-256."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[7:10], "big")


def own_points(node, count=40):
    return sorted({own_hash("%s/%d" % (node, i)) for i in range(count)})


def own_owner(points, position):
    """The first point at or after a position, in a list of (point, node)."""
    return min((point for point in points if point[0] >= position), default=min(points))[1]


def placement(**fields):
    return pb.Placement(points=pb.PointsPlacement(**fields))


class PointsTest(ServerCase):
    def make(self, *nodes, **fields):
        self.client.CreateRing(ring=self.ring, placement=placement(last_position=LAST, **fields))
        if nodes:
            self.client.apply(self.ring, [{"add": {"node": {"id": node, "points": own_points(node)}}} for node in nodes])

    def owner(self, position, owners=1):
        answer = self.client.Lookup(ring=self.ring, position=position, owners=owners)
        return [owner.id for owner in answer.owners]

    def test_a_ring_with_a_hash_of_its_own_moves_in(self):
        nodes = ["cache-%d" % i for i in range(9)]
        self.make(*nodes)
        points = [(point, node) for node in nodes for point in own_points(node)]
        owned = dict.fromkeys(nodes, 0)
        for i in range(3000):
            position = own_hash("user:%d" % i)
            expected = own_owner(points, position)
            self.assertEqual(self.owner(position), [expected], position)
            owned[expected] += 1
        shares = {node.id: node.share for node in self.client.GetRing(ring=self.ring).nodes}
        self.assertAlmostEqual(sum(shares.values()), 1)
        for node in nodes:
            self.assertAlmostEqual(owned[node] / 3000, shares[node], delta=0.04)
            ranges = self.client.ListRanges(ring=self.ring, node_id=node).ranges
            self.assertAlmostEqual(sum(each.last + 1 - each.first for each in ranges) / (LAST + 1), shares[node])

    def test_a_watch_follows_and_a_plan_is_what_happens(self):
        self.make("a", "b")
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        draw = random.Random(5)
        for step in range(30):
            node = draw.choice("abcdef")
            there = node in self.client.nodes(self.ring)
            points = draw.sample(range(LAST + 1), draw.randrange(30))
            if not there:
                change = [{"add": {"node": {"id": node, "points": points, "weight": draw.randrange(3)}}}]
            elif draw.randrange(3):
                change = [{"update": {"node": {"id": node, "points": points}, "update_mask": {"paths": ["points"]}}}]
            else:
                change = [{"remove": {"node_id": node}}]
            planned = self.client.apply(self.ring, change, validate_only=True, force=True)
            done = self.client.apply(self.ring, change, force=True)
            self.assertEqual(planned.movement, done.movement)
            answer = self.client.GetRing(ring=self.ring)
            self.assertEqual(planned.plan.ring.checksum, answer.ring.checksum, step)
            for each in answer.nodes:
                self.assertEqual(list(each.points), sorted(each.points))
        watch.wait_at(self.ring, done.version)
        watch.check_equal(self, self.client, self.ring)

    def test_versions_are_compared_and_restored(self):
        self.make("a", "b", "c")
        before = self.client.GetRing(ring=self.ring)
        self.client.update(self.ring, "a", points=[1, 2, 3])
        self.client.remove(self.ring, "b")
        moved = list(self.client.DiffVersions(ring=self.ring, **{"from": before.version}))
        positions = [own_hash("k%d" % i) for i in range(300)]
        now = [self.owner(position)[0] for position in positions]
        self.client.RestoreVersion(ring=self.ring, version=before.version, options=pb.MutationOptions(force=True))
        after = self.client.GetRing(ring=self.ring)
        self.assertEqual(after.ring.checksum, before.ring.checksum)
        self.assertEqual([node.points for node in after.nodes], [node.points for node in before.nodes])
        ranges = [each for message in moved for each in message.ranges]
        for position, owner in zip(positions, now):
            inside = [each for each in ranges if each.range.first <= position <= each.range.last]
            was = self.owner(position)[0]
            self.assertEqual([(getattr(each, "from"), each.to) for each in inside],
                             [(was, owner)] if was != owner else [])

    def test_what_is_refused(self):
        self.make("a")
        version = self.client.GetRing(ring=self.ring).version
        refused = [
            ({"id": "n", "points": [LAST + 1]}, ["point %d of node \"n\"" % (LAST + 1), str(LAST)]),
            ({"id": "n", "points": [7, 5, 7]}, ["point 7 of node \"n\" comes twice"]),
        ]
        for node, mentions in refused:
            self.refused("INVALID_ARGUMENT", self.client.AddNode, ring=self.ring, node=node, reason="INVALID_FIELD",
                         mentions=mentions)
        many = list(range(100001))
        self.refused("RESOURCE_EXHAUSTED", self.client.AddNode, ring=self.ring, node={"id": "n", "points": many},
                     reason="LIMIT_EXCEEDED", mentions=["100001", "100000", "\"n\""])
        for call, request in ((self.client.Lookup, {"key": b"k"}), (self.client.BatchLookup, {"keys": [b"k"]})):
            self.refused("INVALID_ARGUMENT", call, ring=self.ring, reason="INVALID_FIELD",
                         mentions=[self.ring, "\"k\"", "ask for a position"], **request)
        self.refused("INVALID_ARGUMENT", self.client.Lookup, ring=self.ring, position=LAST + 1, mentions=[str(LAST)])
        self.refused("INVALID_ARGUMENT", self.client.CreateRing, ring=self.ring + "-0",
                     placement=placement(last_position=0), mentions=["last_position"])
        empty = self.ring + "-empty"
        self.client.CreateRing(ring=empty, placement=placement())
        self.client.AddNode(ring=empty, node={"id": "n"})
        self.refused("FAILED_PRECONDITION", self.client.Lookup, ring=empty, position=7, reason="RING_EMPTY",
                     mentions=["no node with a weight above 0 has a point"])
        self.refused("INVALID_ARGUMENT", self.client.Lookup, ring=empty, key=b"k", reason="INVALID_FIELD")
        self.refused("INVALID_ARGUMENT", self.client.BatchLookup, ring=empty, keys=[b"k"], reason="INVALID_FIELD")
        self.assertEqual(self.client.GetRing(ring=self.ring).version, version)
        self.client.AddNode(ring=self.ring, node={"id": "n", "points": many[:-1]})
        other = self.ring + "-slots"
        self.client.CreateRing(ring=other, placement=pb.Placement(slots=pb.SlotsPlacement()))
        self.refused("INVALID_ARGUMENT", self.client.AddNode, ring=other, node={"id": "n", "points": [1]},
                     mentions=["\"n\"", "points of its own"])

    def test_a_node_without_points_is_told(self):
        self.make("a", "b")
        warnings = self.client.AddNode(ring=self.ring, node={"id": "none"}).warnings
        self.assertEqual(len(warnings), 1)
        self.assertIn("\"none\" has 0.00 times its share", warnings[0])
        self.assertEqual(self.client.Lookup(ring=self.ring, position=5, owners=3).owners_short, True)


class KeptTest(ProcessCase):
    def test_large_nodes_come_back_after_a_kill(self):
        """100,000 points a node, six of them: over restarts, in pages, in a snapshot, in the history."""
        server = self.serve()
        client = self.connect(server)
        client.CreateRing(ring="r", placement=placement())
        draw = random.Random(3)
        for i in range(6):
            points = [draw.randrange(2 ** 64) for _ in range(100000)]
            client.AddNode(ring="r", node=pb.Node(id="n%d" % i, points=points))
        client.update("r", "n0", points=[draw.randrange(2 ** 64) for _ in range(100000)])
        before = client.GetRing(ring="r").ring
        self.assertEqual(before.point_count, 600000)
        server.kill()
        server = self.serve(self.data, server.endpoint)
        client = self.connect(server)
        nodes = client.nodes("r")
        self.assertEqual(sum(len(node.points) for node in nodes.values()), 600000)
        self.assertEqual(client.GetRing(ring="r").ring.checksum, before.checksum)
        watch = Watch(client, rings=["r"])
        self.addCleanup(watch.cancel)
        watch.wait_in_sync()
        watch.check_equal(self, client, "r")
        changes = client.ListChanges(ring="r").changes
        self.assertGreater(len(changes), 0)
        self.assertEqual(len(changes[0].nodes[0].before.points), 100000)
        self.assertEqual(changes[0].nodes_left_out, 0)


class RingctlPointsTest(RingctlCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def make(self):
        self.out("ring", "create", self.ring, "--placement", "points", "--last-position", "999")
        self.out("node", "add", self.ring, "a", "--points", self.write("a", "10 500\n"))
        self.out("node", "add", self.ring, "b", "--points", "-", stdin=b"700\n0\n")

    def test_nodes_are_added_and_positions_asked(self):
        self.make()
        self.assertIn("points, positions 0..999", self.out("ring", "get", self.ring))
        self.assertEqual(self.out("lookup", self.ring, "--positions", "1", "501", "999", "-o", "tsv"),
                         "1\ta\n501\tb\n999\tb\n")
        self.assertEqual(self.json("lookup", self.ring, "--positions", "11", "--owners", "2")["owners"][1]["id"], "b")
        self.out("node", "update", self.ring, "a", "--points", "-", stdin=b"11 501")
        self.assertEqual(self.out("lookup", self.ring, "--positions", "501", "-o", "tsv"), "501\ta\n")
        self.assertIn("a number", self.out("lookup", "--help"))

    def test_errors_name_what_is_wrong(self):
        self.make()
        self.assertIn("position \"x\" is no whole number", self.err("lookup", self.ring, "--positions", "x", code=2))
        self.assertIn("--positions takes none from stdin", self.err("lookup", self.ring, "--positions", "-", code=2))
        self.assertIn("ask for a position", self.err("lookup", self.ring, "key", code=1))
        version = "/".join(self.json("ring", "get", self.ring)["version"].values())
        self.assertIn("keys have no place", self.err("moved", self.ring, "--from", version, "-", code=1, stdin=b"k\n"))
        file = self.write("bad", "1\n2 x\n")
        self.assertIn("bad:2: point \"x\"", self.err("node", "add", self.ring, "c", "--points", file, code=2))
        self.assertIn("missing", self.err("node", "add", self.ring, "c", "--points", "missing", code=2))
        self.assertIn("--hash means nothing with --placement points",
                      self.err("ring", "create", "other", "--placement", "points", "--hash", "md5", code=2))

    def test_a_large_export_is_imported(self):
        """More points than a message holds."""
        nodes = [{"id": "n%d" % i, "weight": 1, "points": [str(i + 7 * j) for j in range(70000)]} for i in range(3)]
        export = json.dumps({"ring": {"placement": {"points": {"last_position": "4294967295"}}}, "nodes": nodes})
        file = self.write("export.json", export)
        self.out("ring", "import", self.ring, file, "--dry-run")
        self.assertIn("imported, 3 nodes of the export of ring \"\": revision 1 -> 4", self.out("ring", "import", self.ring, file))
        self.assertEqual(self.json("ring", "get", self.ring)["ring"]["point_count"], "210000")
        # The last node is refused: those that came before go with the ring.
        nodes[2]["points"].append("4294967296")
        broken = self.write("broken.json", json.dumps(
            {"ring": {"placement": {"points": {"last_position": "4294967295"}}}, "nodes": nodes}))
        for flags in (["--dry-run"], []):
            self.assertIn("point 4294967296 of node", self.err("ring", "import", self.ring + "-2", broken, *flags, code=1))
            self.assertIn("NOT_FOUND", self.err("ring", "get", self.ring + "-2", code=1))

    def test_an_export_is_imported_and_a_file_applied(self):
        self.make()
        export = self.out("ring", "get", self.ring, "-o", "json")
        other = self.ring + "-copy"
        self.out("ring", "import", other, self.write("export.json", export))
        self.assertEqual(self.json("ring", "get", other)["ring"]["checksum"], json.loads(export)["ring"]["checksum"])
        wanted = self.out("ring", "get", self.ring, "-o", "yaml")
        self.out("diff", self.ring, "-f", self.write("same.yaml", wanted))
        file = self.write("nodes.yaml", "nodes: [{id: a, points: [500, 11]}, {id: c, points: [0, 700]}]")
        shown = self.out("diff", self.ring, "-f", file, code=1, differs=True)
        self.assertIn("10 500", shown)
        self.assertIn("11 500", shown)
        self.out("apply", self.ring, "-f", file, "--yes", "--force")
        self.assertEqual(self.out("lookup", self.ring, "--positions", "11", "12", "999", "-o", "tsv"),
                         "11\ta\n12\ta\n999\tc\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
