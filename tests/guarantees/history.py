"""The history checker: what clients of ringd were told, against what ringd promises.

A History goes in, Violations come out; nothing is read or asked for. There is a function for each promise. Revisions are
dense, so that no order of the operations has to be searched for: the log says which one it was.

Versions are pairs (epoch, revision), times are seconds of one steady clock. The content of a change says of each node
that it touched what became of it: {node id: (weight, address), or None where it was removed}.
"""

import bisect
import collections
import dataclasses

CHANGES = ("AddNode", "RemoveNode", "UpdateNode", "ApplyChanges")
READS = ("Lookup", "BatchLookup", "GetRing")
UNKNOWN_CODES = ("DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN")
CUT_CODES = ("UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN")  # with which a cut stream may end
REFUSED_WITHIN = 3.2  # seconds, of a min_version that is not reached

Violation = collections.namedtuple("Violation", "promise text")


@dataclasses.dataclass
class Call:
    """One attempt of one RPC."""
    client: str
    op: str
    ring: str
    called: float
    returned: float
    code: str = "OK"
    request_id: str = ""  # of a change; the attempts of one change share it
    content: dict = None  # of a change, as it was asked for
    version: tuple = None
    previous: tuple = None  # of a change: the version that it was made on
    checksum: int = None
    min_version: tuple = None
    owners: tuple = ()  # of a lookup: pairs (key, node id of its first owner)
    nodes: dict = None  # of a GetRing: {node id: (weight, address)}

    @property
    def outcome(self):
        return "ok" if self.code == "OK" else "unknown" if self.code in UNKNOWN_CODES else "failed"

    @property
    def took_a_revision(self):
        return self.op in CHANGES and self.outcome == "ok" and self.version != self.previous


@dataclasses.dataclass
class Message:
    """One message of a Watch. What a kind does not have stays as it is here."""
    at: float
    kind: str
    ring: str = None
    version: tuple = None
    checksum: int = None
    from_revision: int = None  # of a change
    content: dict = None  # of a change
    nodes: dict = None  # of a chunk: {node id: (weight, address)}
    chunk: int = 0
    last: bool = False
    rewound: bool = False
    node_count: int = 0  # of the ring of a chunk
    moved: dict = None  # of a heartbeat: {ring: version}


@dataclasses.dataclass
class Stream:
    """One Watch, of these rings."""
    client: str
    rings: list
    held: dict  # {ring: version} that the client asked to go on from
    messages: list
    code: str = "CANCELLED"
    final: bool = False  # it was read until nothing more came, after the last change


@dataclasses.dataclass
class Kill:
    """A server that was ended; nothing answers between these times."""
    killed: float
    ready: float
    by_signal: int = 9


@dataclasses.dataclass
class LogEntry:
    """A change in the log that the server has at last, and the whole ring in that of its head."""
    ring: str
    version: tuple
    from_revision: int
    checksum: int
    request_id: str
    content: dict


class History:
    """Everything that was recorded in a run, with what many checks ask for."""

    def __init__(self, calls=(), streams=(), kills=(), log=(), heads=None):
        self.calls, self.streams, self.kills, self.log = list(calls), list(streams), list(kills), list(log)
        self.heads = heads or {}  # {ring: (version, checksum)} at last
        self.entries = {}  # {(ring, version): LogEntry}
        self.made = collections.defaultdict(list)  # {(ring, request id): [LogEntry]}
        for entry in self.log:
            self.entries.setdefault((entry.ring, entry.version), entry)
            if entry.request_id:
                self.made[entry.ring, entry.request_id].append(entry)
        self.changes = collections.defaultdict(list)  # {(ring, request id): [Call]}, attempts in order of time
        for call in sorted(self.calls, key=lambda call: call.called):
            if call.op in CHANGES:
                self.changes[call.ring, call.request_id].append(call)
        self.reads = [call for call in self.calls if call.op in READS and call.outcome == "ok"]

    def acknowledged(self):
        """(ring, version, time of the first call, time of the first answer) of each change that took a revision."""
        for (ring, _), attempts in self.changes.items():
            answers = [call for call in attempts if call.took_a_revision]
            if answers:
                first = min(answers, key=lambda call: call.returned)
                yield ring, first.version, attempts[0].called, first.returned

    def seen(self):
        """(time, ring, version, checksum or None, who) of each state that anybody was told of."""
        for call in self.calls:
            if call.outcome == "ok" and call.version is not None:
                yield call.returned, call.ring, call.version, call.checksum, "%s of %s" % (call.op, call.client)
        for stream in self.streams:
            for message in stream.messages:
                if message.kind in ("snapshot", "change"):
                    yield message.at, message.ring, message.version, message.checksum, "the Watch of " + stream.client


