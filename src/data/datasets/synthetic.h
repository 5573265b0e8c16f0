#pragma once
#include <string>

#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

// Images made on demand: nothing to download, nothing on the disk. Image i is a function of (seed, split, i) alone, so a
// larger count begins with the images of a smaller one. Without a count, train has 160 images, val and test 40.
class SyntheticDataset : public Dataset {
 public:
  SyntheticDataset(const DataConfig& config, Split split);

  int64_t size() const override { return count_; }
  Sample get(int64_t index) const override;
  std::string id(int64_t index) const override;
  const ClassTable& classes() const override { return classes_; }

 private:
  SyntheticConfig config_;
  Split split_;
  int channels_;
  int64_t count_;
  ClassTable classes_;
};

}  // namespace tessera
