"""mTLS: who gets in, who may change rings, and certificates that change while ringd runs.

Environment: RINGD_BIN, RINGCTL_BIN and PROTO_DIR.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from certificates import ADMIN, CERTS, Certificates  # noqa: E402
from ringd_client import Client, Refused  # noqa: E402
from ringd_process import eventually, refused_start  # noqa: E402
from server_case import ProcessCase  # noqa: E402
from stubs import pb  # noqa: E402

MAY_CHANGE = {"CreateRing", "DeleteRing", "UpdateRing", "AddNode", "RemoveNode", "UpdateNode", "ApplyChanges",
              "ImportSlots", "RestoreVersion", "Backup"}
METHODS = [method.name for method in pb.DESCRIPTOR.services_by_name["Directory"].methods]


class TlsCase(ProcessCase):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(os.path.join(self.folder, "certificates"))

    def serve_tls(self, *flags, admins=(ADMIN,), address="127.0.0.1:0", **options):
        return self.serve(None, address, *self.certificates.flags(*admins), *flags, **options)

    def connect_as(self, name, server):
        return self.connect(server, credentials=self.certificates.credentials(name))


class RightsTest(TlsCase):
    def test_an_admin_changes_and_a_reader_reads(self):
        """--admin-san may change rings; all others read. The certificate's name is the actor."""
        server = self.serve_tls()
        admin, reader = self.connect_as("admin", server), self.connect_as("reader", server)
        admin.make_ring("r", ["a"])
        self.assertTrue(server.wait_for_log(r'CreateRing.*spiffe://ringd\.local/admin'))
        self.assertEqual(reader.owners("r", [b"k"]), [["a"]])
        self.assertEqual(reader.health(""), "SERVING")
        watch = self.watch(reader, "r")
        watch.wait_in_sync()
        admin.add("r", "b")
        watch.wait(lambda seen: seen.kinds.get("change") == 1)
        with self.assertRaises(Refused) as caught:
            reader.add("r", "c")
        self.assertEqual((caught.exception.code, caught.exception.reason), ("PERMISSION_DENIED", "ADMIN_REQUIRED"))
        for text in ("spiffe://ringd.local/reader", "AddNode", "--admin-san"):
            self.assertIn(text, caught.exception.text)
        self.assertEqual(list(admin.nodes("r")), ["a", "b"])

    def test_every_method(self):
        """Each method of the contract, those that are not served yet too, needs the right that the table gives it."""
        server = self.serve_tls()
        admin, reader = self.connect_as("admin", server), self.connect_as("reader", server)
        self.assertGreater(len(METHODS), 15)
        for name in METHODS:
            for client, allowed in ((admin, True), (reader, name not in MAY_CHANGE)):
                code = self.code_of(client, name)
                self.assertEqual(code != "PERMISSION_DENIED", allowed, (name, code))

    @staticmethod
    def code_of(client, name):
        """The code that a call of a method with an empty request ends with."""
        try:
            call = getattr(client.stub, name)(getattr(pb, name + "Request")(), timeout=10)
            if hasattr(call, "cancel"):  # a stream
                next(call)
                call.cancel()
        except grpc.RpcError as error:
            return error.code().name
        return "OK"

    def test_without_admins_nobody_changes_over_tcp(self):
        """mTLS without --admin-san: a warning at the start; a unix socket, guarded by its file, may change."""
        path = "unix:" + os.path.join(self.folder, "ringd.sock")
        server = self.serve_tls("--listen", path, admins=())
        self.assertTrue(server.wait_for_log("no --admin-san"))
        self.assertEqual(server.endpoints[1], path)
        local = self.connect(path)
        local.make_ring("r", ["a"])
        client = self.connect_as("admin", server)
        self.assertEqual(client.owners("r", [b"k"]), [["a"]])
        with self.assertRaises(Refused) as caught:
            client.add("r", "b")
        self.assertEqual(caught.exception.code, "PERMISSION_DENIED")


