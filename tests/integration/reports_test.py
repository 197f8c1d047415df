"""Watchers that have a name, what they report, and who asks for it.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from metrics_page import scrape  # noqa: E402
from ringd_client import Refused, add, hashed, key_of  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402


def waiting(share=1.0, seconds=PATIENCE, **options):
    """Options of a mutation that waits."""
    wait = pb.WaitFor(share=share)
    wait.timeout.FromMilliseconds(int(seconds * 1000))
    return pb.MutationOptions(wait_for=wait, **options)


def outcome(answer):
    """(applied, watchers, lagging, reached) of an answer."""
    result = answer.wait_result
    return result.applied, result.watchers, list(result.lagging), result.reached


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


class WaitTest(ReportsCase):
    def setUp(self):
        super().setUp()
        self.calls = ThreadPoolExecutor()
        self.addCleanup(self.calls.shutdown)

    def follow(self, name, *rings):
        """A Watch with that name that reports whatever it applies."""
        watch = self.watch(*rings, name=name)

        def report():
            told = {}
            while watch.code is None:
                with watch.changed:
                    watch.changed.wait_for(lambda: watch.code or told != self.positions(watch), 1)
                    now = self.positions(watch)
                for ring, position in now.items():
                    if told.get(ring) != position:
                        try:
                            self.report(name, pb.Version(epoch=position[0], revision=position[1]), ring)
                        except Refused:
                            return  # the stream has ended meanwhile
                told = now
        self.calls.submit(report)
        self.addCleanup(watch.cancel)
        return watch

    @staticmethod
    def positions(watch):
        return {ring: key_of(copy.version) for ring, copy in watch.copies.items()}

    def head(self):
        return self.client.GetRing(ring=self.ring).version

    def wait_changed(self, before):
        """Waits until the ring has gone beyond that version, and answers where it is."""
        return eventually(lambda: key_of(self.head()) > key_of(before) and self.head(), "the change is published")

    def test_the_answer_waits_for_the_share(self):
        """The change is published at once; its answer comes with the report that reaches the share, not before."""
        before = self.client.make_ring(self.ring)
        for name in "abc":
            self.named(name, self.ring)
        self.named("", self.ring)
        call = self.calls.submit(self.client.add, self.ring, "n", waiting(0.5))
        version = self.wait_changed(before)
        self.report("a", version)
        self.report("b", before)
        self.assertFalse(call.done())
        self.report("c", version)
        answer = call.result(PATIENCE)
        self.assertEqual((outcome(answer), answer.version), ((2, 3, ["b"], True), version))

    def test_the_time_passes(self):
        """The change stays, and the answer says who lags."""
        self.client.make_ring(self.ring)
        for name in ("b", "a\u00e9", "a b"):
            self.named(name, self.ring)
        answer = self.client.add(self.ring, "n", waiting(0.01, 0.2))
        self.assertEqual(outcome(answer), (0, 3, ["a b", "a\u00e9", "b"], False))
        self.assertEqual(self.head(), answer.version)

    def test_every_mutation_waits_but_a_delete(self):
        """Each that changes something, and one that changes nothing; for the version that it answers."""
        self.follow("w", self.ring)
        call = self.client
        ring, node = {"ring": self.ring, "options": waiting()}, pb.Node(id="n", address="a:1")
        made = call.CreateRing(placement=hashed(), **ring)
        answers = [made, call.AddNode(node=node, **ring), call.ApplyChanges(operations=[add(id="m")], **ring),
                   call.UpdateNode(node=pb.Node(id="n", zone="z"), update_mask={"paths": ["zone"]}, **ring),
                   call.UpdateRing(default_weight=7, update_mask={"paths": ["default_weight"]}, **ring),
                   call.RemoveNode(node_id="m", ring=self.ring, options=waiting(force=True))]
        answers.append(call.RestoreVersion(version=answers[2].version, **ring))
        answers.append(call.RestoreVersion(version=answers[2].version, **ring))
        self.assertEqual(answers[-1].version, answers[-2].version)
        for i, answer in enumerate(answers):
            self.assertEqual(outcome(answer), (1, 1, [], True), i)
        [row] = self.client.ListWatchers(ring=self.ring).watchers
        self.assertEqual((row.applied, row.behind), (answers[-1].version, 0))
        self.refused("INVALID_ARGUMENT", call.DeleteRing, ring=self.ring, options=waiting(force=True),
                     mentions=["wait_for"])
        self.assertFalse(call.add(self.ring, "l").HasField("wait_result"))

    def test_a_change_that_is_refused_is_answered_at_once(self):
        """It has no version to wait for."""
        self.client.make_ring(self.ring, ["n"])
        self.named("w", self.ring)
        self.refused("ALREADY_EXISTS", self.client.add, self.ring, "n", waiting())

    def test_a_retry_waits_again(self):
        """With the same request_id it waits for the change that was made, though the ring has gone on."""
        before = self.client.make_ring(self.ring)
        self.named("w", self.ring)
        options = waiting(1, 0.1, request_id="id")
        first = self.client.add(self.ring, "n", options)
        self.assertFalse(first.wait_result.reached)
        self.client.add(self.ring, "m")
        self.report("w", before)
        self.assertFalse(self.client.add(self.ring, "n", options).wait_result.reached)
        self.report("w", first.version)
        again = self.client.add(self.ring, "n", options)
        self.assertEqual((outcome(again), again.version), ((1, 1, [], True), first.version))

    def test_who_goes_is_not_waited_for(self):
        """Nor does who came and went count; of no names, any share has applied it."""
        before = self.client.make_ring(self.ring)
        watch = self.named("w", self.ring)
        call = self.calls.submit(self.client.add, self.ring, "n", waiting())
        self.wait_changed(before)
        self.assertFalse(call.done())
        watch.cancel()
        self.assertEqual(outcome(call.result(PATIENCE)), (0, 0, [], True))

    def test_the_ring_is_deleted(self):
        """The wait is over, and the change was made."""
        before = self.client.make_ring(self.ring)
        self.named("w", self.ring)
        call = self.calls.submit(self.client.add, self.ring, "n", waiting())
        self.wait_changed(before)
        self.client.delete(self.ring)
        self.assertEqual(outcome(call.result(PATIENCE)), (0, 1, ["w"], False))

    def test_a_call_that_ends_first(self):
        """Its deadline, or the caller, ends it; the change was made, and others go on."""
        before = self.client.make_ring(self.ring)
        self.named("w", self.ring)
        self.refused_by_deadline(lambda: self.client.AddNode(ring=self.ring, node=pb.Node(id="n"), options=waiting(),
                                                             timeout=0.3))
        version = self.wait_changed(before)
        future = self.client.stub.AddNode.future(
            pb.AddNodeRequest(ring=self.ring, node=pb.Node(id="m"), options=waiting()), timeout=PATIENCE)
        version = self.wait_changed(version)
        future.cancel()
        call = self.calls.submit(self.client.add, self.ring, "l", waiting())
        self.report("w", self.wait_changed(version))
        self.assertTrue(call.result(PATIENCE).wait_result.reached)

    def refused_by_deadline(self, call):
        with self.assertRaises(Refused) as caught:
            call()
        self.assertEqual(caught.exception.code, "DEADLINE_EXCEEDED")

    def came(self, method):
        return scrape(self.server.http_endpoint).get("grpc_server_started_total", grpc_method=method)

    def made(self, call):
        """What the call answers; nothing when there is no place for it."""
        try:
            return call()
        except Refused as refused:
            self.assertEqual(refused.code, "RESOURCE_EXHAUSTED")
            return None

    def test_one_wait_too_many(self):
        """It is refused before anything is done; a caller that goes leaves its place."""
        version = self.client.make_ring(self.ring, ["n"])
        self.named("w", self.ring)
        # What changes nothing waits for the version that is there.
        request = pb.UpdateRingRequest(ring=self.ring, default_weight=100, options=waiting(1, 600))
        request.update_mask.paths.append("default_weight")
        futures, before = [], self.came("UpdateRing")
        for _ in range(10):
            client = self.connect()
            futures += [client.stub.UpdateRing.future(request) for _ in range(100)]
            # They are more than the queue of writes takes; what comes after them on the same queue tells that they wait.
            eventually(lambda: self.came("UpdateRing") == before + len(futures), "they have come")
            self.refused("NOT_FOUND", self.client.remove, self.ring, "absent")
        self.refused("RESOURCE_EXHAUSTED", self.client.add, self.ring, "m", waiting(), reason="LIMIT_EXCEEDED",
                     mentions=["wait_for", "1000"])
        self.assertEqual(self.head(), version)
        self.client.update(self.ring, "n", zone="z")  # without a wait it passes
        futures[0].cancel()
        eventually(lambda: self.made(lambda: self.client.add(self.ring, "m", waiting(1, 0.01))), "a place is free")
        self.report("w", version)
        for future in futures[1:]:
            self.assertTrue(future.result(PATIENCE).wait_result.reached)


class CrowdTest(ProcessCase):
    NAMES = 2000

    def test_thousands_of_names(self):
        """2,000 names on 20 connections: a change that waits for 99% of them is answered with the report that makes it so,
        changes and lookups go on meanwhile, and all are listed once."""
        server = self.serve()
        client = self.connect(server)
        version = client.make_ring("r", ["n"])
        names = ["w\u00e9 %04d" % i for i in range(self.NAMES)]
        others = [self.connect(server) for _ in range(self.NAMES // 100)]
        calls = [others[i // 100].stub.Watch(pb.WatchRequest(selector={"names": {"rings": ["r"]}}, watcher=name))
                 for i, name in enumerate(names)]
        self.addCleanup(lambda: [call.cancel() for call in calls])
        for call in calls:
            next(call)
        future = client.stub.AddNode.future(pb.AddNodeRequest(ring="r", node=pb.Node(id="m"), options=waiting(0.99, 600)))
        version = eventually(lambda: key_of(client.GetRing(ring="r").version) > key_of(version) and
                             client.GetRing(ring="r").version, "the change is published")
        applied = [pb.HeldRing(ring="r", position=pb.WatchPosition(version=version))]
        enough = self.NAMES * 99 // 100
        for name in names[:enough - 1]:
            client.ReportWatch(watcher=name, applied=applied)
        client.make_ring("s", ["n"])
        self.assertFalse(future.done())
        client.ReportWatch(watcher=names[enough - 1], applied=applied)
        self.assertEqual(outcome(future.result(PATIENCE)), (enough, self.NAMES, names[enough:], True))
        listed, token = [], ""
        while True:
            answer = client.ListWatchers(page_size=300, page_token=token)
            listed += [(row.name, row.behind) for row in answer.watchers]
            token = answer.next_page_token
            if not token:
                break
        self.assertEqual([name for name, _ in listed], names)
        page = scrape(server.http_endpoint)
        self.assertEqual((page.get("ringd_watch_names"), page.get("ringd_watch_silent_names")),
                         (self.NAMES, self.NAMES - enough))
        self.assertEqual(page.get("ringd_watch_lag_revisions_bucket", le="0"), enough)
        for call in calls:
            call.cancel()
        eventually(lambda: scrape(server.http_endpoint).get("ringd_watch_names") == 0, "all names are forgotten")
        self.assertEqual(outcome(client.add("r", "l", waiting())), (0, 0, [], True))


class OddTest(ReportsCase):
    def test_names(self):
        """What shows and what does not: names are texts of up to 255 bytes without control characters, and else anything."""
        version = self.client.make_ring(self.ring)
        names = ["/", "r/1/w", " ", "a\u00e9\u4e16\U0001f600", "<script>", "%00", "x" * 255, "\u202eabc", '"\\']
        for name in names:
            self.named(name, self.ring)
            self.report(name, version)
        self.assertEqual(self.rows(page_size=1), [(name, 1, 1) for name in sorted(names, key=str.encode)])
        for name in ("a\n", "\x00", "\x7f", "x" * 256, "\u0085"):
            self.refused("INVALID_ARGUMENT", self.report, name, version)
            watch = self.watch(self.ring, name=name)
            self.assertEqual(watch.wait_ended(), "INVALID_ARGUMENT", name)

    def test_versions(self):
        """Ahead, of another epoch, 0, the largest: what was never reached is passed over, what was is no step back."""
        version = self.client.make_ring(self.ring, ["a"])
        self.named("w", self.ring)
        most = 2 ** 64 - 1
        for epoch, revision in ((version.epoch, version.revision + 1), (version.epoch + 1, 1), (most, most),
                                (version.epoch, most)):
            self.report("w", pb.Version(epoch=epoch, revision=revision))
            self.assertEqual(self.rows(), [("w", 2, None)], (epoch, revision))
        self.report("w", version)
        for epoch, revision in ((0, 0), (0, most), (version.epoch - 1, most), (version.epoch, 1)):
            self.report("w", pb.Version(epoch=epoch, revision=revision))
            self.assertEqual(self.rows(), [("w", 2, 2)], (epoch, revision))

    def test_a_ring_made_anew(self):
        """Reports go on with the new one; who has applied the former alone is all of the new one's revisions behind."""
        self.client.make_ring(self.ring)
        watch = self.named("w", self.ring)
        self.report("w", self.client.add(self.ring, "n").version)
        self.client.delete(self.ring)
        version = self.client.make_ring(self.ring, ["n"])
        watch.wait_at(self.ring, version)
        [row] = self.client.ListWatchers(ring=self.ring).watchers
        self.assertEqual((key_of(row.applied) < key_of(version), row.behind), (True, version.revision))
        with ThreadPoolExecutor() as calls:
            call = calls.submit(self.client.add, self.ring, "m", waiting())
            later = eventually(lambda: key_of(self.client.GetRing(ring=self.ring).version) > key_of(version) and
                               self.client.GetRing(ring=self.ring).version, "the change is published")
            self.report("w", version)
            self.assertFalse(call.done())
            self.report("w", later)
            self.assertEqual(outcome(call.result(PATIENCE)), (1, 1, [], True))

    def test_a_name_that_comes_back_is_unknown(self):
        """What was reported is forgotten with the last Watch, so a wait counts the name as lagging until it reports."""
        version = self.client.make_ring(self.ring)
        first, second = self.named("w", self.ring), self.named("w", self.ring)
        self.report("w", version)
        first.cancel()
        eventually(lambda: len(self.rows()) == 1, "one of two has gone")
        self.assertEqual(self.rows(), [("w", 1, 1)])
        second.cancel()
        eventually(lambda: not self.rows(), "both have gone")
        self.named("w", self.ring)
        options = waiting(1, 0.1)
        request = pb.UpdateRingRequest(ring=self.ring, default_weight=100, options=options)
        request.update_mask.paths.append("default_weight")
        self.assertEqual(outcome(self.client.send("UpdateRing", request)), (0, 1, ["w"], False))


