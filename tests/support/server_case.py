"""The base of tests that talk to a ringd of their own."""

import os
import tempfile
import unittest

from ringd_client import Client, Refused, Watch
from ringd_process import Server


class ServerCase(unittest.TestCase):
    """One server for all tests of the class, started with FLAGS; each test has a ring name and cleans up by itself."""

    FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ringd-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = Server(os.path.join(cls.folder.name, "data"), "127.0.0.1:0", *cls.FLAGS)
        cls.addClassCleanup(cls.server.stop)
        cls.client = Client(cls.server.endpoint)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.ring = self.id().rsplit(".", 1)[1].replace("_", "-")

    def tearDown(self):
        """Whatever a test did, the server goes on."""
        self.assertIsNone(self.server.process.poll(), "".join(self.server.log[-20:]))

    def connect(self, *options, endpoint=None):
        client = Client(endpoint or self.server.endpoint, *options)
        self.addCleanup(client.close)
        return client

    def watch(self, *rings, client=None, **options):
        watch = Watch(client or self.client, rings=list(rings) if rings else None, **options)
        self.addCleanup(watch.cancel)
        return watch

    def refused(self, code, call, *arguments, reason=None, mentions=(), **fields):
        """The call is refused with that code, one ErrorInfo of ringd, and a text that names what is mentioned."""
        with self.assertRaises(Refused, msg="expected %s %s" % (code, reason or "")) as caught:
            call(*arguments, **fields)
        error = caught.exception
        self.assertEqual(error.code, code, error.text)
        self.assertIsNotNone(error.reason, (error.text, error.infos))
        self.assertRegex(error.reason, "^[A-Z][A-Z0-9_]+$")
        # One line, of characters that show, and cut: whatever the caller sent.
        self.assertTrue(error.text.isprintable(), repr(error.text))
        self.assertTrue(0 < len(error.text) < 800, error.text)
        if reason is not None:
            self.assertEqual(error.reason, reason, error.text)
        for text in mentions:
            self.assertIn(text, error.text)
        return error


class ProcessCase(unittest.TestCase):
    """Tests that start servers themselves."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ringd-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = os.path.join(self.folder, "data")

    def serve(self, data_dir=None, address="127.0.0.1:0", *flags, **options):
        server = Server(data_dir or self.data, address, *flags, **options)
        self.addCleanup(server.kill)
        return server

    def connect(self, server, *options, **credentials):
        client = Client(server if isinstance(server, str) else server.endpoint, *options, **credentials)
        self.addCleanup(client.close)
        return client

    def watch(self, client, *rings, **options):
        watch = Watch(client, rings=list(rings) if rings else None, **options)
        self.addCleanup(watch.cancel)
        return watch
