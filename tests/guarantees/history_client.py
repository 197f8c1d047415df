"""The clients of history_run.py, a process of threads of one kind. What they are told goes into a file, a JSON line each.

history_client.py writers|readers|watchers ENDPOINT SEED FILE RING...

It says so when it has begun. Writers and readers stop when stdin ends. Watchers are told the heads of all rings there, as
JSON, and stop when they have come so far, or have waited for it for long enough.

Environment: PROTO_DIR.
"""

import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import grpc  # noqa: E402
from history import UNKNOWN_CODES, Call, Message, Stream  # noqa: E402
from history_model import told  # noqa: E402
from ringd_client import Client, add, key_of, remove, update  # noqa: E402
from stubs import pb  # noqa: E402

WRITERS, READERS = 6, 3  # threads of a process
WRITER_PAUSE, READER_PAUSE = 0.06, 0.008  # seconds between two calls, on the average
OWN_NODES = 4  # of a writer in a ring, as a rule
SHARED = ["s0", "s1", "s2", "s3"]  # nodes that are there from the beginning and that every writer changes
BATCH = 20
LONGEST_STREAM = 3.0  # seconds until a watcher cuts it
AT_LAST = 5.0  # seconds that the last change may take to a watcher
OUT_OF_REACH = 1_000_000  # revisions


class File:
    """JSON lines, by many threads."""

    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8")
        self._lock = threading.Lock()

    def note(self, record):
        line = json.dumps([type(record).__name__, vars(record)], default=vars)
        with self._lock:
            self._file.write(line + "\n")

    def close(self):
        self._file.close()


class Caller(threading.Thread):
    """A thread with a connection of its own."""

    def __init__(self, name, endpoint, seed, file, rings):
        super().__init__(name=name)
        self.client, self.file, self.rings = Client(endpoint), file, rings
        self.random = random.Random("%s %s" % (seed, name))
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            self.step()
        self.client.close()

    def step(self):
        raise NotImplementedError

    def pause(self, average):
        self.ended.wait(self.random.uniform(0, 2 * average))

    def call(self, op, request, timeout, **fields):
        """One attempt, noted; answers the response, or None, and the note."""
        answer, code = None, "OK"
        called = time.monotonic()
        try:
            answer = getattr(self.client.stub, op)(request, timeout=timeout)
        except grpc.RpcError as error:
            code = error.code().name
        note = Call(self.name, op, request.ring, called, time.monotonic(), code, **fields)
        if answer is not None:
            note.version = key_of(answer.version)
        elif code == "UNAVAILABLE":
            self.await_connection()
        return answer, note

    def await_connection(self):
        """Nobody looks after a channel on which no call is under way: without this it may stay down for seconds."""
        ready = grpc.channel_ready_future(self.client.channel)
        try:
            ready.result(timeout=0.5)
        except grpc.FutureTimeoutError:
            pass
        ready.cancel()


class Change:
    """A change with the request that asks for it, and what it does to each node."""

    def __init__(self, op, request, content):
        self.op, self.request, self.content = op, request, content