class RefusedTest(TlsCase):
    """reliability: every bad case is refused in a second, and the server goes on."""

    def refused(self, server, what, client):
        started = time.monotonic()
        with self.assertRaises(Refused, msg=what) as caught:
            client.ListRings(timeout=10)
        self.assertEqual(caught.exception.code, "UNAVAILABLE", what)
        self.assertLess(time.monotonic() - started, 1, what)
        self.assertIsNone(server.process.poll(), what)

    def test_clients_without_a_good_certificate(self):
        server = self.serve_tls()
        good = self.certificates
        rogue = Certificates(os.path.join(self.folder, "rogue"))
        self.refused(server, "plaintext", self.connect(server))
        for what, credentials in (("none", good.credentials()), ("rogue", rogue.credentials("admin", ca=good)),
                                  ("expired", good.credentials("expired")),
                                  ("a server that the client does not know", good.credentials("admin", ca=rogue))):
            self.refused(server, what, self.connect(server, credentials=credentials))
        other_name = [("grpc.ssl_target_name_override", "other.example.org")]
        self.refused(server, "another name", self.connect(server, *other_name, credentials=good.credentials("admin")))
        self.assertEqual(len(self.connect_as("admin", server).ListRings().rings), 0)

    def s_client(self, server, *flags):
        """Whether OpenSSL's client ends up with a TLS connection."""
        files = ["-cert", self.certificates.path("admin.pem"), "-key", self.certificates.path("admin-key.pem"),
                 "-CAfile", self.certificates.path("ca.pem"), "-alpn", "h2"]
        done = subprocess.run(["openssl", "s_client", "-connect", server.endpoint, *files, *flags],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        return b"Cipher is (NONE)" not in done.stdout and b"Cipher    : 0000" not in done.stdout

    def test_old_versions_and_weak_ciphers(self):
        """TLS 1.2 or later, and no cipher without forward secrecy."""
        server = self.serve_tls()
        weak = ["-cipher", "ALL:@SECLEVEL=0"]
        for flags in (["-tls1_2"], ["-tls1_3"]):
            self.assertTrue(self.s_client(server, *flags), flags)
        for flags in (["-tls1", *weak], ["-tls1_1", *weak], ["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"],
                      ["-tls1_2", "-cipher", "eNULL:aNULL:@SECLEVEL=0"]):
            self.assertFalse(self.s_client(server, *flags), flags)
        self.connect_as("admin", server).ListRings()

    def test_bytes_that_are_no_tls(self):
        """Garbage, half a handshake, and silence harm nobody else."""
        server = self.serve_tls()
        host, port = server.endpoint.rsplit(":", 1)
        held = []
        for content in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", bytes(1000),
                        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            for _ in range(10):
                held.append(socket.create_connection((host, int(port)), timeout=10))
                held[-1].sendall(content)
        for _ in range(20):
            client = self.connect_as("admin", server)
            client.ListRings(timeout=5)
        for connection in held:
            connection.close()


class RotationTest(TlsCase):
    maxDiff = None
    def wait_served(self, server, pem):
        """New connections get that certificate within 5 s."""
        started = time.monotonic()
        eventually(lambda: self.certificates.served(server.endpoint) == pem.decode(), "the new certificate is served")
        self.assertLess(time.monotonic() - started, 5)

    def test_rotation_under_load(self):
        """reliability: 20 rounds with bad pairs between: no failed RPC, no crash, the new certificate within 5 s."""
        server = self.serve_tls()
        admin = self.connect_as("admin", server)
        admin.make_ring("r", ["a"])
        watch = self.watch(admin, "r")
        stop, failed, done = threading.Event(), [], []
        credentials = self.certificates.credentials("admin")
        patient = [("grpc.min_reconnect_backoff_ms", 10000)]  # which is also how long a handshake may take

        def connect():
            return Client(server.endpoint, *patient, credentials=credentials)

        def load(fresh):
            client = connect()
            while not stop.is_set():
                try:
                    client.Lookup(ring="r", key=b"k", timeout=10)
                    done.append(fresh)
                except Refused as error:
                    failed.append(error)
                if fresh:
                    client.close()
                    client = connect()
            client.close()
        threads = [threading.Thread(target=load, args=(fresh,)) for fresh in (True, False)]
        for thread in threads:
            thread.start()
        try:
            for number in range(20):
                good = self.certificates.read("server.pem"), self.certificates.read("server-key.pem")
                for name, content in ((("server.pem", b""), ("server-key.pem", self.certificates.read("admin-key.pem")),
                                       ("ca.pem", b"rubbish"), ("server.pem", good[0][:200]))[number % 4],):
                    before = self.certificates.read(name)
                    seen = len([line for line in server.log if " error " in line])
                    self.certificates.put(name, content)
                    eventually(lambda: len([line for line in server.log if " error " in line]) > seen, "refused")
                    self.certificates.put(name, before)
                self.certificates.issue("admin")
                self.wait_served(server, self.certificates.read("server.pem"))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [], "".join(line for line in server.log if "grpc" in line))
        self.assertGreater(done.count(True), 100)
        self.assertGreater(done.count(False), 100)
        watch.check(self)
        self.assertIsNone(watch.code)
        self.assertIsNone(server.process.poll())
        print("rotation: %d lookups on new connections, %d on one" % (done.count(True), done.count(False)))

    def test_another_client_ca(self):
        """The CA of clients changes with its file: who was issued by the one before is refused from then on."""
        server = self.serve_tls()
        old = self.certificates.copy(os.path.join(self.folder, "old"))
        new = Certificates(os.path.join(self.folder, "new"))
        self.connect(server, credentials=old.credentials("admin")).ListRings()
        self.certificates.put("ca.pem", new.read("ca.pem"))

        def refused():
            client = self.connect(server, credentials=old.credentials("admin"))
            try:
                client.ListRings(timeout=10)
            except Refused as error:
                return error.code == "UNAVAILABLE"
            finally:
                client.close()
        eventually(refused, "the old CA is no longer known")
        self.connect(server, credentials=new.credentials("admin", ca=old)).ListRings()


