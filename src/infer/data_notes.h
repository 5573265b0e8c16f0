#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "metric/iou_report.h"
#include "tensor/batch.h"

namespace tessera {

// What a run can say of its data without reading all of it, as `tessera data check` does: warnings, each a sentence.

// Before the first step: images that repeat within a batch, validation images that are trained on, by file or by bytes.
std::vector<std::string> data_notes(const Dataset& train, const Dataset& val, int64_t batch_size);

// After an evaluation: classes that no pixel of the images is labelled with. Empty where every class has some, and where none
// has, which is another warning's matter.
std::string unmeasured_classes(const IouReport& report, const ClassTable& classes);

// Looks at the labels of a run's first batches, up to the first labelled pixel.
class LabelWatch {
 public:
  explicit LabelWatch(int64_t batches = 3) : batches_(batches) {}

  // A warning after the last of these batches where none had a labelled pixel, else "".
  std::string look(const Batch& batch);

 private:
  int64_t batches_;  // still to be looked at
  int64_t samples_ = 0;
};

}  // namespace tessera
