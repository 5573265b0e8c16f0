#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

enum class ParallelMode { kNone, kDp, kDdp, kZero1 };
template <>
struct EnumNames<ParallelMode> {
  static constexpr std::array<std::string_view, 4> names = {"none", "dp", "ddp", "zero1"};
};

enum class Scaling { kStrong, kWeak };
template <>
struct EnumNames<Scaling> {
  static constexpr std::array<std::string_view, 2> names = {"strong", "weak"};
};

// A scaling study: the same training on several numbers of ranks, in several ways.
struct ScaleConfig {
  std::string config = {};
  std::vector<std::string> set = {};
  std::vector<int64_t> ranks = {1, 2};
  std::vector<ParallelMode> modes = {ParallelMode::kDdp};
  std::vector<std::string> models = {};
  Scaling scaling = Scaling::kStrong;
  int64_t repeat = 1;
  std::optional<double> target = {};
  std::string name = {};
  int64_t at_once = 0;
  int64_t retries = 3;
};
template <class V>
void describe(V& v, ScaleConfig& c) {
  v.field("config", c.config, "the experiment: a file, relative to this one, or the name of a built-in config");
  v.field("set", c.set, "values laid over it: [train.duration=10ep, data.path=/data]");
  v.field("ranks", c.ranks, "numbers of ranks; the smallest is what the others are compared with", at_least(1));
  v.field("modes", c.modes, "how the ranks share the work: none (one rank), dp, ddp, zero1");
  v.field("models", c.models, "models in place of the config's: names, or those of configs/base/models");
  v.field("scaling", c.scaling,
          "strong: the batch stays, so the result should too; weak: train.batch_size is for one rank and grows with them, the "
          "learning rate by optimizer.lr_scaling (linear unless the config says otherwise)");
  v.field("repeat", c.repeat, "trainings of each kind, with train.seed, train.seed + 1, ...", at_least(1));
  v.field("target", c.target,
          "value of checkpoint.best_metric whose time and cost are told; not set: the highest that every training reached");
  v.field("name", c.name, "of the study and of its folder below studies/; empty: that of the config");
  v.field(
      "at_once", c.at_once,
      "trainings at a time; 0: one here and over ssh, since they would slow one another down, and as many as it takes on Slurm",
      at_least(0));
  v.field("retries", c.retries, "starts in a row that may end early without a new checkpoint before a training is given up",
          at_least(0));
}

}  // namespace tessera
