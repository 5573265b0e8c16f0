#pragma once
#include <string>

#include "config/experiment.h"
#include "data/dataset.h"
#include "data/datasets/split.h"
#include "data/transforms/transform.h"

namespace tessera {

// What the prediction of an image is compared with.
struct EvalTruth {
  int64_t index = 0;  // of the sample
  std::string id;
  LabelMap labels;  // at the size asked for by eval.at
};

// A validation image ready for the network.
struct EvalSample {
  Sample sample;  // after the validation transforms, without labels
  EvalTruth truth;
};

// The samples of a data set as an evaluation sees them: after the transforms of the split `transforms`, whichever they are of.
// Thread-safe.
class EvalSamples {
 public:
  EvalSamples(const Experiment& experiment, DatasetPtr dataset, Split transforms);

  EvalSample load(int64_t index) const;                                  // throws BadSample
  Sample original(int64_t index) const { return dataset_->get(index); }  // before any transform

  int64_t size() const { return dataset_->size(); }
  const ClassTable& classes() const { return dataset_->classes(); }
  bool at_original() const { return at_original_; }  // predictions are compared at the size of the original

 private:
  void ask_ahead(int64_t index) const;

  DatasetPtr dataset_;
  Pipeline pipeline_;
  bool in_shards_;
  bool at_original_;
  uint64_t seed_;
};

}  // namespace tessera
