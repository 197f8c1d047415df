#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// ParseNutcrackerFile reads a pool of a nutcracker.yml (twemproxy), the one that is named, or the only one where `pool`
// is empty. The ring is of preset twemproxy, with the pool's hash and hash tag. A server's name is the id of its node;
// HOST:PORT, or the path of a unix socket, where it has none. Its hash_key is what nutcracker hashes: the name; without
// one HOST:PORT, HOST for port 11211, and PATH: for a socket. Nodes join in nutcracker's order, which decides who owns
// a point that two of them share: it sorts servers by length of that text, then by its bytes.
//
// INVALID_ARGUMENT, with a text that begins with FILE:LINE, for what is no YAML or not of nutcracker's form, a server
// that comes twice, a pool that is not there or not named, and for what the preset cannot give key for key: another
// distribution than ketama, and the hashes one_at_a_time, crc32, hsieh, jenkins. A warning where servers are ejected.
absl::StatusOr<ImportedRing> ParseNutcrackerFile(const std::string& file, const std::string& content,
                                                 const std::string& pool);

}  // namespace ringd::ctl