class Writer(Caller):
    """Adds and removes nodes that nobody else touches, and updates those and the shared ones."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.count = 0
        self.own = {ring: set() for ring in self.rings}  # nodes of it that are there
        self.known = {}  # {ring: the version that it was last told}
        self.last = None  # change that was made

    def step(self):
        if self.last is not None and self.random.random() < 0.03:
            self.send(self.last, 5)  # a retry of what was acknowledged
        else:
            self.carry_out(self.next_change())
        self.pause(WRITER_PAUSE)

    def carry_out(self, change):
        """Asks until the outcome is known; some are given up before."""
        while not self.ended.is_set():
            code = self.send(change, self.random.uniform(0.0005, 0.003) if self.random.random() < 0.04 else 5)
            if code == "OK":
                self.made(change)
                return
            if code not in UNKNOWN_CODES or self.random.random() < 0.1:
                self.own[change.request.ring] -= set(change.content)
                return
            self.pause(0.02)

    def send(self, change, timeout):
        request = change.request
        answer, note = self.call(change.op, request, timeout, request_id=request.options.request_id,
                                 content=change.content)
        if answer is not None:
            note.previous = key_of(answer.previous_version)
            self.known[request.ring] = answer.version
        self.file.note(note)
        return note.code

    def made(self, change):
        self.last = change
        own = self.own[change.request.ring]
        for node_id, node in change.content.items():
            if node is None:
                own.discard(node_id)
            elif node_id not in SHARED:
                own.add(node_id)

    def next_change(self):
        self.count += 1
        ring = self.random.choice(self.rings)
        request_id = "%s-%d" % (self.name, self.count)
        options = pb.MutationOptions(request_id=request_id, force=True)
        if ring in self.known and self.random.random() < 0.1:  # lost now and then, and refused
            options.expected_version.CopyFrom(self.known[ring])
        fields = {"weight": self.random.randrange(1, 4), "address": request_id}
        becomes = (fields["weight"], fields["address"])
        shared, new = self.random.choice(SHARED), "n-" + request_id
        own = self.random.choice(sorted(self.own[ring]) or [shared])
        what = self.random.random()
        if what < 0.2:
            operations, content = [update(shared, **fields), add(id=new, **fields)], {shared: becomes, new: becomes}
            if own != shared and len(self.own[ring]) > OWN_NODES:
                operations.append(remove(own))
                content[own] = None
            return Change("ApplyChanges", pb.ApplyChangesRequest(ring=ring, operations=operations, options=options), content)
        if what < 0.25:  # refused
            return Change("AddNode", pb.AddNodeRequest(ring=ring, node=pb.Node(id=shared, **fields), options=options),
                          {shared: becomes})
        if what < 0.6 and own != shared and len(self.own[ring]) > OWN_NODES:
            return Change("RemoveNode", pb.RemoveNodeRequest(ring=ring, node_id=own, options=options), {own: None})
        if what < 0.5:
            return Change("AddNode", pb.AddNodeRequest(ring=ring, node=pb.Node(id=new, **fields), options=options),
                          {new: becomes})
        node_id = own if what < 0.7 else shared
        request = pb.UpdateNodeRequest(ring=ring, node=pb.Node(id=node_id, **fields), options=options)
        request.update_mask.paths.extend(fields)
        return Change("UpdateNode", request, {node_id: becomes})


class Reader(Caller):
    """Reads, with a min_version now and then: the one that it saw last, or the next."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.known = {}

    def step(self):
        ring = self.random.choice(self.rings)
        request = {"ring": ring, "linearizable": self.random.random() < 0.5}
        if ring in self.known and self.random.random() < 0.2:
            epoch, revision = self.known[ring]
            request["min_version"] = pb.Version(epoch=epoch, revision=revision + self.random.randrange(2))
        self.read(self.random.choice(("Lookup", "Lookup", "BatchLookup", "GetRing")), request)
        self.pause(READER_PAUSE)

    def read(self, op, request):
        keys = ["key-%d" % self.random.randrange(1 << 32) for _ in range(BATCH if op == "BatchLookup" else 1)]
        if op == "Lookup":
            request["key"] = keys[0].encode()
        elif op == "BatchLookup":
            request["keys"] = [key.encode() for key in keys]
        request = getattr(pb, op + "Request")(**request)
        answer, note = self.call(op, request, 5)
        if request.HasField("min_version"):
            note.min_version = key_of(request.min_version)
        if answer is not None:
            self.known[request.ring] = note.version
            if op == "Lookup":
                note.owners = [(keys[0], answer.owners[0].id)]
            elif op == "BatchLookup":
                note.owners = [(key, answer.nodes[index].id) for key, index in zip(keys, answer.owner_indices)]
            else:
                note.checksum, note.nodes = answer.ring.checksum.value, {node.id: told(node) for node in answer.nodes}
        self.file.note(note)


class Patient(Reader):
    """Waits for versions that do not come."""

    def step(self):
        ring = self.random.choice(self.rings)
        if ring not in self.known:
            self.read("GetRing", {"ring": ring})
        else:
            epoch, revision = self.known[ring]
            self.read("Lookup", {"ring": ring, "min_version": pb.Version(epoch=epoch, revision=revision + OUT_OF_REACH)})
        self.pause(0.01)


