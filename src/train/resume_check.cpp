#include "train/resume_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"

namespace tessera {
namespace {

// Groups and keys that do not change what is learned.
constexpr std::array kFree = {"run.",
                              "eval.",
                              "checkpoint.",
                              "data.threads",
                              "data.prefetch",
                              "data.path",
                              "data.train.path",
                              "data.val",
                              "data.test",
                              "data.max_bad_share",
                              "data.max_pixels",
                              "train.micro_batch",
                              "train.device",
                              "train.threads",
                              "train.cuda_graph",
                              "dist.bucket_mb",
                              "dist.rank_weights",
                              "dist.timeout_s"};

std::map<std::string, std::string> values_of(Experiment experiment) {
  std::map<std::string, std::string> values;
  for (const SchemaLine& line : experiment_lines(experiment)) {
    const bool free = std::any_of(kFree.begin(), kFree.end(), [&](const char* prefix) { return line.key.starts_with(prefix); });
    // val_share decides which samples are trained on, although it is named after the others.
    if (!line.is_group && (!free || line.key == "data.val_share")) values[line.key] = line.value;
  }
  return values;
}

}  // namespace

void check_same_experiment(const std::string& saved_yaml, const Experiment& now) {
  const auto before =
                 values_of(read_experiment(parse_config(saved_yaml, "the checkpoint's config.yaml"), MissingSecrets::kKeep)),
             after = values_of(now);
  std::vector<std::string> changes;
  for (const auto& [key, value] : after) {
    const auto found = before.find(key);
    if (found != before.end() && found->second != value)
      changes.push_back(fmt::format("{}: {} in the run, {} now", key, found->second, value));
  }
  if (!changes.empty()) {
    fail_usage(
        "this would not resume the run but change it:\n  {}\nuse the "
        "same values, or another run.dir for a new run",
        fmt::join(changes, "\n  "));
  }
}

}  // namespace tessera
