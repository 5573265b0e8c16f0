#include "launch/cluster/job_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "core/error.h"
#include "launch/node/secret_file.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Table = std::map<std::string, std::string>;

const std::string kSecret = "0123456789abcdef0123456789abcdef";

RankVariables variables_of(Table table) {
  return {[table = std::move(table)](const std::string& name) -> std::optional<std::string> {
            const auto found = table.find(name);
            return found == table.end() ? std::nullopt : std::optional(found->second);
          },
          1};
}

LaunchLayout nodes(int count, int node, const std::string& address) {
  LaunchLayout layout;
  layout.num_nodes = count;
  layout.node_rank = node;
  layout.master_addr = address;
  layout.master_port = 29500;
  return layout;
}

TEST(JobSecret, IsGivenByFileOrVariable) {
  const testing::TempFolder folder;
  const fs::path file = folder / "secret";
  write_file(file, kSecret + "\n");
  chmod(file.c_str(), 0600);
  EXPECT_EQ(given_secret(variables_of({{"TESSERA_JOB_SECRET_FILE", file.string()}})), kSecret);
  EXPECT_EQ(given_secret(variables_of({{"TESSERA_JOB_SECRET", kSecret}})), kSecret);
  EXPECT_EQ(given_secret(variables_of({{"TESSERA_JOB_SECRET", ""}})), std::nullopt);
  EXPECT_EQ(given_secret(variables_of({})), std::nullopt);
}

TEST(JobSecret, AFileForOthersIsRefused) {
  const testing::TempFolder folder;
  const fs::path file = folder / "secret";
  write_file(file, kSecret);
  const auto complaint = [&] {
    return testing::message_of<UsageError>([&] { given_secret(variables_of({{"TESSERA_JOB_SECRET_FILE", file.string()}})); });
  };
  for (const mode_t mode : {0644, 0640, 0604, 0666, 0620}) {
    chmod(file.c_str(), mode);
    EXPECT_NE(complaint().find("open to other users"), std::string::npos) << complaint();
    EXPECT_NE(complaint().find("chmod 600"), std::string::npos) << complaint();
    EXPECT_EQ(complaint().find(kSecret), std::string::npos);
  }
  chmod(file.c_str(), 0600);
  if (geteuid() == 0 && chown(file.c_str(), 12345, 12345) == 0) {
    EXPECT_NE(complaint().find("another user"), std::string::npos) << complaint();
  }
  fs::remove(file);
  EXPECT_NE(complaint().find("No such file"), std::string::npos) << complaint();
}

TEST(JobSecret, WhatIsTooShortIsNoSecret) {
  for (const std::string& text : {std::string("abc"), std::string(15, 'x') + "\n\n", std::string(5000, 'x')})
    EXPECT_THROW(given_secret(variables_of({{"TESSERA_JOB_SECRET", text}})), UsageError) << text;
}

TEST(JobSecret, OneHostMakesItsOwn) {
  const std::string one = launcher_secret({}, nodes(1, 0, "127.0.0.1"), variables_of({})).wait(0);
  EXPECT_EQ(one.size(), 64U);
  EXPECT_NE(one, launcher_secret({}, nodes(1, 0, "127.0.0.1"), variables_of({})).wait(0));
}

TEST(JobSecret, SeveralNodesByHandNeedOneUnlessTheyAskForNoneOrMeetOnLoopback) {
  const LaunchLayout there = nodes(2, 1, "node0");
  const std::string complaint = testing::message_of<UsageError>([&] { launcher_secret({}, there, variables_of({})); });
  for (const char* way : {"TESSERA_JOB_SECRET_FILE", "TESSERA_JOB_SECRET,", "--insecure"})
    EXPECT_NE(complaint.find(way), std::string::npos) << complaint;
  EXPECT_EQ(launcher_secret({}, there, variables_of({{"TESSERA_JOB_SECRET", kSecret}})).wait(0), kSecret);
  LaunchOptions insecure;
  insecure.insecure = true;
  EXPECT_EQ(launcher_secret(insecure, there, variables_of({})).wait(0), "");
  EXPECT_EQ(launcher_secret(insecure, there, variables_of({{"TESSERA_JOB_SECRET", kSecret}})).wait(0), kSecret);
  EXPECT_EQ(launcher_secret({}, there, variables_of({{"TESSERA_INSECURE", "1"}})).wait(0), "");
  EXPECT_EQ(launcher_secret({}, nodes(2, 1, "127.0.0.1"), variables_of({})).wait(0), "");
  EXPECT_THROW(launcher_secret({}, nodes(2, 1, "127.evil.example"), variables_of({})), UsageError);
}