class StartTest(TlsCase):
    def refused_here(self, flags, *mentions, code=1):
        found, text = refused_start("--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", self.data, "--init",
                                    *flags)
        self.assertEqual(found, code, text)
        self.assertLessEqual(len(text.splitlines()), code, text)  # of usage, a second says where help is
        for mention in mentions:
            self.assertIn(mention, text)
        self.assertFalse(os.path.exists(self.data))

    def test_bad_files(self):
        """Missing, empty, damaged, mismatched, expired: one line names the file and the reason; nothing is made."""
        good = self.certificates
        for number, (name, content, why) in enumerate((
                ("server.pem", None, "No such file"), ("server.pem", b"", "is empty"),
                ("server.pem", b"rubbish", "holds no certificate"),
                ("server.pem", good.read("server.pem")[:300], "damaged"),
                ("server.pem", good.read("expired.pem"), "does not belong"),
                ("server-key.pem", None, "No such file"), ("server-key.pem", b"", "is empty"),
                ("server-key.pem", good.read("admin-key.pem"), "does not belong"),
                ("ca.pem", None, "No such file"), ("ca.pem", b"", "is empty"), ("ca.pem", b"x", "holds no certificate"))):
            bad = good.copy(os.path.join(self.folder, "bad-%d" % number))
            if content is None:
                os.unlink(bad.path(name))
            else:
                bad.put(name, content)
            self.refused_here(bad.flags(ADMIN), bad.path(name), why)
        expired = good.copy(os.path.join(self.folder, "expired"))
        expired.issue("admin", days=-1)
        self.refused_here(expired.flags(ADMIN), expired.path("server.pem"), "has expired")

    def test_some_of_the_files(self):
        """Half a configuration is a usage error that names what is missing."""
        flags = self.certificates.flags()
        for left_out in range(0, len(flags), 2):
            self.refused_here(flags[:left_out] + flags[left_out + 2:], flags[left_out] + " is missing", code=2)

    def test_an_address_that_others_reach(self):
        """reliability: without mTLS refused, in one line that names the missing setting and the override."""
        for address in ("0.0.0.0:0", "[::]:0"):
            self.refused_here(["--listen", address], address, "--tls-cert-file", "--allow-plaintext=" + address)
            server = self.serve(None, address, "--allow-plaintext", address)
            self.assertTrue(server.wait_for_log(r" warning .*--allow-plaintext"))
            self.connect("localhost:%d" % server.port).make_ring("r", ["a"])
            self.assertEqual(server.stop(), 0)
            os.rename(self.data, self.data + address[0])
        self.refused_here(["--allow-plaintext", "0.0.0.0:7440"], "0.0.0.0:7440", "--listen does not name", code=2)


