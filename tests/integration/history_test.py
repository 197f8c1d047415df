"""The history of a ring: what directory.proto promises of ListChanges, UpdateRing and RestoreVersion, by RPC, through a
Watch and through ringctl.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_client import add, remove, update  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402


class HistoryTest(ServerCase):
    def ring_now(self):
        return self.client.GetRing(ring=self.ring).ring

    def content(self):
        """The nodes with all that they have, shares too, and the checksum."""
        answer = self.client.GetRing(ring=self.ring)
        return list(answer.nodes), answer.ring.checksum

    def test_list_changes(self):
        """Newest first, each as it was made; pages go on from one another whatever changes come meanwhile."""
        self.client.make_ring(self.ring, ["a"])
        options = pb.MutationOptions(reason="why", request_id="i")
        movement = self.client.apply(self.ring, [add(id="b"), update("a", weight=70)], reason="why",
                                     request_id="i").movement
        first = self.client.ListChanges(ring=self.ring, page_size=2)
        self.assertEqual([change.version.revision for change in first.changes], [3, 2])
        self.client.add(self.ring, "c")
        second = self.client.ListChanges(ring=self.ring, page_size=2, page_token=first.next_page_token)
        self.assertEqual([change.from_revision for change in second.changes], [0])
        self.assertEqual((second.next_page_token, second.version.revision), ("", 4))
        change = first.changes[0]
        self.assertEqual((change.from_revision, change.reason, change.request_id), (2, options.reason, "i"))
        self.assertTrue(change.actor and change.time.seconds and change.checksum.value)
        self.assertEqual([(d.before.weight, d.after.weight) for d in change.nodes], [(100, 70), (0, 100)])
        self.assertEqual(change.movement, movement)
        self.assertGreater(movement.moved_share, 0)
        self.refused("INVALID_ARGUMENT", self.client.ListChanges, ring=self.ring, page_token="x", mentions=["page_token"])
        self.refused("INVALID_ARGUMENT", self.client.ListChanges, ring=self.ring, page_size=-1)
        self.refused("NOT_FOUND", self.client.ListChanges, ring=self.ring + "-2", reason="RING_NOT_FOUND")

    def test_update_ring(self):
        """What the mask names is changed as one revision; watchers get it as a change; it moves nothing."""
        self.client.make_ring(self.ring, ["a", "b"], labels={"old": "1"})
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        nodes = self.client.nodes(self.ring)
        answer = self.client.UpdateRing(ring=self.ring, default_weight=7, labels={"team": "a"},
                                        history_limits=pb.HistoryLimits(max_changes=50),
                                        update_mask={"paths": ["default_weight", "labels", "history_limits.max_changes"]})
        self.assertEqual(answer.version.revision, answer.previous_version.revision + 1)
        ring = self.ring_now()
        self.assertEqual((ring.default_weight, dict(ring.labels), ring.history_limits),
                         (7, {"team": "a"}, pb.HistoryLimits(max_changes=50)))
        self.assertEqual(self.client.nodes(self.ring), nodes)
        watch.wait_at(self.ring, answer.version)
        self.assertEqual(watch.kinds["change"], 1)
        self.assertEqual(watch.copies[self.ring].checksum, ring.checksum)
        again = self.client.UpdateRing(ring=self.ring, default_weight=7, update_mask={"paths": ["default_weight"]})
        self.assertEqual((again.version, again.previous_version), (answer.version, answer.version))
        self.client.add(self.ring, "c")
        self.assertEqual(self.client.nodes(self.ring)["c"].weight, 7)
        watch.check(self)

    def test_update_ring_refusals(self):
        """A mask that is empty or unknown, and values out of bounds, are INVALID_ARGUMENT and change nothing."""
        version = self.client.make_ring(self.ring)
        for fields in ({}, {"update_mask": {"paths": ["name"]}}, {"update_mask": {"paths": ["default_weight"]}},
                       {"default_weight": 0, "update_mask": {"paths": ["labels"]}},
                       {"default_weight": 65536, "update_mask": {"paths": ["default_weight"]}},
                       {"labels": {"k": "x" * 4096}, "update_mask": {"paths": ["labels"]}},
                       {"history_limits": {"max_changes": 0}, "update_mask": {"paths": ["history_limits"]}}):
            self.refused("INVALID_ARGUMENT", self.client.UpdateRing, ring=self.ring, mentions=[self.ring], **fields)
        self.refused("NOT_FOUND", self.client.UpdateRing, ring=self.ring + "-2", update_mask={"paths": ["labels"]})
        wrong = pb.MutationOptions(expected_version=pb.Version(epoch=1, revision=1))
        self.refused("ABORTED", self.client.UpdateRing, ring=self.ring, update_mask={"paths": ["labels"]}, options=wrong)
        self.assertEqual(self.ring_now().version, version)

    def test_restore_version(self):
        """Each kept version comes back exactly: nodes, join numbers, shares, checksum. A copy follows by changes."""
        self.client.make_ring(self.ring, ["a", {"id": "b", "hash_key": "old"}])
        watch = self.watch(self.ring)
        watch.wait_in_sync()
        states = {}
        for call in (lambda: self.client.update(self.ring, "a", weight=40),
                     lambda: self.client.apply(self.ring, [remove("b"), add(id="c", weight=300)], force=True),
                     lambda: self.client.add(self.ring, "b", hash_key="new"),  # the same id, another node
                     lambda: self.client.remove(self.ring, "a")):
            version = call().version
            states[version.revision] = (version, self.content())
        for version, content in reversed(list(states.values())):
            answer = self.client.RestoreVersion(ring=self.ring, version=version, options=pb.MutationOptions(force=True))
            self.assertEqual(self.content(), content)
        watch.wait_at(self.ring, answer.version)
        self.assertNotIn("snapshot", {kind for kind in watch.kinds if watch.kinds[kind] > 1})
        watch.check_equal(self, self.client, self.ring)
        watch.check(self)

    def test_restore_version_refusals(self):
        """What is not kept is NOT_FOUND; the guard and the plan are those of any change."""
        version = self.client.make_ring(self.ring, ["a"], history_limits=pb.HistoryLimits(max_changes=3))
        self.client.add(self.ring, "b", weight=1000)
        version.revision += 1
        for kept in (pb.Version(epoch=version.epoch, revision=version.revision + 1),
                     pb.Version(epoch=version.epoch + 1, revision=1), pb.Version(epoch=1, revision=1)):
            self.refused("NOT_FOUND", self.client.RestoreVersion, ring=self.ring, version=kept, reason="VERSION_NOT_KEPT",
                         mentions=[self.ring, "%d/%d" % (kept.epoch, kept.revision)])
        self.refused("INVALID_ARGUMENT", self.client.RestoreVersion, ring=self.ring)
        back = pb.Version(epoch=version.epoch, revision=2)
        self.refused("FAILED_PRECONDITION", self.client.RestoreVersion, ring=self.ring, version=back,
                     reason="FORCE_REQUIRED")
        plan = self.client.RestoreVersion(ring=self.ring, version=back, options=pb.MutationOptions(validate_only=True)).plan
        self.assertEqual(([node.id for node in plan.nodes], plan.force_needed), (["a"], True))
        self.assertEqual(self.ring_now().version, version)
        for _ in range(3):
            self.client.update(self.ring, "a", weight=self.client.nodes(self.ring)["a"].weight + 1)
        self.refused("NOT_FOUND", self.client.RestoreVersion, ring=self.ring, version=back, reason="VERSION_NOT_KEPT")


class RingctlHistoryTest(RingctlCase):
    def test_history(self):
        """history tells who changed what and why, newest first, in each format."""
        self.make_ring("n1", "n2")
        self.out("node", "update", self.ring, "n1", "--weight", "50", "--reason", "drain\tit")
        rows = [line.split("\t") for line in self.out("history", self.ring, "-o", "tsv").splitlines()]
        self.assertEqual([row[3] for row in rows], ["updated n1: weight 100 -> 50", "added n2", "added n1", "created"])
        self.assertEqual((rows[0][5], rows[1][5]), ("drain\\x09it", ""))
        moved = [float(row[4]) for row in rows]
        self.assertEqual((moved[2], moved[3]), (0, 0))
        self.assertTrue(0 < moved[0] < 1 and 0 < moved[1] < 1, moved)
        self.assertRegex(rows[0][0], r"^[0-9]+/4$")
        self.assertRegex(rows[0][1], r"^[0-9]{4}-[0-9-]+T[0-9:.]+Z$")
        self.assertEqual(len(self.out("history", self.ring, "--limit", "2", "-o", "tsv").splitlines()), 2)
        self.assertTrue(self.out("history", self.ring).startswith("VERSION"))
        document = self.json("history", self.ring, "--limit", "1")
        self.assertEqual([change["nodes"][0]["after"]["weight"] for change in document["changes"]], [50])
        self.assertNotIn("next_page_token", document)
        self.assertIn("RING", self.err("history", code=2))
        self.err("history", self.ring, "--limit", "0", code=2)
        self.assertIn("NOT_FOUND", self.err("history", self.ring + "-2", code=1))

    def test_update(self):
        """ring update changes what is named; labels are replaced as a whole."""
        self.out("ring", "create", self.ring, "--label", "a=1")
        text = self.out("ring", "update", self.ring, "--default-weight", "7", "--label", "b=2", "--history-max", "9",
                        "--history-age", "90m")
        self.assertIn('ring "%s" updated: revision 1 -> 2' % self.ring, text)
        ring = self.json("ring", "get", self.ring)["ring"]
        self.assertEqual((ring["default_weight"], ring["labels"], ring["history_limits"]),
                         (7, {"b": "2"}, {"max_age": "5400s", "max_changes": 9}))
        self.out("ring", "update", self.ring, "--clear-labels", "--history-max", "8")
        ring = self.json("ring", "get", self.ring)["ring"]
        self.assertEqual((ring["labels"], ring["history_limits"]), ({}, {"max_age": "5400s", "max_changes": 8}))
        self.assertIn("nothing changed", self.out("ring", "update", self.ring, "--default-weight", "7"))
        self.assertEqual(self.out("history", self.ring, "-o", "tsv", "--limit", "1").split("\t")[3],
                         "settings: labels, history_limits")
        self.assertIn("--default-weight", self.err("ring", "update", self.ring, code=2))
        self.err("ring", "update", self.ring, "--history-age", "30d", code=2)
        self.err("ring", "update", self.ring, "--label", "a=1", "--clear-labels", code=2)
        self.assertIn("INVALID_ARGUMENT", self.err("ring", "update", self.ring, "--default-weight", "0", code=1))

    def test_restore(self):
        """ring restore goes back after it asked; --dry-run shows the ring that would result."""
        self.make_ring("n1", "n2", "n3")
        then = self.json("ring", "get", self.ring)
        version = "%s/%s" % (then["version"]["epoch"], then["version"]["revision"])
        self.out("node", "remove", self.ring, "n1", "--yes")
        self.assertIn("revision 5 -> 6", self.out("ring", "restore", self.ring, "--to", version, "--dry-run"))
        self.assertIn("--yes", self.err("ring", "restore", self.ring, "--to", version, code=2))
        self.assertEqual(self.ask("ring", "restore", self.ring, "--to", version, answer=b"\n").returncode, 1)
        self.assertEqual(len(self.json("node", "list", self.ring)["nodes"]), 2)
        done = self.ask("ring", "restore", self.ring, "--to", version, answer=b"y\n")
        self.assertIn("restored to version %s: revision 5 -> 6" % version, done.stdout.decode())
        now = self.json("ring", "get", self.ring)
        self.assertEqual((now["nodes"], now["ring"]["checksum"]), (then["nodes"], then["ring"]["checksum"]))
        self.assertIn("--to", self.err("ring", "restore", self.ring, code=2))
        self.assertIn("ringctl history", self.err("ring", "restore", self.ring, "--to", "1/1", "--yes", code=1))


if __name__ == "__main__":
    unittest.main()
