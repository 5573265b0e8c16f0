#include <fmt/ranges.h>

#include <algorithm>

#include "core/name_list.h"
#include "core/plural.h"
#include "data/check/checks.h"
#include "data/check/data_check.h"

namespace tessera {
namespace {

struct Counted {
  const Survey* survey;
  DataReport report;
};

std::vector<Counted> labelled_splits(const CheckInput& input) {
  std::vector<Counted> counted;
  for (const Survey& survey : input.surveys) {
    DataReport report = report_of(survey);
    if (survey.data->origin().labelled && report.labelled_pixels > 0) counted.push_back({&survey, std::move(report)});
  }
  return counted;
}

Finding about(FindingKind kind, const Counted& counted, std::string text, std::vector<std::string> keys = {}) {
  return {.kind = kind, .split = counted.survey->split, .samples = {}, .text = std::move(text), .keys = std::move(keys)};
}

// Classes that some split shows are absent from another; those that none shows are said to be in none, once.
void find_absent(const std::vector<Counted>& splits, std::vector<Finding>& findings) {
  const std::vector<std::string>& names = splits[0].survey->data->classes().names;
  const auto seen = [&](size_t k) {
    return std::any_of(splits.begin(), splits.end(), [&](const Counted& one) { return one.report.pixels_per_class[k] > 0; });
  };
  std::vector<std::string> nowhere;
  for (size_t k = 0; k < names.size(); ++k) {
    if (!seen(k)) nowhere.push_back(names[k]);
  }
  if (!nowhere.empty())
    findings.push_back(
        about(FindingKind::kClassCount, splits[0],
              fmt::format("{} of {} classes never occur: {}", nowhere.size(), names.size(), name_list(nowhere))));
  for (const Counted& one : splits) {
    std::vector<std::string> absent;
    for (size_t k = 0; k < names.size(); ++k) {
      if (seen(k) && one.report.pixels_per_class[k] == 0) absent.push_back(names[k]);
    }
    if (!absent.empty())
      findings.push_back(about(FindingKind::kAbsentClass, one,
                               fmt::format("{} of {} classes never occur in {}, but do in another split: {}", absent.size(),
                                           names.size(), name_of(one.survey->split), name_list(absent))));
  }
}

void find_imbalance(const Counted& counted, std::vector<Finding>& findings) {
  constexpr int64_t kExtreme = 100;
  const DataReport& report = counted.report;
  if (counted.survey->split != Split::kTrain) return;  // only what is learned from can be weighed
  size_t rarest = 0, commonest = 0;
  const std::vector<int64_t>& pixels = report.pixels_per_class;
  for (size_t k = 0; k < pixels.size(); ++k) {
    if (pixels[k] > 0 && (pixels[rarest] == 0 || pixels[k] < pixels[rarest])) rarest = k;
    if (pixels[k] > pixels[commonest]) commonest = k;
  }
  if (pixels[rarest] == 0 || pixels[commonest] / pixels[rarest] < kExtreme) return;
  const std::vector<std::string>& names = counted.survey->data->classes().names;
  findings.push_back(about(FindingKind::kClassImbalance, counted,
                           fmt::format("{} has {} times the pixels of {} ({:.3g} % of the labelled ones)", names[commonest],
                                       pixels[commonest] / pixels[rarest], names[rarest],
                                       100 * static_cast<double>(pixels[rarest]) /
                                           static_cast<double>(std::max<int64_t>(1, report.labelled_pixels))),
                           {fmt::format("loss.class_weights=[{:.3f}]", fmt::join(report.suggested_class_weights, ","))}));
}

// What the stored values of all masks say of the offset that was set, or was not.
void find_offset(const std::vector<Counted>& splits, const DataConfig& config, std::vector<Finding>& findings) {
  constexpr double kNoRarity = 0.15;
  const LabelConfig& labels = config.labels;
  if (config.type != SourceType::kPairs || labels.binary || labels.multi || !labels.map.empty() || !labels.colors.empty())
    return;
  const int32_t classes = splits[0].survey->data->classes().size();
  int32_t lowest = 65535, highest = 0;
  double zeros = 0;
  int64_t masks = 0;
  for (const Counted& one : splits) {
    for (const SampleFacts& facts : one.survey->samples) {
      if (!facts.usable() || !facts.mask.read || facts.classes.empty()) continue;
      ++masks;
      zeros += facts.mask.zero_share;
      lowest = std::min(lowest, facts.mask.lowest);
      highest = std::max<int32_t>(highest, facts.classes.back().first - static_cast<int32_t>(labels.offset));
    }
  }
  if (masks == 0 || classes < 2) return;
  const double zero_share = zeros / static_cast<double>(masks);
  if (labels.offset == -1 && highest == classes - 1 && zero_share >= kNoRarity)
    findings.push_back(
        about(FindingKind::kWrongOffset, splits[0],
              fmt::format("with data.labels.offset=-1 the value 0 ({:.1f} % of the pixels) is not labelled, and no mask has "
                          "the {} that would be {}: the values seem to be 0..{}",
                          100 * zero_share, classes, splits[0].survey->data->classes().names.back(), classes - 1),
              {"data.labels.offset=0"}));
  if (labels.offset == 0 && lowest >= 1 && highest <= classes - 1 && splits[0].survey->data->classes().names[0] != "background")
    findings.push_back(
        about(FindingKind::kWrongOffset, splits[0],
              fmt::format("no mask has the value 0, which is {}: the values are {}..{}, and seem to count from 1",
                          splits[0].survey->data->classes().names[0], lowest, highest),
              {"data.labels.offset=-1"}));
}

// 255 is left out by the custom of the field: right in most data sets, and a lost class in some.
void find_undeclared(const Counted& counted, const DataConfig& config, std::vector<Finding>& findings) {
  const LabelConfig& labels = config.labels;
  if (config.type != SourceType::kPairs || labels.binary || labels.multi || !labels.colors.empty()) return;
  int64_t masks = 0;
  int32_t value = 0;
  double share = 0;
  for (const SampleFacts& facts : counted.survey->samples) {
    if (!facts.usable() || !(facts.mask.top_share > 0) || facts.mask.coloured || facts.mask.only_zero_and_top) continue;
    value = facts.mask.highest;
    share += facts.mask.top_share;
    ++masks;
  }
  const auto listed = [&](int64_t v) {
    return std::find(labels.ignore.begin(), labels.ignore.end(), v) != labels.ignore.end();
  };
  if (masks == 0 || listed(value) || labels.map.contains(value) ||
      value + labels.offset < counted.survey->data->classes().size())
    return;
  std::vector<int64_t> ignore = labels.ignore;
  ignore.push_back(value);
  findings.push_back(
      about(FindingKind::kUndeclaredIgnore, counted,
            fmt::format("{} of {} {} hold {} ({:.1f} % of their pixels), which is read as not labelled by custom", masks,
                        counted.report.checked, plural(counted.report.checked, "mask"), value,
                        100 * share / static_cast<double>(masks)),
            {fmt::format("data.labels.ignore=[{}]", fmt::join(ignore, ","))}));
}

void find_left_out(const Survey& survey, std::vector<Finding>& findings) {
  for (const std::string& note : survey.data->origin().notes) {
    const auto known = [&](const Finding& other) { return other.kind == FindingKind::kLeftOutFiles && other.text == note; };
    if (std::none_of(findings.begin(), findings.end(), known))
      findings.push_back({.kind = FindingKind::kLeftOutFiles, .split = survey.split, .samples = {}, .text = note, .keys = {}});
  }
}

}  // namespace

void check_classes(const CheckInput& input, std::vector<Finding>& findings) {
  for (const Survey& survey : input.surveys) find_left_out(survey, findings);
  const std::vector<Counted> splits = labelled_splits(input);
  if (splits.empty()) return;
  find_absent(splits, findings);
  find_offset(splits, input.config, findings);
  for (const Counted& one : splits) {
    find_imbalance(one, findings);
    const bool told = std::any_of(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.kind == FindingKind::kUndeclaredIgnore; });
    if (!told) find_undeclared(one, input.config, findings);  // one setting is for all splits
  }
}

}  // namespace tessera
