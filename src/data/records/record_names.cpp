#include "data/records/record_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/suggest.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 10> kImages = {"x",    "image",         "img",   "images", "jpg",
                                                      "jpeg", "image/encoded", "input", "photo",  "picture"};
constexpr std::array<std::string_view, 19> kLabels = {"y",
                                                      "labels",
                                                      "label",
                                                      "mask",
                                                      "masks",
                                                      "seg",
                                                      "segmentation",
                                                      "annotation",
                                                      "annotations",
                                                      "gt",
                                                      "ground_truth",
                                                      "groundtruth",
                                                      "target",
                                                      "labelmap",
                                                      "segmentation_mask",
                                                      "image/segmentation/class/encoded",
                                                      "mask.png",
                                                      "seg.png",
                                                      "png"};
constexpr std::array<std::string_view, 11> kIds = {"uid",  "id",       "name",           "key",       "sample_id", "image_id",
                                                   "stem", "filename", "image/filename", "file_name", "__key__"};

const RecordPart& given_part(const std::string& name, const char* key, const std::vector<RecordPart>& parts,
                             const std::string& where) {
  std::vector<std::string> names;
  for (const RecordPart& part : parts) names.push_back(part.name);
  const auto found = std::find(names.begin(), names.end(), name);
  TSR_CHECK_USAGE(found != names.end(), "data.records.{}: {} has no '{}'{}; it has {}", key, where, printable(name),
                  did_you_mean(name, names), parts_text(parts));
  return parts[static_cast<size_t>(found - names.begin())];
}

std::string found_part(std::span<const std::string_view> usual, const std::vector<RecordPart>& parts, bool picture,
                       const std::string& taken) {
  for (const std::string_view name : usual) {
    for (const RecordPart& part : parts) {
      if (lower(part.name) == name && part.name != taken && (part.picture || !picture)) return part.name;
    }
  }
  return "";
}

std::string picture_part(const std::string& given, const char* key, std::span<const std::string_view> usual,
                         const std::vector<RecordPart>& parts, const std::string& taken, const std::string& where) {
  if (given.empty()) return found_part(usual, parts, true, taken);
  const RecordPart& part = given_part(given, key, parts, where);
  TSR_CHECK_USAGE(part.picture, "data.records.{}: '{}' of {} holds {}, expected image files or arrays; it has {}", key,
                  printable(given), where, part.what, parts_text(parts));
  return given;
}

}  // namespace

std::string parts_text(const std::vector<RecordPart>& parts) {
  std::vector<std::string> texts;
  for (const RecordPart& part : parts) texts.push_back(part.name + " (" + part.what + ")");
  return name_list(texts);
}

RecordNames choose_names(const RecordsConfig& config, const std::vector<RecordPart>& parts, const std::string& where) {
  RecordNames names;
  names.image = picture_part(config.image, "image", kImages, parts, config.labels, where);
  TSR_CHECK_USAGE(!names.image.empty(),
                  "{} has nothing that is called as images usually are; set data.records.image; it has {}", where,
                  parts_text(parts));
  names.labels = picture_part(config.labels, "labels", kLabels, parts, names.image, where);
  if (config.id.empty()) {
    names.id = found_part(kIds, parts, false, "");
  } else {
    names.id = given_part(config.id, "id", parts, where).name;
  }
  return names;
}

}  // namespace tessera
