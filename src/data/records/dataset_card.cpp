#include "data/records/dataset_card.h"

#include <algorithm>

#include "config/reader.h"
#include "config/writer.h"
#include "core/error.h"

namespace tessera {
namespace {

// Some text; what is longer is no card.
constexpr size_t kMostCardBytes = size_t{16} << 20;

template <class T>
void take(T& value, const T& untold, T of_card) {
  if (value == untold) value = std::move(of_card);
}

}  // namespace

DataConfig with_card(DataConfig config, FileStore& store) {
  const std::vector<std::string> there = store.list(kCardName);
  if (std::find(there.begin(), there.end(), kCardName) == there.end()) return config;
  const Blob file = store.open(kCardName);
  const std::string name = store.root() + "/" + kCardName;
  TSR_CHECK(file.size() <= kMostCardBytes, "{} has {} bytes, expected some lines of YAML", name, file.size());
  DatasetCard card;
  const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  ConfigReader::read_struct(parse_config(text, name), "", card);
  const DataConfig untold;
  take(config.classes, untold.classes, card.classes);
  take(config.palette, untold.palette, card.palette);
  take(config.labels, untold.labels, card.labels);
  take(config.exif_orientation, untold.exif_orientation, card.exif_orientation);
  return config;
}

std::string card_text(const DataConfig& config, const ClassTable& classes) {
  DatasetCard card{
      .classes = classes.names, .palette = {}, .labels = config.labels, .exif_orientation = config.exif_orientation};
  for (const Color& color : classes.palette) card.palette.push_back({color[0], color[1], color[2]});
  return to_yaml(ConfigWriter::lines(card));
}

}  // namespace tessera
