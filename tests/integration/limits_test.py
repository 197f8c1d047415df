"""Every limit that directory.proto states, at its bound and one beyond, with the code that it promises.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402

from ringd_client import BIG, Refused, Watch, add, hashed, infos_of, key_of, remove, update  # noqa: E402
from ringd_process import eventually  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import RetryInfo, Status, pb  # noqa: E402

INVALID, TOO_MANY = "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"


def field(number, wire_type, payload):
    """One field of a protobuf message as bytes; `payload` of a length-delimited one is counted."""
    tag = bytes([number << 3 | wire_type])
    return tag + (bytes([len(payload)]) + payload if wire_type == 2 else payload)


class LimitsCase(ServerCase):
    def versions(self):
        return [(ring.name, key_of(ring.version)) for ring in self.client.ListRings().rings]

    def refused(self, code, call, *arguments, **fields):
        """The call is refused, and changes nothing."""
        before = self.versions()
        error = super().refused(code, call, *arguments, **fields)
        self.assertEqual(self.versions(), before)
        return error


class LimitsTest(LimitsCase):
    def add_node(self, code=None, mentions=(), **fields):
        """Adds a node: with a code, it must be refused with it and leave the ring as it was."""
        if code is None:
            return self.client.AddNode(ring=self.ring, node=pb.Node(**fields))
        before = self.client.GetRing(ring=self.ring)
        self.refused(code, self.client.AddNode, ring=self.ring, node=pb.Node(**fields), mentions=mentions)
        self.assertEqual(self.client.GetRing(ring=self.ring), before)
        return None

    def test_key(self):
        """A key has 1..4,096 bytes of any value; empty, missing and longer ones are INVALID_ARGUMENT."""
        self.client.make_ring(self.ring, ["n1"])
        for key in (b"x", b"\0" * 4096, b"\xff" * 4096):
            self.assertEqual(self.client.Lookup(ring=self.ring, key=key).owners[0].id, "n1")
            self.assertEqual(self.client.owners(self.ring, [key]), [["n1"]])
        for key in (b"", b"x" * 4097):
            self.refused(INVALID, self.client.Lookup, ring=self.ring, key=key)
            self.refused(INVALID, self.client.BatchLookup, ring=self.ring, keys=[b"x", key], mentions=["keys[1]"])
        self.refused(INVALID, self.client.Lookup, ring=self.ring)
        self.refused(INVALID, self.client.Lookup, ring=self.ring, key=b"x" * 4097, mentions=["4097", "4096"])

    def test_key_before_ring(self):
        """What is wrong whatever the state is told before what is not there: INVALID_ARGUMENT, not NOT_FOUND."""
        self.refused(INVALID, self.client.Lookup, ring="no-such-ring", key=b"")
        self.refused(INVALID, self.client.BatchLookup, ring="no-such-ring", keys=[b""])
        self.refused(INVALID, self.client.AddNode, ring="no-such-ring", node=pb.Node(id=""))
        self.refused(INVALID, self.client.RemoveNode, ring="no-such-ring", node_id="")
        self.refused("NOT_FOUND", self.client.Lookup, ring="no-such-ring", key=b"k", mentions=["no-such-ring"])

    def test_batch_keys(self):
        """A batch holds 10,000 keys; one more is RESOURCE_EXHAUSTED, none is answered with none."""
        self.client.make_ring(self.ring, ["n1"])
        self.assertEqual(len(self.client.BatchLookup(ring=self.ring, keys=[b"k"] * 10000).owner_indices), 10000)
        self.refused(TOO_MANY, self.client.BatchLookup, ring=self.ring, keys=[b"k"] * 10001, mentions=["10001", "10000"])
        self.assertEqual(len(self.client.BatchLookup(ring=self.ring, keys=[]).owner_indices), 0)

    def test_ring_name(self):
        """A ring name is [A-Za-z0-9][A-Za-z0-9._-]{0,127}; any other is INVALID_ARGUMENT in every RPC."""
        for name in ("a", "9", "A._-z", "x" * 128):
            self.client.make_ring(name)
            self.client.delete(name)
        calls = [lambda name: self.client.CreateRing(ring=name, placement=hashed()),
                 lambda name: self.client.GetRing(ring=name),
                 lambda name: self.client.DeleteRing(ring=name),
                 lambda name: self.client.AddNode(ring=name, node=pb.Node(id="n")),
                 lambda name: self.client.RemoveNode(ring=name, node_id="n"),
                 lambda name: self.client.UpdateNode(ring=name, node=pb.Node(id="n", zone="z"),
                                                     update_mask={"paths": ["zone"]}),
                 lambda name: self.client.ApplyChanges(ring=name, operations=[remove("n")]),
                 lambda name: self.client.Lookup(ring=name, key=b"k"),
                 lambda name: self.client.BatchLookup(ring=name, keys=[b"k"])]
        for name in ("", "x" * 129, ".a", "-a", "_a", "a b", "a/b", "a\n", "a\0", "é", "a\"", "a:b"):
            for call in calls:
                self.refused(INVALID, call, name)
            watch = self.watch(name)
            self.assertEqual(watch.wait_ended(), INVALID, name)

    def test_node_id(self):
        """A node id has 1..255 bytes (not characters) of UTF-8; other lengths are INVALID_ARGUMENT and change
        nothing."""
        self.client.make_ring(self.ring)
        self.add_node(id="n")
        self.add_node(id="x" * 255)
        self.add_node(id="é" * 127)
        self.add_node(INVALID, id="")
        self.add_node(INVALID, id="x" * 256, mentions=["256", "255"])
        self.add_node(INVALID, id="é" * 128)
        self.refused(INVALID, self.client.RemoveNode, ring=self.ring, node_id="x" * 256)

    def test_texts_of_a_node(self):
        """hash_key, zone and address have at most 255 bytes, in AddNode, UpdateNode and ApplyChanges alike."""
        self.client.make_ring(self.ring, ["n"])
        for name in ("hash_key", "zone", "address"):
            self.add_node(id="at-" + name, **{name: "x" * 255})
            self.add_node(INVALID, id="over-" + name, **{name: "x" * 256})
            self.refused(INVALID, self.client.apply, self.ring, [add(id="over", **{name: "x" * 256})])
        for name in ("zone", "address"):
            self.client.update(self.ring, "n", **{name: "x" * 255})
            self.refused(INVALID, self.client.update, self.ring, "n", **{name: "x" * 256})
            self.refused(INVALID, self.client.apply, self.ring, [update("n", **{name: "x" * 256})])

    def test_control_characters(self):
        """Node id, hash_key, zone and address take no control character (C0, DEL, C1); what looks like one is taken."""
        self.client.make_ring(self.ring)
        for character in ("\0", "\x01", "\t", "\n", "\r", "\x1b", "\x1f", "\x7f", "\x80", "\x85", "\x9f"):
            self.add_node(INVALID, id="a%sb" % character)
            for name in ("zone", "hash_key", "address"):
                self.add_node(INVALID, id="n", **{name: "x" + character})
        for index, character in enumerate((" ", "\xa0", "\xad", "~", "é", "ÿ", "\u2028", "ключ", "😀", '"', "\\")):
            self.add_node(id="a%sb" % character, zone=character, hash_key="%d%s" % (index, character), address=character)
        self.assertEqual(len(self.client.nodes(self.ring)), 11)

    def test_metadata(self):
        """Metadata has at most 4,096 bytes, keys and values together."""
        self.client.make_ring(self.ring, ["n"])
        at, over = {"a" * 96: "b" * 2000, "c" * 1000: "d" * 1000}, {"a" * 96: "b" * 2000, "c" * 1000: "d" * 1001}
        self.add_node(id="at", metadata=at)
        self.add_node(INVALID, id="over", metadata=over)
        self.client.update(self.ring, "n", metadata=at)
        self.refused(INVALID, self.client.update, self.ring, "n", metadata=over)
        self.assertEqual(dict(self.client.nodes(self.ring)["n"].metadata), at)

    def test_labels_of_a_ring(self):
        """The labels of a ring have at most 4,096 bytes, keys and values together."""
        self.client.CreateRing(ring=self.ring, placement=hashed(), labels={"k": "v" * 4095})
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.labels["k"], "v" * 4095)
        self.refused(INVALID, self.client.CreateRing, ring=self.ring + "-2", placement=hashed(),
                     labels={"k": "v" * 4096})

    def test_weight(self):
        """A weight is 0..65,535; absent it is the ring's default_weight."""
        self.client.make_ring(self.ring, points_per_weight=1, default_weight=7)
        self.add_node(id="absent")
        self.add_node(id="zero", weight=0)
        self.add_node(id="most", weight=65535)
        self.add_node(INVALID, id="over", weight=65536, mentions=["65536", "65535"])
        self.add_node(INVALID, id="over", weight=4294967295)
        self.refused(INVALID, self.client.update, self.ring, "absent", weight=65536)
        self.refused(INVALID, self.client.apply, self.ring, [update("absent", weight=65536)])
        self.assertEqual({node_id: node.weight for node_id, node in self.client.nodes(self.ring).items()},
                         {"absent": 7, "zero": 0, "most": 65535})

    def test_negative_weight(self):
        """A weight of -1, sent as the ten bytes that an int32 field would have, is never taken as a weight."""
        self.client.make_ring(self.ring)
        node = field(1, 2, b"minus") + field(3, 0, b"\xff" * 9 + b"\x01")
        request = field(1, 2, self.ring.encode()) + field(2, 2, node)
        self.refused(INVALID, self.client.send_bytes, "AddNode", request, pb.AddNodeResponse)
        self.assertEqual(self.client.nodes(self.ring), {})

    def test_points_per_weight(self):
        """points_per_weight is 1..65,536; absent it is 2, and the answer says so."""
        for given, taken in ((None, 2), (1, 1), (65536, 65536)):
            self.client.make_ring(self.ring, points_per_weight=given)
            ring = self.client.GetRing(ring=self.ring).ring
            self.assertEqual(ring.placement.hashed.points_per_weight, taken)
            self.client.delete(self.ring)
        for points in (0, 65537, 4294967295):
            self.refused(INVALID, self.client.make_ring, self.ring, points_per_weight=points)

    def test_points_of_a_ring(self):
        """A ring has at most 4,194,304 points; one more, and sums that do not fit 32 bits, are RESOURCE_EXHAUSTED."""
        self.client.make_ring(self.ring, points_per_weight=65536, default_weight=1)
        for operations in ([add(id="a", weight=65)], [add(id="a", weight=65535)],
                           [add(id="a", weight=65535), add(id="b", weight=2)],  # 2^32 + 2^16 points
                           [add(id="n%d" % i, weight=65535) for i in range(100)]):
            self.refused(TOO_MANY, self.client.apply, self.ring, operations, mentions=["4194304"])
        self.client.add(self.ring, "a", weight=64)
        self.refused(TOO_MANY, self.client.add, self.ring, "b")
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.point_count, 4194304)

    def test_default_weight(self):
        """default_weight is 1..65,535; absent it is 100."""
        for given, taken in ((None, 100), (1, 1), (65535, 65535)):
            self.client.make_ring(self.ring, default_weight=given)
            self.assertEqual(self.client.GetRing(ring=self.ring).ring.default_weight, taken)
            self.client.delete(self.ring)
        for weight in (0, 65536, 4294967295):
            self.refused(INVALID, self.client.make_ring, self.ring, default_weight=weight)

    def test_owners(self):
        """1..64 owners can be asked for, absent is 1. 0 and more are INVALID_ARGUMENT. B21 (coreos/torus#263)."""
        self.client.make_ring(self.ring, ["n%d" % i for i in range(70)], points_per_weight=1, default_weight=3)
        for owners in (None, 1, 64):
            answer = self.client.Lookup(ring=self.ring, key=b"k", owners=owners)
            self.assertEqual(len({owner.id for owner in answer.owners}), owners or 1)
            self.assertEqual(self.client.owners(self.ring, [b"k"], owners),
                             [[owner.id for owner in answer.owners]])
        for owners in (0, 65, 4294967295):
            self.refused(INVALID, self.client.Lookup, ring=self.ring, key=b"k", owners=owners, timeout=2)
            self.refused(INVALID, self.client.BatchLookup, ring=self.ring, keys=[b"k"], owners=owners, timeout=2)

    def test_reason_and_request_id(self):
        """A reason has at most 1,024 bytes, a request_id 64."""
        self.client.make_ring(self.ring)
        self.client.add(self.ring, "n1", pb.MutationOptions(reason="r" * 1024, request_id="i" * 64))
        for options in (pb.MutationOptions(reason="r" * 1025), pb.MutationOptions(request_id="i" * 65)):
            self.refused(INVALID, self.client.add, self.ring, "n2", options)
            self.refused(INVALID, self.client.ApplyChanges, ring=self.ring, operations=[add(id="n2")], options=options)
            self.refused(INVALID, self.client.DeleteRing, ring=self.ring, options=options)
            self.refused(INVALID, self.client.CreateRing, ring=self.ring + "-2", placement=hashed(), options=options)
        self.assertEqual(list(self.client.nodes(self.ring)), ["n1"])

    def test_request_of_more_than_1_mib(self):
        """B93 (dgraph-io/dgraph#5919): a larger request is RESOURCE_EXHAUSTED, with the limit in the text; 64 MiB
        too."""
        self.client.make_ring(self.ring, ["n1"])
        keys = [b"k" * 4000] * 261
        rest = (1 << 20) - pb.BatchLookupRequest(ring=self.ring, keys=keys).ByteSize()
        keys.append(b"k" * (rest - 3))  # less its tag and the two bytes of its length
        self.assertEqual(pb.BatchLookupRequest(ring=self.ring, keys=keys).ByteSize(), 1 << 20)
        self.assertEqual(len(self.client.BatchLookup(ring=self.ring, keys=keys).owner_indices), 262)
        for size in (1 << 20, 64 << 20):
            with self.assertRaises(Refused) as caught:
                self.connect(("grpc.max_send_message_length", BIG)).send_bytes(
                    "BatchLookup", pb.BatchLookupRequest(ring=self.ring).SerializeToString() + b"\x12\x01k" * (size // 3 + 1),
                    pb.BatchLookupResponse)
            self.assertEqual(caught.exception.code, TOO_MANY)
            self.assertIn("1048576", caught.exception.text)
        self.assertEqual(self.client.owners(self.ring, [b"k"]), [["n1"]])

    def test_invalid_utf8(self):
        """B94 (protocolbuffers/protobuf#7364): invalid UTF-8 in a name is refused and changes nothing; keys are
        bytes."""
        self.client.make_ring(self.ring, ["n1"])
        before = self.client.GetRing(ring=self.ring)
        for bad in (b"\xf0\x80", b"\xc3\x28", b"\xff", b"a\xff", b"\xed\xa0\x80"):
            ring = field(1, 2, self.ring.encode())
            for rpc, request, response in (
                    ("AddNode", ring + field(2, 2, field(1, 2, bad)), pb.AddNodeResponse),
                    ("AddNode", ring + field(2, 2, field(1, 2, b"ok") + field(4, 2, bad)), pb.AddNodeResponse),
                    ("AddNode", ring + field(2, 2, field(1, 2, b"ok") + field(6, 2, field(1, 2, bad))),
                     pb.AddNodeResponse),
                    ("RemoveNode", ring + field(2, 2, bad), pb.RemoveNodeResponse),
                    ("AddNode", ring + field(2, 2, field(1, 2, b"ok")) + field(3, 2, field(3, 2, bad)),
                     pb.AddNodeResponse),
                    ("GetRing", field(1, 2, bad), pb.GetRingResponse)):
                with self.assertRaises(Refused, msg=(rpc, bad)) as caught:
                    self.client.send_bytes(rpc, request, response)
                # gRPC's parser refuses it before ringd's code sees it; gRPC 1.51 then says UNIMPLEMENTED.
                self.assertIn(caught.exception.code, (INVALID, "INTERNAL", "UNIMPLEMENTED"))
            self.assertEqual(self.client.Lookup(ring=self.ring, key=bad).owners[0].id, "n1")
            self.assertEqual(self.client.owners(self.ring, [bad]), [["n1"]])
        self.assertEqual(self.client.GetRing(ring=self.ring), before)
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        watch.check_equal(self, self.client, self.ring)

    def test_update_mask(self):
        """The mask of UpdateNode names weight, address, zone, metadata; none, or another path, is INVALID_ARGUMENT."""
        self.client.make_ring(self.ring, ["n"])
        before = self.client.GetRing(ring=self.ring)
        for paths in ([], ["id"], ["hash_key"], ["weight", "nonsense"], [""], ["Weight"], ["node.weight"], ["*"],
                      ["join_number"], ["share"], ["metadata.k"]):
            self.refused(INVALID, self.client.UpdateNode, ring=self.ring, node=pb.Node(id="n", weight=3),
                         update_mask={"paths": paths})
            operation = update("n", weight=3)
            operation.update.update_mask.paths[:] = paths
            self.refused(INVALID, self.client.apply, self.ring, [operation])
        self.assertEqual(self.client.GetRing(ring=self.ring), before)

    def test_operations(self):
        """ApplyChanges takes at least one operation, each named and each on another node."""
        self.client.make_ring(self.ring, ["a", "b", "c"])
        before = self.client.GetRing(ring=self.ring)
        self.refused(INVALID, self.client.apply, self.ring, [])
        self.refused(INVALID, self.client.apply, self.ring, [add(id="x"), pb.NodeOperation()])
        for operations in ([add(id="x"), add(id="x")], [remove("a"), remove("a")], [remove("a"), add(id="a")],
                           [update("a", weight=1), update("a", zone="z")], [add(id="x"), remove("x")]):
            self.refused(INVALID, self.client.apply, self.ring, operations)
        self.assertEqual(self.client.GetRing(ring=self.ring), before)

    def test_names_that_are_taken(self):
        """A ring name, node id or hash_key that is taken is ALREADY_EXISTS, also between an id and a hash_key."""
        taken = "ALREADY_EXISTS"
        self.client.make_ring(self.ring, ["a", {"id": "b", "hash_key": "key-of-b"}])
        self.refused(taken, self.client.make_ring, self.ring, reason="RING_EXISTS", mentions=[self.ring])
        self.add_node(taken, id="a", mentions=["a"])
        self.add_node(taken, id="c", hash_key="key-of-b", mentions=["key-of-b"])
        self.add_node(taken, id="c", hash_key="a")
        self.add_node(taken, id="key-of-b")
        self.refused(taken, self.client.apply, self.ring, [add(id="c", hash_key="k"), add(id="d", hash_key="k")])
        self.client.add(self.ring, "c", hash_key="b")

    def test_placement(self):
        """A placement must be named, and what this version does not serve is INVALID_ARGUMENT, not taken as another."""
        def preset(number, **fields):
            return pb.Placement(preset=pb.PresetPlacement(preset=number, **fields))
        def slots(**fields):
            return pb.Placement(slots=pb.SlotsPlacement(**fields))
        for least, most in ({"slot_bits": 10}, {"slot_bits": 20}), ({"owners": 1}, {"owners": 8}):
            for i, fields in enumerate((least, most)):
                name = "%s-%s-%d" % (self.ring, next(iter(fields)), i)
                self.client.CreateRing(ring=name, placement=slots(**fields))
                self.client.delete(name)
        refused = [None, pb.Placement(), preset(0), preset(99), slots(slot_bits=9), slots(slot_bits=21), slots(owners=0),
                   slots(owners=9), slots(slot_bits=17, hash=pb.HASH_FUNCTION_CRC16), slots(hash=99), slots(hash_tag="{"),
                   preset(pb.PRESET_REDIS_CLUSTER, hash_tag="{}"), preset(pb.PRESET_NGINX, hash=pb.HASH_FUNCTION_MD5),
                   preset(pb.PRESET_NGINX, hash_tag="{}"), preset(pb.PRESET_KETAMA, minimum_ring_size=7),
                   preset(pb.PRESET_ENVOY_RING_HASH, minimum_ring_size=9, maximum_ring_size=8),
                   preset(pb.PRESET_ENVOY_RING_HASH, maximum_ring_size=8388609)]
        refused += [hashed(hash=99), hashed(match=99), hashed(tie_rule=99), hashed(hash_tag="{"),
                    hashed(hash_tag="{}}"), hashed(label="{index}"), hashed(label="{key}{key}{index}"),
                    hashed(label="{key}"), hashed(label="{name}{key}{index}"), hashed(label="{key}{index}" + "x" * 244)]
        for placement in refused:
            self.refused(INVALID, self.client.CreateRing, ring=self.ring, placement=placement)
        self.refused("NOT_FOUND", self.client.GetRing, ring=self.ring)
        self.client.CreateRing(ring=self.ring, placement=hashed(
            hash=pb.HASH_FUNCTION_XXH3_64, label="{key}#{index}", match=pb.POINT_MATCH_AT_OR_AFTER,
            tie_rule=pb.TIE_RULE_NODE_ID))
        named = self.client.GetRing(ring=self.ring).ring.placement
        self.client.make_ring(self.ring + "-2")
        self.assertEqual(self.client.GetRing(ring=self.ring + "-2").ring.placement, named)
        self.assertEqual(named.hashed.label, "{key}#{index}")
        self.assertEqual(named.hashed.hash, pb.HASH_FUNCTION_XXH3_64)

    def test_history_limits(self):
        """history_limits: max_age of at least 1 s, max_changes of at least 1, and told again by GetRing."""
        for limits in ({"max_changes": 0}, {"max_age": {"seconds": 0}}, {"max_age": {"nanos": 999999999}},
                       {"max_age": {"seconds": -1}}):
            self.refused(INVALID, self.client.CreateRing, ring=self.ring, placement=hashed(),
                         history_limits=pb.HistoryLimits(**limits))
        limits = pb.HistoryLimits(max_changes=1, max_age={"seconds": 1})
        self.client.CreateRing(ring=self.ring, placement=hashed(), history_limits=limits)
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.history_limits, limits)

    def test_not_served_yet(self):
        """What is not served yet is UNIMPLEMENTED with a text that names it, and does nothing."""
        version = self.client.make_ring(self.ring, ["n"])
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.stub.Backup(pb.BackupRequest(), timeout=10))
        self.assertEqual(caught.exception.code().name, "UNIMPLEMENTED")
        self.assertIn("Backup", caught.exception.details())
        self.assertEqual(self.client.GetRing(ring=self.ring).version, version)

    def test_page_size(self):
        """A negative page_size is INVALID_ARGUMENT, one that is too big is capped, 0 is the default."""
        self.client.make_ring(self.ring, ["n%04d" % i for i in range(1001)], points_per_weight=1, default_weight=1)
        for call in (lambda size: self.client.GetRing(ring=self.ring, page_size=size),
                     lambda size: self.client.ListRings(page_size=size)):
            for size in (-1, -2147483648):
                self.refused(INVALID, call, size)
        self.assertEqual(len(self.client.GetRing(ring=self.ring).nodes), 1000)
        answer = self.client.GetRing(ring=self.ring, page_size=2147483647)
        self.assertEqual((len(answer.nodes), answer.next_page_token), (1001, ""))
        self.assertIn(self.ring, [ring.name for ring in self.client.ListRings(page_size=2147483647).rings])

    def test_watch_selectors(self):
        """Watch: no selector, no name, an empty prefix, a held ring that is not selected: INVALID_ARGUMENT; too
        many names."""
        position = pb.WatchPosition(version=pb.Version(epoch=1, revision=1))
        for options in ({}, {"rings": []}, {"prefix": ""}, {"rings": ["a", ""]},
                        {"rings": ["a"], "held": {"b": position}}, {"prefix": "x", "held": {"b": position}},
                        {"rings": ["a"], "held": {"a": pb.WatchPosition()}}):
            watch = Watch(self.client, **options)
            self.addCleanup(watch.cancel)
            self.assertEqual(watch.wait_ended(), INVALID, options)
        held = pb.HeldRing(ring="a", position=position)
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.stub.Watch(pb.WatchRequest(selector={"all": {}}, held=[held, held]), timeout=10))
        self.assertEqual((caught.exception.code().name, caught.exception.details()), (INVALID, 'ring "a" is held twice'))
        watch = Watch(self.client, rings=["r%d" % i for i in range(10001)])
        self.addCleanup(watch.cancel)
        self.assertEqual(watch.wait_ended(), TOO_MANY)
        watch = Watch(self.client, rings=["absent-%d" % i for i in range(10000)])
        self.addCleanup(watch.cancel)
        watch.wait_in_sync()
        self.assertEqual(len(watch.absent), 10000)

    def test_error_of_a_stream(self):
        """The error of a Watch has its ErrorInfo of the domain ringd too."""
        call = self.client.stub.Watch(pb.WatchRequest(), timeout=10)
        with self.assertRaises(Exception) as caught:
            list(call)
        self.assertEqual(Refused(caught.exception).reason, "INVALID_FIELD")


