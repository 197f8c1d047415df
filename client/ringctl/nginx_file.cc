#include "client/ringctl/nginx_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/nginx_statement.h"
#include "ring/closest_word.h"

namespace ringd::ctl {
namespace {

using End = NginxStatement::End;

// Directives of an upstream that decide over no key.
bool IsPassedOver(std::string_view directive) {
  return directive == "zone" || directive.starts_with("keepalive") || directive.starts_with("resolver");
}

// Directives of an upstream that choose servers in another way, or name them elsewhere.
bool IsOtherMethod(std::string_view directive) {
  static constexpr std::string_view kMethods[] = {"ip_hash", "least_conn", "least_time", "random",
                                                  "sticky",  "fair",       "state",      "include"};
  return std::find(std::begin(kMethods), std::end(kMethods), directive) != std::end(kMethods) ||
         directive.starts_with("balancer_by_lua");
}

struct Upstream {
  std::string name;
  int line = 0;
  std::vector<NginxStatement> statements;
};

// UpstreamReader makes a ring of one upstream. Its methods answer OK, or an error that can be shown.
class UpstreamReader {
 public:
  UpstreamReader(const std::string& file, ImportedRing* ring) : file_(file), ring_(ring), nodes_(file) {}

  absl::Status Read(const Upstream& upstream);

 private:
  absl::Status Wrong(const NginxStatement& statement, const std::string& text) const {
    return WrongLine(file_, statement.line, text);
  }
  absl::Status ReadDirective(const NginxStatement& directive);
  absl::Status ReadHash(const NginxStatement& hash);
  absl::Status ReadServer(const NginxStatement& server);
  absl::Status ReadParameter(const NginxStatement& server, const std::string& parameter, bool* down, v1::Node* node);
  void Warn(const NginxStatement& statement, const std::string& text) {
    ring_->warnings.push_back(TextAt(file_, statement.line, text));
  }

