"""Certificates for tests, made by deploy/certs.sh when they are asked for."""

import os
import shutil
import socket
import ssl
import subprocess

import grpc

CERTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "certs.sh")
ADMIN = "spiffe://ringd.local/admin"


class Certificates:
    """A folder with a CA and what it has issued: server, admin, reader; and expired, whose time is over."""

    def __init__(self, folder, hosts=()):
        self.folder = folder
        self.hosts = hosts  # names of the server; nothing = those of this machine
        self.issue("expired", days=-1)
        self.issue("admin", "reader")

    def issue(self, *clients, days=90):
        """Issues new certificates of the server and of these clients."""
        hosts = [word for host in self.hosts for word in ("--host", host)]
        subprocess.run([CERTS, "--days", str(days), *hosts, self.folder, *clients], check=True, capture_output=True,
                       timeout=60)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def put(self, name, content):
        """Replaces a file at once."""
        with open(self.path(name + ".new"), "wb") as file:
            file.write(content)
        os.rename(self.path(name + ".new"), self.path(name))

    def copy(self, folder):
        """The same files at another place, to be spoilt there."""
        shutil.copytree(self.folder, folder)
        copied = object.__new__(Certificates)
        copied.folder, copied.hosts = folder, self.hosts
        return copied

    def flags(self, *admins):
        """What a ringd is started with."""
        flags = ["--tls-cert-file", self.path("server.pem"), "--tls-key-file", self.path("server-key.pem"),
                 "--tls-client-ca-file", self.path("ca.pem")]
        for admin in admins:
            flags += ["--admin-san", admin]
        return flags

    def ctl_flags(self, name):
        """What a ringctl is started with."""
        return ["--cacert", self.path("ca.pem"), "--cert", self.path(name + ".pem"), "--key",
                self.path(name + "-key.pem")]

    def credentials(self, name=None, ca=None):
        """Of a gRPC client that shows that certificate, or none."""
        return grpc.ssl_channel_credentials((ca or self).read("ca.pem"), name and self.read(name + "-key.pem"),
                                            name and self.read(name + ".pem"))

    def served(self, endpoint):
        """The certificate that a server shows to a new connection, in PEM."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        context.load_cert_chain(self.path("admin.pem"), self.path("admin-key.pem"))
        context.set_alpn_protocols(["h2"])
        host, port = endpoint.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            with context.wrap_socket(connection, server_hostname=host) as tls:
                return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))
