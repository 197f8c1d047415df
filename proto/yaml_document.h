// The documents of a YAML text, for who wants one: configuration files, files of nodes. Pure function, any thread.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>

namespace ringd {

struct YamlDocuments {
  std::optional<YAML::Node> first;
  std::optional<YAML::Mark> second;  // where it begins
};

// Reads no further than that: YAML::LoadAll never comes to an end for some texts. A quote that is never closed is an
// error. Throws what the library throws.
YamlDocuments LoadYaml(const std::string& content);

// The line of a place, from 1; 1 for what is not in the text.
int LineOf(const YAML::Mark& mark);

}  // namespace ringd
