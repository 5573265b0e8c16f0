#include "apps/data_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/name_list.h"
#include "core/printable.h"
#include "core/secrets.h"

namespace tessera {
namespace {

constexpr size_t kSingly = 3, kNamed = 10;

bool is_usable(const Survey& survey, const FoundSample& sample) {
  return survey.samples[static_cast<size_t>(sample.index)].usable();
}

void print_samples(const Survey& survey, const Finding& finding, std::vector<const FoundSample*> samples, bool all) {
  const FindingFacts& facts = finding_facts(finding.kind);
  if (all || samples.size() <= kSingly) {
    for (const FoundSample* sample : samples)
      fmt::print("  {}: {}: {} [{}]\n", name_of(facts.level), printable(sample->id), printable(sample->detail), facts.name);
    return;
  }
  std::vector<std::string> ids;
  for (size_t i = 0; i < std::min(samples.size(), kNamed); ++i) ids.push_back(samples[i]->id);
  fmt::print("  {}: {}: {} of {} samples; first {}: {}; {}: {} [{}]\n", name_of(facts.level), facts.title, samples.size(),
             survey.samples.size(), ids.size(), name_list(ids), printable(samples[0]->id), printable(samples[0]->detail),
             facts.name);
}

}  // namespace

std::vector<Finding> findings_without_secrets(std::vector<Finding> findings) {
  for (Finding& finding : findings) {
    finding.text = without_secrets(finding.text);
    for (FoundSample& sample : finding.samples) sample.detail = without_secrets(sample.detail);
  }
  return findings;
}

std::map<std::string, FoundFault> found_faults(const Survey& survey, const std::vector<Finding>& findings) {
  std::map<std::string, FoundFault> faults;
  for (const Finding& finding : findings) {
    if (finding.split != survey.split) continue;
    for (const FoundSample& sample : finding.samples) {
      if (!is_usable(survey, sample)) faults[sample.id] = {std::string(finding_facts(finding.kind).name), sample.detail};
    }
  }
  return faults;
}

void print_findings(const Survey& survey, const std::vector<Finding>& findings, bool all) {
  for (const Finding& finding : findings) {
    // Copies in two splits are told of where both are: print_shared.
    if (finding.split != survey.split || finding.kind == FindingKind::kSplitLeak) continue;
    std::vector<const FoundSample*> usable;
    for (const FoundSample& sample : finding.samples) {
      if (is_usable(survey, sample)) usable.push_back(&sample);
    }
    const FindingFacts& facts = finding_facts(finding.kind);
    if (!finding.text.empty()) {
      fmt::print("  {}: {} [{}]\n", name_of(facts.level), printable(finding.text), facts.name);
    } else if (!usable.empty()) {
      print_samples(survey, finding, std::move(usable), all);
    }
    for (const std::string& key : finding.keys) fmt::print("    {}\n", printable(key));
  }
}

nlohmann::json findings_json(std::span<const Survey> surveys, const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& finding : findings) {
    const FindingFacts& facts = finding_facts(finding.kind);
    const auto survey =
        std::find_if(surveys.begin(), surveys.end(), [&](const Survey& one) { return one.split == finding.split; });
    nlohmann::json samples = nlohmann::json::array();
    for (const FoundSample& sample : finding.samples) {
      nlohmann::json entry{{"id", sample.id},
                           {"detail", sample.detail},
                           {"image", without_secrets(survey->data->image_file(sample.index).string())},
                           {"mask", without_secrets(survey->data->mask_file(sample.index).string())}};
      if (sample.other >= 0) {
        const auto other =
            std::find_if(surveys.begin(), surveys.end(), [&](const Survey& one) { return one.split == sample.other_split; });
        entry["other"] = {{"split", name_of(sample.other_split)}, {"id", other->data->id(sample.other)}};
      }
      samples.push_back(std::move(entry));
    }
    all.push_back({{"kind", facts.name},
                   {"level", name_of(facts.level)},
                   {"split", name_of(finding.split)},
                   {"title", facts.title},
                   {"text", finding.text},
                   {"advice", facts.advice},
                   {"keys", finding.keys},
                   {"samples", std::move(samples)}});
  }
  return all;
}

Finding opening_fault(const std::string& reason) {
  const bool two = reason.find("have the stem") != std::string::npos || reason.find("has two masks") != std::string::npos;
  return {.kind = two ? FindingKind::kDuplicateStem : FindingKind::kCannotOpen,
          .split = Split::kTrain,
          .samples = {},
          .text = reason,
          .keys = {}};
}

}  // namespace tessera
