#include "apps/data_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plural.h"

namespace tessera {
namespace {

// As training counts it: data.max_bad_share, and one in any case.
int64_t allowed_faults(const DataConfig& config, int64_t samples) {
  return config.max_bad_share > 0
             ? std::max<int64_t>(1, static_cast<int64_t>(config.max_bad_share * static_cast<double>(samples)))
             : 0;
}

}  // namespace

DataVerdict verdict_of(const DataAdvice& advice, const std::vector<CheckedSplit>& checked) {
  if (!advice.labels.mistake.empty()) return {"mend", "not ready to train: " + advice.labels.mistake};
  int64_t bad = 0, all = 0;
  for (const CheckedSplit& one : checked) {
    const DataReport& report = one.report;
    const auto faults = std::ssize(report.faults);
    if (faults > allowed_faults(advice.config, report.checked) || (faults == report.checked && faults > 0))
      return {
          "mend",
          fmt::format("not ready to train: {} of {} {} samples are unusable, more than data.max_bad_share={} allows; repair "
                      "or remove them, then train with",
                      faults, report.checked, name_of(one.survey->split), advice.config.max_bad_share)};
    if (one.survey->split == Split::kTrain && one.survey->data->origin().labelled && report.labelled_pixels == 0 &&
        report.usable() > 0)
      return {"mend",
              "not ready to train: not one pixel of the training samples is labelled; data.labels says what the values mean"};
    bad += faults;
    all += report.checked;
  }
  const std::string with = advice.needed() ? "what the config did not say" : "";
  const std::string without = bad > 0 ? fmt::format("{} of {} {} left out", bad, all, plural(all, "sample")) : "";
  const std::string both = !with.empty() && !without.empty() ? " and " : "";
  const std::string what = without + both + with;
  return {bad > 0 ? "left_out" : "ready", what.empty() ? "ready to train:" : fmt::format("ready to train, with {}:", what)};
}

}  // namespace tessera
