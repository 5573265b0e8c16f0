#include "study/space/check_space.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "study/space/read_space.h"

namespace tessera {
namespace {

std::string error_of(const std::vector<std::string>& flags) {
  try {
    check_space(parse_vary(flags), "", {});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CheckSpace, TakesWhatAConfigTakes) {
  EXPECT_EQ(error_of({"optimizer.lr=log:1e-4:1e-1", "model.unet.channels=[16,32],[32,64]", "train.duration=2ep,4ep",
                      "train.batch_size=integer:2:8"}),
            "");
}

TEST(CheckSpace, NamesTheNearestKey) {
  const std::string error = error_of({"optimizer.lrr=log:1e-4:1e-1"});
  EXPECT_TRUE(says(error, "the config has no key 'optimizer.lrr', did you mean 'optimizer.lr'")) << error;
  EXPECT_TRUE(says(error_of({"optimizer=1,2"}), "is a group"));
}

TEST(CheckSpace, TriesEveryValue) {
  EXPECT_TRUE(says(error_of({"train.duration=2ep,4epo"}), "train.duration=4epo"));
  EXPECT_TRUE(says(error_of({"optimizer.lr=uniform:-1:1"}), "optimizer.lr=-1"));
  EXPECT_TRUE(
      says(error_of({"train.batch_size=uniform:2:8"}), "train.batch_size=3.9"));  // the ends are whole, what is between not
  EXPECT_TRUE(says(error_of({"optimizer.name=sgd,adamm"}), "did you mean"));
}

TEST(CheckSpace, ChecksFragmentsAndConditions) {
  const auto check = [](const std::string& text) { check_space(read_space(parse_config(text, "s.yaml"), "."), "", {}); };
  EXPECT_NO_THROW(check("recipe: {fragments: {a: {train.batch_size: 8}, b: {train: {batch_size: 4}}}}"));
  EXPECT_THROW(check("recipe: {fragments: {a: {train.batch_sise: 8}}}"), UsageError);
  EXPECT_THROW(check("m: {fragments: {a: {model.name: unet}, b: {model.name: fcn}}}\n"
                     "eval.threshold: {choice: [0.5, 7], when: {m: b}}"),
               UsageError);
}

TEST(CheckSpace, AsksTheCallerToo) {
  int asked = 0;
  check_space(parse_vary({"model.name=unet,fcn"}), "", {}, [&](const Experiment& e) { asked += e.model.name == "fcn"; });
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace tessera
