// The batch script, and what happens without a Slurm; tests/cluster/slurm_studies.py has a real one.
#include "study/executor/slurm_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

Job job(int ranks, bool threads = false) {
  return {.name = "cells-12-3",
          .arguments = {"train", "unet", "run.dir=it's"},
          .folder = "/studies/cells/jobs/12-3",
          .ranks = ranks,
          .threads = threads};
}

std::string script(const SlurmOptions& options, const Job& job) {
  return SlurmExecutor(options, {"/opt/tessera"}).script(job);
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(SlurmScript, AsksForWhatTheJobNeeds) {
  const std::string text = script({.partition = "gpu",
                                   .account = "physics",
                                   .time = "12:00:00",
                                   .gpus_per_node = 4,
                                   .cores_per_rank = 8,
                                   .memory = "64G",
                                   .sbatch = {"--qos=long"},
                                   .setup = {"module load cuda"}},
                                  job(8));
  for (const char* line :
       {"#SBATCH --job-name=cells-12-3", "#SBATCH --comment='/studies/cells/jobs/12-3'", "#SBATCH --nodes=2 --ntasks=8",
        "#SBATCH --ntasks-per-node=4", "#SBATCH --cpus-per-task=8", "#SBATCH --gpus-per-node=4", "#SBATCH --mem=64G",
        "#SBATCH --time=12:00:00", "#SBATCH --partition=gpu", "#SBATCH --account=physics", "#SBATCH --signal=USR1@120",
        "#SBATCH --no-requeue", "#SBATCH --qos=long", "module load cuda"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_TRUE(has_line(text,
                       "srun --kill-on-bad-exit=1 --cpus-per-task=8 '/opt/tessera' \\\n  'train' \\\n  'unet' \\\n"
                       "  'run.dir=it'\\''s' \\\n  '-p' \\\n  'ddp' \\\n  '--ranks' \\\n  '8'"))
      << text;
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n# cells-12-3: 8 ranks. Submit it with: sbatch job.sh\n#SBATCH"));
}

TEST(SlurmScript, FewRanksTakeFewGpus) {
  const std::string one = script({.gpus_per_node = 4}, job(1)), six = script({.gpus_per_node = 4}, job(6));
  EXPECT_TRUE(has_line(one, "#SBATCH --nodes=1 --ntasks=1"));
  EXPECT_TRUE(has_line(one, "#SBATCH --gpus-per-node=1"));
  EXPECT_TRUE(has_line(six, "#SBATCH --nodes=2 --ntasks=6"));
  EXPECT_TRUE(has_line(six, "#SBATCH --ntasks-per-node=3"));
  EXPECT_TRUE(has_line(six, "#SBATCH --gpus-per-node=3"));
}

TEST(SlurmScript, ThreadsAreOneTask) {
  const std::string text = script({.gpus_per_node = 4, .cores_per_rank = 2}, job(4, true));
  EXPECT_TRUE(has_line(text, "#SBATCH --nodes=1 --ntasks=1"));
  EXPECT_TRUE(has_line(text, "#SBATCH --cpus-per-task=8"));
  EXPECT_TRUE(has_line(text, "#SBATCH --gpus-per-node=4"));
  EXPECT_NE(text.find("'-p' \\\n  'dp'"), std::string::npos);
  EXPECT_THROW(script({.gpus_per_node = 4}, job(8, true)), UsageError);
}

TEST(SlurmExecutorTest, WithoutSlurmNothingIsStarted) {
  const std::string path = std::getenv("PATH");
  const fs::path folder = fs::temp_directory_path() / fmt::format("slurm_executor_{}", ::getpid());
  SlurmExecutor slurm({});
  Job one = job(1);
  one.folder = folder / "one";
  EXPECT_EQ(slurm.poll(one).state, JobStatus::State::kUnknown);
  setenv("PATH", "/nowhere", 1);
  EXPECT_THROW(slurm.start(one), Error);
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(fs::exists(one.folder / kJobScript));  // for whoever wants to submit it by hand
  EXPECT_FALSE(fs::exists(one.folder / "slurm_id"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera
