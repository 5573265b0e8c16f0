#include <map>
#include <optional>

#include "core/error.h"
#include "data/check/checks.h"
#include "data/datasets/pair_matching.h"
#include "data/datasets/pairs.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// What the values of a mask tell of why no class was found for one of them.
FindingKind cause_of(const SampleFacts& facts) {
  const FindingKind kind = *facts.fault;
  const bool of_values = kind == FindingKind::kLabelOutOfRange || kind == FindingKind::kUnlistedColour ||
                         kind == FindingKind::kColouredMask || kind == FindingKind::kLossyMask;
  if (!of_values) return kind;
  if (facts.mask.is_image) return FindingKind::kMaskIsImage;
  if (facts.mask.borders.interpolated) return FindingKind::kInterpolatedMask;
  if (facts.mask.borders.noisy) return FindingKind::kJpegLikeMask;
  return kind;
}

// Masks by their names in lower case.
FilesByStem lower_case_masks(const DataConfig& config) {
  FilesByStem masks;
  if (config.type != SourceType::kPairs) return masks;
  for (const fs::path& folder : mask_folders(config)) {
    for (const fs::path& file : files_below(folder)) {
      if (is_image_file(file)) masks.emplace(lower(file.lexically_relative(folder).replace_extension().generic_string()), file);
    }
  }
  return masks;
}

// The mask that an image would have if letters had no case.
std::string mask_of_other_case(const std::string& id, const FilesByStem& masks) {
  try {
    const std::string stem = find_mask(lower(id), masks);
    return stem.empty() ? "" : masks.at(stem);
  } catch (const Error&) {
    return "";  // two of them
  }
}

}  // namespace

void check_usable(const CheckInput& input, std::vector<Finding>& findings) {
  std::optional<FilesByStem> masks;
  for (const Survey& survey : input.surveys) {
    std::map<FindingKind, Finding> found;
    for (size_t i = 0; i < survey.samples.size(); ++i) {
      const SampleFacts& facts = survey.samples[i];
      if (facts.usable()) continue;
      const auto index = static_cast<int64_t>(i);
      FoundSample sample{.index = index, .id = survey.data->id(index), .detail = facts.reason};
      FindingKind kind = cause_of(facts);
      if (kind == FindingKind::kMissingMask) {
        if (!masks) masks = lower_case_masks(input.config);
        const std::string other = mask_of_other_case(sample.id, *masks);
        if (!other.empty()) {
          kind = FindingKind::kCaseMismatch;
          sample.detail += "; " + other + " differs in upper and lower case";
        }
      }
      Finding& finding = found[kind];
      finding.kind = kind;
      finding.split = survey.split;
      finding.samples.push_back(std::move(sample));
    }
    for (auto& [kind, finding] : found) findings.push_back(std::move(finding));
  }
}

}  // namespace tessera
