#include "train/freezing.h"

#include <algorithm>
#include <set>

namespace tessera {

Freezing::Freezing(const Experiment& experiment, SegmentationModel& model, Arena& arena)
    : config_(experiment.train.layer_freezing), model_(model), arena_(arena) {
  for (const std::string& text : experiment.model.freeze) {
    const FrozenPart part = parse_frozen_part(text);
    if (!part.always()) entries_.push_back({part, spans_of(part.part)});
  }
  if (!config_.enabled()) return;
  for (const Segment& segment : model.segments()) {
    if (segment.parameters.empty()) continue;
    const FrozenPart part{.part = segment.name, .from = {}, .until = {}};
    segments_.push_back({part, spans_of(segment.name)});
  }
}

// Without those that are frozen for good, which the arena does not have.
std::vector<size_t> Freezing::spans_of(const std::string& part) {
  std::set<const at::TensorImpl*> own;
  for (const at::Tensor& value : model_.parameters_of(part)) own.insert(value.unsafeGetTensorImpl());
  std::vector<size_t> spans;
  const std::vector<GradientPlace> places = arena_.places();
  for (size_t i = 0; i < places.size(); ++i) {
    if (own.contains(places[i].parameter.unsafeGetTensorImpl())) spans.push_back(i);
  }
  return spans;
}

int64_t Freezing::resting_segments(const Progress& at) const {
  if (segments_.empty()) return 0;
  const int64_t epoch_begin = at.step / at.steps_per_epoch * at.steps_per_epoch;
  const int64_t start = config_.start.steps(at.steps_per_epoch, at.total);
  if (epoch_begin <= start || start >= at.total) return 0;
  const double gone = static_cast<double>(epoch_begin - start) / static_cast<double>(at.total - start);
  return static_cast<int64_t>(config_.level * gone * static_cast<double>(segments_.size() - 1));
}

bool Freezing::begin(const Progress& at) {
  if (entries_.empty() && segments_.empty()) return false;
  std::vector<ParamSpan> spans = arena_.spans();
  for (ParamSpan& span : spans) {
    span.at_rest = false;
    span.begun_after = 0;
  }
  std::vector<std::string> parts;
  const auto lay_to_rest = [&](const Entry& entry) {
    parts.push_back(entry.part.part);
    for (const size_t i : entry.spans) spans[i].at_rest = true;
  };
  for (const Entry& entry : entries_) {
    if (entry.part.at(at.step, at.steps_per_epoch, at.total)) {
      lay_to_rest(entry);
    } else if (entry.part.until) {
      const int64_t end = entry.part.until->steps(at.steps_per_epoch, at.total);
      for (const size_t i : entry.spans) {
        if (end <= at.step) spans[i].begun_after = std::max(spans[i].begun_after, end);
      }
    }
  }
  const int64_t first = resting_segments(at);
  for (int64_t i = 0; i < first; ++i) lay_to_rest(segments_[static_cast<size_t>(i)]);
  const auto alike = [](const ParamSpan& a, const ParamSpan& b) {
    return a.at_rest == b.at_rest && a.begun_after == b.begun_after;
  };
  if (begun_ && std::equal(spans.begin(), spans.end(), arena_.spans().begin(), alike)) return false;
  model_.rest(parts);
  arena_.spans() = std::move(spans);
  begun_ = true;
  return true;
}

}  // namespace tessera
