#!/usr/bin/python3
"""Each way to break the wire is found by wire_lock.py, and each legal change passes."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wire_lock  # noqa: E402  (the path must be set first)

BEFORE = """
syntax = "proto3";
package t.v1;
message M {
  uint64 a = 1;
  optional string b = 2;
  oneof kind { string c = 3; E d = 4; }
  map<string, string> labels = 5;
  reserved 9 to 12;
}
enum E { E_UNSPECIFIED = 0; E_ONE = 1; }
service S { rpc Do(M) returns (stream M); }
"""


class WireLockTest(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.root = pathlib.Path(self._dir.name)
        self.proto = self.root / "t.proto"
        self.proto.write_text(BEFORE)
        self.assertEqual(self.run_script("--write"), (0, ""))

    def run_script(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code = wire_lock.main(["--proto-root", str(self.root), *arguments])
        return code, errors.getvalue()

    def change(self, old, new):
        self.assertIn(old, self.proto.read_text())
        self.proto.write_text(self.proto.read_text().replace(old, new))

    def assert_break(self, text):
        for arguments in ([], ["--write"]):
            code, errors = self.run_script(*arguments)
            self.assertEqual(code, 1)
            self.assertIn(text, errors)

    def test_unchanged_passes(self):
        self.assertEqual(self.run_script(), (0, ""))

    def test_lock_holds_numbers_types_labels_and_oneofs(self):
        lock = (self.root / "wire_lock.txt").read_text()
        for line in (
            "field t.v1.M 1 a: uint64",
            "field t.v1.M 2 b: optional string",
            "field t.v1.M 4 d: t.v1.E in kind",
            "field t.v1.M 5 labels: repeated t.v1.M.LabelsEntry",
            "value t.v1.E 1 E_ONE",
            "rpc t.v1.S.Do (t.v1.M) returns (stream t.v1.M)",
        ):
            self.assertIn(line + "\n", lock)

    def test_changed_type(self):
        self.change("uint64 a = 1", "uint32 a = 1")
        self.assert_break("changed: field t.v1.M 1 a: uint64")

    def test_changed_label(self):
        self.change("optional string b", "string b")
        self.assert_break("changed: field t.v1.M 2 b: optional string")

    def test_renamed_field(self):
        self.change("uint64 a = 1", "uint64 z = 1")
        self.assert_break("changed: field t.v1.M 1 a")

    def test_moved_into_oneof(self):
        self.change("uint64 a = 1;\n", "")
        self.change("oneof kind {", "oneof kind { uint64 a = 1;")
        self.assert_break("changed: field t.v1.M 1 a: uint64")

    def test_renumbered_field(self):
        self.change("uint64 a = 1", "uint64 a = 7")
        self.assert_break("removed without reserving its number and its name: field t.v1.M 1 a")

    def test_renumbered_value(self):
        self.change("E_ONE = 1", "E_ONE = 2")
        self.assert_break("removed without reserving its number and its name: value t.v1.E 1 E_ONE")

    def test_removed_rpc(self):
        self.change("rpc Do(M) returns (stream M);", "")
        self.assert_break("removed: rpc t.v1.S.Do")

    def test_rpc_that_no_longer_streams(self):
        self.change("returns (stream M)", "returns (M)")
        self.assert_break("changed: rpc t.v1.S.Do")

    def test_removed_without_reserving_the_name(self):
        self.change("uint64 a = 1;", "reserved 1;")
        self.assert_break("removed without reserving its number and its name: field t.v1.M 1 a")

    def test_new_field_is_wanted_in_the_lock_and_taken_by_write(self):
        self.change("uint64 a = 1;", "uint64 a = 1; bytes e = 6;")
        code, errors = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("new: field t.v1.M 6 e: bytes", errors)
        self.assertIn("wire_lock.py --write", errors)
        self.assertEqual(self.run_script("--write"), (0, ""))
        self.assertEqual(self.run_script(), (0, ""))

    def test_number_reserved_for_later_may_be_used(self):
        self.change("reserved 9 to 12;", "bool e = 9; reserved 10 to 12;")
        self.assertEqual(self.run_script("--write"), (0, ""))
        self.assertEqual(self.run_script(), (0, ""))

    def test_retired_field_stays_reserved_for_ever(self):
        self.change("uint64 a = 1;", 'reserved 1; reserved "a";')
        code, errors = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("retired: field t.v1.M 1 a", errors)
        self.assertEqual(self.run_script("--write"), (0, ""))
        self.assertEqual(self.run_script(), (0, ""))
        self.change('reserved 1; reserved "a";', "")
        self.assert_break("no longer reserved: retired field t.v1.M 1 a")
        self.proto.write_text(BEFORE)
        self.assert_break("a retired number is used again: field t.v1.M 1 a")

    def test_lock_edited_by_hand(self):
        path = self.root / "wire_lock.txt"
        path.write_text(path.read_text() + "\n# mine\n")
        code, errors = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("edited by hand", errors)

    def test_break_the_wire_is_possible_when_said_so(self):
        self.change("uint64 a = 1", "uint32 a = 1")
        self.assertEqual(self.run_script("--write", "--break-the-wire"), (0, ""))
        self.assertEqual(self.run_script(), (0, ""))


if __name__ == "__main__":
    unittest.main()
