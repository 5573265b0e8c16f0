#pragma once
#include <vector>

#include "config/loss_term_config.h"
#include "config/node.h"

namespace tessera {

enum class LossType { kCe, kDice, kCeDice, kFocal, kBce, kBceDice };
template <>
struct EnumNames<LossType> {
  static constexpr std::array<std::string_view, 6> names = {"ce", "dice", "ce_dice", "focal", "bce", "bce_dice"};
};

// Note [Older loss keys]
// Before loss.terms a loss was one of six types, with the options of all of them beside the type. Configs and runs written so
// are read as the terms they stand for, which is all that the rest of the program sees and that is written to a run's
// config.yaml. Where both forms meet, the later one counts, as everywhere (base < file < command line):
//
//   loss.terms over older keys    replaces them
//   older keys over loss.terms    change the terms, where those are one of the six types
//   both in one file, or both on the command line: an error, unless they say the same
struct LossAliases {
  LossType type = LossType::kCe;
  LossMean mean = LossMean::kLabelled;
  double ce_weight = 1.0;
  double dice_weight = 1.0;
  ClassWeights class_weights = {};
  double label_smoothing = 0.0;
  double focal_gamma = 2.0;
  double dice_smooth = 1e-5;
};
template <class V>
void describe(V& v, LossAliases& c) {
  v.field("type", c.type, "older form of terms: ce, dice, focal, bce: [that term]; ce_dice: [ce, dice]; bce_dice: [bce, dice]");
  v.field("mean", c.mean, "with type: mean of ce, bce and focal");
  v.field("ce_weight", c.ce_weight, "with type ce_dice, bce_dice: weight of ce and bce", at_least(0));
  v.field("dice_weight", c.dice_weight, "with type ce_dice, bce_dice: weight of dice", at_least(0));
  v.field("class_weights", c.class_weights, "with type: class_weights of ce and bce, such as auto", at_least(0));
  v.field("label_smoothing", c.label_smoothing, "with type: label_smoothing of ce and bce", between(0, 1));
  v.field("focal_gamma", c.focal_gamma, "with type: gamma of focal", at_least(0));
  v.field("dice_smooth", c.dice_smooth, "with type: smooth of dice", positive());
}

// The terms that the keys stand for. Throws UsageError when an option has no term to act on.
std::vector<LossTermConfig> terms_of(const LossAliases& aliases);

// loss: the config's group. terms: what was read from its `terms`, or the default; see Note [Older loss keys].
void apply_loss_aliases(const Node& loss, std::vector<LossTermConfig>& terms);

}  // namespace tessera
