#include "train/run_folder.h"

#include <gtest/gtest.h>

#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
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

TEST(ClaimFolder, WhatKilledProcessesLeftGoesAndTheFolderIsForWhomItSays) {
  const TempFolder folder;
  const fs::path run = folder / "runs/one";
  { claim_folder(run, false, Access::kPrivate); }
  EXPECT_EQ(fs::status(run).permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(run / ".lock").permissions(), fs::perms(0600));
  const std::string left = ".tessera-0123456789abcdef.tmp";
  for (const std::string& place : {left, "checkpoints/" + left, "checkpoints/step-00000005/" + left, "predictions/" + left,
                                   std::string("checkpoints/.writing-step-00000007-0123/model.safetensors")})
    put(run / place);
  put(run / "checkpoints/step-00000005/DONE");
  claim_folder(run, true, Access::kPrivate);
  EXPECT_EQ(list_files(run), (std::vector<fs::path>{run / "checkpoints/step-00000005/DONE"}));
  EXPECT_FALSE(fs::exists(run / left) || fs::exists(run / "checkpoints" / left) || fs::exists(run / "predictions" / left));
  EXPECT_FALSE(fs::exists(run / "checkpoints/step-00000005" / left));
  EXPECT_FALSE(fs::exists(run / "checkpoints/.writing-step-00000007-0123"));
}

TEST(RunFolder, ANameStaysBelowRuns) {
  const auto named = [](const std::string& name) {
    Experiment experiment;
    experiment.run.name = name;
    return run_folder(experiment);
  };
  EXPECT_EQ(named("unet"), "runs/unet");
  EXPECT_EQ(named("group/unet..2"), "runs/group/unet..2");
  EXPECT_EQ(named(""), "runs/run");
  for (const char* name : {"../../escape", "/tmp/escape", "a/../../b", "..", ".", "./"})
    EXPECT_CONTAINS(message_of<UsageError>([&] { named(name); }), "does not name a folder below runs/") << name;
  Experiment elsewhere;
  elsewhere.run.name = "../x";
  elsewhere.run.dir = "/tmp/anywhere";
  EXPECT_EQ(run_folder(elsewhere), "/tmp/anywhere");
}

TEST(RunFolder, AUrlIsNoFolder) {
  Experiment e;
  e.run.dir = "s3://bucket/runs/one";
  EXPECT_CONTAINS(message_of<UsageError>([&] { run_folder(e); }), "set run.upload=s3://bucket/runs/one");
}

TEST(RunFolder, PermissionsAreTheConfigsOrThoseOfThePlace) {
  const TempFolder folder;
  RunConfig config;
  EXPECT_EQ(run_access(config, folder / "run"), Access::kPrivate);
  fs::permissions(folder.path(), fs::perms(02770));
  EXPECT_EQ(run_access(config, folder / "run"), Access::kGroup);
  config.permissions = RunPermissions::kPrivate;
  EXPECT_EQ(run_access(config, folder / "run"), Access::kPrivate);
  config.permissions = RunPermissions::kUmask;
  EXPECT_EQ(run_access(config, folder / "run"), Access::kUmask);
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