class _Floor:
    """The highest version of each ring that was known before a time."""

    def __init__(self, points):
        self.times, self.versions = collections.defaultdict(list), collections.defaultdict(list)
        for time, ring, version in sorted(points):
            versions = self.versions[ring]
            self.times[ring].append(time)
            versions.append(max(version, versions[-1]) if versions else version)

    def before(self, ring, time):
        known = bisect.bisect_left(self.times[ring], time)
        return self.versions[ring][known - 1] if known else (0, 0)


def c1_revisions_are_distinct_and_dense(history):
    """Acknowledged changes have revisions of their own; the log has each of 1..head once, and nothing else took one."""
    requests = {}
    for (ring, request_id), attempts in history.changes.items():
        for call in attempts:
            if call.took_a_revision:
                other = requests.setdefault((ring, call.version), request_id)
                if other != request_id:
                    yield "%s %s was given to %s and to %s" % (ring, call.version, other, request_id)
    for ring, (head, _) in history.heads.items():
        versions = sorted(entry.version for entry in history.log if entry.ring == ring)
        wanted = [(head[0], revision) for revision in range(1, head[1] + 1)]
        if versions != wanted:
            counted = collections.Counter(versions)
            yield "the log of %s, head %s: missing %s, more than once or not of it %s" % (
                ring, head, sorted(set(wanted) - set(versions))[:5],
                sorted(version for version, count in counted.items() if count > 1 or version not in set(wanted))[:5])
    for entry in history.log:
        if entry.from_revision != entry.version[1] - 1:
            yield "%s %s in the log was made on %d" % (entry.ring, entry.version, entry.from_revision)


def c2_order_of_real_time(history):
    """A change that was answered before another was asked for has the lower revision."""
    changes = list(history.acknowledged())
    floor = _Floor((returned, ring, version) for ring, version, _, returned in changes)
    for ring, version, called, _ in changes:
        if floor.before(ring, called) > version:
            yield "%s %s was asked for after %s had been answered" % (ring, version, floor.before(ring, called))


def c3_log_is_what_was_asked_for(history):
    """What was acknowledged is in the log with its content, what failed is not, what is unknown is there once at most and
    above all that was acknowledged before it was asked for; nothing else is there. A retry of what was made already is
    answered as the first, neither refused nor told that it changes nothing."""
    floor = _Floor((returned, ring, version) for ring, version, _, returned in history.acknowledged())
    seen = _Floor((time, ring, version) for time, ring, version, _, _ in history.seen())
    for (ring, request_id), attempts in history.changes.items():
        made = history.made.get((ring, request_id), [])
        name = "%s of %s" % (request_id, ring)
        if len(made) > 1:
            yield "%s was made %d times: %s" % (name, len(made), [entry.version for entry in made])
        for call in attempts:
            if call.took_a_revision and call.version not in [entry.version for entry in made]:
                yield "%s was acknowledged at %s, and the log has it at %s" % (
                    name, call.version, [entry.version for entry in made])
        for call in attempts:
            known = call.version if call.outcome == "ok" else seen.before(ring, call.called)
            if made and call.outcome != "unknown" and known > made[0].version and call.version not in [
                    entry.version for entry in made]:
                yield "%s was made at %s, a retry of it is answered %s %s" % (name, made[0].version, call.code, call.version)
        answers = sorted({call.version for call in attempts if call.took_a_revision})
        if len(answers) > 1:
            yield "%s was acknowledged at %s: a retry is answered as the first" % (name, answers)
        if made and all(call.outcome == "failed" for call in attempts):
            yield "%s failed, and is in the log at %s" % (name, made[0].version)
        for entry in made:
            if entry.content != attempts[0].content:
                yield "%s at %s is %s, asked for was %s" % (name, entry.version, entry.content, attempts[0].content)
            if entry.version <= floor.before(ring, attempts[0].called):
                yield "%s at %s is not above %s, which was acknowledged before it was asked for" % (
                    name, entry.version, floor.before(ring, attempts[0].called))
    for entry in history.log:
        if (entry.ring, entry.request_id) not in history.changes and entry.version[1] != 1:
            yield "%s %s (%r) was asked for by nobody" % (entry.ring, entry.version, entry.request_id)


