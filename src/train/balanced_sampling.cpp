#include "train/balanced_sampling.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/name_list.h"
#include "core/plural.h"
#include "data/check/class_balance.h"

namespace tessera {
namespace {

// The classes that are drawn most often, with their shares of the draws.
std::string most_drawn(const std::vector<double>& chances, const ClassTable& classes) {
  constexpr size_t kShown = 5;
  std::vector<size_t> order(chances.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return chances[a] > chances[b]; });
  std::string text;
  for (size_t k = 0; k < std::min(kShown, order.size()); ++k)
    text += fmt::format("{}{} {:.1f} %", k == 0 ? "" : ", ", classes.names[order[k]], 100 * chances[order[k]]);
  return text;
}

std::vector<double> count_chances(const DataConfig& config, const Dataset& train, LabelCounts& labels, World& world) {
  const auto counted = labels.of(train, config, loader_threads(config.threads, world.spec.local_world_size));
  const std::vector<SampleClasses>& samples = *counted;
  const auto unusable = std::count_if(samples.begin(), samples.end(), [](const SampleClasses& one) { return !one.usable; });
  if (unusable > 0) log_warn("data.sampler=balanced: {} of {} samples could not be read", unusable, samples.size());
  const int num_classes = train.classes().size();
  std::vector<double> chances = sample_chances(samples, num_classes, config.balance);
  log_info("data.sampler=balanced: classes drawn most often: {}; the likeliest sample comes {:.1f} times an epoch",
           most_drawn(class_chances(samples, num_classes, config.balance), train.classes()),
           static_cast<double>(chances.size()) * *std::max_element(chances.begin(), chances.end()));
  return chances;
}

}  // namespace

std::vector<double> chances_of_run(const DataConfig& config, const Dataset& train, LabelCounts& labels, World& world) {
  if (config.sampler != SamplerKind::kBalanced) return {};
  std::vector<double> chances;
  std::string mistake;
  if (world.is_first()) {
    try {
      chances = count_chances(config, train, labels, world);
    } catch (const std::exception& e) {
      if (world.alone()) throw;
      mistake = e.what();
    }
  }
  if (world.alone()) return chances;
  const nlohmann::json said = {{"chances", chances}, {"mistake", mistake}};
  const nlohmann::json told = nlohmann::json::parse(world.control.gather_text(json_text(said)).front());
  if (const auto text = told.at("mistake").get<std::string>(); !text.empty()) fail_usage("{}", text);
  return told.at("chances").get<std::vector<double>>();  // numbers are written with all their digits
}

}  // namespace tessera
