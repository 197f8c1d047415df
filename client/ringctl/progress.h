#pragma once

#include <string>

#include "client/ringctl/options.h"

namespace ringd::ctl {

// Progress is one line on stderr that says how far long work has come, for people who wait at a terminal. There is none
// where stderr is no terminal, where stdout is one and the data show how it goes, with --quiet, and where TERM=dumb or
// NO_COLOR ask for plain text. One thread only.

// ShowProgress puts `text` in the place of the line, from a second after its first call on, and some times a second.
void ShowProgress(const GlobalOptions& options, const std::string& text);

// ClearProgress takes the line away. Notice and FinishOutput do so before they print.
void ClearProgress();

}  // namespace ringd::ctl