def c4_states_are_those_of_the_log(history, model):
    """A replay of the log in a model gives the checksum, and the nodes, that every read, change and snapshot told."""
    for entry in history.log:
        if entry.checksum != model.checksum(entry.ring, entry.version):
            yield "the log has another checksum of %s %s than the model" % (entry.ring, entry.version)
    for _, ring, version, checksum, who in history.seen():
        if checksum is not None and (ring, version) in history.entries and checksum != model.checksum(ring, version):
            yield "%s told another checksum of %s %s than the model" % (who, ring, version)
    for client, ring, version, nodes in _states(history):
        if (ring, version) in history.entries and nodes != model.nodes(ring, version):
            yield "%s was told other nodes of %s %s than the model has" % (client, ring, version)


def _states(history):
    """(client, ring, version, nodes) of each whole state that was told."""
    for call in history.reads:
        if call.nodes is not None:
            yield call.client, call.ring, call.version, call.nodes
    for stream in history.streams:
        nodes = {}
        for message in stream.messages:
            if message.kind == "snapshot":
                nodes = dict(message.nodes) if message.chunk == 0 else nodes | message.nodes
                if message.last:
                    yield stream.client, message.ring, message.version, nodes


def c5_reads_are_linearizable(history):
    """A read is not older than what was acknowledged, or read, before it was asked for, and not newer than what was asked
    for before its answer."""
    points = [(returned, ring, version) for ring, version, _, returned in history.acknowledged()]
    floor = _Floor(points + [(call.returned, call.ring, call.version) for call in history.reads])
    for call in history.reads:
        known = floor.before(call.ring, call.called)
        if call.version < known:
            yield "%s of %s saw %s %s after %s had been told" % (call.op, call.client, call.ring, call.version, known)
        entry = history.entries.get((call.ring, call.version))
        attempts = history.changes.get((call.ring, entry.request_id)) if entry else None
        if attempts and attempts[0].called > call.returned:
            yield "%s of %s saw %s %s before anybody asked for it" % (call.op, call.client, call.ring, call.version)


def c7_min_version_is_honoured(history):
    """A read with a min_version is at it, or refused in time."""
    for call in history.calls:
        if call.min_version is None:
            continue
        if call.outcome == "ok" and call.version < call.min_version:
            yield "%s of %s at %s %s, wanted was %s" % (call.op, call.client, call.ring, call.version, call.min_version)
        if call.outcome != "ok" and call.returned - call.called > REFUSED_WITHIN:
            yield "%s of %s was refused after %.2f s" % (call.op, call.client, call.returned - call.called)


def c8_owners_are_those_of_the_model(history, model, least=10_000):
    """Each owner is that of an independent model at that version, and enough were looked up to tell."""
    count = 0
    for call in history.reads:
        if (call.ring, call.version) not in history.entries:
            continue
        for key, owner in call.owners:
            count += 1
            wanted = model.owner(call.ring, call.version, key)
            if owner != wanted:
                yield "%s of %s at %s %s: %r is owned by %s, told was %s" % (
                    call.op, call.client, call.ring, call.version, key, wanted, owner)
    if count < least:
        yield "%d owners were looked up, wanted are %d" % (count, least)


