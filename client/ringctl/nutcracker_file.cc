#include "client/ringctl/nutcracker_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/escape.h"
#include "proto/yaml_document.h"
#include "ring/closest_word.h"
#include "ring/preset.h"

namespace ringd::ctl {
namespace {

constexpr std::string_view kDefaultPort = "11211";  // which nutcracker leaves out of what it hashes

// The directives that decide over no key.
bool IsPassedOver(const std::string& key) {
  static const std::set<std::string> keys = {"listen",
                                             "timeout",
                                             "backlog",
                                             "client_connections",
                                             "tcpkeepalive",
                                             "reuseport",
                                             "redis",
                                             "redis_auth",
                                             "redis_db",
                                             "preconnect",
                                             "server_connections",
                                             "server_retry_timeout",
                                             "server_failure_limit"};
  return keys.contains(key);
}

// Server is a line `HOST:PORT:WEIGHT [NAME]` or `/PATH:WEIGHT [NAME]`.
struct Server {
  std::string address;  // HOST:PORT or /PATH
  std::string weight;
  std::string name;  // empty = none

  bool is_socket() const { return address.front() == '/'; }
  std::string hash_key() const;
};

std::string Server::hash_key() const {
  if (!name.empty()) return name;
  if (is_socket()) return address + ":";
  const std::size_t colon = address.rfind(':');
  return std::string_view(address).substr(colon + 1) == kDefaultPort ? address.substr(0, colon) : address;
}

// As nutcracker hashes it: it drops the default port by its number, and we do by its digits.
bool IsPort(std::string_view text) {
  const std::optional<uint64_t> port = ParseDecimal(text);
  return port && *port >= 1 && *port <= 65535 && text.front() != '0';
}

// Taken apart from the end, as nutcracker does. nullopt for another form.
std::optional<Server> ServerOf(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  Server server;
  if (space != std::string::npos) server.name = text.substr(space + 1);
  const std::string rest = text.substr(0, space);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  server.address = rest.substr(0, colon);
  server.weight = rest.substr(colon + 1);
  if (space != std::string::npos && server.name.empty()) return std::nullopt;
  if (server.is_socket()) return server;
  const std::size_t port = server.address.rfind(':');
  if (port == std::string::npos || port == 0 || !IsPort(std::string_view(server.address).substr(port + 1))) {
    return std::nullopt;
  }
  return server;
}

// PoolReader reads one pool. Its methods answer OK, or an error that can be shown.
class PoolReader {
 public:
  PoolReader(const std::string& file, ImportedRing* ring) : file_(file), ring_(ring), nodes_(file) {}

  absl::Status Read(const YAML::Node& pool);

 private:
  absl::Status Wrong(const YAML::Node& node, const std::string& text) const {
    return WrongLine(file_, LineOf(node.Mark()), text);
  }
  absl::Status ReadDirective(const std::string& key, const YAML::Node& key_node, const YAML::Node& value);
  absl::Status ReadHash(const YAML::Node& value);
  absl::Status ReadServers(const YAML::Node& servers);
  absl::Status ReadServer(const YAML::Node& line);
  void Warn(const YAML::Node& node, const std::string& text) {
    ring_->warnings.push_back(TextAt(file_, LineOf(node.Mark()), text));
  }
  v1::PresetPlacement* preset() { return ring_->settings.mutable_placement()->mutable_preset(); }

