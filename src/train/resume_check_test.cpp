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

}  // namespace
}  // namespace tessera
