#include "study/search/enqueued_search.h"

#include <charconv>

#include "core/error.h"
#include "core/suggest.h"
#include "study/search/random_search.h"

namespace tessera {
namespace {

double value_of(const Parameter& parameter, const std::string& text) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    if (const std::optional<double> choice = parameter.choice_called(text)) return *choice;
    std::vector<std::string> known;
    for (size_t i = 0; i < parameter.choices.size(); ++i) known.push_back(parameter.text_of(static_cast<double>(i)));
    fail_usage("a point to try first: {} has no value '{}'{}", parameter.name, text, did_you_mean(text, known));
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TSR_CHECK_USAGE(error == std::errc() && stop == text.data() + text.size() && parameter.contains(value),
                  "a point to try first: {} is '{}'; expected a number of its range {} .. {}", parameter.name, text,
                  parameter.text_of(parameter.low), parameter.text_of(parameter.high));
  return value;
}

}  // namespace

EnqueuedSearch::EnqueuedSearch(std::unique_ptr<Searcher> inner, const Space& space, std::vector<Assignment> points,
                               uint64_t seed)
    : inner_(std::move(inner)), space_(space), points_(std::move(points)), seed_(seed) {
  for (const Assignment& point : points_) {
    for (const auto& [name, value] : point) {
      const Parameter& parameter = space_.at(name);
      TSR_CHECK_USAGE(parameter.contains(value), "a point to try first: {} cannot be {}", name, value);
    }
  }
}

std::optional<Assignment> EnqueuedSearch::suggest(int64_t number) {
  const auto count = static_cast<int64_t>(points_.size());
  if (number >= count) return inner_->suggest(number - count);
  Assignment point = points_[static_cast<size_t>(number)];
  for (const Parameter& parameter : space_.parameters())
    point.try_emplace(parameter.name, parameter.at_share(drawn_share(seed_, parameter.name, number)));
  return space_.cleaned(point);
}

void EnqueuedSearch::observe(const Trial& trial) {
  Trial shifted = trial;
  shifted.number -= static_cast<int64_t>(points_.size());
  inner_->observe(shifted);
}

Assignment parse_point(const Space& space, const std::map<std::string, std::string>& values) {
  Assignment point;
  for (const auto& [name, text] : values) point[name] = value_of(space.at(name), text);
  return point;
}

}  // namespace tessera