class LimitFlagsTest(LimitsCase):
    """The limits that flags set, with small values."""

    FLAGS = ("--max-rings", "5", "--max-nodes", "3", "--max-points", "20", "--max-batch-keys", "4", "--max-key-bytes",
             "8", "--max-request-bytes", "2000", "--max-watches-per-connection", "2")

    def setUp(self):
        super().setUp()
        for ring in self.client.ListRings().rings:
            self.client.delete(ring.name)

    def test_max_rings(self):
        """--max-rings: one more is RESOURCE_EXHAUSTED, and a deleted ring makes room."""
        for i in range(5):
            self.client.make_ring("r%d" % i)
        self.refused(TOO_MANY, self.client.make_ring, "r5", mentions=["5"])
        self.refused("ALREADY_EXISTS", self.client.make_ring, "r4")
        self.client.delete("r0")
        self.client.make_ring("r5")

    def test_max_nodes(self):
        """--max-nodes: one more is RESOURCE_EXHAUSTED, nodes of weight 0 count, and a removed node makes room."""
        self.client.make_ring(self.ring, [{"id": "a"}, {"id": "b"}, {"id": "c", "weight": 0}], points_per_weight=1,
                              default_weight=1)
        before = self.client.GetRing(ring=self.ring)
        self.refused(TOO_MANY, self.client.add, self.ring, "d", weight=0, mentions=["3"])
        self.refused(TOO_MANY, self.client.apply, self.ring, [add(id="d"), add(id="e"), remove("a")])
        self.assertEqual(self.client.GetRing(ring=self.ring), before)
        self.client.apply(self.ring, [add(id="d"), remove("a")], force=True)
        self.assertEqual(list(self.client.nodes(self.ring)), ["b", "c", "d"])

    def test_max_points(self):
        """--max-points: AddNode and UpdateNode beyond it are RESOURCE_EXHAUSTED and change nothing."""
        self.client.make_ring(self.ring, ["a", "b"], points_per_weight=2, default_weight=5)
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.point_count, 20)
        before = self.client.GetRing(ring=self.ring)
        self.refused(TOO_MANY, self.client.add, self.ring, "c", weight=1, mentions=["20"])
        self.refused(TOO_MANY, self.client.update, self.ring, "a", weight=6)
        self.refused(TOO_MANY, self.client.update, self.ring, "a", weight=65535)
        self.assertEqual(self.client.GetRing(ring=self.ring), before)
        self.client.apply(self.ring, [update("a", weight=6), update("b", weight=4)])

    def test_max_batch_keys_and_key_bytes(self):
        """--max-batch-keys and --max-key-bytes at their bounds and one beyond."""
        self.client.make_ring(self.ring, ["a"], points_per_weight=1, default_weight=1)
        self.assertEqual(self.client.owners(self.ring, [b"k" * 8] * 4), [["a"]] * 4)
        self.refused(TOO_MANY, self.client.BatchLookup, ring=self.ring, keys=[b"k"] * 5)
        self.refused(INVALID, self.client.BatchLookup, ring=self.ring, keys=[b"k" * 9])
        self.refused(INVALID, self.client.Lookup, ring=self.ring, key=b"k" * 9)

    def test_max_request_bytes(self):
        """--max-request-bytes: a message of exactly that size is read, one byte more is RESOURCE_EXHAUSTED."""
        self.client.make_ring(self.ring)
        request = pb.AddNodeRequest(ring=self.ring, node=pb.Node(id="a", weight=1, metadata={"k": ""}))
        size = request.ByteSize()
        request.node.metadata["k"] = "v" * (2000 - size - 3)
        while request.ByteSize() < 2000:
            request.node.metadata["k"] += "v"
        self.assertEqual(request.ByteSize(), 2000)
        self.client.send("AddNode", request)
        request.node.id = "b"
        request.node.metadata["k"] += "v"
        with self.assertRaises(Refused) as caught:
            self.client.send("AddNode", request)
        self.assertEqual(caught.exception.code, TOO_MANY)
        self.assertEqual(list(self.client.nodes(self.ring)), ["a"])

    def test_max_watches_per_connection(self):
        """--max-watches-per-connection: the next Watch is RESOURCE_EXHAUSTED, on another connection it is not."""
        client = self.connect()
        for _ in range(2):
            self.watch(self.ring, client=client).wait_in_sync()
        self.assertEqual(self.watch(self.ring, client=client).wait_ended(), TOO_MANY)
        self.watch(self.ring, client=self.connect()).wait_in_sync()


