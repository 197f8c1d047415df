#include "client/ringctl/completion.h"

#include <fmt/format.h>

#include <map>

#include "client/ringctl/ring_pages.h"

namespace ringd::ctl {
namespace {

// Bash cuts arguments at `=` and `:` too. They are put together again, and of a candidate bash gets what goes on from
// its own last piece.
constexpr char kBash[] = R"(# bash completion of ringctl. To have it in a shell: source <(ringctl completion bash)
_ringctl() {
  local rest=${COMP_LINE:0:COMP_POINT} piece i line
  local -a typed=() answer=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    if [[ $i -eq 0 || $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      typed+=('')
    fi
    if [[ $i -eq $COMP_CWORD ]]; then piece=$rest; fi
    typed[-1]+=$piece
    rest=${rest#"$piece"}
  done
  if [[ $piece =~ ^[=:]+$ ]]; then piece=; fi
  mapfile -t answer < <("$1" __complete "${typed[@]:1}" 2>/dev/null)
  COMPREPLY=()
  local skip=${typed[-1]%"$piece"} before='' path=${typed[-1]}
  if [[ ${answer[0]} == files ]]; then
    compopt -o filenames
    if [[ $path == --*=* ]]; then
      before=${path%%=*}=
      path=${path#*=}
    fi
    while IFS= read -r line; do
      line=$before$line
      COMPREPLY+=("${line#"$skip"}")
    done < <(compgen -f -- "$path")
    return
  fi
  for line in "${answer[@]:1}"; do
    line=${line%%$'\t'*}
    printf -v line %q "${line#"$skip"}"
    COMPREPLY+=("$line")
  done
}
complete -F _ringctl ringctl
)";

constexpr char kZsh[] = R"(#compdef ringctl
# zsh completion of ringctl. To have it in a shell, after compinit: source <(ringctl completion zsh)
# Or put it as _ringctl into a folder of $fpath.
_ringctl() {
  local line word help
  local -a answer names
  answer=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  if [[ $answer[1] == files ]]; then
    compset -P '--[^=]#='
    _files
    return
  fi
  for line in "${(@)answer[2,-1]}"; do
    word=${line%%$'\t'*} help=${line#*$'\t'}
    names+=("${word//:/\\:}${help:+:$help}")
  done
  _describe -t ringctl ringctl names
}
if [[ $funcstack[1] == _ringctl ]]; then
  _ringctl "$@"
else
  compdef _ringctl ringctl
fi
)";

constexpr char kFish[] = R"(# fish completion of ringctl. To have it in a shell: ringctl completion fish | source
function __ringctl_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l typed (commandline -ct)
    set -l answer ($program __complete $words "$typed" 2>/dev/null)
    if test "$answer[1]" = files
        set -l before (string match -r '^--[^=]*=' -- $typed)
        printf '%s\n' "$before"(__fish_complete_path (string replace -r '^--[^=]*=' '' -- $typed))
    else
        set -e answer[1]
        printf '%s\n' $answer
    end
end
complete -c ringctl -f -a '(__ringctl_complete)'
)";

}  // namespace

const Words& CompletedShells() {
  static const Words shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string CompletionScript(const std::string& shell) {
  static const std::map<std::string, const char*> scripts = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  return scripts.at(shell);
}

std::string CompletionText(const Place& place, const std::vector<Candidate>& names) {
  if (place.kind == Place::Kind::kFile) return "files\n";
  std::string text = "words\n";
  for (const Candidate& candidate : place.kind == Place::Kind::kWord ? names : place.candidates) {
    if (!candidate.text.starts_with(place.begun)) continue;
    text += fmt::format("{}{}\t{}\n", place.before, candidate.text, candidate.help);
  }
  return text;
}

std::vector<Candidate> RingNames(Session& session, const std::string& begun) {
  std::vector<Candidate> names;
  const Answer<v1::ListRingsResponse> answer = ReadRings(session.connection, begun);
  for (const v1::Ring& ring : answer.value.rings()) {
    names.push_back({ring.name(), fmt::format("{} nodes", ring.node_count())});
  }
  return names;
}

std::vector<Candidate> NodeNames(Session& session, const std::string& ring) {
  std::vector<Candidate> names;
  const Answer<v1::GetRingResponse> answer = ReadRing(session.connection, ring);
  for (const v1::Node& node : answer.value.nodes()) {
    names.push_back({node.id(), fmt::format("weight {}", node.weight())});
  }
  return names;
}

}  // namespace ringd::ctl