class StopTest(ProcessCase):
    def begin(self):
        """A server, and a change on it that waits for a watcher who does not report."""
        self.server = self.serve()
        client = self.connect(self.server)
        client.make_ring("r")
        self.watch(client, "r", name="w").wait_in_sync()
        self.request = pb.AddNodeRequest(ring="r", node=pb.Node(id="n"), options=waiting(1, 600, request_id="id"))
        future = client.stub.AddNode.future(self.request, timeout=PATIENCE)
        eventually(lambda: client.GetRing(ring="r").version.revision == 2, "the change is published")
        return future

    def test_drain(self):
        """A drain answers what waits: made, not reached, though the watchers leave too."""
        future = self.begin()
        self.server.signal(signal.SIGTERM)
        answer = future.result(PATIENCE)
        self.assertEqual((outcome(answer), answer.version.revision), ((0, 1, ["w"], False), 2))
        self.assertEqual(self.server.wait(), 0)

    def test_kill(self):
        """A kill leaves the outcome unknown; the retry on the next server is told of the change that was made."""
        future = self.begin()
        self.server.kill()
        self.assertEqual(future.code().name, "UNAVAILABLE")
        client = self.connect(self.serve())
        self.assertEqual(outcome(client.send("AddNode", self.request)), (0, 0, [], True))
        self.assertEqual(client.GetRing(ring="r").version.revision, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
