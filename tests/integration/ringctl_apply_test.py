"""ringctl apply and diff: the nodes of a ring as a file says that they shall be.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from certificates import ADMIN, Certificates  # noqa: E402
from ringctl_case import RingctlCase  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, Server, closed_port, environment, ringctl  # noqa: E402

THREE = """
nodes:
- {id: n1, address: "10.0.0.1:1", zone: a}
- {id: n2, address: "10.0.0.2:1", zone: b, weight: 50}
- {id: n3, metadata: {rack: r7}}
"""


class RingctlApplyTest(RingctlCase):
    def setUp(self):
        super().setUp()
        self.out("ring", "create", self.ring)

    def file(self, text, name="nodes.yaml"):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def apply(self, text, *flags, **options):
        return self.out("apply", self.ring, "-f", self.file(text), *flags, **options)

    def refused(self, text, *flags, code=1, mentions=()):
        """The file is refused, and nothing is changed."""
        before = self.export()
        error = self.err("apply", self.ring, "-f", self.file(text), *flags, code=code)
        for mention in mentions:
            self.assertIn(mention, error)
        self.assertEqual(self.export(), before)
        return error

    def export(self, form="json"):
        return self.out("ring", "get", self.ring, "-o", form)

    def nodes(self):
        return {node["id"]: node for node in self.json("node", "list", self.ring)["nodes"]}

    def revision(self):
        return int(self.json("ring", "get", self.ring)["version"]["revision"])

    def test_what_ring_get_prints_is_the_same_ring(self):
        """Also where names have characters that a writer of YAML or JSON may lose."""
        for node in ("a\ufffe", "b\U0010ffff", "c\ufdd0", "d\ue000", "e\ufffd", "true", "007", "~", "a: b", "\u202e", "-x"):
            self.out("node", "add", self.ring, "--zone", node, "--", node)
        for form in ("yaml", "json"):
            self.out("diff", self.ring, "-f", self.file(self.export(form)))

    def test_adds_updates_and_removes_as_one_change(self):
        self.assertEqual(self.apply(THREE), 'nodes of ring "%s" changed (3 added): revision 1 -> 2, 0.0%% moved, 100.0%% got an '
                         'owner\n' % self.ring)
        nodes = self.nodes()
        self.assertEqual([nodes["n1"][key] for key in ("address", "zone", "weight", "hash_key")],
                         ["10.0.0.1:1", "a", 100, "n1"])
        self.assertEqual((nodes["n2"]["weight"], nodes["n3"]["metadata"]), (50, {"rack": "r7"}))
        text = self.apply("nodes: [{id: n1, weight: 100, zone: c}, {id: n2, weight: 50}, {id: n4}]", "--yes")
        self.assertIn("(1 added, 2 updated, 1 removed): revision 2 -> 3", text)
        nodes = self.nodes()
        self.assertEqual(sorted(nodes), ["n1", "n2", "n4"])
        # What a file does not write has its default, also where the ring had something else.
        self.assertEqual((nodes["n1"]["address"], nodes["n1"]["zone"], nodes["n2"]["zone"]), ("", "c", ""))

    def test_default_weight_of_the_ring(self):
        self.out("ring", "create", self.ring + "-7", "--default-weight", "7")
        self.out("apply", self.ring + "-7", "-f", self.file("nodes: [{id: n1}]"))
        self.assertEqual(self.json("node", "list", self.ring + "-7")["nodes"][0]["weight"], 7)

    def test_an_export_changes_nothing(self):
        """What `ring get` prints, in both forms, is a file that makes no difference, and no request."""
        self.apply(THREE)
        self.out("node", "add", self.ring, 'n: "4", ключ', "--weight", "0", "--hash-key", "k", "--metadata", "no=\n\tx\\")
        revision = self.revision()
        for form in ("json", "yaml"):
            text = self.export(form)
            self.assertEqual(self.apply(text), "nothing changed: revision %d\n" % revision)
            self.assertEqual(self.out("diff", self.ring, "-f", self.file(text)), "")
        answer = json.loads(self.apply(self.export(), "-o", "json"))
        self.assertEqual(answer["version"], answer["previous_version"])
        # And it makes another ring the same.
        self.out("ring", "create", self.ring + "-copy")
        self.out("apply", self.ring + "-copy", "-f", self.file(self.export("yaml")))
        copy, this = (self.json("ring", "get", ring)["ring"] for ring in (self.ring + "-copy", self.ring))
        self.assertEqual(copy["checksum"], this["checksum"])

    def test_standard_input(self):
        self.run_it("apply", self.ring, "-f", "-", stdin=b"nodes: [{id: n1}]")
        self.assertEqual(list(self.nodes()), ["n1"])
        self.run_it("diff", self.ring, "-f", "-", stdin=b"nodes: [{id: n1}]")
        self.assertIn("stdin:1: ", self.err("apply", self.ring, "-f", "-", stdin=b"nodes: [{di: n1}]", code=2))

    def test_dry_run(self):
        """It shows the difference and the plan, and needs no --yes."""
        self.apply(THREE)
        before = self.export()
        text = self.apply("nodes: [{id: n2}]", "--dry-run")
        for line in (r"\nremove +n1 +address +10\.0\.0\.1:1 +-\n", r"\nupdate +n2 +weight +50 +100\n",
                     "dry run, nothing was changed", "revision 2 -> 3", "needs --force: .* more than half"):
            self.assertRegex(text, line)
        answer = json.loads(self.apply("nodes: [{id: n2}]", "--dry-run", "-o", "json"))
        self.assertEqual([node["id"] for node in answer["plan"]["nodes"]], ["n2"])
        self.assertEqual(self.export(), before)

    def test_an_empty_file_needs_force(self):
        """Empty however: a template that failed must not clear a ring."""
        self.apply(THREE)
        for text in ("", "# nothing\n", "nodes: []\n", '{"nodes": []}', "---\n"):
            self.refused(text, "--yes", mentions=["has no nodes", "--force"])
            self.refused(text, "--dry-run", mentions=["has no nodes"])
        self.refused("version: {}\n", "--yes", "--force", code=2, mentions=['the key "nodes" is missing'])
        self.refused("", "--force", code=2, mentions=["--yes"])
        self.apply("", "--force", "--yes")
        self.assertEqual(self.nodes(), {})

    def test_the_guard(self):
        """The server says how much weight would go, and against what."""
        self.apply(THREE)
        error = self.refused("nodes: [{id: n2, weight: 50}]", "--yes",
                             mentions=[self.ring, "weight 200 of 250", "(FAILED_PRECONDITION)"])
        self.assertIn("hint: add --force", error)
        self.refused("nodes: [{id: n1, weight: 0}, {id: n2, weight: 0}, {id: n3, weight: 0}]",
                     mentions=["last weighted node"])
        self.apply("nodes: [{id: n2, weight: 50}]", "--yes", "--force")
        self.assertEqual(list(self.nodes()), ["n2"])

    def test_files_that_are_wrong(self):
        """Each is an error with line and name, exit 2, and reaches no server."""
        for text, mention in (("nodes:\n- id: n1\n  wieght: 5\n", ':3: node "n1": unknown key "wieght"; did you mean "weight"?'),
                              ("nodes:\n- id: n1\n- id: n1\n", ':3: node "n1" comes twice, first in line 2'),
                              ("nodes:\n- id: n1\n  weight: heavy\n", ':3: node "n1": weight "heavy" is no whole number'),
                              ("nodes:\n- [n1]\n", ":2: nodes[0] is no mapping"),
                              ("nodes: {", ":2: "), ("nodes", ":1: "), ("nodes:\n- id: \"n1\n- id: n2\n", ":4: ")):
            error = self.err("apply", self.ring, "-f", self.file(text), code=2,
                             endpoint="127.0.0.1:%d" % closed_port())
            self.assertIn("nodes.yaml" + mention, error)
            self.err("diff", self.ring, "-f", self.file(text), code=2)
        for name, mention in (("/no/such/file", "No such file"), (self.folder.name, "Is a directory")):
            for verb in ("apply", "diff"):
                error = self.err(verb, self.ring, "-f", name, code=2)
                self.assertIn(name, error)
                self.assertIn(mention, error)
        for flags in ([], ["-f", ""], ["-f"]):
            self.err("apply", self.ring, *flags, code=2)
            self.err("diff", self.ring, *flags, code=2)

    def test_what_the_server_refuses(self):
        """Its limits are its own: it names node, value and bound; text that cannot be sent is refused here. B53."""
        self.apply(THREE)
        self.refused(THREE + "- {id: n4, weight: 65536}\n", mentions=['"n4"', "65536", "65535", "INVALID_ARGUMENT"])
        self.refused(THREE + '- {id: "n\\n4"}\n', mentions=["control characters", "INVALID_ARGUMENT"])
        self.refused(THREE + '- {id: ""}\n', mentions=["node id is empty", "INVALID_ARGUMENT"])
        self.refused(THREE.encode() + b'- {id: "n\xff"}\n', mentions=["not valid UTF-8", "INVALID_ARGUMENT"])
        self.refused(THREE + "- {id: n4, hash_key: n1}\n", mentions=['hash_key "n1"', "ALREADY_EXISTS"])
        self.refused("nodes: [{id: n%s}]" % ("x" * 300), "--yes", "--force", mentions=["301 bytes", "255"])
        self.assertIn("(NOT_FOUND)", self.err("apply", "no-such-ring", "-f", self.file(THREE), code=1))

    def test_a_change_too_large_for_a_message(self):
        """Nothing is applied in parts: the server refuses it, and the error says what helps."""
        nodes = "".join("- {id: n%d, metadata: {a: %s}}\n" % (i, "x" * 4000) for i in range(300))
        self.refused("nodes:\n" + nodes, mentions=["(RESOURCE_EXHAUSTED)", "1048576", "--max-request-bytes"])
        too_many = "".join("- id: n%d\n" % i for i in range(10001))
        self.refused("nodes:\n" + too_many, mentions=["10001", "10000", "(RESOURCE_EXHAUSTED)"])

    def test_hash_key_of_a_node_that_is_there(self):
        self.out("node", "add", self.ring, "n1", "--hash-key", "k")
        for text in ("nodes:\n- id: n1\n", "nodes:\n- {id: n1, hash_key: other}\n"):
            self.refused(text, "--yes", "--force", mentions=["nodes.yaml:2: ", '"n1"', '"k"', "cannot be changed"])
            self.err("diff", self.ring, "-f", self.file(text), code=5)
        self.apply("nodes: [{id: n1, hash_key: k, zone: z}]")

    def test_only_against_the_version_that_was_compared(self):
        self.apply(THREE)
        version = self.json("ring", "get", self.ring)["version"]
        at = "%s/%s" % (version["epoch"], version["revision"])
        before = "%s/1" % version["epoch"]
        self.refused(THREE + "- {id: n4}\n", "--if-version", before, mentions=[at, before, "(ABORTED)"])
        self.refused(THREE, "--if-version", before, mentions=["(ABORTED)"])
        self.apply(THREE + "- {id: n4}\n", "--if-version", at)
        self.assertEqual(len(self.nodes()), 4)

    def test_another_change_meanwhile(self):
        """While a person thinks, the ring changes: the answer `y` was to what is no more."""
        self.apply(THREE)
        leader, follower = os.openpty()
        self.addCleanup(os.close, leader)
        process = subprocess.Popen([RINGCTL, "apply", self.ring, "-f", self.file(THREE + "- {id: n4}\n")], stdin=follower,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(self.server.endpoint))
        os.close(follower)
        asked = b""
        while b"[y/N]" not in asked:
            asked += process.stderr.read1()
        self.out("node", "add", self.ring, "n9")
        os.write(leader, b"y\n")
        _, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"(ABORTED)", error)
        self.assertEqual(sorted(self.nodes()), ["n1", "n2", "n3", "n9"])

    def test_question(self):
        """A terminal is shown the difference and asked; without one, removing needs --yes, and the rest does not."""
        self.apply(THREE)
        two = "nodes:\n- {id: n1}\n- {id: n2}\n- {id: n3}\n- {id: n4}\n"
        for answer in (b"\n", b"n\n", b"yes\n"):
            done = self.ask("apply", self.ring, "-f", self.file(two), answer=answer)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("not confirmed", done.stderr.decode())
        text = done.stderr.decode()
        self.assertRegex(text, r"update  n2  weight +50 +100\n")
        self.assertIn('Change nodes of ring "%s" (1 added, 3 updated)? [y/N]' % self.ring, text)
        self.assertEqual(self.ask("apply", self.ring, "-f", self.file(two), answer=b"y\n").returncode, 0)
        self.refused("nodes: [{id: n1}, {id: n2}, {id: n3}]", code=2, mentions=["apply", "--yes"])
        self.assertEqual(self.ask("apply", self.ring, "-f", self.file(THREE), "--yes", answer=b"").returncode, 0)

    def test_reason_and_quiet(self):
        self.assertEqual(self.apply(THREE, "-q", "--reason", "more room"), "")
        self.assertTrue(self.server.wait_for_log("more room"))

    def test_bulk_removal_is_one_command(self):
        """B52, mimir#2869: 3,000 leftovers go as one change, one revision, and those that stay are not touched."""
        three = "nodes: [{id: n1}, {id: n2}, {id: n3}]"
        self.apply("nodes:\n" + "".join("- {id: pod-%d, weight: 1}\n" % i for i in range(3000)) +
                   "- id: n1\n- id: n2\n- id: n3\n")
        self.refused(three, "--yes", mentions=["(FAILED_PRECONDITION)", "--force"])
        revision = self.revision()
        text = self.apply(three, "--yes", "--force")
        self.assertIn("(3000 removed): revision %d -> %d" % (revision, revision + 1), text)
        self.assertEqual(sorted(self.nodes()), ["n1", "n2", "n3"])

    def test_ten_thousand_nodes(self):
        """A ring at its limit is exported, changed and applied."""
        self.apply("nodes:\n" + "".join("- {id: n%d, weight: 2}\n" % i for i in range(10000)))
        text = self.export("yaml").replace('id: "n77"', 'id: "other"').replace('hash_key: "n77"', 'hash_key: "other"')
        self.assertIn("(1 added, 1 removed)", self.apply(text, "--yes"))

    def diff(self, text, *flags, **options):
        return self.out("diff", self.ring, "-f", self.file(text), *flags, **options)

    def test_diff(self):
        """0 the same, 1 it differs, and nothing is changed."""
        self.apply(THREE)
        before = self.export()
        self.assertEqual(self.diff(THREE), "")
        changed = THREE.replace("weight: 50", "weight: 60") + "- id: n4\n"
        text = self.diff(changed, code=1, differs=True)
        self.assertRegex(text, r"^CHANGE +ID +FIELD +BEFORE +AFTER\nupdate +n2 +weight +50 +60\nadd +n4 +weight +- +100\n")
        self.assertRegex(text, r"\n1 added, 1 updated, [0-9.]+% moved\n\nFROM +TO +MOVES\nn[1-3] +n[24] +[0-9.]+%\n")
        self.assertEqual(self.diff(changed, "-o", "tsv", code=1, differs=True),
                         "update\tn2\tweight\t50\t60\nadd\tn4\tweight\t\t100\n")
        document = json.loads(self.diff(changed, "-o", "json", code=1, differs=True))
        self.assertEqual(document["nodes"][0]["before"]["weight"], 50)
        self.assertEqual(document["nodes"][0]["after"], {**document["nodes"][0]["before"], "weight": 60})
        self.assertEqual((list(document["nodes"][1]), document["force_needed"]), (["after"], False))
        self.assertIn("force_needed:", self.diff(changed, "-o", "yaml", code=1, differs=True))
        self.assertEqual(json.loads(self.diff(THREE, "-o", "json"))["nodes"], [])
        # An empty file is a ring without nodes, of which the guard would speak.
        self.assertIn("needs --force", self.diff("", code=1, differs=True))
        self.assertEqual(self.export(), before)

    def test_diff_that_gets_no_answer(self):
        """5 where the server says no; 2, 3, 4 mean what they always do: none of them says that the ring is as it
        should be, or that it is not."""
        self.apply(THREE)
        self.assertIn("(NOT_FOUND)", self.err("diff", "no-such-ring", "-f", self.file(THREE), code=5))
        error = self.err("diff", self.ring, "-f", self.file(THREE + "- {id: n4, weight: 65536}\n"), code=5)
        self.assertIn("65535", error)
        self.err("diff", self.ring, "-f", self.file(THREE), "--timeout", "300ms", code=3,
                 endpoint="127.0.0.1:%d" % closed_port())
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RINGCTL, "diff", self.ring, "-f", self.file("nodes: []")], stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE, env=environment(self.server.endpoint))
        self.assertEqual(done.returncode, 5)

    def test_diff_by_who_may_only_read(self):
        """The difference is shown; what it would take is the server's to tell to who may change rings."""
        certificates = Certificates(os.path.join(self.folder.name, "certificates"))
        server = Server(os.path.join(self.folder.name, "tls"), "127.0.0.1:0", *certificates.flags(ADMIN))
        self.addCleanup(server.stop)
        ringctl(server.endpoint, "ring", "create", "r", *certificates.ctl_flags("admin"))
        reader = certificates.ctl_flags("reader")
        done = ringctl(server.endpoint, "diff", "r", "-f", self.file(THREE), "-o", "tsv", *reader)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"add\tn1\tweight\t\t100\n", done.stdout)
        self.assertIn(b"note: not planned: ", done.stderr)
        self.assertEqual(ringctl(server.endpoint, "apply", "r", "-f", self.file(THREE), *reader).returncode, 4)
        self.assertEqual(ringctl(server.endpoint, "diff", "r", "-f", self.file("nodes: []"), *reader).returncode, 0)


if __name__ == "__main__":
    unittest.main()
