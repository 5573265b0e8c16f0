#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"
#include "storage/file_store.h"

namespace tessera {

// What a data set in shards says of itself, in a file `tessera.yaml` beside the folders of its splits: what a config would else
// have to say for its bytes to mean the same everywhere.
struct DatasetCard {
  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> palette;
  LabelConfig labels;
  bool exif_orientation = true;
};

inline constexpr const char* kCardName = "tessera.yaml";

template <class V>
void describe(V& v, DatasetCard& c) {
  v.field("classes", c.classes, "class names in order");
  v.field("palette", c.palette, "colours [r, g, b] of the classes", between(0, 255));
  v.group("labels", c.labels, "mask values to classes");
  v.field("exif_orientation", c.exif_orientation, "turn images as their EXIF tag says");
}

// `config` with what the card in `store` says wherever the config leaves a key at its default; unchanged where there is no
// card. Throws UsageError for a card with unknown keys or values.
DataConfig with_card(DataConfig config, FileStore& store);

// The card of a data set of this config, whose classes are `classes`.
std::string card_text(const DataConfig& config, const ClassTable& classes);

}  // namespace tessera
