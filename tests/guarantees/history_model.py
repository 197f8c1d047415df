"""What a ring was at each of its versions, by the Python of client/README.md and the log of the server alone."""

import bisect

from readme_copy import names_of_readme
from stubs import pb


def told(node):
    """What the history keeps of a node."""
    return (node.weight, node.address)


def content_of(record):
    """What a change record says that became of each node."""
    return {(delta.after if delta.HasField("after") else delta.before).id:
            told(delta.after) if delta.HasField("after") else None for delta in record.nodes}


class _State:
    """A ring at one version."""

    def __init__(self, copy, hash_of):
        self.checksum = copy.checksum({node_id: number for number, node_id in enumerate(copy.nodes)})
        self.nodes = {node.id: told(node) for node in copy.nodes.values()}
        self._hash_of = hash_of
        self._slots, self._bits = [slot[0] for slot in copy.slots], copy.placement.slots.slot_bits
        self._positions, self._owners = copy.positions, [copy.ids[number] for _, number in copy.points]

    def owner(self, key):
        position = self._hash_of(key)
        if self._slots:
            return self._slots[position >> (64 - self._bits)]
        return self._owners[bisect.bisect_left(self._positions, position) % len(self._owners)]


class Model:
    """Of rings with their change records, each from revision 1 on: {ring: (pb.Ring, [pb.ChangeRecord])}. Where a record does
    not go on from the one before it, the ring has no states from there on, and everything that is asked of them is None."""

    def __init__(self, rings):
        self._states = {}
        names = names_of_readme()
        for ring, (settings, records) in rings.items():
            copy = names["RingCopy"]()
            for revision, record in enumerate(records, 1):
                if record.version.revision != revision:
                    break
                copy.take(self._message(settings, record))
                self._states[ring, (record.version.epoch, record.version.revision)] = _State(copy, names["xxh3"])

    @staticmethod
    def _message(settings, record):
        """The record as a Watch would tell it, without the checksum: the model has its own."""
        if record.version.revision == 1:
            ring = pb.Ring(name=settings.name, version=record.version, placement=settings.placement,
                           default_weight=settings.default_weight)
            slots = settings.placement.slots
            places = slots.owners << slots.slot_bits if settings.placement.HasField("slots") else 0
            return pb.WatchResponse(snapshot=pb.Snapshot(ring=ring, last=True, slot_owners=[0] * places))
        change = pb.Change(from_revision=record.from_revision, version=record.version, slot_moves=record.slot_moves)
        for delta in record.nodes:
            if not delta.HasField("after"):
                change.nodes.add(removed=delta.before.id)
            elif delta.HasField("before"):
                change.nodes.add(updated=delta.after)
            else:
                change.nodes.add(added=delta.after)
        return pb.WatchResponse(change=change)

    def checksum(self, ring, version):
        state = self._states.get((ring, version))
        return state and state.checksum

    def nodes(self, ring, version):
        state = self._states.get((ring, version))
        return state and state.nodes

    def owner(self, ring, version, key):
        state = self._states.get((ring, version))
        return state and state.owner(key)