class MaxWatchesTest(LimitsCase):
    FLAGS = ("--max-watches", "2")

    def test_max_watches(self):
        """--max-watches: the next Watch, on whatever connection, is RESOURCE_EXHAUSTED and told when to come again; one
        that ends makes room."""
        first = self.watch(self.ring)
        self.watch(self.ring, client=self.connect()).wait_in_sync()
        first.wait_in_sync()
        call = self.connect().stub.Watch(pb.WatchRequest(selector={"names": {"rings": [self.ring]}}))
        with self.assertRaises(grpc.RpcError) as caught:
            list(call)
        self.assertEqual((caught.exception.code().name, infos_of(caught.exception)[0].reason),
                         (TOO_MANY, "LIMIT_EXCEEDED"))
        self.assertIn("2", caught.exception.details())
        retry = self.retry_of(caught.exception)
        self.assertTrue(0 <= retry.seconds <= 1, retry)
        first.cancel()
        eventually(lambda: self.watch(self.ring, client=self.connect()).wait(
            lambda watch: watch.in_sync or watch.code) is True, "a place")

    def retry_of(self, error):
        """The retry_delay of the RetryInfo in the details of an error."""
        details = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
        retries = [detail for detail in details.details if detail.type_url.endswith("/google.rpc.RetryInfo")]
        self.assertEqual(len(retries), 1)
        retry = RetryInfo()
        self.assertTrue(retries[0].Unpack(retry))
        return retry.retry_delay


if __name__ == "__main__":
    unittest.main()
