#include "infer/checkpoint/sample_names.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/datasets/dataset_factory.h"
#include "support/image_files.h"
#include "support/messages.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

SampleNames names_of(const std::vector<std::string>& overrides) {
  const DataConfig config = testing::tiny_experiment(overrides).data;
  return {*make_dataset(config, Split::kTrain), *make_dataset(config, Split::kVal)};
}

TEST(SampleNames, AreThoseOfTheSameData) {
  const SampleNames before = names_of({});
  const SampleNames kept = nlohmann::json(before);
  EXPECT_EQ(kept.train, before.train);
  EXPECT_EQ(kept.val_hash, before.val_hash);
  EXPECT_NO_THROW(check_same_samples(kept, names_of({})));
}

TEST(SampleNames, OtherTrainingSamplesAreRefused) {
  const SampleNames before = names_of({"data.train.count=8"}), now = names_of({"data.train.count=7"});
  EXPECT_CONTAINS(testing::message_of([&] { check_same_samples(before, now); }), "8 then, 7 now");
  SampleNames renamed = before;
  renamed.train_hash = "0123";
  EXPECT_CONTAINS(testing::message_of([&] { check_same_samples(before, renamed); }), "8 as then, but not the same");
}

TEST(SampleNames, OthersToMeasureOnAndCheckpointsThatDoNotKnowThemPass) {
  const SampleNames before = names_of({"data.val.count=4"});
  EXPECT_NO_THROW(check_same_samples(before, names_of({"data.val.count=3"})));
  EXPECT_NO_THROW(check_same_samples(SampleNames(), before));
  const DatasetPtr now = make_dataset(testing::tiny_experiment({"data.val.count=3"}).data, Split::kVal);
  EXPECT_EQ(other_val_samples(before, *now), "4 then, 3 now");
  EXPECT_EQ(other_val_samples(SampleNames(), *now), "");
}

}  // namespace
}  // namespace tessera
