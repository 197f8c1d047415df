"""ringctl against a real ringd: what people and scripts see of every command.

Environment: RINGD_BIN and RINGCTL_BIN name the two programs.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, Server, Watcher, closed_port, environment  # noqa: E402


class RingctlTest(RingctlCase):
    def watch(self, endpoint, *arguments):
        watcher = Watcher(endpoint, *arguments)
        self.addCleanup(watcher.stop)
        return watcher

    def serve(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.stop)
        return server

    def test_closed_port(self):
        """Nobody listens: every command that needs a server ends with 3 and prints no data. B57, polyglot#77."""
        endpoint = "127.0.0.1:%d" % closed_port()
        for arguments in (["ring", "create", "r"], ["ring", "get", "r"], ["ring", "list"],
                          ["ring", "delete", "r", "--yes"], ["node", "add", "r", "n"],
                          ["node", "update", "r", "n", "--weight", "1"], ["node", "remove", "r", "n", "--yes"],
                          ["node", "list", "r"], ["lookup", "r", "k"], ["lookup", "r", "k", "l"],
                          ["lookup", "r", "-"]):
            done = self.run_it(*arguments, "--timeout", "200ms", "-o", "json", code=3, stdin=b"k\n", endpoint=endpoint)
            self.assertEqual(done.stdout, b"", arguments)
        done = self.run_it("status", "--timeout", "200ms", "-o", "json", code=3, endpoint=endpoint)
        json.loads(done.stdout)
        self.assertEqual(done.stderr.decode().splitlines()[0],
                         "error: cannot reach ringd at %s (UNAVAILABLE)" % endpoint)
        self.assertIn("note: no version of a server: cannot reach ringd at " + endpoint,
                      self.err("version", endpoint=endpoint))
        self.assertEqual(self.err("version", "-q", endpoint=endpoint), "")

    def test_refusals(self):
        """The server said no: exit 1, and an error on stderr alone, with its code and a hint. B57, swarm-cli#154."""
        self.make_ring("n1")
        for code, arguments in (("NOT_FOUND", ["node", "remove", self.ring, "n9", "--yes"]),
                                ("NOT_FOUND", ["ring", "get", "no-such-ring"]),
                                ("NOT_FOUND", ["lookup", "no-such-ring", "-"]),
                                ("ALREADY_EXISTS", ["node", "add", self.ring, "n1"]),
                                ("ALREADY_EXISTS", ["ring", "create", self.ring]),
                                ("INVALID_ARGUMENT", ["ring", "get", ""]),
                                ("INVALID_ARGUMENT", ["lookup", self.ring, ""]),
                                ("INVALID_ARGUMENT", ["lookup", self.ring, "k", "--owners", "65"]),
                                ("INVALID_ARGUMENT", ["node", "add", self.ring, "n2", "--weight", "65536"]),
                                ("FAILED_PRECONDITION", ["node", "remove", self.ring, "n1", "--yes"]),
                                ("ABORTED", ["node", "add", self.ring, "n2", "--if-version", "1/1"])):
            done = self.run_it(*arguments, "-o", "json", code=1)
            self.assertEqual(done.stdout, b"", arguments)
            self.assertIn("(%s)" % code, done.stderr.decode().splitlines()[0])
        self.assertIn("--force", self.err("node", "remove", self.ring, "n1", "--yes", code=1))
        self.assertIn("node update", self.err("node", "add", self.ring, "n1", code=1))
        self.assertIn("ring list", self.err("ring", "get", "no-such-ring", code=1))

    def test_usage(self):
        """A wrong command line is 2 and never reaches the server, and a typing mistake is guessed. B57, mina#1943."""
        self.make_ring("n1")
        for arguments in (["--frob"], ["ring"], ["ring", "get"], ["ring", "get", "a", "b"],
                          ["ring", "list", "--owners"], ["lookup", self.ring], ["node", "update", self.ring, "n1"],
                          ["ring", "list", "-o", "xml"],
                          ["watch", self.ring, "-o", "tsv"], ["watch", self.ring, "--from", "7"],
                          ["ring", "list", "--timeout", "soon"], ["ring", "list", "--endpoints", "nowhere"],
                          ["node", "add", self.ring, "n2", "--metadata", "x"],
                          ["node", "add", self.ring, "n2", "--force"], ["lookup", self.ring, "-", "k"],
                          ["lookup", self.ring, "k", "-"], ["ring", "list", "--endpoints", "http://127.0.0.1:7440"]):
            done = self.run_it(*arguments, code=2)
            self.assertEqual(done.stdout, b"", arguments)
        self.assertIn("`ringctl node add --help`", self.err("node", "add", self.ring, "n2", "--if-version", "5", code=2))
        self.assertTrue(self.out("--version").startswith("ringctl "))
        self.assertIn("`ringctl node remove`", self.err("node", "remvoe", self.ring, "n1", code=2))
        self.assertIn("--weight", self.err("node", "add", self.ring, "n2", "--wieght", "1", code=2))
        self.assertIn("did you mean json?", self.err("ring", "list", "-o", "jsno", code=2))
        self.assertIn("did you mean hashed?", self.err("ring", "create", "r", "--placement", "hash", code=2))
        self.assertIn("did you mean zsh?", self.err("completion", "zhs", code=2))

    def test_short_flag_with_equals(self):
        """`-o=json` is `-o json`."""
        self.make_ring("n1")
        self.assertEqual(self.out("ring", "get", self.ring, "-o=json"), self.out("ring", "get", self.ring, "-o", "json"))

    def test_metadata_is_cleared(self):
        """--clear-metadata does it; an empty --metadata, such as of an unset variable, is an error."""
        self.out("ring", "create", self.ring)
        self.out("node", "add", self.ring, "n1", "--metadata", "a=1", "--metadata", "b=2")
        self.assertEqual(self.json("node", "list", self.ring)["nodes"][0]["metadata"], {"a": "1", "b": "2"})
        for flags in (["--metadata", ""], ["--metadata="], ["--metadata", "", "--metadata", "a=1"]):
            self.assertIn('metadata ""', self.err("node", "update", self.ring, "n1", *flags, code=2))
        self.err("node", "update", self.ring, "n1", "--clear-metadata", "--metadata", "a=1", code=2)
        self.assertIn('label ""', self.err("ring", "create", self.ring + "-2", "--label", "", code=2))
        self.assertEqual(len(self.json("node", "list", self.ring)["nodes"][0]["metadata"]), 2)
        self.out("node", "update", self.ring, "n1", "--clear-metadata")
        self.assertEqual(self.json("node", "list", self.ring)["nodes"][0]["metadata"], {})

    def test_version_that_is_not_reached(self):
        """The server's answer, that it waited in vain, is shown and not asked for again until the timeout."""
        self.make_ring("n1")
        error = self.err("lookup", self.ring, "k", "--min-version", "9999999999999999999/1", code=3)
        self.assertIn("has not reached 9999999999999999999/1", error)
        self.assertIn("--min-version", error)
        self.assertIn("has not reached", self.err("lookup", self.ring, "-", "--min-version", "9999999999999999999/1",
                                                  stdin=b"k\n", code=3))

    def test_dry_run_that_needs_force_as_tsv(self):
        """The two columns have no room for it, so it is a note."""
        self.make_ring("n1")
        done = self.run_it("node", "remove", self.ring, "n1", "--dry-run", "-o", "tsv")
        self.assertIn(b"needs --force", done.stderr)

    def test_standard_streams_that_are_closed(self):
        """Their numbers do not go to a connection: reading and writing fail, and are told."""
        self.make_ring("n1")
        for closed, arguments, text in (("<&-", "lookup %s -" % self.ring, "cannot read standard input"),
                                        (">&-", "ring list", "cannot write to standard output")):
            done = subprocess.run(["sh", "-c", "%s %s %s" % (RINGCTL, arguments, closed)], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=PATIENCE, env=environment(self.server.endpoint))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(text, done.stderr.decode())

    def test_weights_that_are_none(self):
        """A weight that is no whole number >= 0, or above the wire, is 2, and nothing changes. B27, go-ketama#2."""
        self.make_ring("n1")
        before = self.json("ring", "get", self.ring)
        for weight in ("-300", "-1", "-0.0", "NaN", "+Inf", "1e308", "0.1", "", "4294967296", "1 "):
            error = self.err("node", "add", self.ring, "n2", "--weight", weight, code=2)
            self.assertIn(weight.strip(), error)
            self.err("node", "update", self.ring, "n1", "--weight", weight, code=2)
        self.assertEqual(self.json("ring", "get", self.ring), before)

    def test_help(self):
        """Help is asked for anywhere and is data; no arguments is the same text as an error."""
        for verb in ("update", "remove"):
            self.assertIn("To drain", self.out("node", verb, "--help"))
        self.assertIn("Examples:", self.out("--help"))
        for arguments in (["node", "add", "--help"], ["node", "add", "r", "n", "-h"], ["help", "node", "add"]):
            self.assertIn("RING ID", self.out(*arguments))
        done = subprocess.run([RINGCTL], capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"Usage: ringctl", done.stderr)

    def test_invalid_utf8(self):
        """What does not fit the wire is refused here as the server would, escaped. B94, gnmic#436."""
        self.make_ring("n1")
        for arguments in ([b"ring", b"create", b"a\xff"], [b"node", b"add", self.ring, b"n\xff"],
                          [b"node", b"add", self.ring, b"n2", b"--metadata", b"k=\xff"],
                          [b"node", b"remove", self.ring, b"n1", b"--yes", b"--reason", b"\xff"],
                          [b"watch", b"\xff"]):
            error = self.err(*arguments, code=1)
            self.assertIn("\\xFF", error)
            self.assertIn("(INVALID_ARGUMENT)", error)

    def test_standard_output_that_fails(self):
        """Output that does not arrive is never 0; a reader that has gone is not talked about. B57."""
        self.make_ring("n1")
        for arguments in (["ring", "list"], ["ring", "get", self.ring, "-o", "json"], ["lookup", self.ring, "k"],
                          ["version"], ["--help"], ["watch", self.ring]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([RINGCTL, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE,
                                      env=environment(self.server.endpoint))
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(b"error: cannot write to standard output", done.stderr)
        done = subprocess.run(["bash", "-c", '"$0" lookup "$1" - -o tsv | head -1; exit ${PIPESTATUS[0]}', RINGCTL,
                               self.ring], input=b"k\n" * 300000, capture_output=True, timeout=60,
                              env=environment(self.server.endpoint))
        self.assertEqual(done.stdout, b"k\tn1\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr, b"")

    def test_state_after_a_change(self):
        """A change tells the state that it led to; one that changes nothing says so."""
        self.assertRegex(self.out("ring", "create", self.ring), r'^ring ".*" created: version \d+/1\n$')
        self.assertTrue(self.out("node", "add", self.ring, "n1", "--weight", "5").startswith(
            'node "n1" added to ring "%s": revision 1 -> 2' % self.ring))
        self.assertEqual(self.out("node", "update", self.ring, "n1", "--weight", "5"), "nothing changed: revision 2\n")
        self.assertIn("revision 2 -> 3", self.out("node", "update", self.ring, "n1", "--zone", "z"))
        self.assertIn("revision 3 -> 4", self.out("node", "update", "--zone=", self.ring, "n1"))
        answer = self.json("node", "add", self.ring, "n2", "--weight", "5")
        self.assertEqual((answer["previous_version"]["revision"], answer["version"]["revision"]), ("4", "5"))
        self.assertEqual(self.out("node", "add", self.ring, "n3", "-q"), "")
        self.assertIn("deleted", self.out("ring", "delete", self.ring, "--yes", "--force"))
        self.run_it("ring", "get", self.ring, code=1)

    def test_fields_of_a_node(self):
        """Every flag of node add and update arrives; metadata is replaced as a whole."""
        self.make_ring()
        self.out("node", "add", self.ring, "n1", "--address", "h:1", "--weight", "7", "--zone", "z", "--hash-key", "k",
                 "--metadata", "b=2", "--metadata", "a=1=1")
        node = self.json("node", "list", self.ring)["nodes"][0]
        self.assertEqual([node[key] for key in ("id", "address", "weight", "zone", "hash_key", "metadata", "share")],
                         ["n1", "h:1", 7, "z", "k", {"a": "1=1", "b": "2"}, 1])
        self.out("node", "update", self.ring, "n1", "--metadata", "c=3", "--address", "")
        node = self.json("node", "list", self.ring)["nodes"][0]
        self.assertEqual((node["metadata"], node["address"], node["weight"]), ({"c": "3"}, "", 7))

    def test_confirmation(self):
        """Without a terminal and --yes nothing is removed; --force does not stand for --yes, nor --yes for it."""
        self.make_ring("n1", "n2", "n3")
        self.assertIn("--yes", self.err("node", "remove", self.ring, "n1", "--force", code=2))
        self.assertIn("--yes", self.err("ring", "delete", self.ring, "--force", code=2))
        self.run_it("ring", "delete", self.ring, "--yes", code=1)
        self.assertEqual(len(self.json("ring", "get", self.ring)["nodes"]), 3)
        self.out("node", "remove", self.ring, "n1", "--yes")

    def test_question_on_a_terminal(self):
        """On a terminal node remove asks, and ring delete wants the name typed; another answer changes nothing."""
        self.make_ring("n1", "n2", "n3")
        self.assertEqual(self.ask("node", "remove", self.ring, "n1", answer=b"\n").returncode, 1)
        self.assertEqual(self.ask("ring", "delete", self.ring, "--force", answer=b"y\n").returncode, 1)
        self.assertEqual(len(self.json("ring", "get", self.ring)["nodes"]), 3)
        self.assertEqual(self.ask("node", "remove", self.ring, "n1", answer=b"y\n").returncode, 0)
        done = self.ask("ring", "delete", self.ring, "--force", answer=self.ring.encode() + b"\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_dry_run(self):
        """--dry-run shows the plan, whether force is needed, and changes nothing; it needs no --yes."""
        self.make_ring("n1")
        before = self.json("ring", "get", self.ring)
        text = self.out("node", "remove", self.ring, "n1", "--dry-run")
        self.assertIn("revision 2 -> 3", text)
        self.assertIn("needs --force", text)
        self.assertRegex(text, r"FROM +TO +MOVES\nn1 +- +100.00%\n")
        self.assertIn("share / expected share: 1.000..1.000 before, no weighted node after", text)
        answer = self.json("node", "add", self.ring, "n2", "--dry-run")
        plan = answer["plan"]
        [pair] = answer["movement"]["pairs"]
        self.assertEqual((pair["from"], pair["to"], pair["share"]),
                         ("n1", "n2", answer["movement"]["moved_share"]))
        self.assertEqual([node["id"] for node in plan["nodes"]], ["n1", "n2"])
        self.assertFalse(plan["force_needed"])
        self.out("ring", "delete", self.ring, "--dry-run")
        self.out("ring", "create", self.ring + "-2", "--dry-run")
        self.assertEqual(self.json("ring", "get", self.ring), before)
        self.run_it("ring", "get", self.ring + "-2", code=1)

    def test_json_is_a_function_of_the_version(self):
        """ring get and node list are the same bytes each time, and tell shares; the table is in ring get. B93,
        dgraph#5919."""
        self.make_ring("n1", "n2", "n3")
        self.out("node", "update", self.ring, "n1", *["--metadata=k%d=v" % i for i in range(20)])
        whole, listed = ({self.out(noun, verb, self.ring, "-o", "json") for _ in range(3)}
                         for noun, verb in (("ring", "get"), ("node", "list")))
        self.assertEqual((len(whole), len(listed)), (1, 1))
        document = json.loads(whole.pop())
        self.assertEqual(len(document["slot_owners"]), 65536)
        self.assertEqual({**document, "slot_owners": []}, json.loads(listed.pop()))
        self.assertAlmostEqual(sum(node["share"] for node in document["nodes"]), 1)
        for key in ("next_page_token", "age", "stale"):
            self.assertNotIn(key, document)
        self.assertIsInstance(document["version"]["epoch"], str)

    def test_formats(self):
        """Tables have headers, tsv has none; yaml has the content and order of json."""
        self.make_ring("n1")
        self.assertRegex(self.out("node", "list", self.ring), r"^ID +WEIGHT +SHARE +EXPECTED +ZONE +ADDRESS\n")
        self.assertTrue(self.out("node", "list", self.ring, "--no-headers").startswith("n1 "))
        self.assertTrue(self.out("-o", "tsv", "node", "list", self.ring).startswith("n1\t"))
        keys = re.findall(r"^(\w+):", self.out("ring", "get", self.ring, "-o", "yaml"), re.M)
        self.assertEqual(keys, list(self.json("ring", "get", self.ring)))
        self.assertIn(self.ring + "\t", self.out("ring", "list", "-o", "tsv"))

    def test_lookup_keys_are_bytes(self):
        """One owner for the same bytes by argument and by stdin, whatever they look like. B36, jedis#4685."""
        self.make_ring("n1", "n2", "n3")
        keys = ["é".encode(), "e\u0301".encode(), "ключ".encode(), "键".encode(), "😀".encode(), b"\xff\xfe", b"[a,b]",
                b"++", b"status", b"a=b", b"\\", b" x ", b"-5", b"--yes", b"%s", b"k\r"]
        alone = b"".join(self.run_it("lookup", "-o", "tsv", self.ring, "--", key).stdout for key in keys)
        together = self.run_it("lookup", "-o", "tsv", self.ring, "--", *keys).stdout
        from_lines = self.run_it("lookup", self.ring, "-", "-o", "tsv", stdin=b"\n".join(keys)).stdout
        from_nulls = self.run_it("lookup", self.ring, "-", "-o", "tsv", "--null", stdin=b"\0".join(keys) + b"\0").stdout
        self.assertEqual(alone, together)
        self.assertEqual(alone, from_lines)
        self.assertEqual(alone, from_nulls)
        self.assertEqual(len(alone.splitlines()), len(keys))
        self.assertIn(b"\n\\xFF\\xFE\t", alone)
        self.assertIn(b"\n\\x5C\t", alone)

    def test_lookup_owners(self):
        """--owners lists distinct nodes in order; a comma inside an id is told from one between ids."""
        self.make_ring("a,b", "c", options=["--slot-owners", "2"])
        line = self.out("lookup", self.ring, "k", "--owners", "2", "-o", "tsv").rstrip("\n")
        self.assertEqual(sorted(line.split("\t")[1].split(",")), ["a\\x2Cb", "c"])
        answer = self.json("lookup", self.ring, "k", "--owners", "2")
        self.assertEqual(len(answer["owners"]), 2)
        results = self.json("lookup", self.ring, "k", "l", "--owners", "2")["results"]
        self.assertEqual([result["key"] for result in results], ["k", "l"])
        self.assertEqual(results[0]["owners"], answer["owners"])
        self.assertIn("note:", self.err("lookup", self.ring, "k", "--owners", "3"))

    def test_lookup_refuses_a_line(self):
        """A key that is refused is named by its line, those before it are answered, and json stays valid. B57."""
        self.make_ring("n1")
        done = self.run_it("lookup", self.ring, "-", "-o", "tsv", code=1, stdin=b"a\nb\n\nd\n")
        self.assertEqual(done.stdout, b"a\tn1\nb\tn1\n")
        self.assertIn("line 3:", done.stderr.decode())
        keys = b"a\n" * 12000 + b"x" * 5000 + b"\nb\n"
        done = self.run_it("lookup", self.ring, "-", "-o", "json", code=1, stdin=keys)
        self.assertEqual(len(json.loads(done.stdout)["results"]), 12000)
        self.assertIn("line 12001:", done.stderr.decode())
        self.assertIn("key 2:", self.err("lookup", self.ring, "a", "", code=1))
        self.assertIn("line 1:", self.err("lookup", self.ring, "-", code=1, stdin=b"x" * (3 << 20)))

    def test_lookup_without_keys(self):
        """An empty input is fine in a ring that can answer, and an error where a key would be one."""
        self.make_ring("n1")
        self.assertEqual(self.out("lookup", self.ring, "-", "-o", "tsv"), "")
        self.assertEqual(self.json("lookup", self.ring, "-"), {"results": []})
        self.run_it("lookup", "no-such-ring", "-", code=1)

    def test_lookup_answers_while_the_input_is_open(self):
        """A key is answered although no more come for now: ringctl can stand in a pipeline."""
        self.make_ring("n1")
        process = subprocess.Popen([RINGCTL, "lookup", self.ring, "-", "-o", "tsv"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment(self.server.endpoint))
        for key in (b"a", b"b"):
            process.stdin.write(key + b"\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), key + b"\tn1\n")
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stdout.close()

    def test_lookup_of_a_million_lines(self):
        """A million lines are answered in order, of which each kind of batch limit cuts some. B93."""
        self.make_ring("n1", "n2", "n3")
        long_keys = b"".join(b"%0200d\n" % i for i in range(20000))
        keys = b"".join(b"key-%d\n" % i for i in range(980000)) + long_keys
        started = time.monotonic()
        lines = self.run_it("lookup", self.ring, "-", "-o", "tsv", stdin=keys).stdout.splitlines()
        print("a million lines: %.1f s" % (time.monotonic() - started))
        self.assertEqual(len(lines), 1000000)
        self.assertEqual([line.split(b"\t")[0] for line in lines], keys.splitlines())

    def test_min_version(self):
        """A read of a version that is not reached is 3 (UNAVAILABLE), of one that is there 0."""
        self.make_ring("n1")
        version = self.json("ring", "get", self.ring)["version"]
        at = "%s/%s" % (version["epoch"], version["revision"])
        self.run_it("lookup", self.ring, "k", "--min-version", at)
        later = "%s/%d" % (version["epoch"], int(version["revision"]) + 1)
        self.run_it("lookup", self.ring, "k", "--min-version", later, "--timeout", "500ms", code=3)
        self.run_it("node", "add", self.ring, "n2", "--if-version", at)
        self.run_it("node", "add", self.ring, "n3", "--if-version", at, code=1)

    def test_endpoint_that_says_nothing(self):
        """Each endpoint has its part of the timeout, so one that accepts and is silent does not hide the next."""
        self.make_ring("n1")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            endpoints = "127.0.0.1:%d,%s" % (silent.getsockname()[1], self.server.endpoint)
            self.out("lookup", self.ring, "k", "--timeout", "2s", endpoint=endpoints)
            self.assertNotEqual(self.json("version", endpoint=endpoints)["server_version"], "")

    def test_endpoints_in_order(self):
        """An endpoint that is down is passed over."""
        self.make_ring("n1")
        endpoints = "127.0.0.1:%d,%s" % (closed_port(), self.server.endpoint)
        self.assertEqual(self.out("lookup", self.ring, "k", "-o", "tsv", "--endpoints", endpoints, endpoint="x:1"),
                         "k\tn1\n")

    def test_status_and_version(self):
        """status is 0 only if every endpoint serves; version knows the server too."""
        self.make_ring("n1")
        document = self.json("status")
        endpoint = document["endpoints"][0]
        self.assertEqual(set(endpoint["health"].values()), {"SERVING"})
        self.assertIn(self.ring, [ring["name"] for ring in endpoint["rings"]])
        self.assertEqual(self.json("version")["server_version"], endpoint["server_version"])
        self.assertIn(self.ring, self.out("status"))
        both = "%s,127.0.0.1:%d" % (self.server.endpoint, closed_port())
        self.assertEqual(len(self.json("status", "--timeout", "300ms", code=3, endpoint=both)["endpoints"]), 2)

    def test_watch(self):
        """A line an event, as it happens; --from goes on from there; Ctrl-C is 130. B57."""
        watcher = self.watch(self.server.endpoint, self.ring, "-o", "json")
        self.assertEqual(watcher.event("absent")["ring"], self.ring)
        self.make_ring("n1")
        self.assertTrue(watcher.event("snapshot")["last"])
        change = watcher.event("change")
        self.assertEqual(change["nodes"][0]["added"]["id"], "n1")
        self.out("ring", "delete", self.ring, "--yes", "--force")
        self.assertEqual(watcher.event("deleted")["ring"], self.ring)
        self.assertEqual(watcher.stop(), 130)

    def test_watch_from(self):
        """--from the head delivers no snapshot, but what happens next."""
        self.make_ring("n1")
        version = self.json("ring", "get", self.ring)["version"]
        watcher = self.watch(self.server.endpoint, self.ring, "-o", "json", "--from",
                             "%s/%s" % (version["epoch"], version["revision"]))
        first = json.loads(watcher.out.get(timeout=PATIENCE))
        self.assertIn("in_sync", first)
        self.out("node", "add", self.ring, "n2")
        self.assertEqual(watcher.event("change")["version"]["revision"], str(int(version["revision"]) + 1))

    def test_watch_reconnects(self):
        """watch goes on trying, the first time included, says each loss once, and resumes where it was. B57."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        data = os.path.join(folder.name, "data")
        port = closed_port()
        watcher = self.watch("127.0.0.1:%d" % port, "r", "-o", "json")
        self.assertIn("trying again", watcher.note())
        server = self.serve(data, "127.0.0.1:%d" % port)
        self.assertIn("connected", watcher.note())
        self.out("ring", "create", "r", endpoint=server.endpoint)
        self.out("node", "add", "r", "n1", endpoint=server.endpoint)
        position = watcher.event("change")["version"]
        server.stop()
        self.assertIn("trying again", watcher.note())
        self.assertIsNone(watcher.process.poll())
        server = self.serve(data, "127.0.0.1:%d" % port, init=False)
        self.assertIn("connected", watcher.note())
        self.out("node", "add", "r", "n2", endpoint=server.endpoint)
        self.assertEqual(watcher.event("change")["from_revision"], position["revision"])
        self.assertEqual(watcher.stop(), 130)

    def test_watch_is_refused(self):
        """What will never be served ends the watch: an empty name is 1."""
        self.run_it("watch", "", code=1)


if __name__ == "__main__":
    unittest.main()