  const std::string& file_;
  ImportedRing* ring_;
  NodeLines nodes_;
  std::optional<std::string> key_;  // what is hashed
};

absl::Status UpstreamReader::Read(const Upstream& upstream) {
  ring_->settings.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_NGINX);
  ring_->origin = fmt::format("upstream {}", Quoted(upstream.name));
  for (const NginxStatement& statement : upstream.statements) {
    if (absl::Status status = ReadDirective(statement); !status.ok()) return status;
  }
  if (!key_) {
    return WrongLine(
        file_, upstream.line,
        fmt::format("{} has no \"hash KEY consistent;\": only such a one keeps its keys here", ring_->origin));
  }
  if (nodes_.empty()) return WrongLine(file_, upstream.line, fmt::format("{} has no servers", ring_->origin));
  ring_->origin += fmt::format(" with keys {}", Quoted(*key_));
  ring_->nodes = nodes_.Take();
  return absl::OkStatus();
}

absl::Status UpstreamReader::ReadDirective(const NginxStatement& directive) {
  const std::string& name = directive.words[0];
  if (name == "server") return ReadServer(directive);
  if (name == "hash") return ReadHash(directive);
  if (IsOtherMethod(name)) {
    return Wrong(directive, fmt::format("{} decides which server is asked, which is not served", Quoted(name)));
  }
  if (!IsPassedOver(name)) Warn(directive, fmt::format("{} is passed over", Quoted(name)));
  return absl::OkStatus();
}

absl::Status UpstreamReader::ReadHash(const NginxStatement& hash) {
  if (hash.words.size() != 3 || hash.words[2] != "consistent") {
    return Wrong(hash, "only \"hash KEY consistent;\" keeps its keys here");
  }
  if (key_) return Wrong(hash, "\"hash\" comes twice");
  key_ = hash.words[1];
  return absl::OkStatus();
}

absl::Status UpstreamReader::ReadServer(const NginxStatement& server) {
  if (server.words.size() < 2) return Wrong(server, "\"server\" has no address");
  v1::Node node;
  node.set_id(server.words[1]);
  node.set_address(server.words[1]);
  node.set_weight(1);
  bool down = false;
  for (std::size_t i = 2; i < server.words.size(); ++i) {
    if (absl::Status status = ReadParameter(server, server.words[i], &down, &node); !status.ok()) return status;
  }
  if (down) {
    Warn(server,
         fmt::format("{} is down and gets weight 0; give it {} when it is back", Quoted(node.id()), node.weight()));
    node.set_weight(0);
  }
  return nodes_.Add(server.line, std::move(node));
}

absl::Status UpstreamReader::ReadParameter(const NginxStatement& server, const std::string& parameter, bool* down,
                                           v1::Node* node) {
  constexpr std::string_view kWeight = "weight=";
  if (parameter.starts_with(kWeight)) {
    const absl::StatusOr<uint32_t> weight = ParseWireNumber("weight", parameter.substr(kWeight.size()));
    if (!weight.ok()) return Wrong(server, std::string(weight.status().message()));
    if (*weight == 0) return Wrong(server, "weight 0, which nginx does not take");
    node->set_weight(*weight);
  } else if (parameter == "down") {
    *down = true;
  } else if (parameter == "backup") {
    return Wrong(server,
                 fmt::format("{} is a backup, which gets no keys by their hash: leave it out", Quoted(node->id())));
  } else if (!parameter.starts_with("max_fails=") && !parameter.starts_with("fail_timeout=")) {
    Warn(server, fmt::format("{} of {} is passed over", Quoted(parameter), Quoted(node->id())));
  }
  return absl::OkStatus();
}

// All upstreams of a configuration, wherever they stand in it.
absl::StatusOr<std::vector<Upstream>> FindUpstreams(const std::string& file, const std::string& content) {
  std::vector<Upstream> upstreams;
  NginxStatements statements(file, content);
  std::vector<int> open;        // lines of the blocks around what is read
  std::size_t upstream_at = 0;  // in `open`, of the upstream that is read; 0 = none
  while (true) {
    absl::StatusOr<NginxStatement> statement = statements.Next();
    if (!statement.ok()) return statement.status();
    switch (statement->end) {
      case End::kFile:
        if (open.empty()) return upstreams;
        return WrongLine(file, open.back(), "a block is not closed");
      case End::kCloses:
        if (open.empty()) return WrongLine(file, statement->line, "`}` closes nothing");
        if (open.size() == upstream_at) upstream_at = 0;
        open.pop_back();
        break;
      case End::kOpens:
        open.push_back(statement->line);
        if (upstream_at != 0) {
          if (open.size() == upstream_at + 1) upstreams.back().statements.push_back(*std::move(statement));
        } else if (statement->words[0] == "upstream" && statement->words.size() == 2) {
          upstream_at = open.size();
          upstreams.push_back({.name = statement->words[1], .line = statement->line, .statements = {}});
        }
        break;
      case End::kSemicolon:
        if (upstream_at != 0 && open.size() == upstream_at) {
          upstreams.back().statements.push_back(*std::move(statement));
        }
        break;
    }
  }
}

// The upstream that is wanted, or an error that names what there is.
absl::StatusOr<Upstream> Choose(const std::string& file, const std::vector<Upstream>& upstreams,
                                const std::string& name) {
  std::vector<Upstream> chosen;
  std::vector<std::string> names;
  std::string all;
  for (const Upstream& upstream : upstreams) {
    names.push_back(upstream.name);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", Quoted(upstream.name));
    if (name.empty() || upstream.name == name) chosen.push_back(upstream);
  }
  if (chosen.size() == 1) return chosen.front();
  if (chosen.size() > 1) {
    const Upstream& second = chosen[1];
    return WrongLine(file, second.line,
                     name.empty()
                         ? fmt::format("there are several upstreams: --upstream names the one to import, of {}", all)
                         : fmt::format("upstream {} comes twice", Quoted(name)));
  }
  if (names.empty()) return WrongLine(file, 1, "the file has no block \"upstream NAME { ... }\"");
  const std::string closest = ring::ClosestWord(name, names);
  return WrongLine(file, upstreams.back().line,
                   fmt::format("the last upstream is {}, and none is {}{}", Quoted(names.back()), Quoted(name),
                               closest.empty() ? "" : fmt::format("; did you mean {}?", Quoted(closest))));
}

}  // namespace

absl::StatusOr<ImportedRing> ParseNginxFile(const std::string& file, const std::string& content,
                                            const std::string& upstream) {
  const absl::StatusOr<std::vector<Upstream>> upstreams = FindUpstreams(file, content);
  if (!upstreams.ok()) return upstreams.status();
  const absl::StatusOr<Upstream> chosen = Choose(file, *upstreams, upstream);
  if (!chosen.ok()) return chosen.status();
  ImportedRing ring;
  if (absl::Status status = UpstreamReader(file, &ring).Read(*chosen); !status.ok()) return status;
  return ring;
}

}  // namespace ringd::ctl
