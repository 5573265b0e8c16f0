#include "data/datasets/dataset_factory.h"

#include "core/error.h"
#include "data/datasets/ade20k.h"
#include "data/datasets/coco.h"
#include "data/datasets/pairs.h"
#include "data/datasets/synthetic.h"

namespace tessera {

DatasetPtr make_dataset(const DataConfig& config, Split split) {
  switch (config.type) {
    case SourceType::kPairs: return make_pairs(config, split);
    case SourceType::kAde20k: return make_ade20k(config, split);
    case SourceType::kCoco: return std::make_shared<CocoDataset>(config, split);
    case SourceType::kSynthetic: return std::make_shared<SyntheticDataset>(config, split);
  }
  fail("unknown data.type {}", static_cast<int>(config.type));
}

}  // namespace tessera
