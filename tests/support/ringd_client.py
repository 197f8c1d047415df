"""A client of ringd for tests, and a Watch that checks every promise of the stream as it reads."""

import threading

import grpc
from stubs import ErrorInfo, Status, health_pb, health_rpc, pb, rpc

from ringd_process import PATIENCE

# A connection of its own for each channel, and no pause before it tries again. The first time is how long it may take.
CHANNEL_OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.min_reconnect_backoff_ms", 5000),
                   ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
BIG = 1 << 30


class Refused(Exception):
    """An RPC that was not answered OK."""

    def __init__(self, error):
        super().__init__("%s: %s" % (error.code().name, error.details()))
        self.code = error.code().name
        self.text = error.details()
        self.infos = infos_of(error)

    @property
    def reason(self):
        return self.infos[0].reason if len(self.infos) == 1 and self.infos[0].domain == "ringd" else None


def infos_of(error):
    """The google.rpc.ErrorInfo messages in the details of an error."""
    infos = []
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in Status.FromString(value).details:
                info = ErrorInfo()
                if detail.Unpack(info):
                    infos.append(info)
    return infos


def hashed(points_per_weight=None, **fields):
    return pb.Placement(hashed=pb.HashedPlacement(points_per_weight=points_per_weight, **fields))


class Client:
    """All RPCs by name: client.AddNode(ring="r", node=...) answers the response or raises Refused."""

    def __init__(self, endpoint, *options, credentials=None):
        options = list((dict(CHANNEL_OPTIONS) | dict(options)).items())
        self.channel = (grpc.secure_channel(endpoint, credentials, options) if credentials
                        else grpc.insecure_channel(endpoint, options))
        self.stub = rpc.DirectoryStub(self.channel)
        self.health_stub = health_rpc.HealthStub(self.channel)

    def close(self):
        self.channel.close()

    def __getattr__(self, name):
        request = getattr(pb, name + "Request")

        def call(timeout=PATIENCE, **fields):
            return self.send(name, request(**fields), timeout)
        return call

    def send(self, name, request, timeout=PATIENCE):
        try:
            return getattr(self.stub, name)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise Refused(error) from None

    def send_bytes(self, name, request, response, timeout=PATIENCE):
        """Sends bytes as the request message of an RPC."""
        call = self.channel.unary_unary("/ringd.v1.Directory/" + name, lambda data: data, response.FromString)
        try:
            return call(request, timeout=timeout)
        except grpc.RpcError as error:
            raise Refused(error) from None

    def health(self, service, timeout=PATIENCE):
        """The name of the serving status, or that of the error."""
        try:
            answer = self.health_stub.Check(health_pb.HealthCheckRequest(service=service), timeout=timeout)
        except grpc.RpcError as error:
            return error.code().name
        return health_pb.HealthCheckResponse.ServingStatus.Name(answer.status)

    # --- What tests do often

    def make_ring(self, ring, nodes=(), points_per_weight=None, **fields):
        """Creates a ring, with nodes by id or as dictionaries of fields; answers its version."""
        version = self.CreateRing(ring=ring, placement=hashed(points_per_weight), **fields).version
        if nodes:
            nodes = [node if isinstance(node, dict) else {"id": node} for node in nodes]
            version = self.apply(ring, [add(**node) for node in nodes]).version
        return version

    def add(self, ring, node_id, options=None, **fields):
        return self.AddNode(ring=ring, node=pb.Node(id=node_id, **fields), options=options)

    def remove(self, ring, node_id, force=True):
        return self.RemoveNode(ring=ring, node_id=node_id, options=pb.MutationOptions(force=force))

    def update(self, ring, node_id, options=None, **fields):
        request = pb.UpdateNodeRequest(ring=ring, node=pb.Node(id=node_id, **fields), options=options)
        request.update_mask.paths.extend(fields)
        return self.send("UpdateNode", request)

    def apply(self, ring, operations, **options):
        return self.ApplyChanges(ring=ring, operations=operations, options=pb.MutationOptions(**options))

    def delete(self, ring):
        return self.DeleteRing(ring=ring, options=pb.MutationOptions(force=True))

    def nodes(self, ring, page_size=0):
        """All nodes of a ring by id, of one version."""
        nodes, token = {}, ""
        while True:
            answer = self.GetRing(ring=ring, page_size=page_size, page_token=token)
            nodes.update((node.id, node) for node in answer.nodes)
            token = answer.next_page_token
            if not token:
                return nodes

    def owners(self, ring, keys, owners=1):
        """The ids of the owners of each key, in order, by BatchLookup."""
        result = []
        for first in range(0, len(keys), 5000):
            answer = self.BatchLookup(ring=ring, keys=keys[first:first + 5000], owners=owners)
            per_key = answer.owners_per_key
            indices = answer.owner_indices
            result += [[answer.nodes[i].id for i in indices[at:at + per_key]]
                       for at in range(0, len(indices), per_key)]
        return result


def add(**fields):
    return pb.NodeOperation(add=pb.AddOperation(node=pb.Node(**fields)))


