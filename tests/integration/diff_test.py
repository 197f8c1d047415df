"""What moved between two versions of a ring: what directory.proto promises of DiffVersions, and what ringctl tells of it,
against the owners of keys that are looked up before and after; and the other questions that ringctl answers.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import bisect
import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402

from process_status import status  # noqa: E402
from ringctl_case import RingctlCase  # noqa: E402
from ringd_client import Refused, add, hashed, remove, update  # noqa: E402
from ringd_process import PATIENCE  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

KEYS = [b"key:%d" % i for i in range(2000)]
PLACEMENTS = {
    "xxh3": hashed(4),
    "murmur3": hashed(4, hash=pb.HASH_FUNCTION_MURMUR3_32, match=pb.POINT_MATCH_STRICTLY_AFTER),
    "ketama-weighted": pb.Placement(preset=pb.PresetPlacement(preset=pb.PRESET_KETAMA_WEIGHTED)),
    "java-fnv1": pb.Placement(preset=pb.PresetPlacement(preset=pb.PRESET_JAVA_FNV1)),
}


class Diff:
    """All messages of a DiffVersions."""

    def __init__(self, client, ring, from_version, to_version=None):
        messages = list(client.DiffVersions(ring=ring, **{"from": from_version, "to": to_version}))
        self.ranges = [moved for message in messages for moved in message.ranges]
        self.starts = [moved.range.first for moved in self.ranges]
        self.movement = messages[-1].movement
        self.versions = (getattr(messages[-1], "from"), messages[-1].to)
        assert [message.HasField("movement") for message in messages] == [False] * (len(messages) - 1) + [True]

    def at(self, position):
        """The owners before and after, where they differ."""
        at = bisect.bisect_right(self.starts, position) - 1
        if at < 0 or position > self.ranges[at].range.last:
            return None
        return getattr(self.ranges[at], "from"), self.ranges[at].to


class DiffVersionsTest(ServerCase):
    def test_every_key(self):
        """A key lies in a range that moved if and only if its owner differs, and the range names both; whatever the
        placement, there and back."""
        for name, placement in PLACEMENTS.items():
            ring = "%s-%s" % (self.ring, name)
            weighted = name != "java-fnv1"
            self.client.CreateRing(ring=ring, placement=placement)
            before = self.client.apply(ring, [add(id="n%d" % i, zone="z%d" % (i % 2)) for i in range(8)]).version
            owners_before = self.client.owners(ring, KEYS)
            operations = [remove("n3"), add(id="n8")] + ([update("n1", weight=40)] if weighted else [])
            movement = self.client.apply(ring, operations).movement
            owners = self.client.owners(ring, KEYS)
            there = Diff(self.client, ring, before)
            self.client.update(ring, "n2", zone="z7")  # moves no first owner
            head = self.client.GetRing(ring=ring).version
            back = Diff(self.client, ring, head, before)
            self.assertEqual(there.movement, movement)
            self.assertEqual((back.versions, there.versions[0]), ((head, before), before))
            self.assertEqual(len(back.ranges), len(there.ranges))
            moved = 0
            for key, [old], [new] in zip(KEYS, owners_before, owners):
                position = self.client.Lookup(ring=ring, key=key).hash
                self.assertEqual(there.at(position), (old, new) if old != new else None, (name, key))
                self.assertEqual(back.at(position), (new, old) if old != new else None, (name, key))
                moved += old != new
            self.assertTrue(0 < moved < len(KEYS), name)

    def test_to_and_from_nobody(self):
        """What nobody owned has no `from`, what nobody owns no `to`; between equal versions nothing moved."""
        empty = self.client.make_ring(self.ring)
        version = self.client.add(self.ring, "a").version
        filled = Diff(self.client, self.ring, empty, version)
        self.assertEqual([(moved.range.first, moved.range.last, moved.HasField("from"), moved.to)
                          for moved in filled.ranges], [(0, 2**64 - 1, False, "a")])
        self.assertEqual(filled.movement.moved_share, 0)
        emptied = Diff(self.client, self.ring, version, empty)
        self.assertEqual([(moved.HasField("to"), getattr(moved, "from")) for moved in emptied.ranges], [(False, "a")])
        same = Diff(self.client, self.ring, version, version)
        self.assertEqual((same.ranges, same.movement.moved_share, same.movement.before.max_ratio), ([], 0, 1))

    def test_refusals(self):
        """What is not kept is NOT_FOUND, a version that is not named or has no revision INVALID_ARGUMENT."""
        def diff(ring=self.ring, **versions):
            try:
                return list(self.client.stub.DiffVersions(pb.DiffVersionsRequest(ring=ring, **versions), timeout=PATIENCE))
            except grpc.RpcError as error:
                raise Refused(error) from None
        self.client.make_ring(self.ring, ["a"], history_limits=pb.HistoryLimits(max_changes=1))
        version = self.client.add(self.ring, "b").version
        old = pb.Version(epoch=version.epoch, revision=1)
        new = pb.Version(epoch=version.epoch, revision=4)
        for versions in ({"from": old}, {"from": version, "to": old}, {"from": new},
                         {"from": pb.Version(epoch=version.epoch + 1, revision=2)}):
            self.refused("NOT_FOUND", diff, reason="VERSION_NOT_KEPT", mentions=[self.ring], **versions)
        self.refused("NOT_FOUND", diff, self.ring + "-2", reason="RING_NOT_FOUND", **{"from": version})
        for versions in ({}, {"from": pb.Version(epoch=1)}, {"from": version, "to": pb.Version()}):
            self.refused("INVALID_ARGUMENT", diff, reason="INVALID_FIELD", mentions=[self.ring], **versions)
        self.refused("INVALID_ARGUMENT", diff, "", **{"from": version})


class LargeDiffTest(ProcessCase):
    """60,000 ranges with long names: more than the windows of a connection hold."""

    def start(self, *flags):
        self.server = self.serve(None, "127.0.0.1:0", *flags)
        self.client = self.connect(self.server)
        empty = self.client.make_ring("r", points_per_weight=10)
        for first in range(0, 60, 20):
            self.client.apply("r", [add(id="n%d" % i + "x" * 240) for i in range(first, first + 20)])
        self.request = pb.DiffVersionsRequest(ring="r", **{"from": empty})

    def test_slow_readers(self):
        """Readers who take one message cost no more than that each, and get the rest when they want it."""
        self.start()
        messages = list(self.client.stub.DiffVersions(self.request, timeout=PATIENCE))
        ranges = sum(len(message.ranges) for message in messages)
        size = sum(message.ByteSize() for message in messages)
        self.assertGreater(ranges, 55000)
        self.assertLess(max(message.ByteSize() for message in messages), 128 << 10)
        before = status(self.server.process.pid, "VmRSS") << 10
        streams = [self.connect(self.server).stub.DiffVersions(self.request) for _ in range(16)]
        first = [next(stream) for stream in streams]
        self.assertLess((status(self.server.process.pid, "VmRSS") << 10) - before, 16 * size / 4)
        self.assertEqual(len(first[0].ranges) + sum(len(message.ranges) for message in streams[0]), ranges)
        # The first has been read out and has left; with one more there are 16 again, and no 17th.
        streams.append(self.connect(self.server).stub.DiffVersions(self.request))
        next(streams[-1])
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.stub.DiffVersions(self.request, timeout=PATIENCE))
        self.assertEqual(caught.exception.code().name, "RESOURCE_EXHAUSTED")
        self.assertIn("16", caught.exception.details())
        for stream in streams[1:]:
            stream.cancel()

    def test_drain(self):
        """A server that drains ends the stream with UNAVAILABLE, and without the movement that would make it whole."""
        self.start("--drain-timeout", "5s")
        stream = self.client.stub.DiffVersions(self.request, timeout=PATIENCE)
        messages = [next(stream)]
        self.server.signal(signal.SIGTERM)
        self.assertTrue(self.server.wait_for_log("draining"))
        with self.assertRaises(grpc.RpcError) as caught:
            messages.extend(stream)
        self.assertEqual(caught.exception.code().name, "UNAVAILABLE")
        self.assertFalse(any(message.HasField("movement") for message in messages))
        self.assertEqual(self.server.wait(), 0)


class RingctlDiffTest(RingctlCase):
    def owners(self):
        """The owner of each key, by lookup."""
        text = self.out("lookup", self.ring, "-", "-o", "tsv", stdin=b"".join(key + b"\n" for key in KEYS))
        return dict(line.split("\t") for line in text.splitlines())

    def version(self):
        version = self.json("ring", "get", self.ring)["version"]
        return "%s/%s" % (version["epoch"], version["revision"])

    def check_moved(self, *create):
        """moved prints just the keys whose owner lookup tells otherwise before and after, with both; diff has the same
        ranges as DiffVersions, and the exit codes of diff."""
        self.out("ring", "create", self.ring, *create)
        for node in ("n1", "n2", "n3", "n4"):
            self.out("node", "add", self.ring, node)
        before, owners_before = self.version(), self.owners()
        self.assertEqual(self.out("diff", self.ring, "--from", before), "")
        self.out("node", "remove", self.ring, "n2", "--yes")
        self.out("node", "add", self.ring, "n5")
        after, owners = self.version(), self.owners()
        expected = ["\t".join((key, owners_before[key], owners[key])) for key in owners if owners_before[key] != owners[key]]
        self.assertTrue(200 < len(expected) < 1800)
        keys = b"".join(key + b"\n" for key in KEYS)
        self.assertEqual(self.out("moved", self.ring, "--from", before, "-", "-o", "tsv", stdin=keys).splitlines(), expected)
        path = os.path.join(self.folder.name, self.ring)
        with open(path, "wb") as file:
            file.write(b"\0".join(KEYS))
        back = self.json("moved", self.ring, "--from", after, "--to", before, path, "--null")
        self.assertEqual(["\t".join((key["key"], key["to"], key["from"])) for key in back["keys"]], expected)
        table = self.out("moved", self.ring, "--from", before, path, "--null").splitlines()
        self.assertEqual((table[0].split(), len(table)), (["KEY", "FROM", "TO"], len(expected) + 1))

        ranges = [line.split("\t") for line in self.out("diff", self.ring, "--from", before, "-o", "tsv", code=1,
                                                        differs=True).splitlines()]
        document = self.json("diff", self.ring, "--from", before, "--to", after, code=1, differs=True)
        self.assertEqual(ranges, [[moved["range"]["first"], moved["range"]["last"], moved["from"], moved["to"]]
                                  for moved in document["ranges"]])
        self.assertGreater(document["movement"]["moved_share"], 0.1)
        self.assertRegex(self.out("diff", self.ring, "--from", before, code=1, differs=True),
                         r"^version %s -> %s, [0-9.]+%% moved, ranges: %d\n\nFROM" % (before, after, len(ranges)))
        # A new node owns what moved to it, which may be told in pieces: they came from several nodes.
        owned = [line.split("\t") for line in self.out("ranges", self.ring, "n5", "-o", "tsv").splitlines()]

        def size(rows):
            return sum(int(row[1]) - int(row[0]) + 1 for row in rows)
        self.assertEqual(size(owned), size([row for row in ranges if row[3] == "n5"]))

    def test_moved_hashed(self):
        self.check_moved("--placement", "hashed")

    def test_moved_slots(self):
        self.check_moved()

    def test_moved_preset(self):
        self.check_moved("--preset", "ketama")

    def test_moved_characters(self):
        """A ring over characters takes no other bytes; the keys before are told."""
        self.out("ring", "create", self.ring, "--preset", "java-fnv1")
        empty = self.version()
        self.out("node", "add", self.ring, "n1")
        done = self.run_it("moved", self.ring, "--from", empty, "-", "-o", "tsv", code=1, stdin=b"\xc3\xa4\n\xff\nk\n")
        self.assertEqual(done.stdout.decode(), "ä\t\tn1\n")
        self.assertIn("line 2: ", done.stderr.decode())
        self.assertIn("line 1: key is empty", self.err("moved", self.ring, "--from", empty, "-", code=1, stdin=b"\n"))

    def test_refusals(self):
        """Exit codes: 2 for what makes no sense, 5 of diff where the server says no, 1 of the others."""
        self.make_ring("n1")
        for arguments in (["diff", self.ring], ["diff", self.ring, "--from", "1/1", "-f", "x"], ["diff", self.ring, "--to", "1/1"],
                          ["diff", self.ring, "--from", "1"], ["moved", self.ring, "-"], ["moved", self.ring, "--from", "1/1"],
                          ["moved", self.ring, "--from", "1/1", "/no/such/file"], ["simulate", self.ring],
                          ["moved", self.ring, "--from", "1/1", "-", "-o", "yaml"],
                          ["simulate", self.ring, "--lose", "n1", "--lose-zone", "a"], ["explain", self.ring], ["ranges", self.ring]):
            self.err(*arguments, code=2)
        self.assertIn("ringctl history", self.err("diff", self.ring, "--from", "1/1", code=5))
        self.assertIn("ringctl history", self.err("moved", self.ring, "--from", "1/1", "-", code=1))
        self.assertIn("NOT_FOUND", self.err("ranges", self.ring, "n2", code=1))
        self.assertIn("NOT_FOUND", self.err("simulate", self.ring, "--lose", "n2", code=1))
        self.assertIn('"b"', self.err("simulate", self.ring, "--lose-zone", "b", code=1))
        self.assertIn("NOT_FOUND", self.err("explain", self.ring + "-2", "k", code=1))

    def test_explain(self):
        """explain names hash and point as Lookup and ListRanges tell them, and for each owner why it has its place."""
        self.make_ring(options=["--placement", "hashed"])
        for node, zone in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")):
            self.out("node", "add", self.ring, node, "--zone", zone)
        self.out("node", "add", self.ring, "drained", "--weight", "0")
        whys = set()
        for key in ("k1", "k2", "k3", "k4"):
            told = self.json("explain", self.ring, key, "--owners", "4")
            lookup = self.json("lookup", self.ring, key, "--owners", "4")
            self.assertEqual((told["hash"], told["version"], told["owners_short"]), (lookup["hash"], lookup["version"], False))
            self.assertEqual([owner["id"] for owner in told["owners"]], [owner["id"] for owner in lookup["owners"]])
            self.assertEqual(int(told["hash_hex"], 16), int(told["hash"]))
            first, last, at = int(told["point"]["first"]), int(told["point"]["last"]), int(told["hash"])
            self.assertTrue(first <= at <= last if first <= last else at >= first or at <= last)
            self.assertEqual((told["point"]["node"], told["owners"][0]["why"]), (told["owners"][0]["id"], "has the point"))
            self.assertEqual(told["weightless"], ["drained"])
            whys.update(owner["why"].split(":")[0] for owner in told["owners"])
        self.assertEqual(whys, {"has the point", "next on the circle", "zones are spread first"})
        text = self.out("explain", self.ring, "k1", "--owners", "5")
        self.assertIn("4 of the 5 owners", text)
        self.assertIn(told["version"]["epoch"], text)
        self.assertEqual(len(self.out("explain", self.ring, "k1", "-o", "tsv").splitlines()), 3)

    def test_simulate(self):
        """simulate tells what then is so, of nodes and of a zone, and changes nothing."""
        self.make_ring()
        for node, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "b"), ("n5", "c")):
            self.out("node", "add", self.ring, node, "--zone", zone)
        version = self.version()
        told = self.json("simulate", self.ring, "--lose-zone", "a")
        self.assertEqual((told["lost"], self.version()), (["n1", "n2"], version))
        self.assertEqual(told, self.json("simulate", self.ring, "--lose", "n1", "--lose", "n2"))
        before = {node["id"]: node["share"] for node in self.json("node", "list", self.ring)["nodes"]}
        rows = [line.split("\t") for line in self.out("simulate", self.ring, "--lose-zone", "a", "-o", "tsv").splitlines()]
        self.assertEqual([[row[0]] + [float(cell) for cell in row[1:]] for row in rows],
                         [[node["id"], node["share"], node["share_then"], node["ratio"]] for node in told["nodes"]])
        self.assertRegex(self.out("simulate", self.ring, "--lose-zone", "a"),
                         r"without 2 of its 5 nodes: at worst %s would own [0-9.]+%%" % json.dumps(rows[0][0]))
        self.assertIn("no node would be left", self.out("simulate", self.ring, *["--lose=n%d" % i for i in range(1, 6)]))
        for node in ("n1", "n2"):
            self.out("node", "remove", self.ring, node, "--yes", "--force")
        then = {node["id"]: node["share"] for node in self.json("node", "list", self.ring)["nodes"]}
        self.assertEqual({node["id"]: (node["share"], node["share_then"]) for node in told["nodes"]},
                         {name: (before[name], share) for name, share in then.items()})
        ratios = [node["ratio"] for node in told["nodes"]]
        self.assertEqual(ratios, sorted(ratios, reverse=True))


if __name__ == "__main__":
    unittest.main()
