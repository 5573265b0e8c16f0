#include "study/suite/suite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

TEST(Suite, TheCocoSuiteIsWhole) {
  const Suite suite = read_suite("suites/unet_coco");
  ASSERT_EQ(suite.cases.size(), 6U);
  EXPECT_EQ(suite.of(8).published.tflops_per_device, 7.25);
  for (const SuiteCase& one : suite.cases) {
    std::vector<std::string> set = suite.set;
    set.insert(set.end(), one.set.begin(), one.set.end());
    const Experiment experiment = load_experiment(suite.config, set);
    EXPECT_EQ(experiment.train.batch_size % (experiment.train.micro_batch.samples * one.devices), 0) << one.devices;
    EXPECT_EQ(experiment.model.unet.convs.size(), 5U);
    EXPECT_EQ(experiment.model.unet.bottleneck, 0);  // twice the last height's
  }
  try {
    suite.of(3);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("there are: 1, 2, 4, 8, 16, 32"), std::string::npos);
  }
}

TEST(Suite, MistakesInItsFileAreNamed) {
  const fs::path file = fs::temp_directory_path() / fmt::format("suite_{}.yaml", ::getpid());
  for (const char* text : {"config: demo\n", "config: demo\ncases: [{device: 1}]\n", "configs: demo\ncases: [{devices: 1}]\n",
                           "config: demo\ncases: [{devices: 0}]\n"}) {
    write_file(file, std::string_view(text));
    EXPECT_THROW(read_suite(file), UsageError) << text;
  }
  fs::remove(file);
}

TEST(Suite, TablesHaveOurFiguresAndThePublishedOnes) {
  const Suite suite{.title = "a\tb", .source = "elsewhere"};
  SuiteRow row{.asked = {.devices = 2, .published = {.tflops_per_device = 2.69, .parameters_m = 0.4143}},
               .ranks = 2,
               .batch_size = 512,
               .micro_batch = 32,
               .parameters = 414284,
               .latency_s = 0.5,
               .latency_sd_s = 0.01,
               .tflops_per_device = 12.5,
               .images_per_s = 1024,
               .memory_gb = 3.25};
  const SuiteRow failed{.asked = {.devices = 4}, .ranks = 4, .failure = "out of\nmemory"};
  const std::string text = suite_text({row, failed}), tsv = suite_tsv(suite, {row, failed}, "H200");
  EXPECT_NE(text.find("414,284"), std::string::npos);
  EXPECT_NE(text.find("2.69\n"), std::string::npos);
  EXPECT_NE(tsv.find("\na b\tH200\t2\t2\t512\t32\t414284\t0.5\t0.01\t1024\t12.5\t3.25\t0.4143\t\t2.69\t\telsewhere\t\n"),
            std::string::npos)
      << tsv;
  EXPECT_NE(tsv.find("\na b\tH200\t4\t4\t\t\t\t\t\t\t\t\t\t\t\t\telsewhere\tout of memory\n"), std::string::npos) << tsv;
}

}  // namespace
}  // namespace tessera
