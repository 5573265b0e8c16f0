#include "train/run_folder.h"

#include <gtest/gtest.h>

#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using testing::TempFolder;

void put(const fs::path& path, const std::string& text = "x") {
  make_folders(path.parent_path());
  write_file(path, std::string_view(text));
}

TEST(NewFolders, GoWithARunThatIsRefused) {
  const TempFolder folder;
  const fs::path run = folder / "runs/deep/one";
  {
    const NewFolders made(run);
    const auto lock = claim_folder(run, false);
    make_folders(run / "checkpoints");
  }
  EXPECT_FALSE(fs::exists(folder / "runs"));
  {
    NewFolders made(run);
    make_folders(run / "checkpoints");
    made.keep();
  }
  EXPECT_TRUE(fs::exists(run / "checkpoints"));
}

TEST(NewFolders, LeaveWhatWasThereOrIsNotTheirs) {
  const TempFolder folder;
  put(folder / "run/notes.txt");
  {
    const NewFolders made(folder / "run/");
    make_folders(folder / "run/checkpoints");
    put(folder / "run/.lock", "");
  }
  EXPECT_TRUE(fs::exists(folder / "run/notes.txt"));
  EXPECT_FALSE(fs::exists(folder / "run/checkpoints"));
  EXPECT_FALSE(fs::exists(folder / "run/.lock"));
  {
    const NewFolders made(folder / "other");
    put(folder / "other/logs/rank0.txt");
  }
  EXPECT_TRUE(fs::exists(folder / "other/logs/rank0.txt"));
}

TEST(ClaimFolder, ARunThatFailedBeforeItsFirstCheckpointIsNone) {
  const TempFolder folder;
  const fs::path run = folder / "run";
  put(run / "log.jsonl", "{\"step\":1,\"type\":\"train\"}\n");
  put(run / "tensorboard/events");
  put(run / "checkpoints/.writing-step-00000005/model.safetensors");
  EXPECT_NO_THROW(claim_folder(run, false));
  set_failed_run_aside(run);
  EXPECT_FALSE(fs::exists(run / "log.jsonl") || fs::exists(run / "tensorboard"));
  EXPECT_EQ(read_text(run / "log-failed.jsonl"), "{\"step\":1,\"type\":\"train\"}\n");
}

TEST(ClaimFolder, ARunWithACheckpointNowOrOnceIsOne) {
  const TempFolder folder;
  put(folder / "now/checkpoints/step-00000005/DONE");
  put(folder / "once/log.jsonl", "{\"step\":5,\"time\":1,\"type\":\"checkpoint\"}\n");
  for (const char* name : {"now", "once"}) {
    EXPECT_THROW(claim_folder(folder / name, false), UsageError) << name;
    EXPECT_NO_THROW(claim_folder(folder / name, true)) << name;
    set_failed_run_aside(folder / name);
  }
  EXPECT_TRUE(fs::exists(folder / "once/log.jsonl"));
}

}  // namespace
}  // namespace tessera
