#include "data/datasets/dataset_factory.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(DatasetFactory, MakesSyntheticDataWithoutAnyFile) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  const DatasetPtr data = make_dataset(config, Split::kVal);
  EXPECT_EQ(data->size(), 40);
  EXPECT_EQ(data->get(39).id, data->id(39));
}

TEST(DatasetFactory, EverySourceOfFilesAsksForItsPath) {
  for (SourceType type : {SourceType::kPairs, SourceType::kAde20k, SourceType::kCoco}) {
    DataConfig config;
    config.type = type;
    config.classes = {"a", "b"};
    EXPECT_THROW(make_dataset(config, Split::kTrain), Error) << name_of(type);
    config.path = "/nowhere/at/all";
    EXPECT_THROW(make_dataset(config, Split::kTrain), Error) << name_of(type);
  }
}

}  // namespace
}  // namespace tessera
