#include "data/loading/loader_advice.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

LoaderLoad waiting_for(LoadStage stage) {
  LoaderLoad load{.times = {}, .wait_share = 0.25, .threads = 2, .cpus = 8};
  load.times.samples = 100;
  load.times.planned = 100;
  load.times.ns.fill(50'000'000);
  load.times.ns[static_cast<size_t>(stage)] = 750'000'000;
  return load;
}

TEST(LoaderAdvice, NamesTheStageThatTakesLongestAndWhatToSet) {
  const std::string text = loader_advice(waiting_for(LoadStage::kDecode));
  EXPECT_EQ(
      text,
      "25 % of the time goes by waiting for data: a thread loads 100 images/s (decode 75 %, read 5 %, resize 5 %, labels 5 %, "
      "transform 5 %, place 5 %); set data.threads=8 (now 2), or store the images nearer to the size they are trained at");
  for (const LoadStage stage : {LoadStage::kRead, LoadStage::kLabels, LoadStage::kTransform, LoadStage::kPlace}) {
    EXPECT_NE(loader_advice(waiting_for(stage)), text);
  }
}

TEST(LoaderAdvice, WholeImagesThatNeedNotBeDecodedComeFirst) {
  LoaderLoad load = waiting_for(LoadStage::kDecode);
  load.times.planned = 0;
  EXPECT_NE(loader_advice(load).find("begin data.train.transforms with"), std::string::npos);
}

TEST(LoaderAdvice, MoreThreadsAreNoAdviceWhereAllCpusLoad) {
  LoaderLoad load = waiting_for(LoadStage::kResize);
  load.threads = 8;
  EXPECT_EQ(loader_advice(load).find("data.threads"), std::string::npos);
}

TEST(LoaderAdvice, SaysNothingWhereNobodyWaits) {
  LoaderLoad load = waiting_for(LoadStage::kRead);
  load.wait_share = 0.05;
  EXPECT_EQ(loader_advice(load), "");
  EXPECT_EQ(loader_advice({.times = {}, .wait_share = 1}), "");
}

}  // namespace
}  // namespace tessera
