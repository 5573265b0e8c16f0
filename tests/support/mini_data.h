#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/rng.h"
#include "support/image_files.h"

// A handful of small images in the layout of each data set that the configs are for.
namespace tessera::testing {

inline constexpr Size kMiniSize{48, 64};

// Noise, so that no batch norm sees the same value everywhere.
inline void write_noise(const std::filesystem::path& path, uint64_t seed, int channels = 3) {
  Image image(kMiniSize.height, kMiniSize.width, channels);
  Rng rng(seed, Stream::kSynthetic);
  for (uint8_t& value : image.bytes()) value = static_cast<uint8_t>(rng.below(256));
  write_bytes(path, encode_png(image));
}

inline void write_ade20k(const std::filesystem::path& root) {
  for (const char* part : {"training", "validation"}) {
    for (int i = 1; i <= (part[0] == 't' ? 8 : 2); ++i) {
      const std::string stem = fmt::format("ADE_{}_{:08}", part[0] == 't' ? "train" : "val", i);
      write_noise(root / "images" / part / (stem + ".jpg"), static_cast<uint64_t>(i));
      write_mask(root / "annotations" / part / (stem + ".png"), kMiniSize, static_cast<int16_t>(1 + 17 * i));
    }
  }
}

inline void write_coco(const std::filesystem::path& root, const std::string& year) {
  const std::vector<std::pair<std::string, std::string>> categories{
      {"person", "person"}, {"car", "vehicle"}, {"cat", "animal"}, {"cup", "kitchen"}};
  for (const std::string part : {"train", "val"}) {
    nlohmann::json file{{"images", nlohmann::json::array()}, {"annotations", nlohmann::json::array()}};
    for (size_t k = 0; k < categories.size(); ++k)
      file["categories"].push_back({{"id", k + 1}, {"name", categories[k].first}, {"supercategory", categories[k].second}});
    for (int i = 1; i <= (part == "train" ? 8 : 2); ++i) {
      const std::string name = fmt::format("COCO_{}{}_{:012}.jpg", part, year, i);
      write_noise(root / (part + year) / name, static_cast<uint64_t>(i));
      file["images"].push_back({{"id", i}, {"file_name", name}, {"height", kMiniSize.height}, {"width", kMiniSize.width}});
      file["annotations"].push_back({{"id", i},
                                     {"image_id", i},
                                     {"category_id", 1 + i % 4},
                                     {"iscrowd", 0},
                                     {"area", 600},
                                     {"bbox", {8, 8, 30, 20}},
                                     {"segmentation", {{8, 8, 38, 8, 38, 28, 8, 28}}}});
    }
    std::filesystem::create_directories(root / "annotations");
    write_file(root / "annotations" / ("instances_" + part + year + ".json"), file.dump());
  }
}

// Pairs below two folders; masks of 0 and 1, or one folder of masks for each of the classes.
inline void write_pairs(const std::filesystem::path& root, const std::string& images, const std::string& masks, int count,
                        int channels = 3, const std::vector<std::string>& classes = {""}) {
  for (int i = 1; i <= count; ++i) {
    const std::string name = fmt::format("field_{}.png", i);
    write_noise(root / images / name, static_cast<uint64_t>(i), channels);
    for (const std::string& part : classes) write_mask(root / masks / part / name, kMiniSize);
  }
}

}  // namespace tessera::testing
