"""What directory.proto promises of changes and reads, asked of a real ringd.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2  # noqa: E402

from ringd_client import Refused, add, hashed, key_of, remove, update  # noqa: E402
from ringd_process import PATIENCE  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb, reflection_pb, reflection_rpc  # noqa: E402

CONFLICT, PRECONDITION, INVALID = "ABORTED", "FAILED_PRECONDITION", "INVALID_ARGUMENT"


def later(version, by=1):
    return pb.Version(epoch=version.epoch, revision=version.revision + by)


class ChangesTest(ServerCase):
    def ring_now(self):
        return self.client.GetRing(ring=self.ring)

    def test_revisions_are_dense(self):
        """Each accepted change is one revision more and says which it was made on; refused ones use none."""
        version = self.client.make_ring(self.ring)
        self.assertEqual(version.revision, 1)
        for call in (lambda: self.client.add(self.ring, "a"),
                     lambda: self.client.add(self.ring, "b"),
                     lambda: self.client.update(self.ring, "a", weight=99),
                     lambda: self.client.apply(self.ring, [add(id="c"), update("a", zone="z"), remove("b")], force=True),
                     lambda: self.client.remove(self.ring, "c")):
            self.refused("NOT_FOUND", self.client.remove, self.ring, "no-such")
            self.refused(INVALID, self.client.add, self.ring, "")
            answer = call()
            self.assertEqual(answer.previous_version, version)
            self.assertEqual(answer.version, later(version))
            version = answer.version
            self.assertEqual(self.ring_now().version, version)

    def test_nothing_changes(self):
        """A change that changes nothing is OK, uses no revision and reaches no watcher."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 5, "address": "h:1", "zone": "z", "metadata": {"k": "v"}}])
        before = self.ring_now()
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        for answer in (self.client.update(self.ring, "a", weight=5),
                       self.client.update(self.ring, "a", address="h:1", zone="z", metadata={"k": "v"}),
                       self.client.apply(self.ring, [update("a", weight=5)])):
            self.assertEqual((answer.version, answer.previous_version), (before.version, before.version))
        self.assertEqual(self.ring_now(), before)
        watch.wait_at(self.ring, self.client.add(self.ring, "b").version)
        self.assertEqual(watch.kinds["change"], 1)
        watch.check(self)

    def test_update_node(self):
        """UpdateNode changes what the mask names and nothing else; a weight that is named and absent is the default."""
        self.client.make_ring(self.ring, ["other", {"id": "a", "weight": 5, "address": "h:1", "zone": "z",
                                                    "hash_key": "k", "metadata": {"k": "v"}}], default_weight=50)
        node = pb.Node(id="a", weight=6, address="new", zone="new", hash_key="new", metadata={"new": "new"})
        for path in ("weight", "address", "zone", "metadata"):
            expected = self.client.nodes(self.ring)["a"]
            self.client.UpdateNode(ring=self.ring, node=node, update_mask={"paths": [path]})
            if path == "metadata":
                expected.metadata.clear()
                expected.metadata.update({"new": "new"})
            else:
                setattr(expected, path, getattr(node, path))
            got = self.client.nodes(self.ring)["a"]
            expected.share = got.share
            self.assertEqual(got, expected)
        self.client.UpdateNode(ring=self.ring, node=pb.Node(id="a"), update_mask={"paths": ["weight", "metadata"]})
        got = self.client.nodes(self.ring)["a"]
        self.assertEqual((got.weight, dict(got.metadata), got.address), (50, {}, "new"))
        self.refused("NOT_FOUND", self.client.update, self.ring, "no-such", weight=1, mentions=["no-such"])

    def test_expected_version(self):
        """expected_version that is not the ring's is ABORTED and changes nothing; the right one passes. DeleteRing
        too."""
        version = self.client.make_ring(self.ring, ["a", "b", "c"])
        wrong = [later(version), later(version, -1), pb.Version(epoch=version.epoch - 1, revision=version.revision),
                 pb.Version(epoch=version.epoch + 1, revision=version.revision), pb.Version()]
        for expected in wrong:
            options = pb.MutationOptions(expected_version=expected, force=True)
            for call in (lambda: self.client.add(self.ring, "x", options),
                         lambda: self.client.update(self.ring, "a", options, weight=1),
                         lambda: self.client.update(self.ring, "a", options, weight=100),  # would change nothing
                         lambda: self.client.RemoveNode(ring=self.ring, node_id="a", options=options),
                         lambda: self.client.ApplyChanges(ring=self.ring, operations=[remove("a")], options=options),
                         lambda: self.client.DeleteRing(ring=self.ring, options=options)):
                self.refused(CONFLICT, call, reason="VERSION_MISMATCH", mentions=[self.ring])
        self.assertEqual(self.ring_now().version, version)
        answer = self.client.add(self.ring, "x", pb.MutationOptions(expected_version=version))
        self.assertEqual(answer.version, later(version))
        self.client.DeleteRing(ring=self.ring, options=pb.MutationOptions(expected_version=answer.version, force=True))
        self.refused(INVALID, self.client.CreateRing, ring=self.ring, placement=hashed(),
                     options=pb.MutationOptions(expected_version=version))

    def test_one_of_many_wins(self):
        """Of 16 changes made at once on one expected version, exactly one is accepted and 15 are ABORTED."""
        version = self.client.make_ring(self.ring)
        outcomes = []

        def change(i):
            try:
                self.client.add(self.ring, "n%d" % i, pb.MutationOptions(expected_version=version))
                outcomes.append("OK")
            except Refused as refused:
                outcomes.append(refused.code)
        threads = [threading.Thread(target=change, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(sorted(outcomes), [CONFLICT] * 15 + ["OK"])
        self.assertEqual(self.ring_now().version, later(version))

    def test_request_id(self):
        """A retry with the same request_id and content gets the first answer and changes nothing, for each change."""
        calls = {
            "create": lambda options: self.client.CreateRing(ring=self.ring, placement=hashed(), options=options),
            "add": lambda options: self.client.add(self.ring, "a", options),
            "apply": lambda options: self.client.ApplyChanges(ring=self.ring, operations=[add(id="b"), add(id="c")],
                                                              options=options),
            "update": lambda options: self.client.update(self.ring, "a", options, weight=1),
            "remove": lambda options: self.client.RemoveNode(ring=self.ring, node_id="b", options=options),
        }
        answers = {name: call(pb.MutationOptions(request_id=name)) for name, call in calls.items()}
        version = self.ring_now().version
        self.assertEqual(version.revision, 5)
        for name, call in calls.items():
            self.assertEqual(call(pb.MutationOptions(request_id=name)), answers[name], name)
        self.assertEqual(self.ring_now().version, version)

    def test_request_id_of_another_request(self):
        """The same request_id with other content is INVALID_ARGUMENT, whichever the two changes are."""
        self.client.make_ring(self.ring, ["x", "y", "z"])
        options = pb.MutationOptions(request_id="i")
        self.client.add(self.ring, "a", options)
        before = self.ring_now()
        for call in (lambda: self.client.add(self.ring, "b", options),
                     lambda: self.client.add(self.ring, "a", options, weight=1),
                     lambda: self.client.RemoveNode(ring=self.ring, node_id="a", options=options),
                     lambda: self.client.update(self.ring, "a", options, weight=1),
                     lambda: self.client.ApplyChanges(ring=self.ring, operations=[add(id="b")], options=options)):
            self.refused(INVALID, call, reason="REQUEST_ID_REUSED")
        self.assertEqual(self.ring_now(), before)

    def test_request_id_of_a_change_is_not_one_of_a_delete(self):
        """A DeleteRing with the request_id of an earlier change of the ring is INVALID_ARGUMENT: other content."""
        self.client.make_ring(self.ring, ["x"])
        self.client.add(self.ring, "a", pb.MutationOptions(request_id="i"))
        before = self.ring_now()
        self.refused(INVALID, self.client.DeleteRing, ring=self.ring, reason="REQUEST_ID_REUSED",
                     options=pb.MutationOptions(request_id="i", force=True))
        self.assertEqual(self.ring_now(), before)

    def test_request_id_is_kept_by_accepted_changes_only(self):
        """A refused change and a plan leave their request_id free; another ring has request_ids of its own."""
        self.client.make_ring(self.ring, ["a"])
        options = pb.MutationOptions(request_id="i")
        self.refused("ALREADY_EXISTS", self.client.add, self.ring, "a", options)
        self.client.add(self.ring, "b", pb.MutationOptions(request_id="i", validate_only=True))
        version = self.client.add(self.ring, "c", options).version
        # A plan does not look at it either.
        plan = self.client.add(self.ring, "d", pb.MutationOptions(request_id="i", validate_only=True)).plan
        self.assertEqual(plan.ring.version, later(version))
        self.client.make_ring(self.ring + "-2")
        self.assertEqual(self.client.add(self.ring + "-2", "c", options).version.revision, 2)

    def test_request_id_of_delete(self):
        """A DeleteRing that is tried again is answered as the first, also when the name is a new ring's by then."""
        version = self.client.make_ring(self.ring, ["a"])
        options = pb.MutationOptions(request_id="d", force=True)
        first = self.client.DeleteRing(ring=self.ring, options=options)
        self.assertEqual(first.version, version)
        self.assertEqual(self.client.DeleteRing(ring=self.ring, options=options), first)
        self.refused("NOT_FOUND", self.client.DeleteRing, ring=self.ring, options=pb.MutationOptions(request_id="e"))
        new = self.client.make_ring(self.ring)
        self.assertGreater(new.epoch, version.epoch)
        self.assertEqual(self.client.DeleteRing(ring=self.ring, options=options), first)
        self.assertEqual(self.ring_now().version, new)

    def test_request_id_at_once(self):
        """Eight callers with one request_id at once: one change, eight equal answers."""
        version = self.client.make_ring(self.ring)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(
            self.client.add(self.ring, "a", pb.MutationOptions(request_id="i")))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual([answer.version for answer in answers], [later(version)] * 8)

    def test_validate_only(self):
        """validate_only answers the ring that would result, with shares, and changes nothing. Then the change does
        just that."""
        self.client.make_ring(self.ring, ["a", "b", "c"])
        before = self.ring_now()
        for operations in ([add(id="d", weight=50)], [update("a", weight=150)], [remove("d"), update("b", zone="z")]):
            plan = self.client.apply(self.ring, operations, validate_only=True)
            self.assertEqual((plan.version, self.ring_now().version), (before.version, before.version))
            self.assertFalse(plan.plan.force_needed)
            after = self.client.apply(self.ring, operations)
            self.assertEqual(after.version, plan.plan.ring.version)
            now = self.ring_now()
            plan.plan.ring.update_time.CopyFrom(now.ring.update_time)
            self.assertEqual((plan.plan.ring, list(plan.plan.nodes)), (now.ring, list(now.nodes)))
            self.assertFalse(after.HasField("plan"))
            before = now
        for call in (lambda options: self.client.add(self.ring, "a", options),
                     lambda options: self.client.add(self.ring, "x" * 256, options),
                     lambda options: self.client.RemoveNode(ring=self.ring, node_id="no-such", options=options)):
            with self.assertRaises(Refused):
                call(pb.MutationOptions(validate_only=True))
        self.assertEqual(self.ring_now(), before)

    def test_validate_only_of_rings(self):
        """The plan of CreateRing has epoch 0, that of DeleteRing no ring; neither does it."""
        plan = self.client.CreateRing(ring=self.ring, placement=hashed(), options=pb.MutationOptions(validate_only=True))
        self.assertEqual(key_of(plan.version), (0, 1))
        self.assertEqual(plan.plan.ring.name, self.ring)
        self.refused("NOT_FOUND", self.client.GetRing, ring=self.ring)
        version = self.client.make_ring(self.ring, ["a"])
        answer = self.client.DeleteRing(ring=self.ring, options=pb.MutationOptions(validate_only=True))
        self.assertTrue(answer.plan.force_needed)
        self.assertFalse(answer.plan.HasField("ring"))
        self.assertEqual((answer.version, self.ring_now().version), (version, version))

    def test_plan_of_many_nodes(self):
        """A plan shows at most 1,000 nodes and how many it leaves out."""
        self.client.make_ring(self.ring, points_per_weight=1, default_weight=1)
        plan = self.client.apply(self.ring, [add(id="n%05d" % i) for i in range(1500)], validate_only=True).plan
        self.assertEqual((len(plan.nodes), plan.nodes_left_out, plan.ring.node_count), (1000, 500, 1500))

    def test_force_for_more_than_half(self):
        """A change that takes exactly half of the weight passes, one more needs force; additions do not count
        against it."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 50}, {"id": "b", "weight": 30}, {"id": "c", "weight": 20}])
        half, more = [remove("a")], [remove("a"), update("c", weight=19)]
        for operations in (more, more + [add(id="d", weight=1000)], [update("a", weight=0), update("b", weight=29)],
                           [update("a", weight=0), remove("c")]):
            answer = self.client.apply(self.ring, operations, validate_only=True)
            self.assertTrue(answer.plan.force_needed and answer.plan.force_reason)
            self.refused(PRECONDITION, self.client.apply, self.ring, operations, reason="FORCE_REQUIRED",
                         mentions=["force"])
        self.assertFalse(self.client.apply(self.ring, half, validate_only=True).plan.force_needed)
        version = self.client.apply(self.ring, half).version
        self.client.remove(self.ring, "b")
        self.assertEqual(self.ring_now().version, later(version))

    def test_force_for_an_odd_weight(self):
        """Of weight 3, taking 1 passes and taking 2 needs force: more than half is more than 1.5."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 2}, {"id": "b", "weight": 1}])
        self.refused(PRECONDITION, self.client.RemoveNode, ring=self.ring, node_id="a")
        self.client.RemoveNode(ring=self.ring, node_id="b")

    def test_force_for_the_last_weighted_node(self):
        """The last node of weight > 0 goes with force only; nodes of weight 0 go and come freely."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 1}, {"id": "idle", "weight": 0}])
        self.refused(PRECONDITION, self.client.RemoveNode, ring=self.ring, node_id="a", reason="FORCE_REQUIRED")
        self.refused(PRECONDITION, self.client.update, self.ring, "a", weight=0)
        self.client.RemoveNode(ring=self.ring, node_id="idle")
        self.client.update(self.ring, "a", pb.MutationOptions(force=True), weight=0)
        self.client.RemoveNode(ring=self.ring, node_id="a")

    def test_force_for_a_ring_with_nodes(self):
        """DeleteRing needs force while the ring has nodes, of weight 0 too; an empty ring goes without."""
        self.client.make_ring(self.ring, [{"id": "idle", "weight": 0}])
        self.refused(PRECONDITION, self.client.DeleteRing, ring=self.ring, reason="FORCE_REQUIRED")
        self.client.RemoveNode(ring=self.ring, node_id="idle")
        self.client.DeleteRing(ring=self.ring)
        self.refused("NOT_FOUND", self.client.GetRing, ring=self.ring, reason="RING_NOT_FOUND")

    def test_all_or_nothing(self):
        """One bad operation of an ApplyChanges and none is done: no revision, no node, nothing for a watcher."""
        self.client.make_ring(self.ring, ["a", "b", "c", "e"])
        before = self.ring_now()
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        for code, bad in (("ALREADY_EXISTS", add(id="a")), ("NOT_FOUND", remove("no-such")),
                          ("NOT_FOUND", update("no-such", weight=1)), (INVALID, add(id="")),
                          ("ALREADY_EXISTS", add(id="x", hash_key="a"))):
            for operations in ([add(id="d"), update("b", weight=1), bad], [bad, add(id="d"), update("b", weight=1)]):
                self.refused(code, self.client.apply, self.ring, operations)
        self.assertEqual(self.ring_now(), before)
        answer = self.client.apply(self.ring, [add(id="d"), update("b", weight=99), remove("c")])
        self.assertEqual(answer.version, later(before.version))
        watch.wait_at(self.ring, answer.version)
        self.assertEqual(len(watch.events("change")), 1)
        self.assertEqual(len(watch.events("change")[0].nodes), 3)
        watch.check_equal(self, self.client, self.ring)

    def test_hash_key_goes_over_within_one_change(self):
        """One change may remove a node and give its hash_key to a new one: no key then moves but between the two."""
        self.client.make_ring(self.ring, ["a", {"id": "b", "hash_key": "k"}, "c"])
        keys = [b"key-%d" % i for i in range(2000)]
        before = self.client.owners(self.ring, keys)
        self.client.apply(self.ring, [add(id="b2", hash_key="k"), remove("b")])
        self.assertEqual([["b" if owner == "b2" else owner for owner in owners]
                          for owners in self.client.owners(self.ring, keys)], before)

    def test_join_number(self):
        """join_number is the server's, goes up with each node that is added, and a node that comes back gets a new
        one."""
        self.client.make_ring(self.ring, ["a", "b"])
        self.client.add(self.ring, "c", join_number=77, share=0.5)
        numbers = {node_id: node.join_number for node_id, node in self.client.nodes(self.ring).items()}
        self.assertLess(numbers["b"], numbers["c"])
        self.assertNotEqual(numbers["c"], 77)
        self.client.remove(self.ring, "c")
        self.client.add(self.ring, "c")
        self.assertGreater(self.client.nodes(self.ring)["c"].join_number, numbers["c"])


class ReadsTest(ServerCase):
    def test_get_ring_pages(self):
        """Pages hold each node once, in order of id, with shares that add up to 1, whatever the page size."""
        names = ["n%03d" % i for i in range(95)] + ["N", "é", "ключ", "~", "0"]
        self.client.make_ring(self.ring, names)
        whole = self.client.GetRing(ring=self.ring)
        self.assertEqual([node.id for node in whole.nodes], sorted(names, key=str.encode))
        self.assertAlmostEqual(sum(node.share for node in whole.nodes), 1, places=12)
        self.assertAlmostEqual(whole.ring.imbalance, max(node.share for node in whole.nodes) * 100, places=9)
        for size in (1, 7, 50, 99, 100, 101):
            nodes, token, pages = [], "", 0
            while True:
                page = self.client.GetRing(ring=self.ring, page_size=size, page_token=token)
                self.assertEqual((page.version, page.ring), (whole.version, whole.ring))
                nodes += page.nodes
                token = page.next_page_token
                pages += 1
                if not token:
                    break
            self.assertEqual(nodes, list(whole.nodes))
            self.assertEqual(pages, (100 + size - 1) // size)

    def test_ring_description(self):
        """GetRing tells count, weight, points and times; they follow the changes."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 3}, {"id": "b", "weight": 0}], points_per_weight=4,
                              labels={"team": "x"})
        ring = self.client.GetRing(ring=self.ring).ring
        self.assertEqual((ring.name, ring.node_count, ring.total_weight, ring.point_count, ring.imbalance),
                         (self.ring, 2, 3, 12, 1))
        self.assertEqual(dict(ring.labels), {"team": "x"})
        self.assertLess(abs(ring.create_time.ToSeconds() - time.time()), 60)
        self.assertGreaterEqual(ring.update_time.ToNanoseconds(), ring.create_time.ToNanoseconds())
        self.assertEqual([(node.id, node.share) for node in self.client.nodes(self.ring).values()], [("a", 1), ("b", 0)])

    def test_checksum(self):
        """The checksum is one of the content: equal for equal rings of another history, other after any change of a
        node."""
        self.client.make_ring(self.ring, ["a", "b", "tmp"])
        self.client.remove(self.ring, "tmp")
        self.client.make_ring(self.ring + "-2", ["b"])
        self.client.add(self.ring + "-2", "a")
        checksum = self.client.GetRing(ring=self.ring).ring.checksum
        self.assertEqual(checksum, self.client.GetRing(ring=self.ring + "-2").ring.checksum)
        seen = {checksum.value}
        for fields in ({"weight": 99}, {"zone": "z"}, {"address": "h:1"}, {"metadata": {"k": "v"}}):
            self.client.update(self.ring, "a", **fields)
            seen.add(self.client.GetRing(ring=self.ring).ring.checksum.value)
        self.assertEqual(len(seen), 5)

    def test_list_rings(self):
        """ListRings pages by name, each ring once, with a prefix or without."""
        names = ["list-%s-%02d" % (group, i) for group in ("a", "b") for i in range(25)] + ["list-a", "list-az"]
        for name in names:
            self.client.make_ring(name)
        for prefix in ("", "list-", "list-a", "list-a-", "list-b-07", "list-c"):
            expected = sorted(name for name in names if name.startswith(prefix))
            for size in (0, 1, 7, 25, 26, 100):
                got, token = [], ""
                while True:
                    page = self.client.ListRings(prefix=prefix, page_size=size, page_token=token)
                    self.assertTrue(page.server_version)
                    got += [ring.name for ring in page.rings]
                    token = page.next_page_token
                    if not token:
                        break
                self.assertEqual([name for name in got if name.startswith("list-")], expected, (prefix, size))
                self.assertEqual(got, sorted(set(got)))
        self.assertEqual(self.client.ListRings(prefix="list-az").rings[0], self.client.GetRing(ring="list-az").ring)
        for name in names:
            self.client.delete(name)

    def test_lookup_of_positions(self):
        """A key and the position that is its hash have the same owners; the ends of the circle have one."""
        self.client.make_ring(self.ring, ["a", "b", "c"])
        for i in range(200):
            by_key = self.client.Lookup(ring=self.ring, key=b"key-%d" % i, owners=2)
            self.assertEqual(self.client.Lookup(ring=self.ring, position=by_key.hash, owners=2), by_key)
        for position in (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
            answer = self.client.Lookup(ring=self.ring, position=position, owners=3)
            self.assertEqual((answer.hash, len({owner.id for owner in answer.owners})), (position, 3))

    def test_batch_lookup_equals_lookup(self):
        """BatchLookup answers as Lookup for every key, in order, with each node once in its table, of one version."""
        version = self.client.make_ring(self.ring, [{"id": "n%d" % i, "address": "h:%d" % i, "zone": "z%d" % (i % 2)}
                                                    for i in range(6)] + [{"id": "idle", "weight": 0}])
        keys = [b"key-%d" % i for i in range(300)] + [b"same"] * 3 + [b"\0", b"\xff\xfe"]
        for owners in (None, 1, 3, 6, 7, 64):
            batch = self.client.BatchLookup(ring=self.ring, keys=keys, owners=owners)
            self.assertEqual((batch.version, batch.owners_per_key), (version, min(owners or 1, 6)))
            self.assertEqual(batch.owners_short, (owners or 1) > 6)
            self.assertEqual(len(batch.owner_indices), len(keys) * batch.owners_per_key)
            self.assertEqual(len({node.id for node in batch.nodes}), len(batch.nodes))
            for i, key in enumerate(keys):
                alone = self.client.Lookup(ring=self.ring, key=key, owners=owners)
                at = i * batch.owners_per_key
                self.assertEqual([batch.nodes[index] for index in batch.owner_indices[at:at + batch.owners_per_key]],
                                 list(alone.owners))
                self.assertEqual((alone.version, alone.owners_short), (version, batch.owners_short))

    def test_batch_lookup_is_of_one_version(self):
        """While a writer moves all keys between two nodes, no batch ever holds owners of two versions."""
        self.client.make_ring(self.ring, [{"id": "a", "weight": 1}, {"id": "b", "weight": 0}])
        stop = threading.Event()

        def toggle():
            client = self.connect()
            while not stop.is_set():
                for on, off in (("b", "a"), ("a", "b")):
                    client.apply(self.ring, [update(on, weight=1), update(off, weight=0)], force=True)
        writer = threading.Thread(target=toggle)
        writer.start()
        try:
            seen = set()
            deadline = time.monotonic() + PATIENCE
            while len(seen) < 2 and time.monotonic() < deadline:
                for _ in range(100):
                    batch = self.client.BatchLookup(ring=self.ring, keys=[b"key-%d" % i for i in range(1000)])
                    owners = {batch.nodes[i].id for i in batch.owner_indices}
                    # From the second revision on, that of the nodes, a owns everything at even ones.
                    self.assertEqual(owners, {"a" if batch.version.revision % 2 == 0 else "b"})
                    seen |= owners
            self.assertEqual(len(seen), 2)
        finally:
            stop.set()
            writer.join(PATIENCE)

    def test_reads_carry_their_version(self):
        """A read by its writer sees at least the change that was answered, and says which version it is of."""
        self.client.make_ring(self.ring, ["n"])
        other = self.connect()
        for i in range(50):
            version = self.client.add(self.ring, "n%d" % i).version
            self.assertGreaterEqual(key_of(other.Lookup(ring=self.ring, key=b"k").version), key_of(version))
            self.assertGreaterEqual(key_of(other.GetRing(ring=self.ring, page_size=1).version), key_of(version))

    def reads(self, client=None):
        client = client or self.client
        return (lambda **fields: client.Lookup(ring=self.ring, key=b"k", **fields),
                lambda **fields: client.BatchLookup(ring=self.ring, keys=[b"k"], **fields),
                lambda **fields: client.GetRing(ring=self.ring, **fields))

    def test_min_version_that_is_there(self):
        """min_version that is reached, or passed, or of a lower epoch, is answered at once."""
        version = self.client.make_ring(self.ring, ["n"])
        for read in self.reads():
            for wanted in (version, later(version, -1), pb.Version(epoch=version.epoch - 1, revision=1 << 40),
                           pb.Version()):
                self.assertEqual(read(min_version=wanted, timeout=2).version, version)

    def test_min_version_that_comes(self):
        """min_version that is not there yet is waited for and answered when another client makes the change."""
        self.client.make_ring(self.ring, ["n"])
        writer = self.connect()
        for index in range(3):
            version = self.client.GetRing(ring=self.ring).version
            answers = []
            threads = [threading.Thread(target=lambda read=read: answers.append(read(min_version=later(version))))
                       for read in self.reads()]
            for thread in threads:
                thread.start()
            writer.add(self.ring, "n%d" % index)
            for thread in threads:
                thread.join(PATIENCE)
            self.assertEqual([answer.version for answer in answers], [later(version)] * 3)

    def test_min_version_waits(self):
        """A read whose min_version is not there does wait: the change that comes half a second later answers it."""
        version = self.client.make_ring(self.ring, ["n"])
        call = self.client.stub.Lookup.future(
            pb.LookupRequest(ring=self.ring, key=b"k", min_version=later(version, 2)), timeout=PATIENCE)
        self.client.add(self.ring, "n1")
        with self.assertRaises(grpc.FutureTimeoutError):
            call.result(timeout=0.5)
        self.client.add(self.ring, "n2")
        self.assertEqual(call.result(timeout=PATIENCE).version, later(version, 2))

    def test_min_version_that_does_not_come(self):
        """min_version that is not reached is UNAVAILABLE after about 3 s, also when its epoch is higher."""
        version = self.client.make_ring(self.ring, ["n"])
        calls = []
        started = time.monotonic()
        for wanted in (later(version), pb.Version(epoch=version.epoch + 1, revision=1)):
            for read in self.reads():
                calls.append(threading.Thread(target=self.refused, args=("UNAVAILABLE", read), kwargs={
                    "min_version": wanted, "mentions": [self.ring, "%d" % version.revision]}))
        outcomes = []
        threading.excepthook, hook = (lambda args: outcomes.append(args.exc_value)), threading.excepthook
        try:
            for call in calls:
                call.start()
            for call in calls:
                call.join(PATIENCE)
        finally:
            threading.excepthook = hook
        self.assertEqual(outcomes, [])
        elapsed = time.monotonic() - started
        self.assertGreater(elapsed, 2.5)
        self.assertLess(elapsed, 15)

    def test_min_version_within_the_deadline(self):
        """A wait for min_version ends with the caller's deadline when that is earlier."""
        version = self.client.make_ring(self.ring, ["n"])
        for read in self.reads():
            started = time.monotonic()
            with self.assertRaises(Refused) as caught:
                read(min_version=later(version), timeout=0.3)
            self.assertIn(caught.exception.code, ("DEADLINE_EXCEEDED", "UNAVAILABLE"))
            self.assertLess(time.monotonic() - started, 2.5)

    def test_min_version_of_a_new_epoch(self):
        """A higher epoch wins over any revision: a ring that is made anew answers a wait for the old one."""
        version = self.client.make_ring(self.ring, ["n"])
        call = self.client.stub.GetRing.future(
            pb.GetRingRequest(ring=self.ring, min_version=pb.Version(epoch=version.epoch + 1, revision=0)), timeout=PATIENCE)
        self.client.delete(self.ring)
        new = self.client.make_ring(self.ring)
        try:
            self.assertEqual(call.result(timeout=PATIENCE).version, new)
        except grpc.RpcError as error:  # the moment without the ring answers it too
            self.assertEqual(error.code().name, "NOT_FOUND")
        self.assertEqual(self.client.GetRing(ring=self.ring, min_version=later(version, 1 << 40), timeout=2).version, new)

    def test_min_version_of_no_ring(self):
        """A ring that does not exist is NOT_FOUND at once, min_version or not."""
        for read in self.reads():
            self.refused("NOT_FOUND", read, min_version=pb.Version(epoch=1, revision=1), timeout=2)

    def test_no_age_on_a_single_server(self):
        """age and stale are absent on a single server."""
        self.client.make_ring(self.ring, ["n"])
        for read in self.reads():
            answer = read(linearizable=True)
            self.assertFalse(answer.HasField("age") or answer.HasField("stale"))

    def test_health(self):
        """Health of "", the service and its writes is SERVING; an unknown name is NOT_FOUND. B97 (grpc/grpc#18112)."""
        for service in ("", "ringd.v1.Directory", "ringd.v1.Directory.Write"):
            self.assertEqual(self.client.health(service), "SERVING", service)
        for service in ("no.such.Service", "ringd.v1.directory", "Directory"):
            self.assertEqual(self.client.health(service), "NOT_FOUND", service)


class ReflectionTest(ServerCase):
    def ask(self, **request):
        stub = reflection_rpc.ServerReflectionStub(self.client.channel)
        return next(stub.ServerReflectionInfo(iter([reflection_pb.ServerReflectionRequest(**request)]), timeout=PATIENCE))

    def files(self, symbol):
        answer = self.ask(file_containing_symbol=symbol)
        self.assertEqual(answer.WhichOneof("message_response"), "file_descriptor_response", answer)
        return [descriptor_pb2.FileDescriptorProto.FromString(data)
                for data in answer.file_descriptor_response.file_descriptor_proto]

    def test_services(self):
        """Reflection lists the directory and gRPC's health service."""
        names = {service.name for service in self.ask(list_services="").list_services_response.service}
        self.assertLessEqual({"ringd.v1.Directory", "grpc.health.v1.Health",
                              "grpc.reflection.v1alpha.ServerReflection"}, names)

    def test_directory(self):
        """Reflection describes every RPC and message of the directory, and all that its file needs."""
        own = pb.DESCRIPTOR.services_by_name["Directory"]
        service = [service for file in self.files("ringd.v1.Directory") for service in file.service][0]
        self.assertEqual([method.name for method in service.method], [method.name for method in own.methods])
        for message in pb.DESCRIPTOR.message_types_by_name.values():
            self.assertTrue(any(found.name == message.name for file in self.files(message.full_name)
                                for found in file.message_type), message.full_name)
        for dependency in pb.DESCRIPTOR.dependencies:
            self.assertEqual(self.ask(file_by_filename=dependency.name).WhichOneof("message_response"),
                             "file_descriptor_response", dependency.name)

    def test_health(self):
        """Reflection describes grpc.health.v1.Health with Check and Watch, and its request message."""
        service = [service for file in self.files("grpc.health.v1.Health") for service in file.service][0]
        self.assertEqual({method.name for method in service.method}, {"Check", "Watch"})
        self.assertTrue(self.files("grpc.health.v1.HealthCheckRequest"))

    def test_unknown_symbol(self):
        """An unknown symbol is an error of that answer, not of the stream."""
        self.assertEqual(self.ask(file_containing_symbol="no.such.Thing").WhichOneof("message_response"), "error_response")


class RestartTest(ProcessCase):
    def test_one_line_for_each_change(self):
        """The log has one line for each change, with its reason, and none for a retry, a plan, or what changes
        nothing."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["a"])
        options = pb.MutationOptions(request_id="i", reason="because of\nthat")
        for _ in range(3):
            client.add("r", "b", options)
        client.add("r", "c", pb.MutationOptions(validate_only=True))
        client.update("r", "a", weight=100)
        client.remove("r", "b")
        self.assertTrue(server.wait_for_log("RemoveNode"))
        lines = [line for line in server.log if 'ring "r"' in line]
        self.assertEqual([line.split()[2] for line in lines], ["CreateRing", "ApplyChanges", "AddNode", "RemoveNode"])
        self.assertIn("because of\\x0Athat", lines[2])

    def test_what_outlives_a_kill(self):
        """Rings, nodes, versions, request_ids and tombstones are there after kill -9 and a start; the next epoch is
        higher."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("kept", [{"id": "a", "zone": "z", "metadata": {"k": "v"}}, "b"], labels={"l": "1"})
        client.make_ring("gone", ["a"])
        options = pb.MutationOptions(request_id="i", reason="why")
        answer = client.add("kept", "c", options)
        dropping = pb.MutationOptions(request_id="d", force=True)
        dropped = client.DeleteRing(ring="gone", options=dropping)
        before = client.GetRing(ring="kept")
        owners = client.owners("kept", [b"key-%d" % i for i in range(1000)], 2)
        server.kill()
        client = self.connect(self.serve(init=False))
        self.assertEqual(client.GetRing(ring="kept"), before)
        self.assertEqual(client.owners("kept", [b"key-%d" % i for i in range(1000)], 2), owners)
        self.assertEqual(client.add("kept", "c", options), answer)
        self.assertEqual(client.DeleteRing(ring="gone", options=dropping), dropped)
        with self.assertRaises(Refused) as caught:
            client.add("kept", "d", options)
        self.assertEqual(caught.exception.reason, "REQUEST_ID_REUSED")
        self.assertEqual(client.GetRing(ring="kept").version, before.version)
        self.assertGreater(client.make_ring("gone").epoch, max(dropped.version.epoch, before.version.epoch))

    def test_request_id_leaves_with_its_change(self):
        """A request_id is known for as long as its change is in the history: with --history-max 3, three changes."""
        client = self.connect(self.serve(None, "127.0.0.1:0", "--history-max", "3"))
        client.make_ring("r", ["a", "b"])
        options = pb.MutationOptions(request_id="i")
        first = client.update("r", "a", options, weight=1)
        for weight in (2, 3):
            client.update("r", "a", weight=weight)
        self.assertEqual(client.update("r", "a", options, weight=1), first)
        client.update("r", "a", weight=4)
        self.assertEqual(client.update("r", "a", options, weight=1).version.revision, first.version.revision + 4)


if __name__ == "__main__":
    unittest.main()
