#pragma once

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/command_tree.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/options.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {

// Flags of a command with values of some types, which are set where they are given.

// Assign sets a value that was read, or says why there is none.
template <typename T, typename Target>
absl::Status Assign(absl::StatusOr<T> value, Target* target) {
  if (!value.ok()) return value.status();
  *target = *std::move(value);
  return absl::OkStatus();
}

template <typename Text>
void AddText(CommandTree& tree, CommandTree::Node* node, const Flag& flag, Text* value) {
  tree.AddFlag(node, flag, [value](const std::string& text) {
    *value = text;
    return absl::OkStatus();
  });
}

inline void AddNumber(CommandTree& tree, CommandTree::Node* node, const std::string& name,
                      std::optional<uint32_t>* value, const std::string& help) {
  tree.AddFlag(node, {name, "N", help}, [what = name.substr(2), value](const std::string& text) {
    return Assign(ParseWireNumber(what, text), value);
  });
}

inline void AddVersion(CommandTree& tree, CommandTree::Node* node, const std::string& name,
                       std::optional<v1::Version>* value, const std::string& help) {
  tree.AddFlag(node, {name, "E/R", help}, [name, value](const std::string& text) {
    *value = ParseVersion(text);
    if (*value) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} {} is not EPOCH/REVISION, two numbers below 2^64", name, Quoted(text)));
  });
}

// A flag KEY=VALUE that may come again.
template <typename Pairs>
void AddPairs(CommandTree::Node* node, const std::string& name, Pairs* pairs, const std::string& help) {
  CommandTree::AddListFlag(node, {name, "KEY=VALUE", help}, [what = name.substr(2), pairs](const Words& texts) {
    return Assign(ParsePairs(what, texts), pairs);
  });
}

// What commands take that change something; then what some of them take.
inline void AddMutationFlags(CommandTree& tree, CommandTree::Node* node, MutationFlags* flags) {
  CommandTree::AddSwitch(node, "--dry-run", &flags->dry_run, "show what would result and change nothing");
  AddText(tree, node, {"--reason", "TEXT", "why, for those who read the history"}, &flags->reason);
  CommandTree::AddSwitch(node, "-y,--yes", &flags->yes, "do not ask; what asks nothing takes it too");
}

// Of all that change something, but what deletes.
inline void AddWaitFlags(CommandTree& tree, CommandTree::Node* node, MutationFlags* flags) {
  tree.AddFlag(node,
               {"--wait-for", "PERCENT", "wait until that part of the named watchers has applied it, such as 99%"},
               [flags](const std::string& text) { return Assign(ParseShare(text), &flags->wait_for); });
  tree.AddFlag(node, {"--wait-timeout", "TIME", "how long; exit code 6 when too few have by then [5s]"},
               [flags](const std::string& text) { return Assign(ParseTimeout(text), &flags->wait_timeout); });
}

inline void AddIfVersion(CommandTree& tree, CommandTree::Node* node, MutationFlags* flags) {
  AddVersion(tree, node, "--if-version", &flags->if_version, "only if the ring is at this version");
}

inline void AddForce(CommandTree::Node* node, MutationFlags* flags, const std::string& help) {
  CommandTree::AddSwitch(node, "--force", &flags->force, help);
}

}  // namespace ringd::ctl
