#include "core/suggest.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Suggest, FindsTheLikelySlipAndStaysSilentOtherwise) {
  const std::vector<std::string> names{"optimizer", "schedule", "batch_size"};
  EXPECT_EQ(nearest_name("optimiser", names), "optimizer");
  EXPECT_EQ(nearest_name("batchsize", names), "batch_size");
  EXPECT_EQ(nearest_name("batch", names), "batch_size");
  EXPECT_EQ(nearest_name("zzz", names), "");
  EXPECT_EQ(did_you_mean("optimiser", names), ", did you mean 'optimizer'?");
}

}  // namespace
}  // namespace tessera