TEST(SharedSecret, TheFirstLeavesItAndTheOthersReadIt) {
  const testing::TempFolder folder;
  SharedSecret first("slurm-7.0", {folder.path()}), other("slurm-7.0", {folder.path()}), foreign("slurm-8.0", {folder.path()});
  EXPECT_EQ(other.read(), std::nullopt);
  const std::string secret = first.create();
  EXPECT_EQ(secret.size(), 64U);
  EXPECT_EQ(other.read(), secret);
  EXPECT_EQ(foreign.read(), std::nullopt);
  struct stat about {};
  EXPECT_EQ(stat((folder / ".tessera-secret-slurm-7.0").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  other.remove();
  EXPECT_EQ(other.read(), secret) << "only who made it removes it";
  first.remove();
  EXPECT_EQ(other.read(), std::nullopt);
}

TEST(SharedSecret, OneThatAKilledJobLeftIsUsedAgain) {
  const testing::TempFolder folder;
  const fs::path path = folder / ".tessera-secret-slurm-7.0";
  const std::string left(64, 'e');
  write_file(path, left);
  chmod(path.c_str(), 0600);
  SharedSecret first("slurm-7.0", {folder.path()});
  EXPECT_EQ(first.create(), left);
}

TEST(SharedSecret, WhatOthersPutThereIsNotBelieved) {
  const testing::TempFolder folder;
  const fs::path path = folder / ".tessera-secret-slurm-7.0", elsewhere = folder / "elsewhere";
  SharedSecret first("slurm-7.0", {folder.path()});
  const auto is_refused = [&] {
    EXPECT_EQ(first.read(), std::nullopt);
    EXPECT_THROW(first.create(), Error);
    EXPECT_TRUE(fs::is_symlink(path) || fs::exists(path)) << "it stays as it was";
    fs::remove(path);
  };
  write_file(path, std::string(64, 'e'));  // open to others
  chmod(path.c_str(), 0644);
  is_refused();
  write_file(elsewhere, std::string(64, 'e'));
  chmod(elsewhere.c_str(), 0600);
  fs::create_symlink(elsewhere, path);
  is_refused();
  fs::create_hard_link(elsewhere, path);  // this user's and closed, but somebody else may have put it there
  is_refused();
  fs::create_symlink(folder / "nowhere", path);
  is_refused();
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  if (geteuid() == 0) {
    write_file(path, std::string(64, 'e'));
    chmod(path.c_str(), 0600);
    EXPECT_EQ(chown(path.c_str(), 12345, 12345), 0);
    is_refused();
  }
}

TEST(SharedSecret, ANextFolderServesWhereTheFirstCannot) {
  const testing::TempFolder folder;
  const std::vector<fs::path> folders{"/proc/nowhere", folder.path()};
  SharedSecret first("slurm-7.0", folders);
  const std::string secret = first.create();
  EXPECT_EQ(SharedSecret("slurm-7.0", folders).read(), secret);
}

const Table kStep = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "3"}};

