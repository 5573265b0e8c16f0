#pragma once
#include <map>
#include <string>
#include <vector>

#include "config/duration.h"
#include "config/schema.h"

namespace tessera {

enum class OptimizerType { kSgd, kDecoupledSgd, kAdam, kAdamW, kLamb, kLars, kLion };
template <>
struct EnumNames<OptimizerType> {
  static constexpr std::array<std::string_view, 7> names = {"sgd", "decoupled_sgd", "adam", "adamw", "lamb", "lars", "lion"};
};

enum class LrScaling { kNone, kLinear, kSqrt };
template <>
struct EnumNames<LrScaling> {
  static constexpr std::array<std::string_view, 3> names = {"none", "linear", "sqrt"};
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::kSgd;
  double lr = 0.01;
  LrScaling lr_scaling = LrScaling::kNone;
  int64_t base_batch = 0;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double trust_coefficient = 0.001;
  double head_lr_multiplier = 1.0;
  double layer_decay = 1;
  std::map<std::string, double> lr_multipliers;
  double clip_norm = 0.0;
};
template <class V>
void describe(V& v, OptimizerConfig& c) {
  v.field("type", c.type,
          "decoupled_sgd and adamw shrink the weights directly; sgd and adam add weight_decay * weight to the gradient; lamb: "
          "adamw whose steps are, tensor by tensor, as long as lr times the weights (biases and norm layers only with "
          "decay_norm_and_bias); lars: sgd whose gradients are made trust_coefficient times as long as the weights, tensor by "
          "tensor, with the same exceptions; lion: steps of lr in the direction of the sign, with adamw's decay");
  v.field("lr", c.lr, "learning rate for the global batch; the schedule starts from it", at_least(0));
  v.field("lr_scaling", c.lr_scaling,
          "linear: lr is for a batch of base_batch and grows with train.batch_size; sqrt: with its square root; none: lr is as "
          "written");
  v.field("base_batch", c.base_batch, "lr_scaling: the global batch that lr was chosen for", at_least(0));
  v.field("momentum", c.momentum, "sgd, decoupled_sgd, lars", between(0, 1));
  v.field("nesterov", c.nesterov, "sgd, decoupled_sgd: look ahead along the momentum");
  v.field("weight_decay", c.weight_decay, "decoupled_sgd: share of a weight lost per step at the full lr, whatever that is",
          at_least(0));
  v.field("decay_norm_and_bias", c.decay_norm_and_bias, "let weight_decay act on biases and norm layers too");
  v.field("betas", c.betas,
          "adam, adamw, lamb: decay of the two moments; lion: of what a step is made of and of the momentum, by default [0.9, "
          "0.99]",
          between(0, 1));
  v.field("eps", c.eps, "adam, adamw, lamb, lars: added to the denominator", positive());
  v.field("trust_coefficient", c.trust_coefficient, "lars: length of a gradient, as a share of the weights'", positive());
  v.field("head_lr_multiplier", c.head_lr_multiplier, "learning rate of everything but the backbone, as a multiple of lr",
          at_least(0));
  v.field("layer_decay", c.layer_decay,
          "each layer below the head learns at this multiple of the one above (transformers); 1: all alike", between(0, 1));
  v.field("lr_multipliers", c.lr_multipliers,
          "learning rates of parts, as multiples of what they would have: {backbone.layer1: 0.1}; names of layers as `tessera "
          "models show` prints them, the longest that fits counts",
          at_least(0));
  v.field("clip_norm", c.clip_norm, "scale the gradient down to at most this norm; 0: never", at_least(0));
}

enum class ScheduleType { kConstant, kPoly, kCosine, kStep, kOneCycle };
template <>
struct EnumNames<ScheduleType> {
  static constexpr std::array<std::string_view, 5> names = {"constant", "poly", "cosine", "step", "one_cycle"};
};

struct ScheduleConfig {
  ScheduleType type = ScheduleType::kPoly;
  double power = 0.9;
  double final_lr = 0.0;
  std::vector<Duration> milestones;
  double gamma = 0.1;
  Duration warmup;
  double warmup_start = 1e-3;
  double pct_start = 0.3;
  double div = 25.0;
  double final_div = 1e4;
  bool cycle_momentum = true;
  double min_momentum = 0.85;
  double max_momentum = 0.95;
};
template <class V>
void describe(V& v, ScheduleConfig& c) {
  v.field("type", c.type, "how the learning rate changes, step by step, from the end of the warm-up to the end of the run");
  v.field("power", c.power, "poly: (1 - t)^power", positive());
  v.field(
      "final_lr", c.final_lr,
      "poly, cosine: learning rate at the end of the run, of all parameters alike: multipliers do not act on it, but none ends "
      "above its own full rate",
      at_least(0));
  v.field("milestones", c.milestones, "step: when the rate is multiplied by gamma, counted from the start of the run");
  v.field("gamma", c.gamma, "step: the factor", positive());
  v.field("warmup", c.warmup, "rise linearly to lr for this long; not with one_cycle, which has its own");
  v.field("warmup_start", c.warmup_start, "share of lr at step 0 of the warm-up", between(0, 1));
  v.field("pct_start", c.pct_start, "one_cycle: share of the run spent rising", between(0, 1));
  v.field("div", c.div, "one_cycle: starts at lr / div", positive());
  v.field("final_div", c.final_div, "one_cycle: ends at lr / div / final_div", positive());
  v.field("cycle_momentum", c.cycle_momentum, "one_cycle: move momentum (adam: beta 1) against the rate");
  v.field("min_momentum", c.min_momentum, "one_cycle: momentum at the highest rate", between(0, 1));
  v.field("max_momentum", c.max_momentum, "one_cycle: momentum at the ends", between(0, 1));
}

}  // namespace tessera
