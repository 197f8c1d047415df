#pragma once

#include <functional>
#include <string>

#include "client/ringctl/command_tree.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// RingGroup is the commands `ring ...`: create, import, get, list, update, restore, delete.
class RingGroup {
 public:
  // AddCommand adds a command with its words below a group of the tree.
  using AddCommand =
      std::function<CommandTree::Node*(CommandTree::Node* above, const std::string& name, const std::string& help,
                                       Words words, std::function<ExitCode(const Words&)> run, LastWord last)>;

  // Both must outlive what `add` adds.
  RingGroup(CommandTree& tree, const GlobalOptions& global) : tree_(tree), global_(global) {}

  void AddTo(const AddCommand& add);

 private:
  void AddSettings(CommandTree::Node* node);
  void AddPlacement(CommandTree::Node* node);
  void AddImport(CommandTree::Node* ring, const AddCommand& add);
  void AddUpdate(CommandTree::Node* ring, const AddCommand& add);
  void AddRestore(CommandTree::Node* ring, const AddCommand& add);

  CommandTree& tree_;
  const GlobalOptions& global_;
  MutationFlags mutation_;
  RingCreateOptions create_;
  RingImportOptions import_;
  RingUpdateOptions update_;
  bool clear_labels_ = false;
  RingRestoreOptions restore_;
};

}  // namespace ringd::ctl
