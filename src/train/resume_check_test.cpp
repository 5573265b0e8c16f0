#include "train/resume_check.h"

#include <gtest/gtest.h>

#include <cstdlib>

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

TEST(ResumeCheck, SecretsAreComparedByTheirNames) {
  const std::string url = "model.pretrained=https://user:w0rd@h/m.pth?token=";
  const std::string masked = experiment_yaml(tiny_experiment({url + "abc"}));
  EXPECT_EQ(masked.find("w0rd"), std::string::npos);
  EXPECT_NO_THROW(check_same_experiment(masked, tiny_experiment({url + "abc"})));
  EXPECT_NO_THROW(check_same_experiment(masked, tiny_experiment({url + "renewed"})));
  EXPECT_THROW(check_same_experiment(masked, tiny_experiment({"model.pretrained=https://user:w0rd@h/other.pth?token=abc"})),
               UsageError);
  ::setenv("RESUME_TEST_TOKEN", "abcdefgh", 1);
  const std::string named = experiment_yaml(tiny_experiment({url + "${RESUME_TEST_TOKEN}"}));
  EXPECT_EQ(named.find("abcdefgh"), std::string::npos);
  EXPECT_NO_THROW(check_same_experiment(named, tiny_experiment({url + "${RESUME_TEST_TOKEN}"})));
  EXPECT_THROW(check_same_experiment(named, tiny_experiment({url + "${secret:OTHER:-x}"})), UsageError);
  ::unsetenv("RESUME_TEST_TOKEN");
  EXPECT_THROW(check_same_experiment(named, tiny_experiment({url + "abc"})), UsageError);  // and no complaint of the variable
  // Another variable is saved expanded, and its change is a change of the run.
  ::setenv("RESUME_TEST_LR", "0.1", 1);
  const std::string expanded = experiment_yaml(tiny_experiment({"optimizer.lr=${RESUME_TEST_LR}"}));
  ::setenv("RESUME_TEST_LR", "0.2", 1);
  EXPECT_THROW(check_same_experiment(expanded, tiny_experiment({"optimizer.lr=${RESUME_TEST_LR}"})), UsageError);
  ::unsetenv("RESUME_TEST_LR");
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
