#!/usr/bin/python3
"""Compares the numbers of all messages, enums and RPCs with the checked-in proto/wire_lock.txt.

What is on the wire or on disk cannot be taken back, so a line of the lock may go only by becoming `retired`: the field
or value is removed from the .proto, and its number and name are reserved there. A new field needs a new line, so that
it is added on purpose.

  wire_lock.py           check
  wire_lock.py --write   take over additions and retirements into the lock; refuses what would break the wire
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

HEADER = """\
# Numbers, types and names of everything on the wire (ringd.v1, google.rpc) and on disk (ringd.storage.v1).
# Checked by tests/lint/wire_lock.py; changed only by tests/lint/wire_lock.py --write.
"""
FieldDescriptor = descriptor_pb2.FieldDescriptorProto


class Schema:
    """Everything of the .proto files that a peer or a file on disk depends on."""

    def __init__(self):
        self.lines = {}  # key -> line of the lock; the key is what must never change its meaning
        self.reserved_numbers = {}  # message or enum -> [(first, last)]
        self.reserved_names = {}  # message or enum -> {name}

    def add_file(self, file):
        for message in file.message_type:
            self._add_message(file.package, message)
        for enum in file.enum_type:
            self._add_enum(file.package, enum)
        for service in file.service:
            for method in service.method:
                name = f"{file.package}.{service.name}.{method.name}"
                request = ("stream " if method.client_streaming else "") + method.input_type.lstrip(".")
                response = ("stream " if method.server_streaming else "") + method.output_type.lstrip(".")
                self.lines[("rpc", name)] = f"rpc {name} ({request}) returns ({response})"

    def _add_message(self, scope, message):
        name = f"{scope}.{message.name}"
        for field in message.field:
            self.lines[("field", name, field.number)] = f"field {name} {field.number} {_field_type(message, field)}"
        self.reserved_numbers[name] = [(r.start, r.end - 1) for r in message.reserved_range]
        self.reserved_names[name] = set(message.reserved_name)
        for nested in message.nested_type:
            self._add_message(name, nested)
        for enum in message.enum_type:
            self._add_enum(name, enum)

    def _add_enum(self, scope, enum):
        name = f"{scope}.{enum.name}"
        for value in enum.value:
            self.lines[("value", name, value.number)] = f"value {name} {value.number} {value.name}"
        self.reserved_numbers[name] = [(r.start, r.end) for r in enum.reserved_range]
        self.reserved_names[name] = set(enum.reserved_name)

    def is_reserved(self, owner, number, name):
        ranges = self.reserved_numbers.get(owner, [])
        return any(a <= number <= b for a, b in ranges) and name in self.reserved_names.get(owner, ())


def _field_type(message, field):
    kind = field.type_name.lstrip(".") or FieldDescriptor.Type.Name(field.type)[len("TYPE_") :].lower()
    label = ""
    if field.label == FieldDescriptor.LABEL_REPEATED:
        label = "repeated "
    elif field.proto3_optional:
        label = "optional "
    oneof = ""
    if field.HasField("oneof_index") and not field.proto3_optional:
        oneof = f" in {message.oneof_decl[field.oneof_index].name}"
    return f"{field.name}: {label}{kind}{oneof}"


def read_schema(proto_root, protoc="protoc"):
    files = sorted(str(p.relative_to(proto_root)) for p in proto_root.rglob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([protoc, f"-I{proto_root}", f"--descriptor_set_out={out.name}", *files], check=True)
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    schema = Schema()
    for file in descriptors.file:
        schema.add_file(file)
    return schema


def key_of(line):
    """The key of a line of the lock, without `retired`."""
    words = line.removeprefix("retired ").split()
    return ("rpc", words[1]) if words[0] == "rpc" else (words[0], words[1], int(words[2]))


def read_lock(path):
    if not path.exists():
        return {}
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {key_of(line): line for line in lines}


def compare(lock, schema):
    """Returns the breaks, what the lock lacks, and the lock as it should be."""
    breaks, news, wanted = [], [], {}
    for key, locked in lock.items():
        line = schema.lines.get(key)
        if locked.startswith("retired "):
            name = locked.split()[4].rstrip(":")
            if line is not None:
                breaks.append(f"a retired number is used again: {line}")
            elif not schema.is_reserved(key[1], key[2], name):
                breaks.append(f"no longer reserved: {locked}")
            wanted[key] = locked
        elif line == locked:
            wanted[key] = locked
        elif line is not None:
            breaks.append(f"changed: {locked}\n     to: {line}")
        elif key[0] == "rpc":
            breaks.append(f"removed: {locked}")
        elif schema.is_reserved(key[1], key[2], locked.split()[3].rstrip(":")):
            news.append(f"retired: {locked}")
            wanted[key] = "retired " + locked
        else:
            breaks.append(f"removed without reserving its number and its name: {locked}")
    for key, line in schema.lines.items():
        if key not in lock:
            news.append(f"new: {line}")
            wanted[key] = line
    return breaks, news, wanted


def render(wanted):
    return HEADER + "".join(line + "\n" for _, line in sorted(wanted.items(), key=lambda item: (item[0][1:], item[0][0])))


def main(words):
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="rewrite the lock")
    parser.add_argument(
        "--break-the-wire", action="store_true", help="with --write: also what breaks peers and stored data (before 0.1.0)"
    )
    parser.add_argument("--proto-root", type=pathlib.Path, default=root / "proto")
    arguments = parser.parse_args(words)

    path = arguments.proto_root / "wire_lock.txt"
    schema = read_schema(arguments.proto_root)
    breaks, news, wanted = compare(read_lock(path), schema)
    if breaks and not (arguments.write and arguments.break_the_wire):
        print("These break peers or stored data; take them back:", *breaks, sep="\n  ", file=sys.stderr)
        return 1
    if arguments.write:
        path.write_text(render(schema.lines if breaks else wanted))
        return 0
    if news:
        print("Not in proto/wire_lock.txt:", *news, sep="\n  ", file=sys.stderr)
        print("If that is meant: tests/lint/wire_lock.py --write", file=sys.stderr)
        return 1
    if path.read_text() != render(wanted):
        print("proto/wire_lock.txt was edited by hand: tests/lint/wire_lock.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
