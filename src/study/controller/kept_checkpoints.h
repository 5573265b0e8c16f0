#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace tessera {

// Checkpoints that other trials may take, of steps that the run itself goes on from and forgets. They are hard links where the
// file system has them, and cost nothing as long as the run keeps its own.
class KeptCheckpoints {
 public:
  explicit KeptCheckpoints(std::filesystem::path folder);

  // The newest complete checkpoint of the run, as what trial `number` had when it reported `step`. Does nothing where that is
  // kept already. Throws Error.
  void keep(int64_t number, int64_t step, const std::filesystem::path& run);
  std::optional<std::filesystem::path> find(int64_t number, int64_t step) const;
  // Those of earlier steps are not needed any more.
  void forget_before(int64_t step);

 private:
  std::filesystem::path place(int64_t number, int64_t step) const;

  std::filesystem::path folder_;
};

}  // namespace tessera
