#pragma once

#include <absl/status/status.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/ringctl/exit_code.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
class Option;
}  // namespace CLI

namespace ringd::ctl {

using Words = std::vector<std::string>;

// What is to know of the last word of a command: whether it comes again, may be left out, or names what the command
// makes.
enum class LastWord { kOnce, kRepeats, kOptional, kIsNew };

// Command is a verb with what stands behind it. CLI11 gets the flags alone: the words (names, keys) are the users' own
// and may be anything, also the name of a verb, "[a,b]" or "++", which CLI11 would read as something else.
struct Command {
  Words words;  // names of the words, such as {"RING", "ID"}; FILE is the name of a file
  LastWord last = LastWord::kOnce;
  std::function<ExitCode(const Words&)> run;
};

// Flag describes a flag with a value.
struct Flag {
  std::string names;  // such as "-o,--output"
  std::string type;   // what the value is, such as "FILE"
  std::string help;
  std::string environment;  // the variable that stands for it; empty = none
  Words choices;            // all the values that there are; empty = it takes others too
};

// Candidate is a text that may stand somewhere, and what it means there.
struct Candidate {
  std::string text;
  std::string help;
};

// Place is what is known of an argument that is being typed.
struct Place {
  enum class Kind { kNothing, kCandidates, kFile, kWord };
  Kind kind = Kind::kNothing;
  std::vector<Candidate> candidates;  // kCandidates: all that may stand there
  std::string word;                   // kWord: which one of the command, such as "RING"
  Words words;                        // kWord: those of the command before it
  std::string before;                 // of the argument, what stays as it is: "--output=", or nothing
  std::string begun;                  // of the argument, what is there of the rest
};

// CommandTree reads a command line by a tree of commands, and runs the one that it names. It is filled once, and used
// once. Flags stand before their command or behind it, and those of the root with every command. One thread only.
class CommandTree {
 public:
  CommandTree(const std::string& name, const std::string& about, const std::string& footer);
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;
  ~CommandTree();

  // A part of the tree; lives as long as that.
  using Node = CLI::App;
  Node* root() { return root_.get(); }
  Node* AddGroup(const std::string& name, const std::string& help);
  Node* AddCommand(Node* above, const std::string& name, const std::string& help, Command command);
  // What stands below the flags in the help of a command, above a line that all commands have there.
  void SetFooter(Node* node, const std::string& footer);

  // AddSwitch adds a flag without a value.
  static void AddSwitch(Node* node, const std::string& names, bool* value, const std::string& help);
  // `set` is called where the flag is given, and what it answers is shown as it is.
  void AddFlag(Node* node, const Flag& flag, const std::function<absl::Status(const std::string&)>& set);
  // A flag that may come again; `set` gets all of its values.
  static void AddListFlag(Node* node, const Flag& flag, const std::function<absl::Status(const Words&)>& set);

  // Run does what the arguments say. What makes no sense is reported, and ends with kUsage.
  ExitCode Run(Words arguments);

  // Locate tells where the last argument stands, for a shell that completes it, and sets the flags before it. It
  // reports nothing.
  Place Locate(Words arguments);

  // ReportUsage tells, from within a command, that its words or flags make no sense.
  ExitCode ReportUsage(std::string_view text, std::string_view hint = "") const;

 private:
  ExitCode Parse(const Words& arguments);
  void PlaceFlag(const CLI::App* app, Place* place) const;
  void PlaceValue(const CLI::Option& option, Place* place) const;

  const std::unique_ptr<CLI::App> root_;
  std::map<const CLI::App*, Command> commands_;
  std::map<const CLI::Option*, Words> choices_;
  const CLI::App* named_;  // the verb, as far as it was named
};

}  // namespace ringd::ctl
