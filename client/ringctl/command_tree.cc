#include "client/ringctl/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/standard_output.h"
#include "ring/closest_word.h"
#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

using Commands = std::map<const CLI::App*, Command>;

// The word of a command, or the type of a flag, that shells complete with names of files.
constexpr std::string_view kFileWord = "FILE";

// The names of a command's words; one that may be left out is in brackets.
std::string WordsText(const Command& command) {
  Words words = command.words;
  if (command.last == LastWord::kOptional) words.back() = fmt::format("[{}]", words.back());
  return fmt::format("{}", fmt::join(words, " "));
}

// UsageFormatter writes the words of a command into its usage line.
class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(const Commands* commands) : commands_(commands) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    const auto command = commands_->find(app);
    if (command == commands_->end()) return fmt::format("Usage: {} COMMAND ... [FLAGS]\n", name);
    const char* more = command->second.last == LastWord::kRepeats ? "..." : "";
    const char* space = command->second.words.empty() ? "" : " ";
    return fmt::format("Usage: {}{}{}{} [FLAGS]\n", name, space, WordsText(command->second), more);
  }

 private:
  const Commands* commands_;
};

// UsageError is a command line that makes no sense. It is thrown through CLI11, and does not leave this file.
struct UsageError {
  std::string text;
  std::string hint;
};

void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw UsageError{std::string(status.message().data(), status.message().size()), ""};
}

std::string DidYouMean(const std::string& closest) {
  return closest.empty() ? "" : fmt::format("did you mean {}?", closest);
}

// How the command `app` is typed.
std::string PathOf(const CLI::App* app) {
  const CLI::App* above = app->get_parent();
  return above == nullptr ? app->get_name() : PathOf(above) + " " + app->get_name();
}

std::string CommonFooter(const CLI::App& root) {
  return fmt::format("`{} --help` shows the flags that all commands take.", root.get_name());
}

// The flags that may stand with a command: its own and those of the ones above.
std::vector<const CLI::Option*> FlagsOf(const CLI::App* app) {
  std::vector<const CLI::Option*> flags;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      // Every command has a --help of its own.
      const bool known = std::any_of(flags.begin(), flags.end(), [option](const CLI::Option* flag) {
        return flag->get_lnames() == option->get_lnames();
      });
      if (!known) flags.push_back(option);
    }
  }
  return flags;
}

