// Between messages and what the directory and its watchers hold. Pure functions, any thread; what the codec of proto/
// is for values of ring/, this is for those of the server.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "ringd/v1/directory.pb.h"
#include "server/directory.h"
#include "server/watch_session.h"
#include "server/watchers.h"

namespace ringd::server {

void ToProto(const RingHead& head, const ring::NodeTable& table, size_t points, v1::Ring* out);
void ToProto(const RingState& state, v1::Ring* out);
void ToProto(const Plan& plan, v1::Plan* out);
void ToProto(const AppliedOutcome& outcome, v1::WaitResult* out);
void ToProto(const WatchEvent& event, v1::WatchResponse* out);
// Nodes and slot moves that would not stay below `max_bytes` are left out, and counted.
void ToProto(const ChangeRecord& change, size_t max_bytes, v1::ChangeRecord* out);

// Adds the nodes of the table from index `first` on, at most `max` and as many as stay below `max_bytes` in all (one
// at least), and returns the index after the last one.
size_t AddNodes(const ring::NodeTable& table, size_t first, size_t max, size_t max_bytes,
                google::protobuf::RepeatedPtrField<v1::Node>* out);

HistoryLimits FromProto(const v1::HistoryLimits& limits);
RingSelector FromProto(const v1::RingSelector& selector);
// By ring. A checksum of an algorithm that is not ours is left out.
std::map<std::string, WatchPosition> FromProto(const google::protobuf::RepeatedPtrField<v1::HeldRing>& held);

}  // namespace ringd::server
