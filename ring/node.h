// Nodes of a ring, and the operations that change them. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ringd::ring {

struct Node {
  std::string id;
  std::string address;
  uint32_t weight = 0;
  std::string zone;
  std::string hash_key;  // never empty inside a Ring: Apply fills in the id
  std::map<std::string, std::string> metadata;
  uint64_t join_number = 0;  // given by the ring, from 1, in the order of adding
  // In the points placement alone. Inside a Ring in order; when added or updated in any.
  std::vector<uint64_t> points;

  bool operator==(const Node&) const = default;
};

// Nodes are shared between the versions of a ring, which differ in few of them.
using NodePtr = std::shared_ptr<const Node>;

// Adds a node; no weight means the ring's default_weight. The join number in it is ignored.
struct AddNode {
  Node node;
  bool default_weight = false;  // take the ring's default_weight instead of node.weight
};

struct RemoveNode {
  std::string id;
};

// Sets the fields that have a value.
struct UpdateNode {
  std::string id;
  std::optional<uint32_t> weight;
  bool default_weight = false;  // weight becomes the ring's default_weight
  std::optional<std::string> address;
  std::optional<std::string> zone;
  std::optional<std::map<std::string, std::string>> metadata;
  std::optional<std::vector<uint64_t>> points;
};

// Makes a node just this one, hash_key and join number included: adds it, or puts it in the place of the one of its id.
// What copies of a ring and restores of a version do, and no request.
struct PutNode {
  Node node;
};

using Operation = std::variant<AddNode, RemoveNode, UpdateNode, PutNode>;

// What a change did to one node. At least one side is there; both are there and differ when the node was updated.
struct NodeDelta {
  NodePtr before;
  NodePtr after;
};

}  // namespace ringd::ring
