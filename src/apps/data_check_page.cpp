#include "apps/data_check_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plural.h"
#include "core/secrets.h"
#include "data/check/finding_pictures.h"
#include "data/decode/png_writer.h"

namespace tessera {
namespace {

constexpr size_t kPictured = 6, kListed = 2000;  // of each finding

SheetRow pictured(const CheckInput& input, const Finding& finding, const FoundSample& sample) {
  SheetRow row{sample.id, sample.detail, {}};
  for (const FindingPicture& picture : draw_finding(input, finding, sample))
    row.pictures.push_back({without_secrets(picture.label), encode_png(picture.picture)});
  return row;
}

}  // namespace

std::vector<CheckPageFinding> page_findings(const CheckInput& input, const std::vector<Finding>& findings) {
  std::vector<CheckPageFinding> shown;
  for (const Finding& finding : findings) {
    const FindingFacts& facts = finding_facts(finding.kind);
    CheckPageFinding page{.kind = std::string(facts.name),
                          .level = std::string(name_of(facts.level)),
                          .split = std::string(name_of(finding.split)),
                          .title = std::string(facts.title),
                          .text = finding.text,
                          .advice = std::string(facts.advice),
                          .keys = finding.keys,
                          .pictured = {},
                          .others = {},
                          .samples = std::ssize(finding.samples)};
    for (size_t i = 0; i < std::min(finding.samples.size(), kListed); ++i) {
      const FoundSample& sample = finding.samples[i];
      if (i < kPictured) {
        page.pictured.push_back(pictured(input, finding, sample));
      } else {
        page.others.push_back(sample.id + ": " + sample.detail);
      }
    }
    shown.push_back(std::move(page));
  }
  return shown;
}

std::vector<std::pair<std::string, std::string>> page_facts(std::span<const Survey> surveys) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Survey& survey : surveys) {
    const auto all = std::ssize(survey.samples);
    const auto usable =
        std::count_if(survey.samples.begin(), survey.samples.end(), [](const SampleFacts& one) { return one.usable(); });
    facts.emplace_back(name_of(survey.split), fmt::format("{} {}, {} unusable", all, plural(all, "sample"), all - usable));
  }
  return facts;
}

}  // namespace tessera
