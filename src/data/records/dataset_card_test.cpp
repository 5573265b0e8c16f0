#include "data/records/dataset_card.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;

DatasetCard some_card() {
  DatasetCard card;
  card.type = SourceType::kTar;
  card.classes = {"sky: \"blue\"", "# road"};
  card.palette = {{1, 2, 3}, {4, 5, 6}};
  card.labels.offset = -1;
  card.labels.map = {{3, 4}};
  card.labels.ignore = {7};
  card.exif_orientation = false;
  return card;
}
const DatasetCard kCard = some_card();

std::optional<DatasetCard> card_in(const TempFolder& folder) {
  return read_card(*open_file_store(folder.path().string()));
}

TEST(DatasetCard, ReadsBackAsItWasWritten) {
  const TempFolder folder;
  EXPECT_FALSE(card_in(folder));
  write_file(folder / kCardName, card_text(kCard));
  const auto card = card_in(folder);
  ASSERT_TRUE(card);
  EXPECT_EQ(card->type, kCard.type);
  EXPECT_EQ(card->classes, kCard.classes);
  EXPECT_EQ(card->palette, kCard.palette);
  EXPECT_EQ(card->labels, kCard.labels);
  EXPECT_FALSE(card->exif_orientation);
}

TEST(DatasetCard, MistakesAreNamed) {
  const TempFolder folder;
  write_file(folder / kCardName, std::string_view("clases: [a]\n"));
  EXPECT_CONTAINS(message_of<UsageError>([&] { card_in(folder); }), "did you mean 'classes'");
  write_file(folder / kCardName, std::string_view("type: pairs\n"));
  EXPECT_CONTAINS(message_of<UsageError>([&] { card_in(folder); }), "expected mds, tfrecord or tar");
}

TEST(DatasetCard, FillsWhatTheConfigLeavesOpen) {
  const CardedConfig filled = with_card({}, kCard);
  EXPECT_EQ(filled.config.classes, kCard.classes);
  EXPECT_EQ(filled.config.palette, kCard.palette);
  EXPECT_EQ(filled.config.labels, kCard.labels);
  EXPECT_FALSE(filled.config.exif_orientation);
  EXPECT_EQ(filled.note, "");

  DataConfig renamed;
  renamed.classes = {"a", "b"};
  EXPECT_EQ(with_card(renamed, kCard).config.classes, renamed.classes);

  DataConfig own;
  own.classes = {"a", "b", "c"};
  own.labels.binary = true;
  EXPECT_EQ(with_card(own, kCard).config.classes, own.classes);
  EXPECT_EQ(with_card(own, kCard).config.labels, own.labels);
  EXPECT_EQ(with_card(own, std::nullopt).config.classes, own.classes);
}

// A config for folders names classes of its own; with the path of other data they are not meant.
TEST(DatasetCard, ClassesOfOtherDataGiveWayToTheCards) {
  DataConfig other;
  other.classes = {"a", "b", "c"};
  other.palette = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  const CardedConfig carded = with_card(other, kCard);
  EXPECT_EQ(carded.config.classes, kCard.classes);
  EXPECT_EQ(carded.config.palette, kCard.palette);
  EXPECT_CONTAINS(carded.note, "data.classes names 3, where tessera.yaml of the data names 2");
}

}  // namespace
}  // namespace tessera