class Watcher(Caller):
    """Watches, cuts the stream at some time, and goes on from what it holds."""

    def __init__(self, selector, watched, *arguments):
        super().__init__(*arguments)
        self.selector, self.watched = selector, watched
        self.held = {}  # {ring: (version, checksum)}
        self.heads = None  # when there are no changes any more
        self.patience_ends = None
        self.current = None
        self.lock = threading.Lock()

    def finish(self, heads):
        with self.lock:
            self.heads = {ring: heads[ring] for ring in self.watched}
            self.patience_ends = time.monotonic() + AT_LAST
            if self.current is not None:
                self.current.cancel()

    def step(self):
        if self.random.random() < 0.1:
            self.held.clear()
        request = pb.WatchRequest(selector=self.selector)
        for ring, ((epoch, revision), checksum) in self.held.items():
            position = pb.WatchPosition(version=pb.Version(epoch=epoch, revision=revision))
            if self.random.random() < 0.5:
                position.checksum.algorithm, position.checksum.value = 1, checksum
            request.held.add(ring=ring, position=position)
        stream = Stream(self.name, self.watched, {ring: held[0] for ring, held in self.held.items()}, [])
        with self.lock:
            at_last = self.heads is not None
            self.current = self.client.stub.Watch(request)
        cut = threading.Timer(self.patience_ends - time.monotonic() if at_last else
                              self.random.uniform(0.2, LONGEST_STREAM), self.current.cancel)
        cut.start()
        try:
            for message in self.current:
                stream.messages.append(self.take(message))
                if at_last and self.is_in_sync(stream):
                    stream.final = True
                    self.current.cancel()
            stream.code = "OK"
        except grpc.RpcError as error:
            stream.code = error.code().name
        cut.cancel()
        cut.join()
        stream.final = stream.final or (at_last and time.monotonic() > self.patience_ends)
        self.file.note(stream)
        if stream.final:
            self.ended.set()
        elif stream.code == "UNAVAILABLE":
            self.await_connection()
        self.pause(0.01)

    def is_in_sync(self, stream):
        """At the heads, as the stream has said itself."""
        return (any(message.kind == "in_sync" and message.ring is None for message in stream.messages) and
                self.heads == {ring: held[0] for ring, held in self.held.items()})

    def take(self, message):
        kind = message.WhichOneof("event")
        event = getattr(message, kind)
        note = Message(time.monotonic(), kind)
        if kind == "snapshot":
            note.ring, note.version, note.checksum = event.ring.name, key_of(event.ring.version), event.ring.checksum.value
            note.nodes = {node.id: told(node) for node in event.nodes}
            note.chunk, note.last, note.rewound = event.chunk, event.last, event.rewound
            note.node_count = event.ring.node_count
            if event.last:
                self.held[note.ring] = (note.version, note.checksum)
        elif kind == "change":
            note.ring, note.version, note.checksum = event.ring, key_of(event.version), event.checksum.value
            note.from_revision, note.content = event.from_revision, {}
            for change in event.nodes:
                what = change.WhichOneof("change")
                if what == "removed":
                    note.content[change.removed] = None
                else:
                    note.content[getattr(change, what).id] = told(getattr(change, what))
            self.held[note.ring] = (note.version, note.checksum)
        elif kind == "heartbeat":
            note.moved = {entry.ring: key_of(entry.version) for entry in event.moved}
        elif kind == "in_sync" and event.HasField("ring"):
            note.ring, note.version = event.ring, key_of(event.version)
        elif kind in ("absent", "deleted"):
            note.ring = event.ring
        return note


def watchers(name, arguments, rings):
    """Of one ring, of some by name, of those with a prefix, and of all."""
    prefix = "m-"
    selections = (
        (pb.RingSelector(names=pb.RingNames(rings=rings[:1])), rings[:1]),
        (pb.RingSelector(names=pb.RingNames(rings=rings[1:])), rings[1:]),
        (pb.RingSelector(prefix=prefix), [ring for ring in rings if ring.startswith(prefix)]),
        (pb.RingSelector(all=pb.AllRings()), rings))
    return [Watcher(selector, watched, "%s-%d" % (name, i), *arguments)
            for i, (selector, watched) in enumerate(selections)]


def main(kind, endpoint, seed, path, *rings):
    file = File(path)
    name, rings = "%s%s" % (kind[0], seed), list(rings)
    arguments = (endpoint, seed, file, rings)
    if kind == "writers":
        threads = [Writer("%s-%d" % (name, i), *arguments) for i in range(WRITERS)]
    elif kind == "readers":
        threads = [Reader("%s-%d" % (name, i), *arguments) for i in range(READERS)] + [Patient(name + "-p", *arguments)]
    else:
        threads = watchers(name, arguments, rings)
    for thread in threads:
        thread.start()
    print("started", flush=True)
    said = sys.stdin.read()
    for thread in threads:
        if kind == "watchers":
            thread.finish({ring: tuple(version) for ring, version in json.loads(said).items()})
        else:
            thread.ended.set()
    for thread in threads:
        thread.join()
    file.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
