#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "config/train_config.h"
#include "infer/eval_result.h"
#include "metric/confusion_matrix.h"
#include "metric/image_counts.h"

namespace tessera {

// What an evaluation counts.
struct Counting {
  int num_classes = 0;
  bool multi_label = false;                   // classes overlap
  std::optional<double> boundary_ratio = {};  // of boundary IoU: see Note [Boundary IoU]
  std::vector<bool> object_classes = {};      // whose objects are counted, see Note [Objects]; empty: none
};

// What the config asks for. Throws UsageError for a class in eval.objects.classes that there is not.
Counting counting_of(const EvalConfig& config, const ClassTable& classes);

// What was counted in one image, or in many: integers, which add up to the same in any order and on any number of ranks.
class EvalCounts {
 public:
  explicit EvalCounts(Counting counting);

  // labels, predicted: (H, W) int16 on the CPU. Throws Error for a class out of range.
  void add(const at::Tensor& labels, const at::Tensor& predicted);
  void add(const EvalCounts& other);

  const ConfusionMatrix& pixels() const { return pixels_; }  // empty where classes overlap
  IouReport report() const;                                  // of pixels
  ImageCounts by_class() const;                              // of pixels

  // Everything that follows from the counts; images, times and the like are left as they are made.
  EvalResult result() const;

 private:
  void add_overlapping(const at::Tensor& labels, const at::Tensor& predicted);

  Counting counting_;
  ConfusionMatrix pixels_;
  std::vector<ClassCounts> overlapping_;  // of pixels, where classes overlap
  std::vector<ClassCounts> boundaries_;
  std::vector<ObjectCounts> objects_;
};

}  // namespace tessera
