"""Many clients, one ringd that is killed with -9 again and again, and the history checker over all that they were told.

history_test.py [SECONDS [SEED]]. The seed is printed; with it clients ask for the same, though not at the same moments.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import collections
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import history  # noqa: E402
from history_run import Run, describe  # noqa: E402

SECONDS = 22
SEED = random.SystemRandom().randrange(1 << 32)


class HistoryTest(unittest.TestCase):
    def test_every_promise_is_kept(self):
        print("seed %d" % SEED, flush=True)
        folder = tempfile.TemporaryDirectory(prefix="ringd-test-")
        self.addCleanup(folder.cleanup)
        run = Run(folder.name, SEED)
        self.addCleanup(run.close)
        recorded = run.go(SECONDS)
        print(describe(recorded), flush=True)
        violations = history.check(recorded, run.model)
        self.assertEqual([], violations[:10], collections.Counter(one.promise for one in violations))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments:
        SECONDS = float(arguments[0])
    if len(arguments) > 1:
        SEED = int(arguments[1])
    unittest.main(argv=sys.argv[:1])
