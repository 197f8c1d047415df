"""Whether the history checker finds what it is for: a ringd that seems to have a known bug, by a proxy before it or by its
disk, breaks the promise that the test names, within a minute. The numbers are those of the list of seeded bugs.

history_seeded_test.py [TEST...]

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import history  # noqa: E402
import tampering_proxy  # noqa: E402
from history_run import Run, describe  # noqa: E402

PROCESSES = ("writers", "readers", "watchers")
ROUND = 6  # seconds; there is another one while the bug has not shown
WITHIN = 60  # seconds
LOST = 0.15  # seconds that the disk forgets


class ForgetfulDisk:
    """What was written in the last moments before a kill is gone, as after a power cut where nothing was synchronised: the
    data are as they were then, at one instant."""

    def __init__(self, folder):
        self.copy = os.path.join(folder, "copy")

    def before_kill(self, server):
        shutil.rmtree(self.copy, ignore_errors=True)
        server.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)
        shutil.copytree(server.data_dir, self.copy)
        server.signal(signal.SIGCONT)
        time.sleep(LOST)  # no wait for anything: this is what is lost

    def after_kill(self, data):
        shutil.rmtree(data)
        shutil.copytree(self.copy, data)


class HistorySeededTest(unittest.TestCase):
    def run_once(self, proxy, forgetful):
        """The violations by promise, but for what a short run through a proxy cannot keep: C12, the load."""
        seed = random.SystemRandom().randrange(1 << 32)
        with tempfile.TemporaryDirectory(prefix="ringd-test-") as folder:
            run = Run(folder, seed, PROCESSES, proxy, ForgetfulDisk(folder) if forgetful else None)
            try:
                recorded = run.go(ROUND)
            finally:
                run.close()
            violations = history.check(recorded, run.model, least_owners=1)
        found = collections.Counter(one.promise for one in violations if one.promise != "C12")
        print("%s, seed %d: %s; %s" % (self.id().rsplit(".", 1)[1], seed, describe(recorded), dict(found)), flush=True)
        return found, violations

    def finds(self, promise, proxy=None, forgetful=False):
        """What is found, when it is that promise at last."""
        end = time.monotonic() + WITHIN
        while True:
            found, _ = self.run_once(proxy, forgetful)
            self.assertLess(time.monotonic(), end, "not found in time")
            if found[promise]:
                return found

    def test_0_no_bug(self):
        """What is found below is not of the proxy's own making."""
        found, violations = self.run_once(tampering_proxy.Proxy, forgetful=False)
        self.assertEqual(found, {}, violations[:10])

    def test_1_acknowledges_before_durable(self):
        self.finds("C3", forgetful=True)

    def test_2_shows_before_durable(self):
        found = self.finds("C10", tampering_proxy.ShowsBeforeDurable, forgetful=True)
        self.assertEqual(found["C3"], 0, "what is lost was never acknowledged")

    def test_3_drops_a_change(self):
        self.finds("C9", tampering_proxy.DropsChanges)

    def test_4_repeats_on_resume(self):
        self.finds("C9", tampering_proxy.RepeatsOnResume)

    def test_5_skips_the_snapshot_marker(self):
        self.finds("C9", tampering_proxy.SkipsTheSnapshotMarker)

    def test_6_reuses_a_revision(self):
        self.finds("C11", tampering_proxy.ReusesRevisions)

    def test_7_applies_a_retry_twice(self):
        self.finds("C3", tampering_proxy.AppliesRetriesTwice)

    def test_8_tears_batches(self):
        self.finds("C8", tampering_proxy.TearsBatches)


if __name__ == "__main__":
    unittest.main()
