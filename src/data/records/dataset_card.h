#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "storage/file_store.h"

namespace tessera {

// What a data set in shards says of itself, in a file `tessera.yaml` beside the folders of its splits: what a config would else
// have to say for its bytes to mean the same everywhere.
struct DatasetCard {
  SourceType type = SourceType::kMds;
  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> palette;
  LabelConfig labels;
  bool exif_orientation = true;
};

inline constexpr const char* kCardName = "tessera.yaml";

template <class V>
void describe(V& v, DatasetCard& c) {
  v.field("type", c.type, "data.type");
  v.field("classes", c.classes, "class names in order");
  v.field("palette", c.palette, "colours [r, g, b] of the classes", between(0, 255));
  v.group("labels", c.labels, "mask values to classes");
  v.field("exif_orientation", c.exif_orientation, "turn images as their EXIF tag says");
}

// The card in `store`, where it has one. Throws UsageError for one with unknown keys or values.
std::optional<DatasetCard> read_card(FileStore& store);

// A config and what it leaves open as the card says it: label rules and classes, which go together, the palette, orientation.
// Classes of another number than the card's are those of other data, such as a config's for images and masks in folders: the
// card's are taken, and the note says so.
struct CardedConfig {
  DataConfig config;
  std::string note;
};
CardedConfig with_card(DataConfig config, const std::optional<DatasetCard>& card);

std::string card_text(DatasetCard card);

}  // namespace tessera
