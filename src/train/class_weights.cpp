#include "train/class_weights.h"

#include <fmt/ranges.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/cpu_budget.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/plural.h"
#include "data/check/class_frequencies.h"
#include "infer/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

// Calls work(term's place, its method) for each term whose weights are still to be found.
void each_wanted(LossConfig& loss, const std::function<void(size_t, WeightMethod&)>& work) {
  for (size_t i = 0; i < loss.terms.size(); ++i) {
    std::visit(
        [&](auto& options) {
          if constexpr (requires { options.class_weights; }) {
            if (options.class_weights.to_be_counted()) work(i, *options.class_weights.method);
          }
        },
        loss.terms[i]);
  }
}

std::vector<double>& numbers_of(WeightMethod& method) {
  return std::visit([](auto& one) -> std::vector<double>& { return one.weights; }, method);
}

// What a term of a run that is there had found by this method.
std::vector<double> weights_before(const LossConfig& before, size_t term, const WeightMethod& method) {
  if (term >= before.terms.size()) return {};
  return std::visit(
      [&](const auto& options) -> std::vector<double> {
        if constexpr (requires { options.class_weights; }) {
          std::optional<WeightMethod> found = options.class_weights.method;
          if (!found) return {};
          std::vector<double> weights = std::exchange(numbers_of(*found), {});
          if (*found == method) return weights;
        }
        return {};
      },
      before.terms[term]);
}

void count(LossConfig& loss, const DataConfig& config, const Dataset& train, LabelCounts& labels, int threads) {
  log_info("counting the labels of {} training {} for class_weights", train.size(), plural(train.size(), "sample"));
  const ClassFrequencies counts = frequencies_of(*labels.of(train, config, threads), train.classes().size());
  if (counts.unusable > 0) log_warn("{} of {} samples could not be counted", counts.unusable, train.size());
  each_wanted(loss, [&](size_t term, WeightMethod& method) {
    numbers_of(method) = weights_by(method, counts);
    log_info("loss.terms.{}.{}.class_weights by {}: [{:.4g}]", term, name_of(loss.terms[term]),
             std::visit([](const auto& one) { return one.kName; }, method), fmt::join(numbers_of(method), ", "));
  });
}

}  // namespace

void find_class_weights(Experiment& experiment, const Dataset& train, LabelCounts& labels, const fs::path& folder, bool resume,
                        World& world) {
  LossConfig& loss = experiment.loss;
  bool wanted = false;
  each_wanted(loss, [&](size_t, WeightMethod&) { wanted = true; });
  if (!wanted) return;
  nlohmann::json message = nlohmann::json::array();  // a list of numbers for each term that wants one; or a text, of a mistake
  if (world.is_first()) {
    try {
      std::error_code error;
      if (resume && holds_checkpoint(folder / "checkpoints") && fs::exists(folder / "config.yaml", error)) {
        const LossConfig before =
            read_experiment(parse_config(read_text(folder / "config.yaml"), "config.yaml"), MissingSecrets::kKeep).loss;
        each_wanted(loss,
                    [&](size_t term, WeightMethod& method) { numbers_of(method) = weights_before(before, term, method); });
      }
      bool left = false;
      each_wanted(loss, [&](size_t, WeightMethod&) { left = true; });
      if (left)
        count(loss, experiment.data, train, labels, loader_threads(experiment.data.threads, world.spec.local_world_size));
    } catch (const std::exception& e) {
      if (world.alone()) throw;
      message = e.what();
    }
  }
  if (world.alone()) return;
  const auto all_terms = [&](const std::function<void(ClassWeights&)>& work) {
    for (LossTermConfig& term : loss.terms) {
      std::visit(
          [&](auto& options) {
            if constexpr (requires { options.class_weights; }) {
              if (options.class_weights.method) work(options.class_weights);
            }
          },
          term);
    }
  };
  if (message.is_array()) all_terms([&](ClassWeights& weights) { message.push_back(weights.values()); });
  const nlohmann::json told = nlohmann::json::parse(world.control.gather_text(json_text(message)).front());
  TSR_CHECK(told.is_array(), "{}", told.get<std::string>());
  size_t next = 0;
  all_terms([&](ClassWeights& weights) { numbers_of(*weights.method) = told.at(next++).get<std::vector<double>>(); });
}

void take_equal_weights(LossConfig& loss, int num_classes) {
  each_wanted(loss, [&](size_t, WeightMethod& method) { numbers_of(method).assign(static_cast<size_t>(num_classes), 1.0); });
}

}  // namespace tessera
