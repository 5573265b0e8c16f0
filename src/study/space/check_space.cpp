#include "study/space/check_space.h"

#include <algorithm>

#include "core/error.h"
#include "core/suggest.h"

namespace tessera {
namespace {

class KeyCheck {
 public:
  KeyCheck() {
    Experiment experiment;
    lines_ = experiment_lines(experiment);
    for (const SchemaLine& line : lines_) {
      if (!line.is_group) keys_.push_back(line.key);
    }
  }

  void check(const std::string& key, const std::string& parameter) const {
    const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const SchemaLine& l) { return l.key == key; });
    if (line != lines_.end() && !line->is_group) return;
    const std::string of = key == parameter ? "" : fmt::format("{}: ", parameter);
    if (line != lines_.end())
      fail_usage("space: {}'{}' is a group of the config; name one of its keys, or use 'fragments'", of, key);
    // An entry of a list has no line of its own; reading the config checks the rest of its name.
    const bool in_list = std::any_of(lines_.begin(), lines_.end(), [&](const SchemaLine& l) {
      return (l.type.starts_with("list of") || l.type == "table" || l.type == "group") && key.starts_with(l.key + ".");
    });
    if (!in_list) fail_usage("space: {}the config has no key '{}'{}", of, key, did_you_mean(key, keys_));
  }

 private:
  std::vector<SchemaLine> lines_;
  std::vector<std::string> keys_;
};

// Values that stand for all of the parameter's. The one between the ends finds ranges of numbers with a fraction for keys that
// take none.
std::vector<double> samples_of(const Parameter& parameter) {
  std::vector<double> values;
  if (parameter.kind == Parameter::Kind::kChoice) {
    for (size_t i = 0; i < parameter.choices.size(); ++i) values.push_back(static_cast<double>(i));
    return values;
  }
  return {parameter.low, parameter.high, parameter.at_share(0.3183)};
}

// A point in which the parameter is in use: what its conditions ask for, and everything else at its first value.
Assignment point_with(const Space& space, const Parameter& parameter, double value) {
  Assignment wanted{{parameter.name, value}};
  for (const Parameter* at = &parameter; at->when;) {
    const Condition& when = *at->when;
    wanted[when.parameter] = when.allowed.front();
    at = &space.at(when.parameter);
  }
  for (const Parameter& other : space.parameters())
    wanted.try_emplace(other.name, other.kind == Parameter::Kind::kChoice ? 0 : other.low);
  return space.cleaned(wanted);
}

}  // namespace

void check_space(const Space& space, const std::filesystem::path& config, const std::vector<std::string>& overrides,
                 const std::function<void(const Experiment&)>& also) {
  const KeyCheck keys;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.kind != Parameter::Kind::kChoice) keys.check(parameter.name, parameter.name);
    for (const Choice& choice : parameter.choices) {
      for (const std::string& text : choice.overrides) keys.check(text.substr(0, text.find('=')), parameter.name);
    }
  }
  const auto read = [&](const Assignment& point) {
    std::vector<std::string> all = overrides;
    const std::vector<std::string> own = space.overrides(point);
    all.insert(all.end(), own.begin(), own.end());
    const Experiment experiment = load_experiment(config, all);
    if (also) also(experiment);
  };
  for (const Parameter& parameter : space.parameters()) {
    for (const double value : samples_of(parameter)) {
      const Assignment point = point_with(space, parameter, value);
      try {
        read(point);
      } catch (const UsageError& e) {
        fail_usage("space: {}={}: {} (tried: {})", parameter.name, parameter.text_of(value), e.what(), space.text(point));
      }
    }
  }
}

}  // namespace tessera
