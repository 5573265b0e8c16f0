#include "train/resume_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "train/run_folder.h"

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
                              "data.train.list",  // the samples themselves are compared
                              "data.val",
                              "data.test",
                              "data.max_bad_share",
                              "data.max_pixels",
                              "data.remote",
                              "train.micro_batch",
                              "train.device",
                              "train.threads",
                              "train.cuda_graph",
                              "dist.bucket_mb",
                              "dist.rank_weights",
                              "dist.timeout_s",
                              "guard."};

bool is_free(const std::string& key) {
  // val_share decides which samples are trained on, although it is named after the others.
  return key != "data.val_share" &&
         std::any_of(kFree.begin(), kFree.end(), [&](const char* prefix) { return key.starts_with(prefix); });
}

}  // namespace

std::string ConfigChange::text() const {
  return fmt::format("{}: {} in the run, {} now", key, before, now);
}

std::vector<ConfigChange> config_changes(const std::string& saved_yaml, const Experiment& now) {
  Experiment saved = read_experiment(parse_config(saved_yaml, "the checkpoint's config.yaml"), MissingSecrets::kKeep);
  std::map<std::string, std::string> before;
  for (const SchemaLine& line : experiment_lines(saved)) {
    if (!line.is_group) before[line.key] = line.value;
  }
  Experiment copy = now;
  std::vector<ConfigChange> changes;
  for (const SchemaLine& line : experiment_lines(copy)) {
    const auto found = line.is_group ? before.end() : before.find(line.key);
    if (found != before.end() && found->second != line.value) changes.push_back({line.key, found->second, line.value});
  }
  return changes;
}

void check_same_experiment(const std::string& saved_yaml, const Experiment& now) {
  std::vector<std::string> changes;
  for (const ConfigChange& change : config_changes(saved_yaml, now)) {
    if (!is_free(change.key)) changes.push_back(change.text());
  }
  if (!changes.empty()) {
    fail_usage(
        "this would not resume the run but change it:\n  {}\nuse the same values; or go on from it with these, in a run of its "
        "own: in place of --resume, --from {} and another run.name (or run.dir)",
        fmt::join(changes, "\n  "), run_folder(now).string());
  }
}

}  // namespace tessera
