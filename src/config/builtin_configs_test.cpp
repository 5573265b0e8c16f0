#include "config/builtin_configs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/source_dir.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::source_dir;
using testing::TempFolder;

TEST(BuiltinConfigs, AreTheFilesOfTheSourceTree) {
  size_t files = 0;
  for (const fs::path& file : list_files(fs::path(source_dir()) / "configs")) {
    if (file.extension() != ".yaml") continue;
    ++files;
    const std::string name = file.lexically_relative(fs::path(source_dir()) / "configs").replace_extension().string();
    const EmbeddedFile* carried = find_embedded(builtin_configs(), name);
    ASSERT_NE(carried, nullptr) << name;
    EXPECT_EQ(carried->content, read_text(file)) << name;
  }
  EXPECT_EQ(builtin_configs().size(), files);
}

TEST(BuiltinConfigs, EachIsTheExperimentOfItsFileAndSaysWhatItIs) {
  for (const EmbeddedFile* recipe : builtin_trainings()) {
    const std::string name(recipe->name);
    EXPECT_EQ(experiment_yaml(load_experiment(kBuiltinPrefix + name, {"data.path=/x"})),
              experiment_yaml(load_experiment(fs::path(source_dir()) / "configs" / (name + ".yaml"), {"data.path=/x"})));
    EXPECT_GT(summary_of(*recipe).size(), 10U) << name;
  }
}

TEST(BuiltinConfigs, AreFoundByNameByFileAndByALastPartThatIsAlone) {
  for (const char* word : {"pairs/unet", "unet", "configs/pairs/unet.yaml", "builtin:pairs/unet", "builtin:unet"}) {
    ASSERT_NE(find_builtin_config(word), nullptr) << word;
    EXPECT_EQ(find_builtin_config(word)->name, "pairs/unet") << word;
  }
  for (const char* word : {"unet.yaml", "my/unet", "my/unet.yaml", "unett", "", "configs/unet"})
    EXPECT_EQ(find_builtin_config(word), nullptr) << word;
  EXPECT_CONTAINS(message_of<UsageError>([] { find_builtin_config("r50_ade20k_80k"); }),
                  "deeplabv3plus/r50_ade20k_80k, fcn/r50_ade20k_80k");
  const auto words = builtin_config_words();
  const auto has = [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  EXPECT_TRUE(has("pairs/unet") && has("unet") && has("demo") && has("fcn/r50_ade20k_80k"));
  EXPECT_FALSE(has("r50_ade20k_80k") || has("unet_small"));
}

TEST(BuiltinConfigs, AFileOnDiskGoesFirstAndMayBuildOnThem) {
  const TempFolder folder;
  write_file(folder / "own.yaml", std::string_view("base: pairs/unet\ntrain: {seed: 99}\n"));
  const Experiment own = load_experiment(folder / "own.yaml");
  EXPECT_EQ(own.train.seed, 99U);
  EXPECT_EQ(own.train.duration.text(), "50ep");
  EXPECT_EQ(own.run.name, "own");
  write_file(folder / "pairs", std::string_view("train: {seed: 5}\n"));
  write_file(folder / "beside.yaml", std::string_view("base: pairs\n"));
  EXPECT_EQ(load_experiment(folder / "beside.yaml").train.seed, 5U);
  EXPECT_EQ(load_experiment("unet").run.name, "unet");
  EXPECT_EQ(load_experiment("builtin:demo").run.name, "demo");
  const Origin origin = compose("unet", {}).find("train")->find("duration")->origin;
  EXPECT_EQ(origin.file, "builtin:pairs/unet");
  EXPECT_GT(origin.line, 1);
}

TEST(BuiltinConfigs, AnUnknownNameGetsTheNearestOne) {
  const std::string said = message_of<UsageError>([] { load_experiment("unett"); });
  EXPECT_CONTAINS(said, "no config 'unett'");
  EXPECT_CONTAINS(said, "did you mean 'unet'?");
  EXPECT_CONTAINS(said, "tessera config list");
  const std::string file = message_of<UsageError>([] { load_experiment("nowhere/unet.yaml"); });
  EXPECT_CONTAINS(file, "No such file");
}

// The folder of the data, where it was meant to be data.path.
TEST(BuiltinConfigs, AFolderIsNoConfig) {
  const TempFolder folder;
  const std::string said = message_of<UsageError>([&] { load_experiment(folder.path()); });
  EXPECT_CONTAINS(said, "is a folder, where a config is expected; if it holds the data, say data.path=");
}

}  // namespace
}  // namespace tessera