def c9_watches_are_whole(history):
    """Each stream: in order, each change once and whole, from what the client holds; else a snapshot, with its last chunk;
    what is held is gone on from; heartbeats and in_sync tell what was delivered; no error for any position; the head at
    last."""
    for stream in history.streams:
        for text in _Follower(history, stream).follow():
            yield "Watch of %s: %s" % (stream.client, text)


class _Follower:
    """What a client holds, message by message."""

    def __init__(self, history, stream):
        self.history, self.stream = history, stream
        self.held = dict(stream.held)
        self.untouched = set(stream.held)  # rings held at the beginning, of which no message has come
        self.partial = None  # the chunks of the snapshot that is coming
        self.moved = set()  # since the last heartbeat
        self.in_sync = set()
        self.stream_in_sync = False

    def follow(self):
        for message in self.stream.messages:
            if self.partial and message.ring == self.partial[0].ring and message.kind != "snapshot":
                yield "%s of %s within its snapshot" % (message.kind, message.ring)
                self.partial = None
            yield from getattr(self, "_take_" + message.kind)(message)
        if self.stream.code not in CUT_CODES:
            yield "it ended with " + self.stream.code
        if not self.stream.final:
            return
        for ring in self.stream.rings:
            head = self.history.heads[ring][0]
            if self.held.get(ring) != head:
                yield "at last it is at %s of %s, the head is %s" % (self.held.get(ring), ring, head)
            if ring not in self.in_sync:
                yield "no in_sync of %s ever came" % ring
        if not self.stream_in_sync:
            yield "no in_sync of the stream ever came"

    def _take_change(self, change):
        held, version = self.held.get(change.ring), change.version
        if held is None:
            yield "change %s of %s, of which nothing is held" % (version, change.ring)
        elif (version[0], change.from_revision) != held or version[1] != change.from_revision + 1:
            yield "change %d -> %s of %s to one that holds %s" % (change.from_revision, version, change.ring, held)
        entry = self.history.entries.get((change.ring, version))
        if entry and change.content != entry.content:
            yield "change %s of %s is %s, the log has %s" % (version, change.ring, change.content, entry.content)
        self._hold(change.ring, version)

    def _take_snapshot(self, chunk):
        ring, version = chunk.ring, chunk.version
        if chunk.chunk == 0:
            if self.partial:
                yield "a snapshot of %s within that of %s" % (ring, self.partial[0].ring)
            if ring in self.untouched and (ring, self.held[ring]) in self.history.entries:
                yield "a snapshot of %s to one that holds %s, which is in the log" % (ring, self.held[ring])
            self.partial = []
        if self.partial is None or chunk.chunk != len(self.partial) or (
                self.partial and (ring, version) != (self.partial[0].ring, self.partial[0].version)):
            yield "chunk %d of %s %s out of its order" % (chunk.chunk, ring, version)
            self.partial = None
            return
        self.partial.append(chunk)
        if not chunk.last:
            return
        count = sum(len(part.nodes) for part in self.partial)
        self.partial = None
        if count != chunk.node_count:
            yield "a snapshot of %s with %d of %d nodes" % (ring, count, chunk.node_count)
        if chunk.rewound or version < self.held.get(ring, (0, 0)):
            yield "a snapshot of %s goes back from %s to %s" % (ring, self.held.get(ring), version)
        self._hold(ring, version)

    def _hold(self, ring, version):
        self.held[ring] = version
        self.untouched.discard(ring)
        self.moved.add(ring)

    def _take_in_sync(self, in_sync):
        if in_sync.ring is None:
            if self.stream_in_sync:
                yield "two in_sync of the stream"
            if set(self.stream.rings) - self.in_sync:
                yield "in_sync of the stream before that of %s" % sorted(set(self.stream.rings) - self.in_sync)
            self.stream_in_sync = True
            return
        if self.held.get(in_sync.ring) != in_sync.version:
            yield "in_sync of %s at %s to one that holds %s" % (
                in_sync.ring, in_sync.version, self.held.get(in_sync.ring))
        self.in_sync.add(in_sync.ring)

    def _take_heartbeat(self, heartbeat):
        delivered = {ring: self.held[ring] for ring in self.moved}
        self.moved.clear()
        if heartbeat.moved != delivered:
            yield "a heartbeat names %s, delivered was %s" % (heartbeat.moved, delivered)

    def _take_absent(self, absent):
        yield "%s is told absent" % absent.ring

    def _take_deleted(self, deleted):
        yield "%s is told deleted" % deleted.ring


