#include "proto/yaml_document.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

namespace ringd {
namespace {

// Remembers where the document's content begins.
class Beginning final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return *mark_; }

  void OnDocumentStart(const YAML::Mark&) override { mark_.reset(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { Note(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Note(mark);
  }
  void OnMapEnd() override {}

 private:
  void Note(const YAML::Mark& mark) {
    if (!mark_.has_value()) mark_ = mark;
  }

  std::optional<YAML::Mark> mark_;
};

// The library takes a quote that is never closed for a scalar which goes on to the end; but not where the text ends
// without a line break, as it does with this comment.
std::string WithComment(const std::string& text) { return text + (text.ends_with('\n') ? "#" : "\n#"); }

}  // namespace

YamlDocuments LoadYaml(const std::string& content) {
  const std::string text = WithComment(content);
  YamlDocuments documents;
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginning beginning;
  if (!parser.HandleNextDocument(beginning)) return documents;
  documents.first = YAML::Load(text);
  if (parser.HandleNextDocument(beginning)) documents.second = beginning.mark();
  return documents;
}

// Marks count from 0, and are negative for what is not in the text.
int LineOf(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }

}  // namespace ringd
