#pragma once

#include <string>
#include <vector>

#include "client/ringctl/command_tree.h"
#include "client/ringctl/session.h"

namespace ringd::ctl {

// How shells complete command lines of ringctl: their scripts ask `ringctl __complete ARGUMENT...` what may stand in
// place of the last argument, so that the tree of commands is the one list of what there is. The answer is lines:
//   "files", when the shell shall complete the name of a file; or
//   "words", and then a line for each word that goes on from what was typed: the word, a tab, what it means.

// The shells that there is a script for.
const Words& CompletedShells();

// CompletionScript is what a shell reads to complete ringctl. REQUIRES: `shell` is one of CompletedShells.
std::string CompletionScript(const std::string& shell);

// CompletionText is the answer to a shell; `names` are the candidates where the place is a word.
std::string CompletionText(const Place& place, const std::vector<Candidate>& names);

// The rings whose names begin so, and the nodes of a ring. None when the server does not tell at once.
std::vector<Candidate> RingNames(Session& session, const std::string& begun);
std::vector<Candidate> NodeNames(Session& session, const std::string& ring);

}  // namespace ringd::ctl