class CertificateScriptTest(TlsCase):
    def test_bad_input(self):
        """deploy/certs.sh tells what is wrong and makes nothing: a number of days, a client's name, a folder of others."""
        for words, why in ((["--days", "abc", "new"], "not abc"), (["new", "ca"], "not a name for a client: ca"),
                           ([self.folder], "holds other files"), (["--days"], "needs a value"), ([], "usage")):
            done = subprocess.run([CERTS, *words], cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["certificates"])


class AddressesTest(TlsCase):
    """B88 (grpc/grpc#4284, #27023, #30185): families of addresses, with mTLS."""

    def test_addresses_of_nodes_are_only_told(self):
        """A node's address may be of any family, or none at all: the directory does not call it."""
        admin = self.connect_as("admin", self.serve_tls())
        addresses = ("[fe80::1]:1", "[fe80::1%eth0]:1", "10.0.0.1", "unix:/run/x.sock", "a:b:c", "::1:7440")
        admin.make_ring("r", [{"id": address, "address": address} for address in addresses])
        self.assertEqual({node.address for node in admin.nodes("r").values()}, set(addresses))

    def test_addresses_are_reached_as_they_say(self):
        server = self.serve_tls("--listen", "[::]:0,[::1]:0,localhost:0", address="0.0.0.0:0")
        ports = [endpoint.rsplit(":", 1)[1] for endpoint in server.endpoints]
        self.assertEqual([endpoint.rsplit(":", 1)[0] for endpoint in server.endpoints],
                         ["0.0.0.0", "[::]", "[::1]", "localhost"])
        self.assertEqual(len(set(ports)), 4)
        for host, port in (("127.0.0.1", 0), ("[::1]", 1), ("[::1]", 2), ("localhost", 3), ("127.0.0.1", 3)):
            self.connect_as("admin", "%s:%s" % (host, ports[port])).ListRings(timeout=10)
        for host, port in (("[::1]", 0), ("127.0.0.1", 1), ("127.0.0.1", 2)):
            with self.assertRaises(Refused):
                self.connect_as("admin", "%s:%s" % (host, ports[port])).ListRings(timeout=10)

    def test_malformed_addresses(self):
        for address in ("::1:7440", ":7440", "0.0.0.0:70000", "", "[::1]", "0.0.0.0"):
            code, text = refused_start("--listen", address, "--data-dir", self.data, "--init",
                                       *self.certificates.flags(ADMIN))
            self.assertEqual(code, 2, text)
            self.assertIn("is no address to listen on", text)

    def test_without_ipv6(self):
        """In a namespace where IPv6 is disabled IPv4 works, and an IPv6 address is refused in one line."""
        inside = ["unshare", "--net", "--map-root-user", "sh", "-ec"]
        prepare = "ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; "
        if subprocess.run(inside + [prepare], capture_output=True, timeout=30).returncode != 0:
            self.skipTest("no network namespace can be made here")
        script = prepare + """
            "$@" & pid=$!
            for i in $(seq 100); do
              "$RINGCTL_BIN" --endpoints localhost:7440 --timeout 1s status >/dev/null 2>&1 && break
              sleep 0.1
            done
            "$RINGCTL_BIN" --endpoints localhost:7440 --cacert "$CA" --cert "$CERT" --key "$KEY" status
            kill $pid; wait $pid"""
        environment = dict(os.environ, CA=self.certificates.path("ca.pem"), CERT=self.certificates.path("admin.pem"),
                           KEY=self.certificates.path("admin-key.pem"))
        command = [os.environ["RINGD_BIN"], "--data-dir", self.data, "--init", "--http-listen", "",
                   *self.certificates.flags(ADMIN), "--listen"]
        done = subprocess.run(inside + [script, "sh"] + command + ["localhost:7440"], env=environment,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("SERVING", done.stdout)
        done = subprocess.run(inside + [prepare + 'exec "$@"', "sh"] + command + ["[::1]:7440"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot listen on [::1]:7440", done.stderr)


if __name__ == "__main__":
    unittest.main()
