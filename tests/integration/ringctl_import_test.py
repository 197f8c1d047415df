"""ringctl ring import and verify: a ring moves in from the files of another program, and not one key changes its owner.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

from ringctl_case import RingctlCase  # noqa: E402
from ringd_client import Client  # noqa: E402
from ringd_process import PATIENCE, RINGCTL, environment  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden")
NAMES = ("alpha", "beta", "gamma", "delta")
NUTCRACKER = """
plain:
  listen: 127.0.0.1:22121
  timeout: 400
  servers:
""" + "".join("   - 127.0.0.1:%d:1\n" % port for port in range(9201, 9205)) + """
weighted:
  listen: 127.0.0.1:22122
  hash: fnv1a_64
  distribution: ketama
  auto_eject_hosts: true
  servers:
""" + "".join("   - 127.0.0.1:%d:%d %s\n" % (9200 + weight, weight, name) for weight, name in enumerate(NAMES, 1)) + """
tagged:
  listen: 127.0.0.1:22123
  hash: murmur
  hash_tag: "{}"
  redis: true
  servers:
""" + "".join("   - 127.0.0.1:920%d:1 %s\n" % (number, name) for number, name in enumerate(NAMES, 1))
NGINX = """
events {}
http {
  upstream even { hash $request_uri consistent; keepalive 8;
""" + "".join("    server 127.0.0.1:%d;\n" % port for port in range(9101, 9105)) + """
  }
  upstream weighted {
""" + "".join("    server 127.0.0.1:910%d weight=%d max_fails=0;\n" % (weight, weight) for weight in range(1, 5)) + """
    hash "$arg_key" consistent;
  }
}
"""
LIST = "# host:port weight\n10.0.0.1:11211 1\n10.0.0.2:11211 2\n10.0.0.3:11211 3\n10.0.0.4:12000 4\n"
MOVES_IN = (
    # golden file, what the ring is imported from, flags
    ("twemproxy-fnv1a_64.tsv", NUTCRACKER, ["--pool", "plain"]),
    ("twemproxy-fnv1a_64-weighted.tsv", NUTCRACKER, ["--pool", "weighted"]),
    ("twemproxy-murmur-hashtag.tsv", NUTCRACKER, ["--pool", "tagged"]),
    ("nginx.tsv", NGINX, ["--upstream", "even"]),
    ("nginx-weighted.tsv", NGINX, ["--upstream", "weighted"]),
    ("ketama-weighted.tsv", LIST, ["--preset", "ketama-weighted"]),
    ("ketama-even.tsv", "".join(line.split()[0] + "\n" for line in LIST.splitlines()[1:]), ["--preset", "ketama"]),
)


def cluster_nodes(last_of_first, masters="ab"):
    """What CLUSTER NODES tells of a cluster whose first master, of one replica, has the slots up to that one."""
    borders = [0, last_of_first + 1] + [16000] * (len(masters) - 2) + [16384]
    lines = ["%s 10.0.0.1:7000@17000 slave %s 0 0 1 connected" % ("f" * 40, masters[0] * 40)]
    for number, name in enumerate(masters):
        lines.append("%s 10.0.0.1:%d@1%d master - 0 0 1 connected %d-%d" % (
            name * 40, 7001 + number, 7001 + number, borders[number], borders[number + 1] - 1))
    return "".join(line + "\n" for line in lines).encode()


class RingctlImportTest(RingctlCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.files = folder.name

    def file(self, content, name="file"):
        path = os.path.join(self.files, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def make_in(self, content, *flags, **options):
        return self.out("ring", "import", self.ring, self.file(content), *flags, **options)

    def refused(self, content, *flags, code=2):
        """The file is refused, and no ring is made."""
        error = self.err("ring", "import", self.ring, self.file(content), *flags, code=code)
        self.assertIn("NOT_FOUND", self.err("ring", "get", self.ring, code=1))
        return error

    def differing(self, *arguments, stdin=b""):
        done = self.run_it("verify", self.ring, *arguments, code=1, differs=True, stdin=stdin)
        return done.stdout.decode()

    # --- import, and verify against what the other program answered

    def test_moves_in_without_a_key_that_moves(self):
        for golden, content, flags in MOVES_IN:
            ring = self.ring + "-" + golden
            with self.subTest(golden=golden):
                self.out("ring", "import", ring, self.file(content), *flags)
                path = os.path.join(GOLDEN, golden)
                with open(path, "rb") as file:
                    count = len(file.readlines())
                self.assertIn("%d keys compared, not one differs: version " % count, self.out("verify", ring, path))

    def test_one_change_in_order_of_the_file(self):
        text = self.make_in("z 1\nb 2\na 3\n", "--preset", "nginx", "--label", "team=a", "--reason", "moves in")
        self.assertRegex(text, r'ring "%s" imported, 3 nodes of a list: revision 1 -> 2' % self.ring)
        answer = self.json("ring", "get", self.ring)
        self.assertEqual(answer["ring"]["labels"], {"team": "a"})
        self.assertEqual(answer["ring"]["default_weight"], 1)
        nodes = sorted(answer["nodes"], key=lambda node: int(node["join_number"]))
        self.assertEqual([(node["id"], node["weight"], node["address"]) for node in nodes],
                         [("z", 1, "z"), ("b", 2, "b"), ("a", 3, "a")])
        self.assertEqual([change["reason"] for change in self.json("history", self.ring)["changes"]],
                         ["moves in", "moves in"])

    def test_warnings(self):
        self.assertRegex(self.err("ring", "import", self.ring, self.file(NUTCRACKER), "--pool", "weighted"),
                         r"^warning: \S+:15: auto_eject_hosts")
        glued = "".join("10.0.0.%d\n" % i for i in range(1, 21))
        self.assertRegex(self.err("ring", "import", self.ring + "-glued", "-", "--preset", "murmur3-weighted",
                                  stdin=glued.encode()), r'warning: .*node "10.0.0.1" has 0\.\d+ times its share')
        self.assertEqual(self.err("ring", "import", self.ring + "-quiet", "-", "--preset", "murmur3-weighted", "-q",
                                  stdin=glued.encode()), "")

    def test_an_export_is_the_same_ring(self):
        self.out("ring", "create", self.ring, "--placement", "hashed", "--hash", "crc32", "--point-label", "{index}:{key}", "--match",
                 "strictly-after", "--tie-rule", "later-join", "--default-weight", "9", "--label", "a=b")
        self.out("ring", "update", self.ring, "--history-max", "50")
        for node in ("z", "\u00e9 1", "a"):
            self.out("node", "add", self.ring, node, "--hash-key", "key of " + node, "--zone", "z1", "--address", "h:1",
                     "--metadata", "k=v")
        self.out("node", "update", self.ring, "a", "--weight", "0")
        export = self.out("ring", "get", self.ring, "-o", "json").encode()
        self.out("ring", "import", self.ring + "-copy", "-", stdin=export)
        pages = [self.json("ring", "get", name) for name in (self.ring, self.ring + "-copy")]
        self.assertEqual(pages[0]["nodes"], pages[1]["nodes"])
        for field in ("placement", "default_weight", "labels", "history_limits", "checksum"):
            self.assertEqual(pages[0]["ring"][field], pages[1]["ring"][field])

    def same(self, *rings):
        """The rings have one checksum, and 2,000 keys have the same owners in the same order."""
        client = Client(self.server.endpoint)
        self.addCleanup(client.close)
        checksums = [client.GetRing(ring=ring).ring.checksum for ring in rings]
        self.assertEqual(checksums[0], checksums[1])
        keys = [b"key-%d" % number for number in range(2000)]
        owners = [client.owners(ring, keys, owners=3) for ring in rings]
        self.assertEqual(owners[0], owners[1])
        return owners[0]

    def test_an_export_of_slots_is_the_same_ring(self):
        self.out("ring", "create", self.ring, "--placement", "slots", "--slot-bits", "12", "--slot-owners", "3")
        for node, weight, zone in (("z", 100, "1"), ("n1", 50, "2"), ("b", 130, "2"), ("n2", 100, "3"), ("a", 80, "1")):
            self.out("node", "add", self.ring, node, "--weight", str(weight), "--zone", zone, "--address", node + ":1")
        self.out("node", "update", self.ring, "n2", "--weight", "250")
        self.out("node", "remove", self.ring, "n1", "--yes")
        self.out("node", "add", self.ring, "idle", "--weight", "0")
        export = self.out("ring", "get", self.ring, "-o", "json").encode()
        copy = self.ring + "-copy"
        self.assertRegex(self.out("ring", "import", copy, "-", stdin=export),
                         r'ring "%s" imported, 5 nodes of the export of ring "%s": revision 1 -> 2' % (copy, self.ring))
        owners = self.same(self.ring, copy)
        self.assertEqual({len(set(of_key)) for of_key in owners}, {3})
        self.assertEqual(json.loads(export)["slot_owners"].count(0), 0, "each slot has its three")
        # What it prints is a file of nodes as well.
        self.out("diff", copy, "-f", "-", stdin=export)
        # From here on both are levelled alike.
        for ring in (self.ring, copy):
            self.out("node", "add", ring, "late", "--weight", "70", "--zone", "3")
            self.out("node", "remove", ring, "b", "--yes")
        self.assertNotEqual(self.same(self.ring, copy), owners)
        self.assertIn("ALREADY_EXISTS", self.err("ring", "import", copy, "-", code=1, stdin=export))

    def test_an_export_of_a_redis_cluster_is_the_same_ring(self):
        self.out("ring", "import", self.ring, "-", stdin=cluster_nodes(8191))
        export = self.out("ring", "get", self.ring, "-o", "json").encode()
        copy = self.ring + "-copy"
        self.assertIn("imported, 3 nodes", self.out("ring", "import", copy, "-", stdin=export))
        owners = self.same(self.ring, copy)
        self.assertIn("nothing changed", self.out("ring", "import", copy, "-", stdin=export))
        for ring in (self.ring, copy):
            self.out("ring", "import", ring, "-", stdin=cluster_nodes(5000, "abc"))
        self.assertNotEqual(self.same(self.ring, copy), owners)

    def test_dry_run_of_an_export_of_slots(self):
        self.out("ring", "create", self.ring, "--placement", "slots", "--slot-bits", "10", "--slot-owners", "2")
        for node in ("z", "b", "a"):
            self.out("node", "add", self.ring, node)
        export = self.out("ring", "get", self.ring, "-o", "json").encode()
        copy = self.ring + "-copy"
        self.assertIn("would be imported, 3 nodes", self.out("ring", "import", copy, "-", "--dry-run", stdin=export))
        plan = self.out("ring", "import", copy, "-", "--dry-run", "-o", "json", stdin=export).encode()
        self.assertIn("NOT_FOUND", self.err("ring", "get", copy, code=1))
        self.out("ring", "import", copy, "-", stdin=plan)
        self.same(self.ring, copy)

    def test_a_table_that_is_not_levelled(self):
        self.out("ring", "create", self.ring, "--placement", "slots", "--slot-bits", "10")
        for node in ("a", "b"):
            self.out("node", "add", self.ring, node)
        export = self.json("ring", "get", self.ring)
        export["slot_owners"] = [1] * 1024
        copy = self.ring + "-copy"
        for flags in (["--dry-run"], []):
            error = self.err("ring", "import", copy, "-", *flags, code=1, stdin=json.dumps(export).encode())
            self.assertIn('node "a" owns 1024 slots; it should own 512', error)
        self.assertIn("NOT_FOUND", self.err("ring", "get", copy, code=1))

    def test_an_export_without_nodes(self):
        for flag, value in (("--preset", "nginx"), ("--preset", "redis-cluster"), ("--placement", "slots")):
            ring = self.ring + "-" + value
            self.out("ring", "create", ring, flag, value)
            export = self.out("ring", "get", ring, "-o", "json").encode()
            self.assertIn("0 nodes", self.out("ring", "import", ring + "-copy", "-", stdin=export))
            self.assertEqual(self.json("ring", "get", ring + "-copy")["ring"]["node_count"], 0)

    def test_dry_run(self):
        path = self.file(NUTCRACKER)
        text = self.out("ring", "import", self.ring, path, "--pool", "weighted", "--dry-run")
        self.assertTrue(text.startswith('dry run, nothing was changed: ring "%s" would be imported, 4 nodes of pool '
                                        '"weighted"\n' % self.ring), text)
        self.assertRegex(text, r"placement +twemproxy, fnv1a-64\n")
        self.assertRegex(text, r"\nbeta +2 +beta +- +127.0.0.1:9202\n")
        rows = self.out("ring", "import", self.ring, path, "--pool", "weighted", "--dry-run", "-o", "tsv")
        self.assertEqual(rows.splitlines()[0], "beta\t2\tbeta\t\t127.0.0.1:9202")
        self.assertIn("NOT_FOUND", self.err("ring", "get", self.ring, code=1))
        # What it prints as JSON is an export of the ring that it would make.
        plan = self.out("ring", "import", self.ring, path, "--pool", "weighted", "--dry-run", "-o", "json").encode()
        self.out("ring", "import", self.ring, "-", stdin=plan)
        self.assertIn("not one differs",
                      self.out("verify", self.ring, os.path.join(GOLDEN, "twemproxy-fnv1a_64-weighted.tsv")))

    def test_refused_files(self):
        self.assertIn(":6: there are several pools", self.refused("\na:\n  servers: ['h:1:1']\n\n\nb:\n  listen: x\n"))
        self.assertIn("distribution \"modula\"", self.refused("a:\n  distribution: modula\n  servers: ['h:1:1']\n"))
        self.assertIn("backup", self.refused("upstream u { hash $k consistent; server a:1; server b:1 backup; }"))
        self.assertIn("a list needs --preset", self.refused("a 1\n"))
        self.assertIn(":2: weight \"x\"", self.refused("a 1\nb x\n", "--preset", "ketama"))
        self.assertIn("slot_owners is missing",
                      self.refused('{"ring": {"placement": {"slots": {}}}, "nodes": [{"id": "a", "weight": 1}]}'))
        self.assertIn("cannot read", self.err("ring", "import", self.ring, "/no/such/file", code=2))
        self.assertIn("--format \"yaml\" is none of nutcracker, nginx, list, json",
                      self.refused("a 1\n", "--format", "yaml"))

    def test_a_placement_that_the_server_refuses(self):
        flags = ["--preset", "envoy-ring-hash", "--min-ring-size", "9", "--max-ring-size", "3"]
        self.refused("a 1\n", *flags, code=1)
        self.refused("a 1\n", *flags, "--dry-run", code=1)

    def test_leaves_nothing_behind_when_nodes_are_refused(self):
        for flags in (["--dry-run"], []):
            error = self.err("ring", "import", self.ring, self.file("a 1\nb 2\n"), "--preset", "ketama", *flags, code=1)
            self.assertRegex(error, r'error: .*weight 2')
            self.assertIn("NOT_FOUND", self.err("ring", "get", self.ring, code=1))
        self.out("ring", "import", self.ring, self.file("a 1\n"), "--preset", "ketama")

    def test_a_ring_of_redis_that_is_there_takes_no_settings(self):
        nodes = "%s h:1@2 master - 0 0 1 connected 0-16383\n" % ("a" * 40)
        self.out("ring", "import", self.ring, self.file(nodes), "--label", "env=test")
        self.assertIn("--default-weight and --label",
                      self.err("ring", "import", self.ring, self.file(nodes), "--label", "env=prod", code=2))
        self.out("ring", "import", self.ring, self.file(nodes))

    def test_an_export_in_yaml(self):
        self.out("ring", "create", self.ring)
        export = self.out("ring", "get", self.ring, "-o", "yaml").encode()
        self.assertIn("-o json", self.err("ring", "import", self.ring + "-2", "-", code=2, stdin=export))

    # --- verify

    def test_shows_the_lines_that_differ(self):
        self.make_in("a\nb\n", "--preset", "nginx")
        keys = b"".join(b"key-%d\n" % number for number in range(2500))
        right = self.out("lookup", self.ring, "-", "-o", "tsv", stdin=keys).encode()
        self.assertIn("2500 keys compared, not one differs", self.out("verify", self.ring, "-", stdin=right))
        lines = right.splitlines()
        wrong = [b"key-%d\t%s" % (number, b"a" if lines[number].endswith(b"b") else b"gone") for number in (7, 2400)]
        lines[7], lines[2400] = wrong
        text = self.differing("-", "-o", "tsv", "-q", stdin=b"\n".join(lines))
        owners = [line.split(b"\t")[1].decode() for line in (right.splitlines()[7], right.splitlines()[2400])]
        self.assertEqual(text.splitlines(), [line.decode() + "\t" + owner for line, owner in zip(wrong, owners)])
        table = self.differing("-", stdin=b"\n".join(lines)).splitlines()
        self.assertEqual(table[0].split(), ["KEY", "EXPECTED", "OWNER"])
        self.assertEqual(table[1].split()[0], "key-7")
        self.assertRegex(table[-1], r"^2500 keys compared, 2 differ: version \d+/2$")

    def test_counts_aside_from_the_data(self):
        self.make_in("a\n", "--preset", "nginx")
        done = self.run_it("verify", self.ring, "-", "-o", "tsv", stdin=b"k\ta\nl\ta\n")
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"2 keys compared, not one differs", done.stderr)
        self.assertIn("verify prints", self.err("verify", self.ring, "-", "-o", "json", code=2))

    def test_keys_are_bytes(self):
        self.out("ring", "create", self.ring, "--preset", "nginx")
        self.out("node", "add", self.ring, "a,b")
        self.out("verify", self.ring, "-", stdin=b"k\\x00\\xFF\\x09\ta\\x2Cb\n\xff\xfe\ta\\x2Cb\nlast\ta\\x2Cb")
        keys = b"\0".join((b"a\nb", b"\\", b"\x80", b"c\td")) + b"\0"
        self.out("verify", self.ring, "-", stdin=self.run_it("lookup", self.ring, "-", "--null", "-o", "tsv",
                                                             stdin=keys).stdout)

    def test_wrong_lines(self):
        self.make_in("a\n", "--preset", "nginx")
        for lines, text in ((b"k\ta\nno tab\n", "line 2: 0 tabs"), (b"k\ta\n\n", "line 2: 0 tabs"),
                            (b"k\ta\r\n", r'line 1: owner "a\x0D"'), (b"k\ta\tb\n", "line 1: 2 tabs"),
                            (b"\\q\ta\n", "line 1: in"), (b"", "has no lines")):
            self.assertIn(text, self.err("verify", self.ring, "-", code=2, stdin=lines))
        # What stands before is compared.
        done = self.run_it("verify", self.ring, "-", "-o", "tsv", code=2, stdin=b"k\tgone\nno tab\n")
        self.assertEqual(done.stdout, b"k\tgone\ta\n")
        self.assertIn("cannot read", self.err("verify", self.ring, "/no/such/file", code=2))

    def test_the_server_says_no(self):
        for ring in ("no-such-ring", ""):
            self.err("verify", ring, "-", code=5, stdin=b"k\ta\n")
            self.err("verify", ring, "-", code=5)
        self.out("ring", "create", self.ring)
        self.assertIn("FAILED_PRECONDITION", self.err("verify", self.ring, "-", code=5, stdin=b"k\ta\n"))
        self.out("node", "add", self.ring, "a")
        self.assertIn("line 2: ", self.err("verify", self.ring, "-", code=5, stdin=b"k\ta\n\ta\n"))
        self.run_it("verify", self.ring, "-", code=3, stdin=b"k\ta\n", endpoint="127.0.0.1:1")

    def test_a_reader_that_goes_away(self):
        self.make_in("a\n", "--preset", "nginx")
        lines = b"".join(b"key-%d\tb\n" % number for number in range(100_000))
        done = subprocess.run(["bash", "-c", '"$0" verify "$1" - | head -1', RINGCTL, self.ring], input=lines,
                              capture_output=True, timeout=2 * PATIENCE, env=environment(self.server.endpoint))
        self.assertEqual((len(done.stdout.splitlines()), done.stderr), (1, b""))

    def test_compares_while_it_reads(self):
        """The lines that have come are compared before the input ends."""
        self.make_in("a\n", "--preset", "nginx")
        process = subprocess.Popen([RINGCTL, "verify", self.ring, "-", "-o", "tsv"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env=environment(self.server.endpoint))
        try:
            process.stdin.write(b"k\tb\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), b"k\tb\ta\n")
            process.stdin.close()
            self.assertEqual(process.wait(PATIENCE), 1)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    unittest.main()
