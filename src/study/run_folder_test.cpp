#include "study/run_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"

namespace tessera {
namespace {

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() : folder_(fs::temp_directory_path() / fmt::format("run_folder_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunFolderTest() override { fs::remove_all(folder_); }
  RunMachine machine(const std::string& environment) const {
    write_file(folder_ / "environment.json", environment);
    return run_machine(folder_);
  }
  fs::path folder_;
};

TEST_F(RunFolderTest, ARunOnCpusIsNamedByThem) {
  const RunMachine found = machine(R"({"device":"cpu","cpu":"a CPU","commit":"abc","gpus":["a GPU that is not used"]})");
  EXPECT_EQ(found.device, "cpu");
  EXPECT_EQ(found.machine, "a CPU");
  EXPECT_EQ(found.commit, "abc");
}

TEST_F(RunFolderTest, ARunOnAGpuIsNamedByIt) {
  const RunMachine found = machine(R"({"device":"cuda:0","cpu":"a CPU","gpus":["NVIDIA H200, 139 GiB"]})");
  EXPECT_EQ(found.device, "NVIDIA H200, 139 GiB");
  EXPECT_EQ(found.machine, "NVIDIA H200, 139 GiB");
}

TEST_F(RunFolderTest, NothingIsKnownOfARunThatHasNotBegun) {
  EXPECT_EQ(run_machine(folder_).device, "");
  EXPECT_EQ(machine("[torn").device, "");
  EXPECT_EQ(newest_step(folder_), -1);
}

TEST_F(RunFolderTest, TheNewestCheckpointIsOneThatIsComplete) {
  for (const char* name : {"step-00000010", "step-00000120", "step-00000130", "best"}) {
    make_folders(folder_ / "checkpoints" / name);
    if (std::string(name) != "step-00000130") write_file(folder_ / "checkpoints" / name / "DONE", std::string_view("{}"));
  }
  EXPECT_EQ(newest_step(folder_), 120);
}

}  // namespace
}  // namespace tessera
