#include "data/datasets/coco_segments.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "data/decode/mask.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

int64_t number_of(const Json& segment, const char* key) {
  const auto found = segment.find(key);
  TSR_CHECK(found != segment.end() && found->is_number_integer(), "a segment lacks a whole number '{}'", key);
  return found->get<int64_t>();
}

using Labels = std::unordered_map<int64_t, int16_t>;  // by the id of a segment

Labels listed_labels(std::string_view text, const CocoClassMap& classes, bool crowds) {
  const Json segments = Json::parse(text, nullptr, false);
  TSR_CHECK(segments.is_array(), "its segments_info is no list");
  Labels labels{{0, classes.unpainted}};
  for (const Json& segment : segments) {
    TSR_CHECK(segment.is_object(), "its segments_info holds something that is no object");
    const int64_t id = number_of(segment, "id"), category = number_of(segment, "category_id");
    const auto label = classes.of_category.find(category);
    TSR_CHECK(label != classes.of_category.end(), "segment {}: its category {} is not in the file", id, category);
    const auto crowd = segment.find("iscrowd");
    const bool hidden = !crowds && crowd != segment.end() && (*crowd == 1 || *crowd == true);
    TSR_CHECK(labels.emplace(id, hidden ? kIgnoreLabel : label->second).second, "it lists segment {} twice, or as 0", id);
  }
  return labels;
}

// Stored as 0xRRGGBB.
int64_t id_of(int32_t color) {
  return ((color >> 16) & 0xFF) | (color & 0xFF00) | ((color & 0xFF) << 16);
}

}  // namespace

LabelMap segment_labels(std::span<const uint8_t> png, const std::string& name, std::string_view segments,
                        const CocoClassMap& classes, const SegmentOptions& options) {
  const Labels listed = listed_labels(segments, classes, options.crowds);
  // As an image's tag never turns its annotations, it turns no mask either.
  const RawMask mask = decode_mask(png, false, options.max_pixels);
  TSR_CHECK(mask.rgb, "{} is no colour image: expected a PNG whose colours are R + 256 G + 65536 B of the segments' ids", name);
  LabelMap labels(mask.height, mask.width);
  int32_t last_color = 0;
  int16_t last = classes.unpainted;
  for (size_t i = 0; i < mask.values.size(); ++i) {
    if (mask.values[i] != last_color) {  // segments are large: most pixels are as the one before
      const auto found = listed.find(id_of(mask.values[i]));
      TSR_CHECK(found != listed.end(), "{} has a pixel of segment {}, which segments_info does not list", name,
                id_of(mask.values[i]));
      last_color = mask.values[i];
      last = found->second;
    }
    labels.labels[i] = last;
  }
  return labels;
}

fs::path panoptic_folder(const fs::path& json) {
  fs::path folder = json, archive = json;
  folder.replace_extension();
  archive.replace_extension(".zip");
  if (is_folder(folder)) return folder;
  if (is_folder(archive)) return archive;
  fail("no folder {} (or {}) with the PNGs of the segments", folder.string(), archive.filename().string());
}

}  // namespace tessera