def c10_nothing_seen_is_lost(history):
    """What anybody was told is in the log at last, and after a kill nothing older is told than before it."""
    for _, ring, version, checksum, who in history.seen():
        entry = history.entries.get((ring, version))
        if entry is None:
            yield "%s told of %s %s, which is not in the log" % (who, ring, version)
        elif checksum not in (None, entry.checksum):
            yield "%s told of %s %s, in whose place the log has another" % (who, ring, version)
    floor = _Floor((time, ring, version) for time, ring, version, _, _ in history.seen())
    for kill in history.kills:
        for call in history.calls:
            if call.outcome == "ok" and call.version is not None and call.called >= kill.ready:
                known = floor.before(call.ring, kill.killed)
                if call.version < known and call.op in READS:
                    yield "%s of %s is at %s %s after a kill, %s had been told before" % (
                        call.op, call.client, call.ring, call.version, known)


def c11_no_version_has_two_checksums(history):
    """One version of a ring has one checksum, whoever tells it and when."""
    known = {}
    told = [(entry.ring, entry.version, entry.checksum, "the log") for entry in history.log]
    told += [(ring, version, checksum, "the head") for ring, (version, checksum) in history.heads.items()]
    told += [seen[1:] for seen in history.seen() if seen[3] is not None]
    for ring, version, checksum, who in told:
        first, teller = known.setdefault((ring, version), (checksum, who))
        if first != checksum:
            yield "%s %s has checksum %x by %s, and %x by %s" % (ring, version, first, teller, checksum, who)


def c12_the_run_counts(history, writes=50, reads=200):
    """There were so many changes and reads a second, and each kill was one and met at least one operation."""
    if not history.calls:
        yield "nothing was asked for"
        return
    begin, end = min(call.called for call in history.calls), max(call.returned for call in history.calls)
    for what, count, wanted in (("changes", len(list(history.acknowledged())), writes),
                                ("reads", len(history.reads), reads)):
        if count < wanted * (end - begin):
            yield "%d %s in %.1f s, wanted are %d a second" % (count, what, end - begin, wanted)
    if not history.kills:
        yield "nothing was killed"
    for kill in history.kills:
        if kill.by_signal != 9:
            yield "a server ended by %d, not by kill -9" % kill.by_signal
        if not any(call.called < kill.killed < call.returned for call in history.calls):
            yield "no operation met the kill at %.3f" % kill.killed


def check(history, model, least_owners=10_000):
    """All violations."""
    checks = (c1_revisions_are_distinct_and_dense, c2_order_of_real_time, c3_log_is_what_was_asked_for,
              c4_states_are_those_of_the_log, c5_reads_are_linearizable, c7_min_version_is_honoured,
              c8_owners_are_those_of_the_model, c9_watches_are_whole, c10_nothing_seen_is_lost,
              c11_no_version_has_two_checksums, c12_the_run_counts)
    more = {c4_states_are_those_of_the_log: (model,), c8_owners_are_those_of_the_model: (model, least_owners)}
    return [Violation(function.__name__.split("_")[0].upper(), text) for function in checks
            for text in function(history, *more.get(function, ()))]
