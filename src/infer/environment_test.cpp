#include "infer/environment.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Environment, ReadsTheDriversVersion) {
  EXPECT_EQ(nvidia_driver("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023"),
            "535.54.03");
  EXPECT_EQ(nvidia_driver("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95  Release Build  (root@host)"),
            "580.95");
  EXPECT_EQ(nvidia_driver(""), "none");
}

TEST(Environment, SaysWhatAResultDependsOn) {
  const nlohmann::json found = describe_environment();
  for (const char* name : {"tessera", "commit", "torch", "system", "cpu", "instructions", "cores", "usable_cpus",
                           "compute_threads", "memory_gb", "cuda", "driver", "gpus"})
    EXPECT_TRUE(found.contains(name)) << name;
}

}  // namespace
}  // namespace tessera
