#include "data/records/dataset_card.h"

#include <algorithm>

#include "config/reader.h"
#include "config/writer.h"
#include "core/error.h"
#include "core/name_list.h"

namespace tessera {
namespace {

// Some text; what is longer is no card.
constexpr size_t kMostCardBytes = size_t{16} << 20;

}  // namespace

std::optional<DatasetCard> read_card(FileStore& store) {
  const std::vector<std::string> there = store.list(kCardName);
  if (std::find(there.begin(), there.end(), kCardName) == there.end()) return std::nullopt;
  const Blob file = store.open(kCardName);
  const std::string name = store.root() + "/" + kCardName;
  TSR_CHECK(file.size() <= kMostCardBytes, "{} has {} bytes, expected some lines of YAML", name, file.size());
  DatasetCard card;
  const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  ConfigReader::read_struct(parse_config(text, name), "", card);
  TSR_CHECK_USAGE(in_shards(card.type), "{} says type {}, expected mds, tfrecord or tar", name, name_of(card.type));
  return card;
}

CardedConfig with_card(DataConfig config, const std::optional<DatasetCard>& card) {
  CardedConfig carded{std::move(config), ""};
  if (!card) return carded;
  DataConfig& meant = carded.config;
  if (meant.exif_orientation) meant.exif_orientation = card->exif_orientation;
  if (meant.labels != LabelConfig{}) return carded;  // who says what values mean says what classes there are
  meant.labels = card->labels;
  if (card->classes.empty()) return carded;
  if (meant.classes.size() != card->classes.size()) {
    if (!meant.classes.empty())
      carded.note = fmt::format("data.classes names {}, where {} of the data names {}: {}; these are used",
                                meant.classes.size(), kCardName, card->classes.size(), name_list(card->classes));
    meant.classes = card->classes;
    meant.palette = {};
  }
  if (meant.palette.empty()) meant.palette = card->palette;
  return carded;
}

std::string card_text(DatasetCard card) {
  return to_yaml(ConfigWriter::lines(card));
}

}  // namespace tessera
