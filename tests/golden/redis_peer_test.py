"""A ring imported from a real Redis Cluster: every key belongs to the server that Redis says.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR. Needs redis-server and redis-cli.
"""

import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import socket  # noqa: E402
import unittest  # noqa: E402

from ringd_process import PATIENCE, RINGCTL, environment  # noqa: E402
from server_case import ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

MASTERS = 3
SLOTS = 16384
REDIS_CLUSTER = pb.Placement(preset=pb.PresetPlacement(preset=pb.PRESET_REDIS_CLUSTER))


def free_ports(count):
    """Ports whose bus ports, 10,000 above, are free too."""
    held, ports = [], []
    while len(ports) < count:
        sockets = [socket.socket(), socket.socket()]
        held += sockets
        sockets[0].bind(("127.0.0.1", 0))
        port = sockets[0].getsockname()[1]
        if port + 10000 > 65535:
            continue
        try:
            sockets[1].bind(("127.0.0.1", port + 10000))
        except OSError:
            continue
        ports.append(port)
    for one in held:
        one.close()
    return ports


class Cluster:
    """Masters and a replica of the first, on loopback."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory(prefix="ringd-redis-")
        test.addCleanup(folder.cleanup)
        self.ports = free_ports(MASTERS + 1)
        for port in self.ports:
            data = os.path.join(folder.name, str(port))
            os.mkdir(data)
            process = subprocess.Popen(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--dir", data,
                 "--repl-ping-replica-period", "1", "--save", "", "--appendonly", "no", "--cluster-node-timeout", "60000", "--cluster-require-full-coverage",
                 "no"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            test.addCleanup(process.wait)
            test.addCleanup(process.kill)
        for port in self.ports:
            self.await_answer(port, "PONG", "PING")
        for i, port in enumerate(self.ports[:MASTERS]):
            self.ask(port, "CLUSTER", "ADDSLOTSRANGE", str(SLOTS * i // MASTERS), str(SLOTS * (i + 1) // MASTERS - 1))
            self.ask(port, "CLUSTER", "SET-CONFIG-EPOCH", str(i + 1))
        for port in self.ports[1:]:
            self.ask(port, "CLUSTER", "MEET", "127.0.0.1", str(self.ports[0]))
        self.ids = [self.ask(port, "CLUSTER", "MYID").strip() for port in self.ports]
        for port in self.ports:
            self.await_answer(port, "cluster_known_nodes:%d" % len(self.ports), "CLUSTER", "INFO")
            self.await_answer(port, "cluster_slots_assigned:%d" % SLOTS, "CLUSTER", "INFO")
        self.ask(self.ports[-1], "CLUSTER", "REPLICATE", self.ids[0])
        for port in self.ports:
            self.await_answer(port, "slave " + self.ids[0], "CLUSTER", "NODES")
        # It is told here only once the masters have heard that it has data.
        self.await_answer(self.ports[0], self.ids[-1], "CLUSTER", "SLOTS")

    @staticmethod
    def ask(port, *command, stdin=None):
        return subprocess.run(["redis-cli", "-p", str(port), *command], input=stdin, text=True, check=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def await_answer(self, port, text, *command):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.ask(port, *command)
            except subprocess.CalledProcessError as error:
                answer = error.stderr
            if text in answer:
                return
            if time.monotonic() > end:
                raise AssertionError("no %r in %s: %s" % (text, command, answer))

    def request(self, ring):
        """An ImportSlotsRequest of what CLUSTER NODES tells."""
        nodes, ranges, replicas = [], [], {}
        lines = [line.split() for line in self.ask(self.ports[0], "CLUSTER", "NODES").splitlines()]
        for line in lines:
            if line[3] != "-":
                replicas.setdefault(line[3], []).append(line[0])
        for line in lines:
            nodes.append(pb.Node(id=line[0], address=line[1].split("@")[0], weight=1 if line[3] == "-" else 0))
            for slots in line[8:]:
                first, _, last = slots.partition("-")
                ranges.append(pb.SlotRange(first=int(first), last=int(last or first),
                                           node_ids=[line[0]] + replicas.get(line[0], [])))
        return {"ring": ring, "nodes": nodes, "ranges": ranges}

    def owner(self, slot):
        """The id of the master of a slot, by CLUSTER NODES."""
        for line in self.ask(self.ports[0], "CLUSTER", "NODES").splitlines():
            for slots in line.split()[8:]:
                first, _, last = slots.partition("-")
                if int(first) <= slot <= int(last or first):
                    return line.split()[0]
        raise AssertionError(slot)


class RedisPeerTest(ServerCase):
    def ringctl(self, *arguments, stdin):
        done = subprocess.run([RINGCTL, *arguments], input=stdin, text=True, env=environment(self.server.endpoint),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_imported_cluster(self):
        cluster = Cluster(self)
        self.client.CreateRing(ring=self.ring, placement=REDIS_CLUSTER)
        imported = self.client.ImportSlots(**cluster.request(self.ring))
        self.assertEqual(imported.version.revision, 2)
        self.assertEqual(imported.movement.moved_share, 0, "nobody had the slots")

        keys = ["user:%d" % i for i in range(5000)] + ["{user:%d}.following" % i for i in range(5000)]
        keys += ["{}" + str(i) for i in range(10)] + ["a{b}{c}%d" % i for i in range(10)]
        slots = [int(line) for line in cluster.ask(
            cluster.ports[0], stdin="".join("CLUSTER KEYSLOT %s\n" % key for key in keys)).split()]
        self.assertEqual(len(slots), len(keys))
        owners = self.client.owners(self.ring, [key.encode() for key in keys], owners=2)
        masters = {}
        for i in range(MASTERS):
            first, last = SLOTS * i // MASTERS, SLOTS * (i + 1) // MASTERS - 1
            masters.update({slot: cluster.ids[i] for slot in set(slots) if first <= slot <= last})
        for key, slot, owner in zip(keys, slots, owners):
            self.assertEqual(owner[0], masters[slot], key)
        answer = self.client.Lookup(ring=self.ring, key=keys[0].encode(), owners=2)
        self.assertEqual(answer.hash, slots[0])
        of_first = self.client.Lookup(ring=self.ring, position=0, owners=2)
        self.assertEqual([owner.id for owner in of_first.owners], [cluster.ids[0], cluster.ids[-1]], "and its replica")
        self.assertFalse(of_first.owners_short)
        self.assertEqual(of_first.owners[0].address, "127.0.0.1:%d" % cluster.ports[0])
        of_last = self.client.Lookup(ring=self.ring, position=SLOTS - 1, owners=2)
        self.assertEqual([owner.id for owner in of_last.owners], [cluster.ids[2]])
        self.assertTrue(of_last.owners_short, "it has no replica")

        # What is there already is no change; what moved since is one.
        again = self.client.ImportSlots(**cluster.request(self.ring))
        self.assertEqual(again.version, imported.version)
        for slot in range(100):
            for port in cluster.ports[:MASTERS]:
                cluster.ask(port, "CLUSTER", "SETSLOT", str(slot), "NODE", cluster.ids[1])
        moved = self.client.ImportSlots(**cluster.request(self.ring))
        self.assertEqual(moved.version.revision, 3)
        self.assertEqual(moved.movement.moved_share, 100 / SLOTS)
        self.assertEqual([(getattr(pair, "from"), pair.to) for pair in moved.movement.pairs],
                         [(cluster.ids[0], cluster.ids[1])])
        self.assertEqual(self.client.Lookup(ring=self.ring, position=99).owners[0].id, cluster.ids[1])
        self.assertEqual(cluster.owner(99), cluster.ids[1])
        # ringctl reads what redis-cli prints, in each of its forms.
        for command in (["CLUSTER", "NODES"], ["CLUSTER", "SLOTS"], ["--no-raw", "CLUSTER", "SLOTS"]):
            imported = self.ringctl("ring", "import", self.ring, "-", stdin=cluster.ask(cluster.ports[0], *command))
            self.assertIn("nothing changed", imported, command)
        answers = "".join("%s\t%s\n" % (key, masters[slot] if slot >= 100 else cluster.ids[1])
                          for key, slot in zip(keys, slots))
        self.assertIn(str(len(keys)), self.ringctl("verify", self.ring, "-", stdin=answers))
        self.assertRegex(self.ringctl("ring", "import", self.ring + "-new", "-",
                                      stdin=cluster.ask(cluster.ports[0], "CLUSTER", "SLOTS")), "imported, 4 nodes")

        ranges = self.client.ListRanges(ring=self.ring, node_id=cluster.ids[1]).ranges
        self.assertEqual([(each.first, each.last) for each in ranges],
                         [(0, 99), (SLOTS // MASTERS, SLOTS * 2 // MASTERS - 1)])

    def test_nothing_else_changes_it(self):
        self.client.CreateRing(ring=self.ring, placement=REDIS_CLUSTER)
        whole = [pb.SlotRange(first=0, last=SLOTS - 1, node_ids=["a"])]
        version = self.client.ImportSlots(ring=self.ring, nodes=[pb.Node(id="a")], ranges=whole).version
        node = pb.Node(id="b")
        for call, fields in ((self.client.AddNode, {"node": node}), (self.client.RemoveNode, {"node_id": "a"}),
                             (self.client.UpdateNode, {"node": pb.Node(id="a", weight=0),
                                                       "update_mask": {"paths": ["weight"]}}),
                             (self.client.RestoreVersion, {"version": version})):
            self.refused("FAILED_PRECONDITION", call, ring=self.ring, reason="RING_IMPORTED", mentions=["ImportSlots"],
                         options=pb.MutationOptions(force=True), **fields)
        self.client.make_ring(self.ring + "-hashed")
        self.refused("FAILED_PRECONDITION", self.client.ImportSlots, ring=self.ring + "-hashed", nodes=[pb.Node(id="a")],
                     ranges=whole, reason="RING_NOT_IMPORTED")
        self.assertEqual(self.client.GetRing(ring=self.ring).version, version)

    def test_bad_imports(self):
        self.client.CreateRing(ring=self.ring, placement=REDIS_CLUSTER)
        nodes = [pb.Node(id="a"), pb.Node(id="b", weight=0)]

        def one(first, last, *ids):
            return pb.SlotRange(first=first, last=last, node_ids=ids)
        for ranges, text in (
                ([], "slot 0 is in none of the ranges"),
                ([one(0, 9, "a"), one(11, SLOTS - 1, "a")], "slot 10 is in none of the ranges"),
                ([one(0, SLOTS, "a")], "ranges[0]: 0..16384 is not in 0..16383"),
                ([one(5, 4, "a")], "ranges[0]: 5..4 is not in 0..16383"),
                ([one(0, SLOTS - 1, "a"), one(7, 7, "a")], "ranges[1]: 7..7 tells slot 7 again"),
                ([one(0, SLOTS - 1, "c")], 'names node "c", which is not in nodes'),
                ([one(0, SLOTS - 1, "a", "a")], 'names node "a" twice'),
                ([one(0, SLOTS - 1)], "names no node"),
                ([one(0, SLOTS - 1, "b", "a")], 'has the first owner "b", whose weight is 0')):
            self.refused("INVALID_ARGUMENT", self.client.ImportSlots, ring=self.ring, nodes=nodes, ranges=ranges,
                         mentions=[text])
        many = [pb.Node(id="n%d" % i) for i in range(9)]
        self.refused("INVALID_ARGUMENT", self.client.ImportSlots, ring=self.ring, nodes=many,
                     ranges=[one(0, SLOTS - 1, *[node.id for node in many])], mentions=["9 owners, the most is 8"])
        self.refused("INVALID_ARGUMENT", self.client.ImportSlots, ring=self.ring, nodes=nodes + nodes[:1],
                     ranges=[one(0, SLOTS - 1, "a")], reason="DUPLICATE_OPERATION")
        self.refused("INVALID_ARGUMENT", self.client.ImportSlots, ring=self.ring, nodes=[pb.Node(id="a", weight=2)],
                     ranges=[one(0, SLOTS - 1, "a")], mentions=["weight 2"])
        done = subprocess.run([RINGCTL, "ring", "import", self.ring + "-new", "-", "--format", "redis"], text=True,
                              input="%s 10.0.0.1:7000@17000 master - 0 0 1 connected 0-100\n" % ("a" * 40),
                              env=environment(self.server.endpoint), capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("slot 101 is missing", done.stderr)
        self.refused("NOT_FOUND", self.client.GetRing, ring=self.ring + "-new")
        plan = self.client.ImportSlots(ring=self.ring, nodes=nodes, ranges=[one(8192, SLOTS - 1, "a", "b"),
                                                                            one(0, 8191, "a")],
                                       options=pb.MutationOptions(validate_only=True))
        self.assertEqual(plan.plan.ring.version.revision, 2)
        self.assertEqual(self.client.GetRing(ring=self.ring).version.revision, 1)


if __name__ == "__main__":
    unittest.main()
