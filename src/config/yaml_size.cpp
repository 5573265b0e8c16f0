#include "config/yaml_size.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "core/error.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxValues = 1'000'000;
// At a ',' or bracket that nothing opened yaml-cpp 0.7 stays where it is and reports empty documents without end.
constexpr int kMaxDocuments = 100;
constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;

// Adds up the extents while yaml-cpp walks through the text, before it builds anything. No sum overflows: each is compared with
// the limits before it is added to another.
class ExtentCounter final : public YAML::EventHandler {
 public:
  ExtentCounter(const std::string& name, const YamlExtent& before) : name_(name), before_(before) {}

  // Of the last document, with what was read before it.
  YamlExtent total() const { return open_.empty() ? before_ : open_.front().extent; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > kMaxDocuments)
      fail_usage("{}: not valid YAML: a ',' or bracket that nothing opened, or more than {} parts parted by '---' lines",
                 place(mark), kMaxDocuments);
    open_.assign(1, Open{{}, YAML::NullAnchor, before_});
    finished_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, {1, 0}); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    add(mark, anchor, {1, value.size()});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = finished_.find(anchor);
    if (target == finished_.end()) fail_usage("{}: the alias stands within the value that it names", place(mark));
    add(mark, YAML::NullAnchor, target->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open_.push_back({mark, anchor, {1, 0}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open_.push_back({mark, anchor, {1, 0}});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::Mark mark;
    YAML::anchor_t anchor = YAML::NullAnchor;
    YamlExtent extent;
  };

  std::string place(const YAML::Mark& mark) const {
    return name_.empty() ? "command line" : fmt::format("{}:{}", name_, mark.line + 1);
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlExtent extent) {
    if (anchor != YAML::NullAnchor) finished_[anchor] = extent;
    YamlExtent& sum = open_.back().extent;
    sum.values += extent.values;
    sum.text += extent.text;
    if (sum.values > kMaxValues)
      fail_usage(
          "{}: the config has more than {} values, aliases (*name) counted as what they stand for and 'base' files counted "
          "in; it was made to fill the memory, or is no config",
          place(mark), kMaxValues);
    if (sum.text > kMaxTextBytes)
      fail_usage(
          "{}: the config has more than {} MiB of text, aliases (*name) counted as what they stand for and 'base' files "
          "counted in; it was made to fill the memory, or is no config",
          place(mark), kMaxTextBytes >> 20);
  }

  void close() {
    const Open done = open_.back();
    open_.pop_back();
    add(done.mark, done.anchor, done.extent);
  }

  const std::string& name_;
  const YamlExtent before_;
  int documents_ = 0;
  std::vector<Open> open_;  // the document, and the lists and groups that are not closed yet
  std::unordered_map<YAML::anchor_t, YamlExtent> finished_;
};

}  // namespace

YamlExtent check_yaml_size(const std::string& text, const std::string& name, const YamlExtent& before) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  ExtentCounter counter(name, before);
  while (parser.HandleNextDocument(counter)) {
  }
  return counter.total();
}

}  // namespace tessera