  const std::string& file_;
  ImportedRing* ring_;
  NodeLines nodes_;
};

absl::Status PoolReader::Read(const YAML::Node& pool) {
  if (!pool.IsMap()) return Wrong(pool, fmt::format("{} is no mapping with a line \"servers:\"", ring_->origin));
  preset()->set_preset(v1::PRESET_TWEMPROXY);
  preset()->set_hash(v1::HASH_FUNCTION_FNV1A_64);
  std::map<std::string, int> lines;
  for (const auto& pair : pool) {
    if (!pair.first.IsScalar()) return Wrong(pair.first, "a key is no text");
    const std::string& key = pair.first.Scalar();
    const auto [earlier, is_new] = lines.emplace(key, LineOf(pair.first.Mark()));
    if (!is_new) {
      return Wrong(pair.first, fmt::format("{} comes twice, first in line {}", Quoted(key), earlier->second));
    }
    if (absl::Status status = ReadDirective(key, pair.first, pair.second); !status.ok()) return status;
  }
  if (nodes_.empty()) return Wrong(pool, fmt::format("{} has no servers", ring_->origin));
  ring_->nodes = nodes_.Take();
  const auto sorted_by = [](const v1::Node& node) { return std::pair(node.hash_key().size(), node.hash_key()); };
  std::sort(ring_->nodes.begin(), ring_->nodes.end(),
            [&](const v1::Node& a, const v1::Node& b) { return sorted_by(a) < sorted_by(b); });
  return absl::OkStatus();
}

absl::Status PoolReader::ReadDirective(const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
  if (key == "servers") return ReadServers(value);
  if (IsPassedOver(key)) return absl::OkStatus();
  const bool is_text = value.IsScalar();
  const std::string text = is_text ? value.Scalar() : "";
  if (key == "hash" || key == "hash_tag" || key == "distribution" || key == "auto_eject_hosts") {
    if (!is_text) return Wrong(key_node, fmt::format("the value of {} is no text; quotes make it one", key));
  }
  if (key == "hash") return ReadHash(value);
  if (key == "hash_tag") {
    if (text.size() != 2) return Wrong(value, fmt::format("hash_tag {} has not two characters", Quoted(text)));
    preset()->set_hash_tag(text);
  } else if (key == "distribution") {
    if (text == "ketama") return absl::OkStatus();
    return Wrong(value, fmt::format("distribution {} is not served: ketama alone keeps its keys here", Quoted(text)));
  } else if (key == "auto_eject_hosts") {
    if (text == "true") {
      Warn(key_node,
           "auto_eject_hosts: nutcracker takes a server that fails out of its ring for a while; here a node stays "
           "until it is changed");
    }
  } else {
    Warn(key_node, fmt::format("{} is passed over: it is no directive of nutcracker 0.5", Quoted(key)));
  }
  return absl::OkStatus();
}

absl::Status PoolReader::ReadHash(const YAML::Node& value) {
  if (const auto hash = ring::TwemproxyHash(value.Scalar())) {
    preset()->set_hash(static_cast<v1::HashFunction>(*hash));
    return absl::OkStatus();
  }
  return Wrong(value, fmt::format("hash {} is not served: one of {} keeps its keys here", Quoted(value.Scalar()),
                                  fmt::join(ring::TwemproxyHashNames(), ", ")));
}

absl::Status PoolReader::ReadServers(const YAML::Node& servers) {
  if (!servers.IsSequence()) return Wrong(servers, "servers is no list, with lines such as \"- 127.0.0.1:6379:1 n1\"");
  for (const YAML::Node& line : servers) {
    if (absl::Status status = ReadServer(line); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PoolReader::ReadServer(const YAML::Node& line) {
  const std::optional<Server> server = line.IsScalar() ? ServerOf(line.Scalar()) : std::nullopt;
  if (!server) {
    const std::string shown = line.IsScalar() ? Quoted(line.Scalar()) : "what is no text";
    return Wrong(line, fmt::format("{} is neither HOST:PORT:WEIGHT [NAME] nor /PATH:WEIGHT [NAME]", shown));
  }
  const absl::StatusOr<uint32_t> weight = ParseWireNumber("weight", server->weight);
  if (!weight.ok()) return Wrong(line, std::string(weight.status().message()));
  if (*weight == 0) return Wrong(line, "weight 0, which nutcracker does not take");
  v1::Node node;
  node.set_id(server->name.empty() ? server->address : server->name);
  node.set_hash_key(server->hash_key());
  node.set_address(server->address);
  node.set_weight(*weight);
  return nodes_.Add(LineOf(line.Mark()), std::move(node));
}

// The keys of a mapping that are texts.
std::string AllNames(const YAML::Node& mapping) {
  std::vector<std::string> names;
  for (const auto& pair : mapping) {
    if (pair.first.IsScalar()) names.push_back(Quoted(pair.first.Scalar()));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The pool that is wanted, or an error that names those that there are.
absl::StatusOr<YAML::Node> FindPool(const std::string& file, const YAML::Node& document, const std::string& name,
                                    std::string* found) {
  if (!document.IsMap() || document.size() == 0) {
    return WrongLine(file, LineOf(document.Mark()), "no pool: a mapping is wanted, with lines such as \"alpha:\"");
  }
  std::vector<std::string> names;
  std::optional<YAML::Node> pool;
  int line = LineOf(document.Mark());
  for (const auto& pair : document) {
    line = LineOf(pair.first.Mark());
    if (!pair.first.IsScalar()) return WrongLine(file, line, "the name of a pool is no text");
    names.push_back(pair.first.Scalar());
    if (!name.empty() && names.back() != name) continue;
    if (pool.has_value()) {
      return WrongLine(file, line,
                       name.empty() ? fmt::format("there are several pools: --pool names the one to import, of {}",
                                                  AllNames(document))
                                    : fmt::format("pool {} comes twice", Quoted(name)));
    }
    pool.emplace(pair.second);
    *found = names.back();
  }
  if (pool.has_value()) return *pool;
  const std::string closest = ring::ClosestWord(name, names);
  return WrongLine(file, line,
                   fmt::format("the file ends without a pool {}{}", Quoted(name),
                               closest.empty() ? "" : fmt::format("; did you mean {}?", Quoted(closest))));
}

}  // namespace

absl::StatusOr<ImportedRing> ParseNutcrackerFile(const std::string& file, const std::string& content,
                                                 const std::string& pool) {
  ImportedRing ring;
  // The library throws; that ends here.
  try {
    const YamlDocuments documents = LoadYaml(content);
    if (documents.second.has_value()) return WrongLine(file, LineOf(*documents.second), "a second document begins");
    std::string name;
    const absl::StatusOr<YAML::Node> found = FindPool(file, documents.first.value_or(YAML::Node()), pool, &name);
    if (!found.ok()) return found.status();
    ring.origin = fmt::format("pool {}", Quoted(name));
    if (absl::Status status = PoolReader(file, &ring).Read(*found); !status.ok()) return status;
  } catch (const YAML::Exception& error) {
    return WrongLine(file, LineOf(error.mark), error.msg);
  }
  return ring;
}

}  // namespace ringd::ctl
