"""Every golden file again, as a team that moves in would see it: rings made by ringctl, keys asked of a real ringd.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import collections
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_client import Client  # noqa: E402
from ringctl_case import RingctlCase  # noqa: E402
from stubs import pb  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ARTICLES = {
    "java-crc32": ["192.168.0.%d:111" % i for i in range(5)],
    "java-crc32-vn": ["192.168.0.%d:111" % i for i in range(5)],
    "java-fnv-cluster": ["cluster%d" % i for i in range(1, 4)],
    "java-fnv1": ["192.168.0.%d" % i for i in range(1, 11)],
    "murmur3-weighted": ["127.0.0.1", "192.168.4.175", "192.168.3.175", "172.147.0.101"],
    "murmur3-weighted:1,2,1,3": ["127.0.0.1", "192.168.4.175=2", "192.168.3.175", "172.147.0.101=3"],
    "murmur3-weighted:20 consecutive": ["10.0.0.%d" % i for i in range(1, 21)],
    "java-fnv-cluster:20 consecutive": ["cluster%d" % i for i in range(1, 21)],
}


def rows_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


class ServedTest(RingctlCase):
    def setUp(self):
        super().setUp()
        self.client = Client(self.server.endpoint)
        self.addCleanup(self.client.close)

    def create(self, preset, nodes, *options):
        """Nodes are names, or NAME=WEIGHT, added one after the other."""
        self.ring = "%s-%d" % (self.ring, len(self.client.ListRings(prefix="test").rings))
        self.out("ring", "create", self.ring, "--preset", preset, *options)
        for node in nodes:
            name, _, weight = node.partition("=")
            self.out("node", "add", self.ring, name, *(["--weight", weight] if weight else []))

    def expect(self, owners):
        """`owners` by key, of Lookup, of BatchLookup and of `ringctl lookup`."""
        keys = [key for key in owners if key]  # an empty key is refused
        wanted = [[owners[key]] for key in keys]
        self.assertEqual(self.client.owners(self.ring, [key.encode() for key in keys]), wanted)
        for key in keys[::17]:
            self.assertEqual(self.client.Lookup(ring=self.ring, key=key.encode()).owners[0].id, owners[key])
        text = self.out("lookup", self.ring, "-", "-o", "tsv", stdin="".join(key + "\n" for key in keys).encode())
        self.assertEqual([line.split("\t")[:2] for line in text.splitlines()],
                         [[key, owners[key]] for key in keys])

    def test_articles(self):
        for file in ("articles.tsv", "articles-glued.tsv"):
            rings = collections.defaultdict(dict)
            hashes = {}
            for name, phase, key, key_hash, _, owner in rows_of(file):
                if phase != "shared point":
                    rings[name, phase][key] = owner
                    hashes[name, key] = int(key_hash)
            for (name, phase), owners in rings.items():
                with self.subTest(name=name, phase=phase):
                    self.create(name.partition(":")[0], ARTICLES[name])
                    if phase.startswith("minus:"):
                        self.out("node", "remove", self.ring, phase.removeprefix("minus:"), "--yes")
                    self.expect(owners)
                    for key in [key for key in owners if key][:5]:
                        answer = self.client.Lookup(ring=self.ring, key=key.encode())
                        self.assertEqual(answer.hash, hashes[name, key])
                        at = self.client.Lookup(ring=self.ring, position=answer.hash)
                        self.assertEqual((at.owners[0].id, at.hash), (owners[key], answer.hash))

    def test_programs(self):
        ketama = ["10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211", "10.0.0.4:12000"]
        nginx = ["127.0.0.1:%d" % port for port in range(9101, 9105)]
        names = ["alpha", "beta", "gamma", "delta"]

        def weighted(nodes):
            return ["%s=%d" % (node, weight) for weight, node in enumerate(nodes, 1)]
        for file, preset, nodes, options in (
                ("ketama-even.tsv", "ketama", ketama, []),
                ("ketama-weighted.tsv", "ketama-weighted", weighted(ketama), []),
                ("nginx.tsv", "nginx", nginx, []),
                ("nginx-weighted.tsv", "nginx", weighted(nginx), []),
                ("twemproxy-fnv1a_64.tsv", "twemproxy", ["127.0.0.1:%d" % port for port in range(9201, 9205)], []),
                ("twemproxy-fnv1a_64-weighted.tsv", "twemproxy", weighted(names), []),
                ("twemproxy-murmur-hashtag.tsv", "twemproxy", names, ["--hash", "murmur2-32", "--hash-tag", "{}"])):
            with self.subTest(file=file):
                self.create(preset, nodes, *options)
                self.expect(dict(rows_of(file)))

    def test_envoy(self):
        """The file has the points, and each is the last position of a range of its node."""
        points = {int(position): node for node, position in rows_of("envoy-ring-hash.tsv")}
        self.create("envoy-ring-hash", sorted(set(points.values())), "--min-ring-size", "12")
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.point_count, len(points))
        for position, node in points.items():
            self.assertEqual(self.client.Lookup(ring=self.ring, position=position).owners[0].id, node)
        circle = 0
        for node in set(points.values()):
            for part in self.client.ListRanges(ring=self.ring, node_id=node).ranges:
                circle += part.last - part.first + 1
                after = min([point for point in points if point >= part.last], default=min(points))
                self.assertEqual(points[after], node)
        self.assertEqual(circle, 2 ** 64)

    def test_a_key_that_is_no_utf8(self):
        """Two hash functions read characters: a key that is none of them is refused, alone and in a batch."""
        self.create("java-fnv1", ["a"])
        for call in (lambda: self.client.Lookup(ring=self.ring, key=b"\xff"),
                     lambda: self.client.BatchLookup(ring=self.ring, keys=[b"k", b"\xff"])):
            with self.assertRaisesRegex(Exception, r"INVALID_ARGUMENT.*no UTF-8"):
                call()
        self.create("nginx", ["a"])
        self.assertEqual(self.client.Lookup(ring=self.ring, key=b"\xff\x00").owners[0].id, "a")

    def test_a_position_beyond_the_circle(self):
        self.create("nginx", ["a"])
        self.assertEqual(self.client.Lookup(ring=self.ring, position=2 ** 32 - 1).owners[0].id, "a")
        with self.assertRaisesRegex(Exception, r"INVALID_ARGUMENT.*position 4294967296 .*4294967295"):
            self.client.Lookup(ring=self.ring, position=2 ** 32)

    def test_weights_of_a_preset_without_weights(self):
        """0 or the default: anything else would move keys that the original keeps."""
        self.create("java-crc32", ["a", "b"])
        self.assertEqual({node.weight for node in self.client.nodes(self.ring).values()}, {1})
        with self.assertRaisesRegex(Exception, r"INVALID_ARGUMENT.*weight 2"):
            self.client.add(self.ring, "c", weight=2)
        with self.assertRaisesRegex(Exception, r"INVALID_ARGUMENT.*weight 2"):
            self.client.update(self.ring, "a", weight=2)
        with self.assertRaisesRegex(Exception, r"INVALID_ARGUMENT.*java-crc32.* stays 1"):
            self.client.UpdateRing(ring=self.ring, default_weight=2, update_mask={"paths": ["default_weight"]})
        self.client.update(self.ring, "a", weight=0)
        self.assertEqual(self.client.owners(self.ring, [b"k"]), [["b"]])

    def test_one_kind(self):
        self.assertIn("do not go together", self.err("ring", "create", self.ring, "--placement", "hashed", "--preset",
                                                     "ketama", code=2))

    def test_warnings(self):
        """A placement that shares the keys out badly is told so, with the factor, by CreateRing and by AddNode."""
        self.assertRegex(self.err("ring", "create", self.ring, "--placement", "hashed", "--hash", "fnv1-32", "--points-per-weight", "160",
                                  "--default-weight", "1"), r"^warning: of ten nodes of weight 1, node .* times its share")
        self.create("murmur3-weighted", ["10.0.0.%d" % i for i in range(1, 20)])
        self.assertRegex(self.err("node", "add", self.ring, "10.0.0.20"),
                         r'warning: .*node "10.0.0.1" has 0\.\d+ times its share of the keys')
        answer = self.client.CreateRing(ring=self.ring + "-good", placement=pb.Placement(hashed=pb.HashedPlacement()))
        self.assertEqual(list(answer.warnings), [])


if __name__ == "__main__":
    unittest.main()
