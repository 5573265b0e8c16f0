#pragma once
#include <algorithm>
#include <filesystem>
#include <string>

#include "config/data_config.h"
#include "core/files.h"
#include "core/image.h"
#include "data/decode/png_writer.h"
#include "support/messages.h"

namespace tessera::testing {

// Small image and mask files for tests of data sources; missing folders are made.
inline void write_bytes(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path, bytes);
}

inline void write_image(const std::filesystem::path& path, Size size = {4, 6}, uint8_t value = 100) {
  Image image(size.height, size.width, 3);
  std::fill(image.bytes().begin(), image.bytes().end(), value);
  write_bytes(path, encode_png(image));
}

// Left half class 0, right half `right`.
inline void write_mask(const std::filesystem::path& path, Size size = {4, 6}, int16_t right = 1) {
  LabelMap labels(size.height, size.width);
  for (int y = 0; y < size.height; ++y) {
    for (int x = size.width / 2; x < size.width; ++x) labels.at(y, x) = right;
  }
  write_bytes(path, encode_png_labels(labels));
}

inline void write_pair(const std::filesystem::path& root, const std::string& stem, Size size = {4, 6}) {
  write_image(root / "images" / (stem + ".png"), size);
  write_mask(root / "masks" / (stem + ".png"), size);
}

// The data of pairs written so.
inline DataConfig pairs_at(const std::filesystem::path& root) {
  DataConfig config;
  config.path = root;
  config.classes = {"background", "thing"};
  return config;
}

}  // namespace tessera::testing
