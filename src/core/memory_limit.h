#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

// Bytes of memory that this process may come to use at most: the machine's, the limits of its control group and of
// `ulimit -v`, whichever is least.
int64_t memory_limit();

// Of them, those for what is read ahead of its use, where each of so many ranks on this host reads ahead.
int64_t memory_for_reading_ahead(int ranks);

// The least limit of a control group and those above it. root: where control groups are mounted; groups: the text of
// /proc/self/cgroup. INT64_MAX where there is none.
int64_t group_memory_limit(const std::filesystem::path& root, const std::string& groups);

// What the limits of a control group and those above it leave, where the system ends a process that takes more. What can be
// dropped, as pages of files, does not count.
class GroupMemory {
 public:
  // root, groups: see group_memory_limit.
  GroupMemory(const std::filesystem::path& root, const std::string& groups);
  static GroupMemory of_process();

  bool limited() const { return !levels_.empty(); }
  int64_t limit() const;  // the least; INT64_MAX where there is none
  int64_t room() const;   // bytes that are left, of the level that leaves least; looks into files
  int64_t used() const { return limit() - room(); }

 private:
  struct Level {
    int64_t limit;
    std::filesystem::path stat;  // of version 1 or 2
  };
  std::vector<Level> levels_;
};

}  // namespace tessera
