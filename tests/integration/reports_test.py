"""Watchers that have a name, what they report, and who asks for it.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringd_process import eventually  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402


class ReportsCase(ServerCase):
    def named(self, name, *rings, **options):
        """A Watch with that name, which has come to the head."""
        watch = self.watch(*rings, name=name, **options)
        watch.wait_in_sync()
        return watch

    def report(self, name, version, ring=None, client=None):
        position = pb.WatchPosition(version=version)
        (client or self.client).ReportWatch(watcher=name, applied=[pb.HeldRing(ring=ring or self.ring, position=position)])

    def rows(self, ring=None, page_size=0):
        """(name, sent, applied) of all pages, as revisions; None where there is none."""
        rows, token = [], ""
        while True:
            answer = self.client.ListWatchers(ring=ring or self.ring, page_size=page_size, page_token=token)
            rows += [(row.name, row.sent.revision if row.HasField("sent") else None,
                      row.applied.revision if row.HasField("applied") else None) for row in answer.watchers]
            token = answer.next_page_token
            if not token:
                return rows


class ListTest(ReportsCase):
    def test_rows(self):
        """Each Watch of a ring, with name, peer, ring, the time it began, and what was sent and applied."""
        version = self.client.make_ring(self.ring, ["a"])
        before = time.time()
        self.named("w", self.ring)
        self.report("w", version)
        [row] = self.client.ListWatchers(ring=self.ring).watchers
        self.assertEqual((row.name, row.ring, row.sent, row.applied, row.head, row.behind),
                         ("w", self.ring, version, version, version, 0))
        self.assertRegex(row.peer, "^ipv4:127.0.0.1:[0-9]+$")
        self.assertLessEqual(before - 1, row.since.ToMicroseconds() / 1e6)
        self.assertLessEqual(row.since.ToMicroseconds() / 1e6, time.time() + 1)

    def test_sent_goes_on_and_applied_waits_for_a_report(self):
        """sent follows the stream, applied what is reported; an unnamed watcher is listed and cannot report."""
        self.client.make_ring(self.ring)
        first, unnamed = self.named("w", self.ring), self.named("", self.ring)
        self.assertEqual(self.rows(), [("", 1, None), ("w", 1, None)])
        version = self.client.add(self.ring, "a").version
        for watch in (first, unnamed):
            watch.wait_at(self.ring, version)
        self.assertEqual(self.rows(), [("", 2, None), ("w", 2, None)])
        self.report("w", version)
        self.assertEqual(self.rows(), [("", 2, None), ("w", 2, 2)])
        self.refused("INVALID_ARGUMENT", self.report, "", version, reason="INVALID_FIELD", mentions=["watcher"])

    def test_behind(self):
        """From what is applied, or else from what was sent, to the head; all revisions after the ring was made anew."""
        def behind():
            return [row.behind for row in self.client.ListWatchers(ring=self.ring).watchers]

        first = self.client.make_ring(self.ring)
        unnamed, watch = self.named("", self.ring), self.named("w", self.ring)
        for node in "abc":
            version = self.client.add(self.ring, node).version
        for each in (unnamed, watch):
            each.wait_at(self.ring, version)
        self.assertEqual(behind(), [0, 0])
        self.report("w", first)
        self.assertEqual(behind(), [0, 3])
        self.report("w", version)
        self.client.delete(self.ring)
        for each in (unnamed, watch):
            each.wait(lambda one: self.ring not in one.copies)
        self.assertEqual([(row.HasField("head"), row.behind) for row in self.client.ListWatchers(ring=self.ring).watchers],
                         [(False, 0)] * 2)
        anew = self.client.make_ring(self.ring, ["a"])
        for each in (unnamed, watch):
            each.wait_at(self.ring, anew)
        self.assertEqual(behind(), [0, 2])
        self.report("w", anew)
        self.assertEqual(behind(), [0, 0])

    def test_a_watcher_that_goes_is_not_listed(self):
        """Nor is what it reported known any more."""
        version = self.client.make_ring(self.ring)
        watch = self.named("w", self.ring)
        self.report("w", version)
        watch.cancel()
        eventually(lambda: not self.rows(), "the watcher is not listed")
        self.refused("NOT_FOUND", self.report, "w", version, reason="WATCHER_NOT_FOUND", mentions=['"w"'])
        self.named("w", self.ring)
        self.assertEqual(self.rows(), [("w", 1, None)])

    def test_pages(self):
        """Pages of every size give all rows once, in order of ring and name; over all rings too."""
        rings = ["%s-%d" % (self.ring, i) for i in range(3)]
        for ring in rings:
            self.client.make_ring(ring)
        names = ["a/b", "\u00e9", "", "b"]
        for name in names:
            self.named(name, prefix=self.ring)
        for page_size in range(1, 6):
            self.assertEqual([name for name, _, _ in self.rows(rings[1], page_size)], sorted(names), page_size)
        listed, token = [], ""
        while True:
            answer = self.client.ListWatchers(page_size=5, page_token=token)
            listed += [(row.ring, row.name) for row in answer.watchers if row.ring in rings]
            token = answer.next_page_token
            if not token:
                break
        self.assertEqual(listed, sorted((ring, name) for ring in rings for name in names))
        self.refused("INVALID_ARGUMENT", self.client.ListWatchers, page_token="x", mentions=["page_token"])

    def test_rings_that_are_not_there(self):
        """A ring that is watched for, or there without watchers, is found; one that is neither is not."""
        self.refused("NOT_FOUND", self.client.ListWatchers, ring=self.ring, reason="RING_NOT_FOUND")
        self.named("w", self.ring)
        self.assertEqual(self.rows(), [("w", None, None)])
        self.client.make_ring(self.ring + "-2")
        self.assertEqual(self.rows(self.ring + "-2"), [])

    def test_reports_that_are_passed_over(self):
        """Of a ring that is not selected, of one that is not there, of a version that has not come; the others count."""
        version = self.client.make_ring(self.ring, ["a"])
        other = self.client.make_ring(self.ring + "-2")
        self.named("w", self.ring)
        self.named("", self.ring + "-2")
        ahead = pb.Version(epoch=version.epoch, revision=version.revision + 1)
        for ring, reported in ((self.ring, ahead), (self.ring + "-2", other), (self.ring + "-3", other)):
            self.report("w", reported, ring)
        self.assertEqual(self.rows() + self.rows(self.ring + "-2"), [("w", 2, None), ("", 1, None)])
        self.report("w", version)
        self.report("w", pb.Version(epoch=version.epoch, revision=1))
        self.assertEqual(self.rows(), [("w", 2, 2)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
