"""The Python classes of ringd's protocol: `pb` and `rpc` of ringd.v1, and those of health and reflection.

They are made by protoc when this module is first imported, from the files below PROTO_DIR, in a folder that goes when
the process ends. google.rpc goes another way, since a package `google` is installed: its descriptors are read.
"""

import atexit
import importlib
import os
import shutil
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, message_factory

PROTO_DIR = os.environ["PROTO_DIR"]

# The parts of two services of gRPC's own that the tests use; Debian has no Python package of them.
HEALTH = """
syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health {
  rpc Check(HealthCheckRequest) returns (HealthCheckResponse);
  rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse);
}
"""
REFLECTION = """
syntax = "proto3";
package grpc.reflection.v1alpha;
service ServerReflection {
  rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse);
}
message ServerReflectionRequest {
  string host = 1;
  oneof message_request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    string list_services = 7;
  }
}
message ServerReflectionResponse {
  oneof message_response {
    FileDescriptorResponse file_descriptor_response = 4;
    ListServiceResponse list_services_response = 6;
    ErrorResponse error_response = 7;
  }
}
message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
message ListServiceResponse { repeated ServiceResponse service = 1; }
message ServiceResponse { string name = 1; }
message ErrorResponse { int32 error_code = 1; string error_message = 2; }
"""


def _protoc(*arguments):
    subprocess.run(["protoc", *arguments], check=True, timeout=60)


def _make():
    folder = tempfile.mkdtemp(prefix="ringd-stubs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in (("health_of_grpc.proto", HEALTH), ("reflection_of_grpc.proto", REFLECTION)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    _protoc("-I", PROTO_DIR, "-I", folder, "--python_out", folder, "--grpc_out", folder,
            "--plugin=protoc-gen-grpc=" + shutil.which("grpc_python_plugin"), "ringd/v1/directory.proto",
            "health_of_grpc.proto", "reflection_of_grpc.proto")
    descriptors = os.path.join(folder, "google_rpc.bin")
    _protoc("-I", PROTO_DIR, "--include_imports", "--descriptor_set_out", descriptors, "google/rpc/status.proto",
            "google/rpc/error_details.proto")
    sys.path.insert(0, folder)
    with open(descriptors, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    return message_factory.GetMessages(files.file)


_google_rpc = _make()
Status = _google_rpc["google.rpc.Status"]
ErrorInfo = _google_rpc["google.rpc.ErrorInfo"]
RetryInfo = _google_rpc["google.rpc.RetryInfo"]
pb = importlib.import_module("ringd.v1.directory_pb2")
rpc = importlib.import_module("ringd.v1.directory_pb2_grpc")
health_pb = importlib.import_module("health_of_grpc_pb2")
health_rpc = importlib.import_module("health_of_grpc_pb2_grpc")
reflection_pb = importlib.import_module("reflection_of_grpc_pb2")
reflection_rpc = importlib.import_module("reflection_of_grpc_pb2_grpc")