std::string LongName(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

std::vector<const CLI::App*> CommandsOf(const CLI::App* app) {
  return app->get_subcommands([](const CLI::App*) { return true; });
}

// Splitter takes arguments, one after the other, and tells the words of a command from what is for CLI11: its flags and
// its verb. A flag's value becomes an argument of its own, since CLI11 takes an empty one behind "=" for none.
class Splitter {
 public:
  Splitter(const CLI::App* root, const Commands& commands) : commands_(commands), app_(root) {}

  // Throws UsageError.
  void Take(const std::string& argument);

  const CLI::App* app() const { return app_; }  // the verb, as far as it was named
  const Words& words() const { return words_; }
  const Words& rest() const { return rest_; }
  // The last argument was this flag, and the next one is its value; null when it was something else.
  const CLI::Option* open_flag() const { return open_flag_; }
  bool flags_over() const { return flags_over_; }

 private:
  void TakeFlag(const std::string& argument);
  const CLI::Option* FindFlag(const std::string& argument) const;
  const CLI::App* Descend(const std::string& word) const;

  const Commands& commands_;
  const CLI::App* app_;
  Words words_;
  Words rest_;
  const CLI::Option* open_flag_ = nullptr;
  bool flags_over_ = false;
};

void Splitter::Take(const std::string& argument) {
  const bool flag = !flags_over_ && argument.size() > 1 && argument.front() == '-' &&
                    std::isdigit(static_cast<unsigned char>(argument[1])) == 0;
  if (open_flag_ != nullptr) {
    open_flag_ = nullptr;
    rest_.push_back(argument);
  } else if (flag && argument == "--") {
    flags_over_ = true;
  } else if (flag) {
    TakeFlag(argument);
  } else if (!commands_.contains(app_)) {
    app_ = Descend(argument);
    rest_.push_back(argument);
  } else {
    words_.push_back(argument);
  }
}

void Splitter::TakeFlag(const std::string& argument) {
  const CLI::Option* option = FindFlag(argument);
  const bool is_long = argument.starts_with("--");
  const bool may_assign = is_long || argument.find('=') == 2;
  const std::size_t equals = may_assign ? argument.find('=') : std::string::npos;
  rest_.push_back(argument.substr(0, equals));
  const bool takes_value = option->get_expected_min() > 0;
  if (equals == std::string::npos) {
    if (takes_value && (is_long || argument.size() == 2)) open_flag_ = option;
    return;
  }
  if (!takes_value) throw UsageError{fmt::format("{} takes no value", rest_.back()), ""};
  rest_.push_back(argument.substr(equals + 1));
}

const CLI::Option* Splitter::FindFlag(const std::string& argument) const {
  const std::string name = argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  Words names;
  for (const CLI::Option* option : FlagsOf(app_)) {
    if (option->check_name(name)) return option;
    names.push_back(LongName(*option));
  }
  throw UsageError{fmt::format("unknown flag {}", ring::Shown(name)), DidYouMean(ring::ClosestWord(name, names))};
}

const CLI::App* Splitter::Descend(const std::string& word) const {
  Words names;
  for (const CLI::App* child : CommandsOf(app_)) {
    if (child->get_name() == word) return child;
    names.push_back(child->get_name());
  }
  const std::string path = PathOf(app_);
  const std::string closest = ring::ClosestWord(word, names);
  throw UsageError{fmt::format("unknown command {}", Quoted(word)),
                   closest.empty() ? fmt::format("`{} --help` lists the commands", path)
                                   : DidYouMean(fmt::format("`{} {}`", path, closest))};
}

// Throws UsageError when the words are not as many as the command has.
void CheckNumber(const Command& command, const std::string& name, const Words& words) {
  const std::size_t most = command.words.size();
  const std::size_t least = most - (command.last == LastWord::kOptional ? 1 : 0);
  const std::string wanted = most == 0 ? "no argument" : WordsText(command);
  if (words.size() < least) {
    throw UsageError{
        fmt::format("too few arguments: {} takes {}, {} is missing", name, wanted, command.words[words.size()]), ""};
  }
  if (words.size() > most && command.last != LastWord::kRepeats) {
    throw UsageError{
        fmt::format("too many arguments: {} takes {}, and {} is left over", name, wanted, Quoted(words[most])), ""};
  }
}

// Where the word behind `words` stands.
void PlaceWord(const Command& command, const Words& words, Place* place) {
  const std::size_t count = command.words.size();
  const bool is_last = words.size() + 1 >= count;
  const bool is_one = words.size() < count || (count > 0 && command.last == LastWord::kRepeats);
  if (!is_one || (is_last && command.last == LastWord::kIsNew)) return;
  place->word = command.words[std::min(words.size(), count - 1)];
  place->kind = place->word == kFileWord ? Place::Kind::kFile : Place::Kind::kWord;
  place->words = words;
}

}  // namespace

CommandTree::CommandTree(const std::string& name, const std::string& about, const std::string& footer)
    : root_(std::make_unique<CLI::App>(about, name)), named_(root_.get()) {
  root_->formatter(std::make_shared<UsageFormatter>(&commands_));
  root_->require_subcommand(1);
  root_->footer(footer);
}

CommandTree::~CommandTree() = default;

CommandTree::Node* CommandTree::AddGroup(const std::string& name, const std::string& help) {
  CLI::App* group = root_->add_subcommand(name, help)->fallthrough();
  group->require_subcommand(1);
  return group;
}

CommandTree::Node* CommandTree::AddCommand(Node* above, const std::string& name, const std::string& help,
                                           Command command) {
  CLI::App* app = above->add_subcommand(name, help)->fallthrough();
  app->footer(CommonFooter(*root_));
  commands_[app] = std::move(command);
  return app;
}

void CommandTree::SetFooter(Node* node, const std::string& footer) {
  node->footer(fmt::format("{}\n\n{}", footer, CommonFooter(*root_)));
}

void CommandTree::AddSwitch(Node* node, const std::string& names, bool* value, const std::string& help) {
  node->add_flag(names, *value, help);
}

void CommandTree::AddFlag(Node* node, const Flag& flag, const std::function<absl::Status(const std::string&)>& set) {
  const std::string name = flag.names.substr(flag.names.find("--"));
  const auto take = [name, choices = flag.choices, set](const std::string& text) {
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw UsageError{fmt::format("{} {} is none of {}", name, Quoted(text), fmt::join(choices, ", ")),
                       DidYouMean(ring::ClosestWord(text, choices))};
    }
    ThrowUnlessOk(set(text));
  };
  const bool listed = flag.choices.empty() || flag.help.find(flag.choices.back()) != std::string::npos;
  const std::string help = listed ? flag.help : fmt::format("{}: {}", flag.help, fmt::join(flag.choices, ", "));
  CLI::Option* option = node->add_option_function<std::string>(flag.names, take, help);
  option->type_name(flag.type)->envname(flag.environment);
  if (!flag.choices.empty()) choices_[option] = flag.choices;
}

