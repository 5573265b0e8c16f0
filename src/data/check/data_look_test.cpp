#include "data/check/data_look.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/fixed_dataset.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

TEST(DataLook, CountsWhatCanBeRead) {
  const FixedDataset data({row_sample("x", {0, 255, 255}, {0, 1, -1}), bad_sample("y"), row_sample("z", {9, 9}, {1, 1})});
  for (const int threads : {1, 3}) {
    const DataLook look = look_at_data(data, 64, 1, threads);
    EXPECT_EQ(look.samples, 3);
    EXPECT_EQ(look.images.size(), 2U);
    EXPECT_EQ(look.pixels_per_class, (std::vector<int64_t>{1, 3, 0}));
  }
  EXPECT_EQ(look_at_data(data, 1, 1, 2).images.size() + look_at_data(data, 1, 2, 2).images.size() +
                look_at_data(data, 1, 3, 2).images.size(),
            look_at_data(data, 1, 1, 1).images.size() + look_at_data(data, 1, 2, 1).images.size() +
                look_at_data(data, 1, 3, 1).images.size());
}

TEST(DataLook, ClassesThatShouldHaveComeAreNamed) {
  const FixedDataset two({row_sample("x", {0, 1}, {0, 1}), row_sample("z", {9, 9}, {1, 1})});
  const auto notes = label_notes(look_at_data(two, 64, 1, 1), two.classes());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_CONTAINS(notes[0], "1 of 3 classes occur in none of the 2 training samples looked at: b");
  DataLook part = look_at_data(two, 64, 1, 1);
  part.samples = 500;  // too few of so many to tell
  EXPECT_TRUE(label_notes(part, two.classes()).empty());
}

TEST(DataLook, ADataSetWithoutALabelIsRefused) {
  const FixedDataset none({row_sample("x", {0, 1}, {-1, -1}), row_sample("z", {9, 9}, {-1, -1})});
  EXPECT_TRUE(label_notes(look_at_data(none, 64, 1, 1), none.classes()).empty());
  try {
    refuse_unlabelled(look_at_data(none, 64, 1, 1), none);
    FAIL() << "accepted";
  } catch (const UsageError& e) {
    EXPECT_CONTAINS(std::string(e.what()), "not one pixel of the 2 training samples is labelled");
  }
  // One labelled pixel beyond the look is enough.
  const FixedDataset late({row_sample("x", {0, 1}, {-1, -1}), row_sample("z", {9, 9}, {-1, 2})});
  DataLook first = look_at_data(none, 1, 1, 1);
  EXPECT_NO_THROW(refuse_unlabelled(first, late));
}

}  // namespace
}  // namespace tessera