TEST(SharedSecret, JobsHaveNames) {
  EXPECT_EQ(scheduler_job(variables_of({})), "");
  EXPECT_EQ(scheduler_job(variables_of(kStep)), "slurm-7.3");
  Table again = kStep;
  again["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(scheduler_job(variables_of(again)), "slurm-7.3-2");
  again["OMPI_COMM_WORLD_RANK"] = "0";
  again["PMIX_NAMESPACE"] = "prterun-host/../x-12@1";
  EXPECT_EQ(scheduler_job(variables_of(again)), "mpirun-prterun-host_.._x-12@1");
}

TEST(JobSecret, ARankOfSrunFindsThatOfItsStepAndOthersNone) {
  RankSpec spec;
  EXPECT_EQ(rank_secret(spec, variables_of({})).wait(0), "");
  EXPECT_EQ(rank_secret(spec, variables_of({{"TESSERA_JOB_SECRET", kSecret}})).wait(0), kSecret);
  const testing::TempFolder folder;
  Table table = kStep;
  spec.srun_step = "7.3";
  spec.rank = 1;
  table["TESSERA_INSECURE"] = "1";
  EXPECT_EQ(rank_secret(spec, variables_of(table)).wait(0), "");
  table.erase("TESSERA_INSECURE");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  {
    JobSecret other = rank_secret(spec, variables_of(table));
    EXPECT_EQ(other.look(), std::nullopt);
    const std::string complaint = testing::message_of<Error>([&] { other.wait(0); });
    EXPECT_NE(complaint.find(".tessera-secret-slurm-7.3"), std::string::npos) << complaint;
    spec.rank = 0;
    JobSecret first = rank_secret(spec, variables_of(table));
    EXPECT_EQ(other.look(), first.look());
    first.all_have_it();
    EXPECT_TRUE(fs::is_empty(folder.path()));
    EXPECT_EQ(other.look(), first.look()) << "who has read it knows it";
  }
  fs::current_path(before);
}

const Table kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"}, {"PMIX_NAMESPACE", "prterun-node0-12@1"}};

TEST(JobSecret, ARankOfMpirunOnSeveralHostsFindsThatOfItsJob) {
  const testing::TempFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  RankSpec spec{.rank = 1, .world_size = 2, .node_rank = 1, .num_nodes = 2, .master_addr = "node0"};
  {
    JobSecret other = rank_secret(spec, variables_of(kMpirun));
    EXPECT_EQ(other.look(), std::nullopt);
    EXPECT_NE(other.places().find(".tessera-secret-mpirun-prterun-node0-12@1"), std::string::npos) << other.places();
    spec.rank = 0;
    JobSecret first = rank_secret(spec, variables_of(kMpirun));
    EXPECT_EQ(first.wait(0).size(), 64U);
    EXPECT_EQ(other.look(), first.look());
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  // Ranks of one host need none, and those of a torchrun that mpirun started are not mpirun's.
  spec.num_nodes = 1;
  EXPECT_EQ(rank_secret(spec, variables_of(kMpirun)).wait(0), "");
  spec.num_nodes = 2;
  Table torchrun = kMpirun;
  torchrun["RANK"] = "0";
  EXPECT_EQ(rank_secret(spec, variables_of(torchrun)).wait(0), "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  fs::current_path(before);
}

TEST(JobSecret, RanksOfSeveralHostsThatGoWithoutAreWarnedOnce) {
  const auto said = [](const RankSpec& spec, const Table& table) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(rank_secret(spec, variables_of(table)).wait(0), "");
    return ::testing::internal::GetCapturedStderr();
  };
  const RankSpec spec{.world_size = 2, .num_nodes = 2, .master_addr = "node0", .master_port = 29500};
  const std::string warning = said(spec, {{"RANK", "0"}});
  EXPECT_NE(warning.find("whoever reaches node0 port 29500"), std::string::npos) << warning;
  EXPECT_NE(warning.find("TESSERA_JOB_SECRET_FILE"), std::string::npos) << warning;
  Table insecure = kMpirun;
  insecure["TESSERA_INSECURE"] = "1";
  EXPECT_NE(said(spec, insecure), "");
  RankSpec quiet = spec;
  quiet.rank = 1;
  EXPECT_EQ(said(quiet, {{"RANK", "1"}}), "") << "rank 0 says it";
  quiet = spec;
  quiet.master_addr = "127.0.0.1";
  EXPECT_EQ(said(quiet, {{"RANK", "0"}}), "");
  quiet = spec;
  quiet.num_nodes = 1;
  EXPECT_EQ(said(quiet, {{"RANK", "0"}}), "");
  EXPECT_EQ(said(spec, {{"RANK", "0"}, {"TESSERA_GENERATION", "0"}}), "") << "its launcher has said it";
}

TEST(SecretFile, IsReadByProcessesOfThisUser) {
  const SecretFile file(kSecret);
  EXPECT_EQ(given_secret(variables_of({{"TESSERA_JOB_SECRET_FILE", file.path()}})), kSecret);
  EXPECT_EQ(given_secret(variables_of({{"TESSERA_JOB_SECRET_FILE", file.path()}})), kSecret) << "more than once";
}

}  // namespace
}  // namespace tessera