void CommandTree::AddListFlag(Node* node, const Flag& flag, const std::function<absl::Status(const Words&)>& set) {
  node->add_option_function<Words>(
          flag.names, [set](const Words& texts) { ThrowUnlessOk(set(texts)); }, flag.help)
      ->type_name(flag.type)
      ->allow_extra_args(false);
}

ExitCode CommandTree::ReportUsage(std::string_view text, std::string_view hint) const {
  return ReportError(ExitCode::kUsage, text,
                     hint.empty() ? fmt::format("`{} --help` tells more", PathOf(named_)) : std::string(hint));
}

ExitCode CommandTree::Run(Words arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", root_->help());
    return ExitCode::kUsage;
  }
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  try {
    return Parse(arguments);
  } catch (const UsageError& error) {
    return ReportUsage(error.text, error.hint);
  }
}

ExitCode CommandTree::Parse(const Words& arguments) {
  Splitter splitter(root_.get(), commands_);
  for (const std::string& argument : arguments) {
    splitter.Take(argument);
    named_ = splitter.app();
  }
  if (splitter.open_flag() != nullptr) throw UsageError{fmt::format("{} needs a value", splitter.rest().back()), ""};
  try {
    // From the back, as CLI11 wants them.
    root_->parse(Words(splitter.rest().rbegin(), splitter.rest().rend()));
  } catch (const CLI::Success&) {
    Print(root_->help());
    return ExitCode::kOk;
  } catch (const CLI::RequiredError&) {
    throw UsageError{"no command is given", fmt::format("`{} --help` lists the commands", PathOf(named_))};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what(), ""};
  }
  const Command& command = commands_.at(named_);
  CheckNumber(command, named_->get_name(), splitter.words());
  return command.run(splitter.words());
}

void CommandTree::PlaceValue(const CLI::Option& option, Place* place) const {
  if (option.get_type_name() == kFileWord) place->kind = Place::Kind::kFile;
  const auto choices = choices_.find(&option);
  if (choices == choices_.end()) return;
  place->kind = Place::Kind::kCandidates;
  for (const std::string& choice : choices->second) place->candidates.push_back({choice, ""});
}

void CommandTree::PlaceFlag(const CLI::App* app, Place* place) const {
  const std::size_t equals = place->begun.find('=');
  if (equals == std::string::npos) {
    place->kind = Place::Kind::kCandidates;
    for (const CLI::Option* option : FlagsOf(app)) {
      place->candidates.push_back({LongName(*option), option->get_description()});
    }
    return;
  }
  place->before = place->begun.substr(0, equals + 1);
  for (const CLI::Option* option : FlagsOf(app)) {
    if (LongName(*option) == place->begun.substr(0, equals)) PlaceValue(*option, place);
  }
  place->begun.erase(0, equals + 1);
}

Place CommandTree::Locate(Words arguments) {
  Place place;
  if (arguments.empty()) return place;
  place.begun = arguments.back();
  arguments.pop_back();
  if (!arguments.empty() && arguments.front() == "help") arguments.erase(arguments.begin());
  Splitter splitter(root_.get(), commands_);
  try {
    for (const std::string& argument : arguments) splitter.Take(argument);
    Words rest(splitter.rest().rbegin(), splitter.rest().rend());
    if (splitter.open_flag() != nullptr) rest.erase(rest.begin());
    root_->parse(std::move(rest));
  } catch (const UsageError&) {
    return place;
  } catch (const CLI::Error&) {
    // Of what is missing yet; what is there has been set.
  }

  const CLI::App* app = splitter.app();
  const auto command = commands_.find(app);
  if (splitter.open_flag() != nullptr) {
    PlaceValue(*splitter.open_flag(), &place);
  } else if (!splitter.flags_over() && place.begun.starts_with("-")) {
    PlaceFlag(app, &place);
  } else if (command == commands_.end()) {
    place.kind = Place::Kind::kCandidates;
    for (const CLI::App* child : CommandsOf(app)) {
      place.candidates.push_back({child->get_name(), child->get_description()});
    }
  } else {
    PlaceWord(command->second, splitter.words(), &place);
  }
  return place;
}

}  // namespace ringd::ctl
