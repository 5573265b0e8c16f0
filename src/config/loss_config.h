#pragma once
#include <optional>
#include <vector>

#include "config/schema.h"

namespace tessera {

enum class LossType { kCe, kDice, kCeDice, kFocal, kBce, kBceDice };
template <>
struct EnumNames<LossType> {
  static constexpr std::array<std::string_view, 6> names = {"ce", "dice", "ce_dice", "focal", "bce", "bce_dice"};
};

enum class LossMean { kLabelled, kAll };
template <>
struct EnumNames<LossMean> {
  static constexpr std::array<std::string_view, 2> names = {"labelled", "all"};
};

// Two classes from one logit.
inline bool is_binary(LossType type) {
  return type == LossType::kBce || type == LossType::kBceDice;
}

struct LossConfig {
  LossType type = LossType::kCe;
  LossMean mean = LossMean::kLabelled;
  double ce_weight = 1.0;
  double dice_weight = 1.0;
  std::vector<double> class_weights;
  double label_smoothing = 0.0;
  double focal_gamma = 2.0;
  double dice_smooth = 1e-5;
  std::optional<double> aux_weight;
};
template <class V>
void describe(V& v, LossConfig& c) {
  v.field(
      "type", c.type,
      "ce: softmax cross entropy; dice: soft Dice of the whole batch, mean over the classes its labels have; focal: ce times "
      "(1 - p)^gamma; bce: two classes from one logit; ce_dice, bce_dice: weighted sums");
  v.field(
      "mean", c.mean,
      "ce, bce, focal: over the labelled pixels of the batch, with class_weights a weighted mean (torch); all: divided by the "
      "number of all pixels, ignored ones too (mmsegmentation)");
  v.field("ce_weight", c.ce_weight, "ce_dice, bce_dice: factor of the cross entropy", at_least(0));
  v.field("dice_weight", c.dice_weight, "ce_dice, bce_dice: factor of Dice", at_least(0));
  v.field("class_weights", c.class_weights, "weight of each class in ce and bce (a weighted mean); empty: all 1", at_least(0));
  v.field("label_smoothing", c.label_smoothing, "ce, bce: share of the target spread evenly over all classes", between(0, 1));
  v.field("focal_gamma", c.focal_gamma, "focal: 0 is plain cross entropy", at_least(0));
  v.field("dice_smooth", c.dice_smooth, "Dice: added to numerator and denominator", positive());
  v.field("aux_weight", c.aux_weight,
          "factor of the same loss on a model's auxiliary head; default: as the head's library trains it, 0.5 in torchvision's "
          "layout, 0.4 in mmseg's",
          at_least(0));
}

// Output channels of a model that is trained with this loss.
inline int logit_channels(const LossConfig& config, int num_classes) {
  return is_binary(config.type) ? 1 : num_classes;
}

}  // namespace tessera
