#pragma once

#include <functional>
#include <string>

#include "client/ringctl/command_tree.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// QuestionCommands are the commands that tell what moved or would move, and who owns what and why: diff, moved, ranges,
// explain, simulate.
class QuestionCommands {
 public:
  // AddCommand adds a command with its words to the root of the tree.
  using AddCommand = std::function<CommandTree::Node*(const std::string& name, const std::string& help, Words words,
                                                      std::function<ExitCode(const Words&)> run)>;

  // Both must outlive what `add` adds.
  QuestionCommands(CommandTree& tree, const GlobalOptions& global) : tree_(tree), global_(global) {}

  void AddTo(const AddCommand& add);

 private:
  void AddDiff(const AddCommand& add);
  void AddMoved(const AddCommand& add);
  void AddExplain(const AddCommand& add);
  void AddSimulate(const AddCommand& add);
  ExitCode RunDiff(const Words& words);

  CommandTree& tree_;
  const GlobalOptions& global_;
  DiffOptions diff_;
  ComparedVersions versions_;
  bool null_separated_ = false;
  ExplainOptions explain_;
  SimulateOptions simulate_;
};

}  // namespace ringd::ctl
