#include "data/check/manifest.h"

#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "core/plural.h"
#include "core/printable.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/pair_layout.h"

namespace tessera {
namespace {

// As the keys of a config name it: below the root where it lies there.
std::string below(const fs::path& root, const fs::path& folder) {
  const fs::path relative = folder.lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? fs::absolute(folder).string() : relative.generic_string();
}

}  // namespace

std::string manifest_text(const Survey& survey, const std::vector<Finding>& findings) {
  std::map<int64_t, std::string> reasons;
  for (const Finding& finding : findings) {
    if (finding.split != survey.split || !finding_facts(finding.kind).left_out) continue;
    for (const FoundSample& sample : finding.samples)
      reasons.emplace(sample.index, fmt::format("{}: {}", finding_facts(finding.kind).name, sample.detail));
  }
  const auto left_out = std::ssize(reasons), all = std::ssize(survey.samples);
  std::string text = fmt::format("# {} of {} {} {}, {} left out\n", all - left_out, all, name_of(survey.split),
                                 plural(all, "sample"), left_out);
  for (int64_t i = 0; i < all; ++i) {
    const std::string name = printable(survey.data->id(i));
    const auto reason = reasons.find(i);
    text += reason == reasons.end() ? name + "\n" : fmt::format("# left out: {}: {}\n", name, printable(reason->second));
  }
  return text;
}

std::vector<std::string> manifest_keys(const DataConfig& config, Split split, const std::string& file) {
  const std::string prefix = fmt::format("data.{}.", name_of(split));
  std::vector<std::string> keys;
  const bool takes_lists =
      config.type == SourceType::kPairs || config.type == SourceType::kAde20k || config.type == SourceType::kCoco;
  if (!takes_lists) return {};
  const SplitConfig& own = split_of(config, split);
  if (config.type == SourceType::kPairs && !names_files(config.train) && !names_files(config.val)) {
    const Layout layout = layout_of(config, split);
    if (!layout.image_ending.empty() || !layout.mask_ending.empty()) return {};
    const LayoutPart& part = layout.part(split);
    if (own.images.empty() && !part.images.empty()) keys.push_back(prefix + "images=" + below(layout.root, part.images));
    if (own.masks.empty() && !part.masks.empty()) keys.push_back(prefix + "masks=" + below(layout.root, part.masks));
  }
  // A val that was held out of train lies where train does.
  const fs::path root = root_of(config, own);
  if (config.type == SourceType::kCoco && own.masks.empty() && split == Split::kVal && !find_coco_files(root, split)) {
    if (const auto train = find_coco_files(root, Split::kTrain); train && !train->image_folders.empty()) {
      keys.push_back(prefix + "images=" + below(root, train->image_folders.front()));
      keys.push_back(prefix + "masks=" + below(root, train->json));
    }
  }
  keys.push_back(prefix + "list=" + fs::absolute(file).string());
  return keys;
}

}  // namespace tessera
