#include "study/scale/scale_cells.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "config/builtin_configs.h"
#include "core/error.h"
#include "study/space/read_space.h"

namespace tessera {

std::vector<ScaleCell> scale_cells(const ScaleConfig& config) {
  TSR_CHECK_USAGE(!config.ranks.empty() && !config.modes.empty(),
                  "nothing to scale: expected ranks such as 1,2,4 and modes such as ddp");
  const std::set<int64_t> ranks(config.ranks.begin(), config.ranks.end());
  std::vector<std::string> models = config.models;
  if (models.empty()) models.emplace_back();
  std::vector<ScaleCell> cells;
  for (const std::string& model : models) {
    for (const ParallelMode mode : config.modes) {
      for (const int64_t count : ranks) {
        if (mode == ParallelMode::kNone && count != 1) continue;
        for (int64_t repeat = 0; repeat < config.repeat; ++repeat) {
          const ScaleCell cell{model, mode, count, repeat};
          if (std::find(cells.begin(), cells.end(), cell) != cells.end())
            fail_usage("{} is there twice: expected each model and mode once", cell_name(cell));
          cells.push_back(cell);
        }
      }
    }
  }
  TSR_CHECK_USAGE(!cells.empty(), "mode none is one rank; expected 1 among the ranks, or ddp, dp or zero1");
  return cells;
}

std::string left_out_of_none(const ScaleConfig& config) {
  const std::set<int64_t> ranks(config.ranks.begin(), config.ranks.end());
  const bool has_none = std::find(config.modes.begin(), config.modes.end(), ParallelMode::kNone) != config.modes.end();
  std::vector<int64_t> left_out;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(left_out), [](int64_t count) { return count != 1; });
  if (!has_none || left_out.empty()) return "";
  return fmt::format("mode none is one rank: it is left out of {} ranks", fmt::join(left_out, ", "));
}

std::string cell_name(const ScaleCell& cell) {
  std::string model = cell.model;
  for (char& c : model) c = c == '/' ? '-' : c;
  return fmt::format("{}{}{}-{}-seed{}", model, model.empty() ? "" : "-", name_of(cell.mode), cell.ranks, cell.repeat);
}

std::vector<std::string> model_overrides(const std::string& model) {
  if (model.empty()) return {};
  const EmbeddedFile* found = find_embedded(builtin_configs(), "base/models/" + model);
  if (found == nullptr) return {"model.name=" + model};
  return fragment_overrides(parse_config(std::string(found->content), "base/models/" + model));
}

std::vector<std::string> cell_overrides(const ScaleConfig& config, const ScaleCell& cell, const Experiment& base) {
  std::vector<std::string> overrides = config.set;
  for (std::string& text : model_overrides(cell.model)) overrides.push_back(std::move(text));
  overrides.push_back(fmt::format("train.seed={}", base.train.seed + static_cast<uint64_t>(cell.repeat)));
  if (config.scaling == Scaling::kStrong) return overrides;
  overrides.push_back(fmt::format("train.batch_size={}", base.train.batch_size * cell.ranks));
  if (base.optimizer.lr_scaling == LrScaling::kNone) {
    overrides.emplace_back("optimizer.lr_scaling=linear");
    overrides.push_back(fmt::format("optimizer.base_batch={}", base.train.batch_size));
  }
  return overrides;
}

}  // namespace tessera
