#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera {

// Bytes of memory that this process may come to use at most: the machine's, the limits of its control group and of
// `ulimit -v`, whichever is least.
int64_t memory_limit();

// The least limit of a control group and those above it. root: where control groups are mounted; groups: the text of
// /proc/self/cgroup. INT64_MAX where there is none.
int64_t group_memory_limit(const std::filesystem::path& root, const std::string& groups);

}  // namespace tessera