def remove(node_id):
    return pb.NodeOperation(remove=pb.RemoveOperation(node_id=node_id))


def update(node_id, **fields):
    operation = pb.NodeOperation(update=pb.UpdateOperation(node=pb.Node(id=node_id, **fields)))
    operation.update.update_mask.paths.extend(fields)
    return operation


def key_of(version):
    return (version.epoch, version.revision)


class Copy:
    """The state of a ring that a Watch has built."""

    def __init__(self, chunk):
        self.version, self.checksum, self.ring, self.nodes = None, None, chunk.ring, {}

    @property
    def position(self):
        return pb.WatchPosition(version=self.version, checksum=self.checksum)

    def content(self):
        """What two equal copies agree on. Shares are not told by changes."""
        nodes = {}
        for node_id, node in self.nodes.items():
            plain = pb.Node()
            plain.CopyFrom(node)
            plain.ClearField("share")
            nodes[node_id] = plain
        return nodes


class Watch:
    """A Watch stream, read by a thread that applies what comes and notes every promise that is broken.

    `rings=[...]`, `prefix=...` or `all_rings=True` selects; `held` maps names to WatchPosition; `name` is the
    watcher's. A test that ends calls check(). `gate`, where given, is called before each message is read: it may block.
    """

    def __init__(self, client, rings=None, prefix=None, all_rings=False, held=None, gate=None, keep=True,
                 name=""):
        request = pb.WatchRequest(watcher=name)
        if rings is not None:
            request.selector.names.rings.extend(rings)
        elif prefix is not None:
            request.selector.prefix = prefix
        elif all_rings:
            request.selector.all.SetInParent()
        self.claimed = dict(held or {})
        for ring, position in self.claimed.items():
            request.held.add(ring=ring, position=position)
        self.named = set(rings or ())
        self.gate = gate
        self.keep = keep  # messages, all of them
        self.messages = []
        self.kinds = {}  # how many of each
        self.copies = {}
        self.absent = set()
        self.deleted = {}
        self.synced = {}
        self.in_sync = False
        self.broken = []
        self.code = self.error = None  # when the stream has ended
        self._partial = None  # the snapshot whose chunks are coming
        self._moved = set()  # since the last heartbeat
        self._delivered = {}  # the last version of each ring, deleted ones too
        self.changed = threading.Condition()
        self.call = client.stub.Watch(request)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def cancel(self):
        self.call.cancel()
        self.thread.join(PATIENCE)

    def wait(self, condition, what="", patience=PATIENCE):
        """Waits until the condition, of this Watch, holds or the stream ends; answers its value."""
        with self.changed:
            self.changed.wait_for(lambda: condition(self) or self.code is not None, patience)
            value = condition(self)
            if not value:
                raise AssertionError("not seen by the watcher: %s; code %s %s; %s; last %s" % (
                    what, self.code, self.error, self.kinds, self.messages[-1:]))
            return value

    def wait_in_sync(self):
        return self.wait(lambda watch: watch.in_sync, "in_sync of the stream")

    def wait_at(self, ring, version):
        """Waits until the copy of the ring is at that version or a later one."""
        return self.wait(lambda watch: ring in watch.copies and
                         key_of(watch.copies[ring].version) >= key_of(version),
                         "ring %s at %s/%s" % (ring, version.epoch, version.revision))

    def wait_ended(self):
        return self.wait(lambda watch: watch.code, "the end of the stream")

    def events(self, kind):
        with self.changed:
            return [getattr(message, kind) for message in self.messages if message.WhichOneof("event") == kind]

    def _read(self):
        code, error = "OK", ""
        try:
            if self.gate is not None:
                self.gate(self)
            for message in self.call:
                with self.changed:
                    self._take(message)
                    self.changed.notify_all()
                if self.gate is not None:
                    self.gate(self)
        except grpc.RpcError as failure:
            code, error = failure.code().name, failure.details()
        with self.changed:
            self.code, self.error = code, error
            self.changed.notify_all()

    def _take(self, message):
        kind = message.WhichOneof("event")
        if self.keep:
            self.messages.append(message)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        getattr(self, "_take_" + kind)(getattr(message, kind))

    def _demand(self, holds, text, *values):
        if not holds:
            self.broken.append(text % values)

    def _take_snapshot(self, chunk):
        name = chunk.ring.name
        if chunk.chunk == 0:
            self._demand(self._partial is None, "a snapshot of %s begins inside another", name)
            self._partial = (Copy(chunk), chunk, [])
        self._demand(self._partial is not None, "chunk %d of %s without a chunk 0", chunk.chunk, name)
        copy, first, numbers = self._partial
        self._demand(len(numbers) == chunk.chunk, "chunk %d of %s after %s", chunk.chunk, name, numbers)
        self._demand(chunk.ring == first.ring and chunk.rewound == first.rewound, "the chunks of %s differ", name)
        numbers.append(chunk.chunk)
        for node in chunk.nodes:
            self._demand(not copy.nodes or node.id.encode() > max(copy.nodes).encode(), "%r of %s is out of order",
                         node.id, name)
            copy.nodes[node.id] = node
        if not chunk.last:
            return
        self._partial = None
        copy.version, copy.checksum = chunk.ring.version, chunk.ring.checksum
        self._demand(len(copy.nodes) == chunk.ring.node_count, "%d of %d nodes of %s", len(copy.nodes),
                     chunk.ring.node_count, name)
        self._demand(key_of(copy.version) > self._delivered.get(name, (0, 0)), "snapshot of %s goes back to %s", name,
                     key_of(copy.version))
        if chunk.rewound:
            held = self.claimed.get(name)
            self._demand(held and held.version.epoch == copy.version.epoch and
                         held.version.revision > copy.version.revision, "%s is rewound, but is not behind", name)
        self._install(name, copy)

    def _take_change(self, change):
        name = change.ring
        self._demand(self._partial is None or self._partial[1].ring.name != name, "a change of %s in its snapshot",
                     name)
        copy = self.copies.get(name)
        if copy is None and name in self.claimed:  # the test gave no content: only versions are followed
            copy = Copy(pb.Snapshot())
            copy.version = self.claimed[name].version
            copy.nodes = None
        self._demand(copy is not None, "a change of %s, of which nothing is held", name)
        if copy is None:
            return
        self._demand(change.version.epoch == copy.version.epoch and change.from_revision == copy.version.revision and
                     change.version.revision == change.from_revision + 1,
                     "change %s/%d->%d of %s to one that holds %s", change.version.epoch, change.from_revision,
                     change.version.revision, name, key_of(copy.version))
        if copy.nodes is not None:
            self._apply(name, copy.nodes, change)
        copy.version, copy.checksum = change.version, change.checksum
        self._install(name, copy)

    def _apply(self, name, nodes, change):
        touched = set()
        for entry in change.nodes:
            kind = entry.WhichOneof("change")
            node_id = entry.removed if kind == "removed" else getattr(entry, kind).id
            self._demand(node_id not in touched, "%r of %s twice in one change", node_id, name)
            touched.add(node_id)
            self._demand((node_id in nodes) == (kind != "added"), "%s of %r of %s", kind, node_id, name)
            if kind == "removed":
                nodes.pop(node_id, None)
            else:
                nodes[node_id] = getattr(entry, kind)
        self._demand(touched or change.HasField("ring_update"), "a change of %s that changes nothing", name)

    def _install(self, name, copy):
        self.copies[name] = copy
        self.absent.discard(name)
        self.deleted.pop(name, None)
        self._moved.add(name)
        self._delivered[name] = key_of(copy.version)

    def _take_in_sync(self, in_sync):
        if not in_sync.HasField("ring"):
            self._demand(not self.in_sync, "two in_sync of the stream")
            self._demand(all(name in self.synced or name in self._delivered or name in self.absent
                             for name in self.named), "in_sync of the stream before all its rings")
            self.in_sync = True
            return
        copy = self.copies.get(in_sync.ring)
        held = copy.version if copy else self.claimed[in_sync.ring].version if in_sync.ring in self.claimed else None
        self._demand(held == in_sync.version, "in_sync of %s at %s", in_sync.ring, key_of(in_sync.version))
        self.synced[in_sync.ring] = in_sync.version

    def _take_heartbeat(self, heartbeat):
        moved = {entry.ring: key_of(entry.version) for entry in heartbeat.moved}
        expected = {name: self._delivered[name] for name in self._moved if name in self.copies}
        self._demand(moved == expected, "heartbeat names %s, delivered was %s", moved, expected)
        self._moved.clear()

    def _take_absent(self, absent):
        self._demand(absent.ring not in self.copies, "%s is absent, not deleted", absent.ring)
        self.absent.add(absent.ring)

    def _take_deleted(self, deleted):
        copy = self.copies.pop(deleted.ring, None)
        held = copy.version if copy else self.claimed[deleted.ring].version if deleted.ring in self.claimed else None
        self._demand(held == deleted.version, "%s is deleted at %s", deleted.ring, key_of(deleted.version))
        self.deleted[deleted.ring] = deleted.version
        self._moved.discard(deleted.ring)

    def check(self, test):
        """Every promise was kept so far."""
        with self.changed:
            test.assertEqual(self.broken[:5], [])

    def check_equal(self, test, client, ring):
        """The copy of the ring is what the server has."""
        self.check(test)
        answer = client.GetRing(ring=ring, page_size=1)
        with self.changed:
            copy = self.copies[ring]
            test.assertEqual(key_of(copy.version), key_of(answer.version))
            test.assertEqual(copy.checksum, answer.ring.checksum)
            test.assertEqual(copy.content(), {node_id: node for node_id, node in plain(client.nodes(ring)).items()})


def plain(nodes):
    """Nodes without their shares."""
    result = {}
    for node_id, node in nodes.items():
        result[node_id] = pb.Node()
        result[node_id].CopyFrom(node)
        result[node_id].ClearField("share")
    return result
