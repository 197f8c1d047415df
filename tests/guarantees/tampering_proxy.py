"""Proxies between clients and ringd, each of which makes it look as if ringd had one bug. Proxy itself has none."""

import concurrent.futures
import threading
import time

import grpc
from history import CHANGES
from ringd_client import Client, key_of
from stubs import pb

THREADS = 64  # more than there are calls at once
SERVICE = "/ringd.v1.Directory/"


class Proxy(grpc.GenericRpcHandler):
    """Passes everything on, errors and deadlines too. A bug overrides `answer` or `stream`."""

    def __init__(self, upstream):
        self.upstream = upstream
        self._channel = grpc.insecure_channel(upstream, [("grpc.initial_reconnect_backoff_ms", 100),
                                                         ("grpc.max_reconnect_backoff_ms", 100)])
        self._channel.subscribe(lambda state: None, try_to_connect=True)  # which keeps it connected between calls
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(THREADS), handlers=[self])
        self.endpoint = "127.0.0.1:%d" % self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def close(self):
        self._server.stop(None).wait()
        self._channel.close()

    def before_kill(self, server):
        """The server is about to be killed; the disk keeps what was written before this."""

    def after_start(self, server):
        """It is there again."""

    def answer(self, op, request, forward):
        """The answer to a unary call. `forward` asks the server; both take and give messages."""
        return forward(request)

    def stream(self, request, forward):
        """The messages of a Watch."""
        yield from forward(request)

    def service(self, handler_call_details):
        op = handler_call_details.method[len(SERVICE):]
        request = getattr(pb, op + "Request").FromString
        if op == "Watch":
            return grpc.unary_stream_rpc_method_handler(self._watch, request, pb.WatchResponse.SerializeToString)
        return grpc.unary_unary_rpc_method_handler(
            lambda message, context: self._unary(op, message, context), request,
            getattr(pb, op + "Response").SerializeToString)

    def _unary(self, op, request, context):
        call = self._channel.unary_unary(SERVICE + op, type(request).SerializeToString,
                                         getattr(pb, op + "Response").FromString)
        try:
            return self.answer(op, request, lambda message: call(message, timeout=context.time_remaining()))
        except grpc.RpcError as error:
            context.set_trailing_metadata(error.trailing_metadata() or ())
            context.abort(error.code(), error.details())
        except Lost:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer is lost")

    def _watch(self, request, context):
        call = self._channel.unary_stream(SERVICE + "Watch", pb.WatchRequest.SerializeToString,
                                          pb.WatchResponse.FromString)

        def forward(message):
            messages = call(message)
            context.add_callback(messages.cancel)
            return messages
        try:
            yield from self.stream(request, forward)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())


class Lost(Exception):
    """The client has no answer, whatever the server did."""


class ShowsBeforeDurable(Proxy):
    """Before a disk that forgets what it is given from before_kill on: changes are shown that are not durable, though none
    is acknowledged before it is."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self._kills = 0
        self._withholds = False

    def before_kill(self, server):
        self._kills += 1
        self._withholds = True

    def after_start(self, server):
        self._withholds = False

    def answer(self, op, request, forward):
        kills = self._kills
        response = forward(request)
        if op in CHANGES and (self._withholds or kills != self._kills):
            raise Lost
        return response


class DropsChanges(Proxy):
    """One change in 1,000 is not sent to a watcher."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self._lock = threading.Lock()
        self._changes = 0

    def stream(self, request, forward):
        for message in forward(request):
            if message.HasField("change"):
                with self._lock:
                    self._changes += 1
                    dropped = self._changes % 1000 == 0
                if dropped:
                    continue
            yield message


class RepeatsOnResume(Proxy):
    """A stream that goes on begins with the change that the watcher has already."""

    def stream(self, request, forward):
        for held in request.held:
            if held.position.version.revision > 1:
                held.position.version.revision -= 1
                held.position.ClearField("checksum")
        yield from forward(request)


class SkipsTheSnapshotMarker(Proxy):
    """The last chunk of a snapshot does not say that it is."""

    def stream(self, request, forward):
        for message in forward(request):
            if message.HasField("snapshot"):
                message.snapshot.last = False
            yield message


class ReusesRevisions(Proxy):
    """The first change of a ring after a restart has the revision of the last one before. Rings are known by their epochs,
    which no two of them share."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self._open = threading.Event()
        self._open.set()
        self._last = {}  # {epoch: [the last revision before each restart, as the server counts]}

    def before_kill(self, server):
        self._open.clear()

    def after_start(self, server):
        client = Client(self.upstream)
        for ring in client.ListRings().rings:
            self._last.setdefault(ring.version.epoch, []).append(ring.version.revision)
        client.close()
        self._open.set()

    def _told(self, epoch, revision):
        return revision - sum(last < revision for last in self._last.get(epoch, ()))

    def _meant(self, epoch, revision):
        meant = revision
        while self._told(epoch, meant) < revision:
            meant += 1
        return meant

    def _translate(self, message, translated):
        """Every version in the message, and what revisions are told beside one."""
        previous = key_of(message.previous_version) if hasattr(message, "previous_version") else None
        changed = previous is not None and previous != key_of(message.version)
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            for part in value if field.label == field.LABEL_REPEATED else (value,):
                if isinstance(part, pb.Version):
                    part.revision = translated(part.epoch, part.revision)
                else:
                    self._translate(part, translated)
        if changed:
            message.previous_version.revision = message.version.revision - 1
        if getattr(message, "from_revision", 0):
            message.from_revision = message.version.revision - 1

    def answer(self, op, request, forward):
        if not self._open.is_set():
            raise Lost
        self._translate(request, self._meant)
        response = forward(request)
        self._translate(response, self._told)
        return response

    def stream(self, request, forward):
        self._open.wait()
        self._translate(request, self._meant)
        for held in request.held:
            held.position.ClearField("checksum")
        for message in forward(request):
            self._translate(message, self._told)
            yield message


class AppliesRetriesTwice(Proxy):
    """A request_id that has come before is not known. Some answers are lost, so that there are retries."""

    LOST = 20  # one answer in so many

    def __init__(self, upstream):
        super().__init__(upstream)
        self._lock = threading.Lock()
        self._attempts = {}  # by request_id
        self._answers = 0

    def answer(self, op, request, forward):
        if op in CHANGES:
            request_id = request.options.request_id
            with self._lock:
                attempt = self._attempts.get(request_id, 0)
                self._attempts[request_id] = attempt + 1
                self._answers += 1
                lost = self._answers % self.LOST == 0
            request.options.request_id += "~%d" % attempt
            response = forward(request)
            if lost:
                raise Lost
            return response
        response = forward(request)
        if op == "ListChanges":
            for change in response.changes:
                change.request_id = change.request_id.partition("~")[0]
        return response


class TearsBatches(Proxy):
    """The second half of a batch is answered some time after the first, as of one version."""

    BETWEEN = 0.03  # seconds

    def answer(self, op, request, forward):
        if op != "BatchLookup":
            return forward(request)
        keys = list(request.keys)
        del request.keys[len(keys) // 2:]
        first = forward(request)
        time.sleep(self.BETWEEN)  # no wait for anything: a change may come
        del request.keys[:]
        request.keys.extend(keys[len(keys) // 2:])
        second = forward(request)
        first.owner_indices.extend(len(first.nodes) + index for index in second.owner_indices)
        first.nodes.extend(second.nodes)
        return first
