"""What ringd exports: /metrics as Prometheus reads it, over rings, nodes, calls and bad input.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR; promtool is in the path.
"""

import os
import re
import ssl
import subprocess
import sys
import time
import unittest

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))

from certificates import ADMIN, Certificates  # noqa: E402
from http2 import END_STREAM, Http2  # noqa: E402
from metrics_page import Page, get  # noqa: E402
from ringd_client import Refused, add, remove  # noqa: E402
from ringd_process import PATIENCE, eventually  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

README = os.path.join(HERE, "..", "..", "server", "README.md")
MAX_SERIES = 10000


class MetricsTest(ProcessCase):
    def start(self, *flags):
        self.server = self.serve(None, "127.0.0.1:0", *flags)
        self.assertTrue(self.server.wait_for_log("http listening on"))
        self.client = self.connect(self.server)

    def scrape(self):
        """The page now, made within a second, of no more series than there may be, and clean for promtool."""
        started = time.monotonic()
        status, headers, body = get(self.server.http_endpoint)
        self.assertLess(time.monotonic() - started, 1)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))
        page = Page(body)
        self.assertLessEqual(page.size, MAX_SERIES)
        return page

    def test_the_documented_metrics_are_those_that_are_served(self):
        """The table in server/README.md names each metric with its type and its labels; doc = code."""
        with open(README, encoding="utf-8") as file:
            section = re.search(r"^## Metrics$(.*?)^## ", file.read(), re.MULTILINE | re.DOTALL).group(1)
        documented = {}
        for row in section.split("\n"):
            found = re.fullmatch(r"\| `([a-z_]+)` \| (\w+) \| (.*?) \| .+ \|", row)
            if found:
                documented[found.group(1)] = (found.group(2), tuple(re.findall(r"`(\w+)`", found.group(3))))
        certificates = Certificates(os.path.join(self.folder, "certificates"))
        self.start("--allow-plaintext", "127.0.0.1:0", *certificates.flags(ADMIN))
        self.client.make_ring("small", ["a"])
        self.client.make_ring("large", ["n%d" % i for i in range(101)])
        page = self.scrape()
        served = {}
        for name, kind in page.types.items():
            series = page.series[name + "_bucket" if kind == "histogram" else name]
            labels = {tuple(key for key, _ in labels if key != "le") for labels in series}
            self.assertEqual(len(labels), 1, name)
            served[name] = (kind, labels.pop())
        self.assertEqual(documented, served)

    def test_zeros_from_the_start_and_calls_by_method_and_code(self):
        """Counters are there before they count; a call is counted with its method and its code, messages by direction."""
        self.start()
        rpc = {"grpc_service": "ringd.v1.Directory", "grpc_method": "Lookup"}
        page = self.scrape()
        self.assertEqual(set(page.series["grpc_server_handled_total"].values()), {0})
        self.assertEqual(page.get("grpc_server_handling_seconds_count", **rpc), 0)
        methods = {dict(labels)["grpc_method"] for labels in page.series["grpc_server_started_total"]}
        self.assertEqual(methods, {method.name for method in pb.DESCRIPTOR.services_by_name["Directory"].methods})
        self.assertEqual(page.get("ringd_rpc_lookups_unknown_ring_total"), 0)

        self.client.make_ring("r", ["a", "b"])
        for code, call in (("NotFound", lambda: self.client.Lookup(ring="absent", key=b"k")),
                           ("InvalidArgument", lambda: self.client.Lookup(ring="", key=b"k")),
                           ("Unimplemented", lambda: list(self.client.stub.Backup(pb.BackupRequest(), timeout=PATIENCE)))):
            self.assertRaises((Refused, grpc.RpcError), call)
            method = "Backup" if code == "Unimplemented" else "Lookup"
            page = self.scrape()
            self.assertEqual(page.get("grpc_server_handled_total", grpc_method=method, grpc_code=code), 1, code)
        owners = {}
        for i in range(10):
            owner = self.client.Lookup(ring="r", key=b"k%d" % i).owners[0].id
            owners[owner] = owners.get(owner, 0) + 1
        self.client.owners("r", [b"k%d" % i for i in range(10)], owners=2)
        self.assertRaises(Refused, self.client.BatchLookup, ring="absent", keys=[b"1", b"2"])
        self.client.health("")
        page = self.scrape()
        self.assertEqual(page.get("grpc_server_started_total", **rpc), 12)
        self.assertEqual(page.get("grpc_server_msg_received_total", **rpc), 12)
        self.assertEqual(page.get("grpc_server_msg_sent_total", **rpc), 10)
        self.assertEqual(page.get("grpc_server_handled_total", grpc_code="OK", **rpc), 10)
        self.assertEqual(page.get("grpc_server_handling_seconds_count", **rpc), 12)
        self.assertEqual(page.get("grpc_server_handling_seconds_bucket", le="+Inf", **rpc), 12)
        for node in ("a", "b"):
            self.assertEqual(page.get("ringd_rpc_lookups_total", ring="r", node=node), 2 * owners.get(node, 0))
        self.assertEqual(page.get("ringd_rpc_ring_lookups_total", ring="r"), 20)
        self.assertEqual(page.get("ringd_rpc_lookups_unknown_ring_total"), 3, "one Lookup, and a batch of two keys")
        self.assertEqual(page.get("ringd_store_commit_duration_seconds_count"), 2)
        self.assertEqual(page.get("ringd_store_writable"), 1)
        self.assertNotIn("grpc.health", page.text)
        for name in ("grpc_server_started_total", "grpc_server_handled_total"):
            method = {"grpc_method": "CreateRing"}
            self.assertEqual(sum(value for labels, value in page.series[name].items()
                                 if set(method.items()) <= set(labels)), 1, "nothing is in flight")

    def test_reports(self):
        """What named watchers report: how far they are behind at the scrape, and the time from publish to applied."""
        self.start()
        version = self.client.make_ring("r", ["a"])
        for name in ("w1", "w2", "w3", ""):
            self.watch(self.client, "r", name=name).wait_in_sync()

        def report(name, version, ago=0):
            applied = [pb.HeldRing(ring="r", position=pb.WatchPosition(version=version))]
            self.client.ReportWatch(watcher=name, applied=applied, ago={"seconds": ago})
        report("w1", version)
        report("w2", version)
        self.assertEqual(self.scrape().get("ringd_watch_applied_duration_seconds_count"), 0, "published before they came")
        version = self.client.add("r", "b").version
        report("w2", version)
        report("w3", version, ago=3600)
        page = self.scrape()
        self.assertEqual((page.get("ringd_watch_names"), page.get("ringd_watch_silent_names")), (3, 0))
        self.assertEqual(page.get("ringd_watch_lag_revisions_count"), 3)
        self.assertEqual(page.get("ringd_watch_lag_revisions_bucket", le="0"), 2)
        self.assertEqual(page.get("ringd_watch_lag_revisions_bucket", le="1"), 3)
        self.assertEqual(page.get("ringd_watch_applied_duration_seconds_count"), 2)
        self.assertEqual(page.get("ringd_watch_applied_duration_seconds_bucket", le="0.001") >= 1, True)

    def test_watches(self):
        """Watchers are counted while they watch; their messages and their end by code; a rewound one is counted."""
        self.start()
        version = self.client.make_ring("r", ["a"])
        self.assertEqual(self.scrape().get("ringd_watchers"), 0)
        watch = self.watch(self.client, "r")
        watch.wait_in_sync()
        page = self.scrape()
        self.assertEqual(page.get("ringd_watchers"), 1)
        method = {"grpc_type": "server_stream", "grpc_method": "Watch"}
        self.assertEqual(page.get("grpc_server_started_total", **method), 1)
        self.assertEqual(page.get("grpc_server_msg_sent_total", **method), len(watch.messages))
        self.assertEqual(page.get("grpc_server_handled_total", grpc_code="Canceled", **method), 0)
        self.assertEqual(page.get("ringd_watch_rewound_total"), 0)
        watch.cancel()
        eventually(lambda: self.scrape().get("ringd_watchers") == 0, "no watcher is counted any more")
        self.assertEqual(self.scrape().get("grpc_server_handled_total", grpc_code="Canceled", **method), 1)
        ahead = pb.WatchPosition(version=pb.Version(epoch=version.epoch, revision=version.revision + 5))
        self.watch(self.client, "r", held={"r": ahead}).wait_in_sync()
        self.assertEqual(self.scrape().get("ringd_watch_rewound_total"), 1)

    def test_series_of_removed_nodes_and_rings_go_away(self):
        """B101 (kubernetes-sigs/metrics-server#1876): right after the removal no series carries the node or the ring,
        and a node that comes back starts anew; one that stays never goes back."""
        self.start()
        nodes = ["m%d" % i for i in range(1, 6)]
        self.client.make_ring("r", nodes)
        keys = [b"key-%d" % i for i in range(1000)]
        owners = [owner[0] for owner in self.client.owners("r", keys)]
        page = self.scrape()
        for node in nodes:
            self.assertEqual(page.labelled(ring="r", node=node),
                             ["ringd_node_expected_share_ratio", "ringd_node_key_share_ratio", "ringd_rpc_lookups_total"])
            self.assertEqual(page.get("ringd_rpc_lookups_total", node=node), owners.count(node))
        self.client.remove("r", "m2")
        self.client.remove("r", "m3")
        page = self.scrape()
        self.assertEqual([page.labelled(node=node) for node in ("m2", "m3")], [[], []])
        self.assertEqual(page.get("ringd_ring_nodes", ring="r"), 3)
        self.assertEqual(page.get("ringd_rpc_lookups_total", node="m4"), owners.count("m4"))
        self.client.add("r", "m2")
        page = self.scrape()
        self.assertEqual(page.get("ringd_rpc_lookups_total", node="m2"), 0)
        self.assertAlmostEqual(page.get("ringd_node_key_share_ratio", node="m2"), self.client.nodes("r")["m2"].share, 14)
        self.assertEqual(page.get("ringd_node_expected_share_ratio", node="m2"), 0.25)
        self.client.delete("r")
        page = self.scrape()
        self.assertEqual(page.labelled(ring="r"), [])
        self.assertNotIn('"r"', page.text)

    def test_labels_come_from_bounded_sets(self):
        """B102 (jupp0r/prometheus-cpp#720): keys, names of rings that are not there, callers, and nodes that came and
        went leave no series behind; the page is as large as before, and made in time."""
        self.start()
        nodes = ["stays-%d" % i for i in range(10)]
        self.client.make_ring("r", nodes, points_per_weight=1)
        before = self.scrape()
        for first in range(0, 50000, 10000):
            self.client.BatchLookup(ring="r", keys=[b"key-%d" % i for i in range(first, first + 10000)])
        self.assertEqual(self.scrape().size, before.size)
        for first in range(0, 20000, 1000):
            for call in [self.client.stub.Lookup.future(pb.LookupRequest(ring="unknown-%d" % i, key=b"k"), timeout=30)
                         for i in range(first, first + 1000)]:
                self.assertEqual(call.exception().code().name, "NOT_FOUND")
        page = self.scrape()
        self.assertEqual((page.size, page.get("ringd_rpc_lookups_unknown_ring_total")), (before.size, 20000))
        self.assertNotIn("unknown-", page.text)
        for first in range(0, 5000, 500):
            passing = ["passes-%d" % i for i in range(first, first + 500)]
            self.client.apply("r", [add(id=node) for node in passing])
            page = self.scrape()
            self.assertEqual(page.get("ringd_ring_nodes"), 510)
            self.assertEqual(page.labelled(node=passing[0]), [], "over the cap of 100 nodes")
            self.assertEqual(page.get("ringd_node_imbalance_ratio_count"), 510)
            self.client.apply("r", [remove(node) for node in passing], force=True)
        request = pb.LookupRequest(ring="r", key=b"k").SerializeToString()
        for i in range(2000):
            connection = Http2(self.server.endpoint)
            stream = connection.call("/ringd.v1.Directory/Lookup", request, user_agent="caller-%d" % i)
            connection.frames_until(lambda kind, flags, of, _: of == stream and flags & END_STREAM)
            connection.close()
        page = self.scrape()
        self.assertEqual(page.size, before.size)
        self.assertNotIn("caller-", page.text)
        self.assertEqual(sum(page.series["ringd_rpc_lookups_total"].values()), 50000 + 2000)

    def test_names_of_every_kind(self):
        """B104 (alibaba/yalantinglibs#1207), B105 (prometheus/prometheus#4803): a name is refused, or the page is one
        that Prometheus reads, in valid UTF-8, with the name as it is."""
        self.start("--metrics-max-nodes", "20")
        self.client.make_ring("r")
        kept = []
        for node in ('a"b', "a\\b", "a\\nb", "a{b}", "\u043a\u043b\u044e\u0447", 'x"} 99', "#", " ", ",", "a=b",
                     "\U0001f511", 'x"} 99\ninjected 1', "a\nb", "a\rb", "a\x00b", "a\x7fb", "\u0085", "x" * 255,
                     "x" * 256):
            try:
                self.client.add("r", node)
                kept.append(node)
            except Refused as refused:
                self.assertEqual(refused.code, "INVALID_ARGUMENT", node)
            page = self.scrape()
            self.assertEqual({dict(labels)["node"] for labels in page.series.get("ringd_rpc_lookups_total", {})},
                             set(kept))
        self.assertNotIn("injected", page.series)
        self.assertGreaterEqual(len(kept), 11)
        # Bytes that are no UTF-8, as a node's id, a ring's name and a key.
        name = b"\x0a\x03a\xffb"
        for rpc, request in (("AddNode", b"\x0a\x01r\x12\x05" + name), ("CreateRing", name),
                             ("Lookup", name + b"\x12\x01k"), ("Lookup", b"\x0a\x01r\x12\x03a\xffb")):
            response = getattr(pb, rpc + "Response")
            try:
                self.client.send_bytes(rpc, request, response)
            except Refused as refused:
                self.assertIn(refused.code, ("INVALID_ARGUMENT", "INTERNAL", "UNIMPLEMENTED"))
            self.assertEqual(set(self.scrape().series["ringd_ring_nodes"]), {(("ring", "r"),)})

    def test_the_cap_of_all_series(self):
        """As many series as --metrics-max-series says and no more; what is left out is told."""
        self.start("--metrics-max-series", "1000")
        for i in range(60):
            self.client.make_ring("ring-%02d" % i, ["a"], points_per_weight=1)
        page = self.scrape()
        self.assertLessEqual(page.size, 1000)
        self.assertEqual(page.size + page.get("ringd_metrics_series_left_out"),
                         page.size - sum(len(page.series[name]) for name in page.series
                                         if any("ring" in dict(labels) for labels in page.series[name])) + 60 * 10)
        self.assertEqual(page.get("ringd_rings"), 60)
        self.assertEqual(page.get("ringd_ring_nodes", ring="ring-00"), 1)

    def test_plaintext_and_certificates(self):
        """Addresses opened by --allow-plaintext; the end of the certificate that is served; files that were refused."""
        certificates = Certificates(os.path.join(self.folder, "certificates"))
        self.start("--allow-plaintext", "127.0.0.1:0", *certificates.flags(ADMIN))
        page = self.scrape()
        self.assertEqual(page.get("ringd_plaintext_listeners"), 1)
        self.assertEqual(page.get("ringd_certs_refused_total"), 0)
        shown = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-in", certificates.path("server.pem")],
                               capture_output=True, text=True, check=True).stdout
        expiry = ssl.cert_time_to_seconds(shown.strip().split("=", 1)[1])
        self.assertEqual(page.get("ringd_cert_expiry_timestamp_seconds"), expiry)
        certificates.put("server-key.pem", b"")
        eventually(lambda: self.scrape().get("ringd_certs_refused_total") == 1, "the empty key is refused")
        self.assertEqual(self.scrape().get("ringd_cert_expiry_timestamp_seconds"), expiry)
        self.server.stop()
        self.start()
        page = self.scrape()
        self.assertEqual(page.get("ringd_plaintext_listeners"), 0)
        self.assertNotIn("ringd_cert", page.text)

    def test_the_public_listener(self):
        """--metrics-listen has /metrics and the probes and nothing else, on any interface; --http-listen has them too."""
        self.start("--metrics-listen", "0.0.0.0:0")
        self.assertTrue(self.server.wait_for_log("metrics listening on 0.0.0.0:[1-9]"))
        public = self.server.metrics_endpoint.replace("0.0.0.0", "127.0.0.1")
        self.client.make_ring("r", ["a"])
        for endpoint in (public, self.server.http_endpoint):
            self.assertEqual(get(endpoint, "/livez")[::2], (200, b"ok\n"))
            self.assertEqual(get(endpoint, "/readyz")[::2], (200, b"ok\n"))
            self.assertEqual(Page(get(endpoint)[2]).get("ringd_ring_nodes", ring="r"), 1)
        for path in ("/", "/version", "/config", "/rings"):
            self.assertEqual(get(public, path)[0], 404, path)
        self.assertEqual(get(self.server.http_endpoint, "/version")[0], 200)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
