#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// NodeFile says which nodes a ring shall have, all of them.
struct NodeFile {
  // Entry is a node as it stands in the file: a field that is not written is absent or empty.
  struct Entry {
    v1::Node node;
    int line = 0;  // where it begins, from 1
  };

  std::string name;            // as errors show it
  std::vector<Entry> entries;  // in the order of the file; no id comes twice
};

// ParseNodeFile reads one YAML document, or JSON, which is YAML too:
//
//   nodes:
//     - id: n1                  # the one field that must be there
//       address: 10.0.0.1:6379
//       weight: 100
//       zone: a
//       hash_key: n1
//       metadata: {rack: r7}
//       points: [17, 4711]      # in a ring of points alone
//
// What `ring get -o yaml` and `-o json` print is such a document: `version` and `ring`, and of a node `share` and
// `join_number`, are there for readers and are passed over. Texts may stand without quotes, and are taken as they are
// written: `id: 007` is the id 007. An empty document has no nodes.
//
// INVALID_ARGUMENT, with a text that begins with FILE:LINE and says what is wrong, for what is no YAML, another key, a
// key or an id that comes twice, an id that is missing, and a value of another type.
absl::StatusOr<NodeFile> ParseNodeFile(const std::string& name, const std::string& content);

}  // namespace ringd::ctl
