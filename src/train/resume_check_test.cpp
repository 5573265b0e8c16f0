#include "train/resume_check.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

TEST(ResumeCheck, SpeedAndPlacesMayChangeTheExperimentMayNot) {
  const std::string saved = experiment_yaml(tiny_experiment());
  EXPECT_NO_THROW(check_same_experiment(saved, tiny_experiment({"train.micro_batch=4", "data.threads=1", "run.dir=elsewhere",
                                                                "eval.flip=true", "data.path=/moved"})));
  for (const char* change : {"optimizer.lr=0.1", "train.seed=2", "train.batch_size=4", "data.val_share=0.3",
                             "train.duration=5ep", "model.unet.dropout=0.1"}) {
    EXPECT_THROW(check_same_experiment(saved, tiny_experiment({change})), UsageError) << change;
  }
}

// Runs from before loss.terms: Note [Older loss keys].
TEST(ResumeCheck, ARunWithOlderLossKeysIsTheSameExperiment) {
  std::string saved = experiment_yaml(tiny_experiment());
  const size_t begin = saved.find("  terms: "), end = saved.find('\n', begin) + 1;
  saved.replace(begin, end - begin,
                "  type: ce_dice\n  mean: all\n  ce_weight: 1\n  dice_weight: 0.5\n  class_weights: [1, 2, 3, 4]\n"
                "  label_smoothing: 0\n  focal_gamma: 2\n  dice_smooth: 1e-05\n");
  const std::vector<std::string> keys{"loss.type=ce_dice", "loss.mean=all", "loss.dice_weight=0.5",
                                      "loss.class_weights=[1,2,3,4]"};
  EXPECT_NO_THROW(check_same_experiment(saved, tiny_experiment(keys)));
  const std::string ce = "loss.terms=[{ce: {mean: all, class_weights: [1, 2, 3, 4]}}, ";
  EXPECT_NO_THROW(check_same_experiment(saved, tiny_experiment({ce + "{dice: {weight: 0.5}}]"})));
  EXPECT_THROW(check_same_experiment(saved, tiny_experiment({ce + "dice]"})), UsageError);
  EXPECT_THROW(check_same_experiment(saved, tiny_experiment({"loss.type=ce_dice"})), UsageError);
}

}  // namespace
}  // namespace tessera
