// Reading a file of an operator as a whole: certificates, configuration. Any thread.
#pragma once

#include <string>

namespace ringd {

struct SmallFile {
  std::string content;
  std::string why_not;  // goes on from the file's name: "cannot be read: ..."; empty = it was read
};

// A regular file of up to a mebibyte. It does not wait, as the opening of a pipe would.
SmallFile ReadSmallFile(const std::string& name);

}  // namespace ringd
