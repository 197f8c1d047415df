"""A run of many clients against one ringd that is killed and started again, and what the history checker says of it."""

import glob
import json
import os
import random
import subprocess
import sys
import time

import history
from history import Call, History, Kill, LogEntry, Message, Stream
from history_client import SHARED
from history_model import Model, content_of
from ringd_client import Client, add, hashed, key_of
from ringd_process import PATIENCE, Server, closed_port
from stubs import pb

RINGS = {
    "m-hashed": hashed(2),
    "m-label": hashed(3, label="{index}/{key}"),
    "m-slots": pb.Placement(slots=pb.SlotsPlacement(slot_bits=10, owners=2)),
    "x-hashed": hashed(1),
}
PROCESSES = ("writers", "writers", "readers", "readers", "watchers", "watchers")
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "history_client.py")
BETWEEN_KILLS = (1.5, 4.0)  # seconds
FLAGS = ("--heartbeat-interval", "1s", "--history-max", "10000000")


def tuples(value):
    """JSON has lists where records have tuples."""
    if isinstance(value, list):
        return tuple(map(tuples, value))
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    return value


class Run:
    """`proxy`, where given, makes one between the clients and the endpoint of the server; `disk` says what becomes of the
    data when the server is killed."""

    def __init__(self, folder, seed, processes=PROCESSES, proxy=None, disk=None):
        self.folder, self.seed, self.kinds, self.disk = folder, seed, processes, disk
        self.random = random.Random(seed)
        self.data = os.path.join(folder, "data")
        self.address = "127.0.0.1:%d" % closed_port()
        self.server = Server(self.data, self.address, *FLAGS)
        self.proxy = proxy and proxy(self.server.endpoint)
        self.endpoint = (self.proxy or self.server).endpoint
        self.processes = []
        self.calls, self.streams, self.kills = [], [], []
        self.log, self.heads = [], {}
        self.model = None

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE)
            process.stdin.close()
            process.stdout.close()
        if self.proxy:
            self.proxy.close()
        self.server.kill()

    def go(self, seconds):
        """Everything, for so long; answers the History."""
        self.make_rings()
        for number, kind in enumerate(self.kinds):
            path = os.path.join(self.folder, "%s-%d.jsonl" % (kind, number))
            self.processes.append(subprocess.Popen(
                [sys.executable, CLIENT, kind, self.endpoint, str(self.seed + number), path, *RINGS],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for process in self.processes:
            process.stdout.readline()
        end = time.monotonic() + seconds
        while True:
            time.sleep(self.random.uniform(*BETWEEN_KILLS))  # no wait for anything: the moment is what is tested
            if time.monotonic() > end:
                break
            self.kill()
        self.end(("writers", "readers"))
        client = Client(self.endpoint)
        states = {ring: client.GetRing(ring=ring, page_size=1) for ring in RINGS}
        self.heads = {ring: (key_of(state.version), state.ring.checksum.value) for ring, state in states.items()}
        self.end(("watchers",), json.dumps({ring: version for ring, (version, _) in self.heads.items()}))
        self.read_log(client, states)
        client.close()
        self.read_files()
        return History(self.calls, self.streams, self.kills, self.log, self.heads)

    def make_rings(self):
        client = Client(self.endpoint)
        for ring, placement in RINGS.items():
            created = client.CreateRing(ring=ring, placement=placement, default_weight=1).version
            request_id = "first-" + ring
            called = time.monotonic()
            version = client.apply(ring, [add(id=node, weight=2, address=request_id) for node in SHARED],
                                   request_id=request_id).version
            self.calls.append(Call("first", "ApplyChanges", ring, called, time.monotonic(), request_id=request_id,
                                   content={node: (2, request_id) for node in SHARED}, version=key_of(version),
                                   previous=key_of(created)))
        client.close()

    def kill(self):
        if self.proxy:
            self.proxy.before_kill(self.server)
        if self.disk:
            self.disk.before_kill(self.server)
        killed = time.monotonic()
        self.server.kill()
        if self.disk:
            self.disk.after_kill(self.data)
        code = self.server.process.returncode
        self.server = Server(self.data, self.address, *FLAGS, init=False)
        if self.proxy:
            self.proxy.after_start(self.server)
        self.kills.append(Kill(killed, time.monotonic(), by_signal=-code))

    def end(self, kinds, said=""):
        """Ends the processes of these kinds in order."""
        ended = [process for process, kind in zip(self.processes, self.kinds) if kind in kinds]
        for process in ended:
            process.stdin.write(said)
            process.stdin.close()
        for process in ended:
            if process.wait(PATIENCE) != 0:
                raise AssertionError("%s ended with %d" % (process.args, process.returncode))

    def read_log(self, client, states):
        records = {}
        for ring in RINGS:
            changes, token = [], None
            while token != "":
                page = client.ListChanges(ring=ring, page_token=token, page_size=10_000)
                changes += page.changes
                token = page.next_page_token
            records[ring] = (states[ring].ring, changes[::-1])
            self.log += [LogEntry(ring, key_of(record.version), record.from_revision, record.checksum.value,
                                  record.request_id, content_of(record)) for record in changes[::-1]]
        self.model = Model(records)

    def read_files(self):
        for path in sorted(glob.glob(os.path.join(self.folder, "*.jsonl"))):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    kind, fields = json.loads(line)
                    fields = tuples(fields)
                    if kind == "Call":
                        self.calls.append(Call(**fields))
                    else:
                        fields["messages"] = [Message(**message) for message in fields["messages"]]
                        self.streams.append(Stream(**fields))


def describe(recorded):
    """One line of what was recorded."""
    begin, end = min(call.called for call in recorded.calls), max(call.returned for call in recorded.calls)
    messages = sum(len(stream.messages) for stream in recorded.streams)
    changes, reads = len(list(recorded.acknowledged())), len(recorded.reads)
    in_doubt = [change for change, attempts in recorded.changes.items() if attempts[0].outcome == "unknown"]
    failed = sum(call.op in history.CHANGES and call.outcome == "failed" for call in recorded.calls)
    return ("%.1f s, %d kills; %d changes (%.0f/s), %d refused, %d in doubt at first, of which %d made; "
            "%d reads (%.0f/s), %d owners; %d streams with %d messages" % (
                end - begin, len(recorded.kills), changes, changes / (end - begin), failed, len(in_doubt),
                sum(change in recorded.made for change in in_doubt), reads, reads / (end - begin),
                sum(len(call.owners) for call in recorded.reads),
                len(recorded.streams), messages))
