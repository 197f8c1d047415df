"""Input that only a client without manners sends: bytes that are no UTF-8 in every text, more than may be held, the same
thing a hundred thousand times. It is refused, changes nothing, and costs little.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402

from metrics_page import scrape  # noqa: E402
from process_status import cpu_seconds, forget_peak, status  # noqa: E402
from ringd_client import Refused, add, update  # noqa: E402
from ringd_process import PATIENCE  # noqa: E402
from server_case import ProcessCase, ServerCase  # noqa: E402
from stubs import pb  # noqa: E402

INVALID, TOO_MANY = "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"
# A sequence cut short, a wrong second byte, no first byte, one after a letter, a surrogate, more than there is.
NO_UTF8 = (b"\xf0\x80", b"\xc3\x28", b"\xff", b"a\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")
METHODS = pb.DESCRIPTOR.services_by_name["Directory"].methods


def texts_of(message, parents=()):
    """The ways to all string fields of a message type, those of the messages in it included."""
    for field in message.fields:
        way = parents + (field,)
        if field.type == field.TYPE_STRING:
            yield way
        elif field.type == field.TYPE_MESSAGE and field.message_type not in [parent.message_type for parent in parents]:
            yield from texts_of(field.message_type, way)


def encode(way, text):
    """A message that has this text there and nothing else."""
    for field in reversed(way):
        assert field.number < 16 and len(text) < 128
        text = bytes([field.number << 3 | 2, len(text)]) + text
    return text


class BytesTest(ProcessCase):
    def outcome(self, client, method, request):
        """The code of a call with these bytes as its request, and whether ringd itself answered, not gRPC."""
        try:
            if method.server_streaming:
                call = client.channel.unary_stream("/ringd.v1.Directory/" + method.name)
                stream = call(request, timeout=PATIENCE)
                try:
                    next(stream)
                    stream.cancel()
                except grpc.RpcError as error:
                    raise Refused(error) from None
            else:
                client.send_bytes(method.name, request, getattr(pb, method.name + "Response"))
        except Refused as refused:
            return refused.code, refused.reason is not None
        return "OK", True

    def test_every_text_of_every_request(self):
        """B94 (protocolbuffers/protobuf#7364, openconfig/gnmic#436, protocolbuffers/protobuf#4970): bytes that are no
        UTF-8 are refused in every text field there is; then lists, Watch, scrape and a restart are as before."""
        server = self.serve()
        client = self.connect(server)
        client.make_ring("r", ["n1", "n2"])
        before = client.GetRing(ring="r")
        count = 0
        for method in METHODS:
            for way in texts_of(method.input_type):
                name = "%s.%s" % (method.name, ".".join(field.name for field in way))
                self.assertTrue(self.outcome(client, method, encode(way, b"ok"))[1], "%s is not read at all" % name)
                for text in NO_UTF8:
                    code, judged = self.outcome(client, method, encode(way, text))
                    # gRPC 1.51 says UNIMPLEMENTED of what its parser refuses.
                    self.assertIn((code, judged), ((INVALID, True), ("INTERNAL", False), ("UNIMPLEMENTED", False)), name)
                count += 1
        print("%d text fields" % count)
        self.assertGreater(count, 60)
        self.assertEqual(client.GetRing(ring="r"), before)
        self.assertEqual([ring.name for ring in client.ListRings().rings], ["r"])
        for key in NO_UTF8:
            self.assertEqual(len(client.Lookup(ring="r", key=key).owners), 1)
        watch = self.watch(client, "r")
        watch.wait_in_sync()
        watch.check_equal(self, client, "r")
        self.assertEqual(scrape(server.http_endpoint).get("ringd_ring_nodes", ring="r"), 2)  # strictly UTF-8
        self.assertNotIn("\ufffd", "".join(server.log))
        server.kill()
        self.assertEqual(self.connect(self.serve(init=False)).GetRing(ring="r"), before)

    def test_keys_are_never_told(self):
        """B94: a key is bytes. The error about one is a text of printable characters."""
        client = self.connect(self.serve(None, "127.0.0.1:0", "--max-key-bytes", "8"))
        client.make_ring("r", ["n1"])
        for call in (lambda: client.Lookup(ring="r", key=b"\xff\x00\n\x1b[31m key"),
                     lambda: client.BatchLookup(ring="r", keys=[b"k", b"\xff\x00\n\x1b[31m key"])):
            with self.assertRaises(Refused) as caught:
                call()
            self.assertIn(r'"\xFF\x00\x0A\x1B[31m key" has 12 bytes, the limit is 8', caught.exception.text)


class CostTest(ServerCase):
    """What is over a bound is refused before it takes memory or time."""

    def peak_growth(self, work):
        """By how many MiB the server's memory grew at most while the work was done."""
        pid = self.server.process.pid
        forget_peak(pid)
        before = status(pid, "VmRSS")
        work()
        return (status(pid, "VmHWM") - before) / 1024

    def test_points_over_the_bound_take_no_memory(self):
        """Reliability row 27: a ring of one point too many would take 64 MiB and more, one of 2^32 points 64 GiB."""
        self.client.make_ring(self.ring, points_per_weight=65536, default_weight=1)
        before = self.client.GetRing(ring=self.ring)
        many = [add(id="n%d" % i, weight=65535) for i in range(100)]

        def refusals():
            for _ in range(20):
                for operations in ([add(id="a", weight=65)], [add(id="a", weight=65535)], many,
                                   [add(id="a", weight=65), update("b", weight=65535)]):
                    for options in ({}, {"validate_only": True}, {"force": True}):
                        with self.assertRaises(Refused):
                            self.client.apply(self.ring, operations, **options)
                self.refused(INVALID, self.client.add, self.ring, "a", weight=65536)
                self.refused(TOO_MANY, self.client.add, self.ring, "a", weight=65)
        growth = self.peak_growth(refusals)
        print("260 refusals: %.1f MiB" % growth)
        self.assertLess(growth, 32)
        self.assertEqual(self.client.GetRing(ring=self.ring), before)
        taken = self.peak_growth(lambda: self.client.add(self.ring, "a", weight=64))
        self.assertGreater(taken, 48, "the measure sees what a ring takes")

    def test_a_mask_that_names_a_path_again_and_again(self):
        """A mask of 90,000 times "metadata" is one, and costs no more than its bytes."""
        self.client.make_ring(self.ring, ["n"])
        request = pb.UpdateNodeRequest(ring=self.ring, node=pb.Node(id="n", metadata={"%x" % i: "" for i in range(1000)}))
        request.update_mask.paths.extend(["metadata"] * 90000)
        pid = self.server.process.pid
        before = cpu_seconds(pid)
        self.client.send("UpdateNode", request)
        self.assertLess(cpu_seconds(pid) - before, 5)  # it was 40 when each was taken anew
        self.assertEqual(len(self.client.nodes(self.ring)["n"].metadata), 1000)

    def test_operations_over_the_bound(self):
        """A change has at most 10,000 operations: 10,000 pass as one revision, one more is RESOURCE_EXHAUSTED."""
        version = self.client.make_ring(self.ring, points_per_weight=1, default_weight=1)
        operations = [add(id="n%d" % i, weight=0) for i in range(10001)]
        error = self.refused(TOO_MANY, self.client.apply, self.ring, operations, mentions=["10001", "10000"])
        self.assertIn("operations", error.text)
        self.assertEqual(self.client.GetRing(ring=self.ring).version, version)
        answer = self.client.apply(self.ring, operations[:10000])
        self.assertEqual(answer.version.revision, version.revision + 1)
        self.assertEqual(self.client.GetRing(ring=self.ring).ring.node_count, 10000)


if __name__ == "__main__":
    unittest.main()
