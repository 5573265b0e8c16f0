#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "data/check/checks.h"
#include "data/check/range_notes.h"

namespace tessera {
namespace {

constexpr size_t kFewest = 8;        // images that tell what is usual
constexpr double kUsualShare = 0.9;  // of the images, that have something in common

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::vector<const SampleFacts*> usable_of(const Survey& survey) {
  std::vector<const SampleFacts*> usable;
  for (const SampleFacts& facts : survey.samples) {
    if (facts.usable() && facts.decoded) usable.push_back(&facts);
  }
  return usable;
}

// Among images of one depth.
void find_black(const Survey& survey, const std::vector<const SampleFacts*>& usable, std::vector<Finding>& findings) {
  constexpr double kDark = 0.05;
  constexpr size_t kFewestAlike = 4;
  std::map<std::string, std::vector<double>> brightest;
  for (const SampleFacts* facts : usable) brightest[facts->depth].push_back(facts->brightest);
  std::map<std::string, double> usual;
  for (auto& [depth, values] : brightest) usual[depth] = values.size() < kFewestAlike ? 0 : median(std::move(values));
  find_samples(survey, FindingKind::kBlackImage, findings, [&](const SampleFacts& facts) {
    if (!facts.usable() || !facts.decoded || facts.constant || !(facts.brightest < kDark * usual[facts.depth]))
      return std::string();
    return fmt::format("hardly a value above {:g}, where half of the images reach {:g}", facts.brightest, usual[facts.depth]);
  });
}

void find_grey(const Survey& survey, const std::vector<const SampleFacts*>& usable, std::vector<Finding>& findings) {
  const auto grey =
      std::count_if(usable.begin(), usable.end(), [](const SampleFacts* facts) { return facts->grey && !facts->constant; });
  if (static_cast<double>(grey) > (1 - kUsualShare) * static_cast<double>(usable.size())) return;
  find_samples(survey, FindingKind::kGreyAmongColour, findings, [&](const SampleFacts& facts) {
    return facts.usable() && facts.grey && !facts.constant ? fmt::format("grey, one of {} among {}", grey, usable.size())
                                                           : std::string();
  });
}

void find_sizes(const Survey& survey, const std::vector<const SampleFacts*>& usable, std::vector<Finding>& findings) {
  constexpr double kFar = 6;
  std::map<std::pair<int, int>, size_t> sizes;
  std::vector<double> sides;
  for (const SampleFacts* facts : usable) {
    ++sizes[{facts->size.height, facts->size.width}];
    sides.push_back(std::max(facts->size.height, facts->size.width));
  }
  const double usual_side = median(std::move(sides));
  const auto usual =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool common = static_cast<double>(usual->second) >= kUsualShare * static_cast<double>(usable.size());
  find_samples(survey, FindingKind::kOddSize, findings, [&](const SampleFacts& facts) {
    if (!facts.usable() || !facts.decoded) return std::string();
    const std::pair size(facts.size.height, facts.size.width);
    if (common && size != usual->first)
      return fmt::format("{} x {}, where {} of {} images are {} x {} (height x width)", size.first, size.second, usual->second,
                         usable.size(), usual->first.first, usual->first.second);
    const double side = std::max(size.first, size.second);
    if (side * kFar < usual_side || side > kFar * usual_side)
      return fmt::format("{} x {} (height x width), where the longer side of half of the images is {:g} and more", size.first,
                         size.second, usual_side);
    return std::string();
  });
}

// Masks of 0 and 255 among others of class numbers, where 255 is left out.
void find_binary(const Survey& survey, const DataConfig& config, std::vector<Finding>& findings) {
  constexpr double kMore = 3, kLeast = 0.02;
  const bool declared = std::find(config.labels.ignore.begin(), config.labels.ignore.end(), 255) != config.labels.ignore.end();
  if (config.type != SourceType::kPairs || config.labels.binary || !config.labels.colors.empty() || declared) return;
  std::vector<double> others;
  size_t binary = 0;
  for (const SampleFacts& facts : survey.samples) {
    if (!facts.usable() || !facts.mask.read) continue;
    if (facts.mask.only_zero_and_top) {
      ++binary;
    } else {
      others.push_back(facts.mask.top_share);
    }
  }
  if (others.empty() && binary > 0)
    findings.push_back(
        {.kind = FindingKind::kBinaryMask,
         .split = survey.split,
         .samples = {},
         .text = fmt::format("all {} masks hold 0 and 255 alone: 255 counts as not labelled, so that nothing but {} is learned",
                             binary, survey.data->classes().names[0]),
         .keys = {"data.labels.binary=true"}});
  if (others.empty() || static_cast<double>(binary) > (1 - kUsualShare) * static_cast<double>(binary + others.size()) + 1)
    return;
  const double usual = median(std::move(others));
  find_samples(survey, FindingKind::kBinaryMask, findings, [&](const SampleFacts& facts) {
    const MaskFacts& mask = facts.mask;
    if (!facts.usable() || !mask.only_zero_and_top || !(mask.zero_share > 0) || mask.top_share < kMore * usual + kLeast)
      return std::string();
    return fmt::format("0 and {} alone: {:.1f} % of it count as not labelled", mask.highest, 100 * mask.top_share);
  });
}

void find_depths(const Survey& survey, const std::vector<const SampleFacts*>& usable, std::vector<Finding>& findings) {
  std::vector<std::pair<std::string, std::string>> depths;
  std::map<std::string, size_t> counts;
  for (size_t i = 0; i < survey.samples.size(); ++i) {
    const SampleFacts& facts = survey.samples[i];
    if (!facts.usable() || !facts.decoded) continue;
    depths.emplace_back(facts.depth, survey.data->id(static_cast<int64_t>(i)));
    ++counts[facts.depth];
  }
  const std::string text = several_depths(depths);
  if (text.empty()) return;
  const std::string usual =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  find_samples(survey, FindingKind::kMixedDepths, findings, [&](const SampleFacts& facts) {
    return facts.usable() && facts.decoded && facts.depth != usual
               ? fmt::format("{}, where {} of {} are {}", facts.depth, counts[usual], usable.size(), usual)
               : std::string();
  });
  findings.back().text = fmt::format(
      "the images have different depths: {}; training will refuse to mix them in a batch: convert all to one depth", text);
}

}  // namespace

void check_odd_ones(const CheckInput& input, std::vector<Finding>& findings) {
  for (const Survey& survey : input.surveys) {
    const std::vector<const SampleFacts*> usable = usable_of(survey);
    if (usable.empty()) continue;
    find_depths(survey, usable, findings);
    find_black(survey, usable, findings);
    find_binary(survey, input.config, findings);
    if (usable.size() < kFewest) continue;
    find_grey(survey, usable, findings);
    find_sizes(survey, usable, findings);
  }
}

}  // namespace tessera
