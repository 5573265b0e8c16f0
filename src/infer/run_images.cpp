#include "infer/run_images.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "data/check/data_look.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "infer/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

// As text, in which the first rank tells the others; mode by its number.
nlohmann::json to_message(const RunImages& images, const std::string& mistake) {
  return {{"mode", static_cast<int>(images.normalize.mode)},
          {"low_value", images.normalize.low_value},
          {"high_value", images.normalize.high_value},
          {"facts", images.facts},
          {"mistake", mistake}};
}

void say_decided(const RunImages& images, size_t looked_at) {
  const NormalizeConfig& decided = images.normalize;
  if (decided.mode == NormalizeMode::kRange) {
    log_info(
        "data.normalize.mode=auto: range, low_value [{:g}] to high_value [{:g}] become 0 to 1 (0.5 % and 99.5 % of the values "
        "of {} {} images)",
        fmt::join(decided.low_value, ", "), fmt::join(decided.high_value, ", "), looked_at, images.facts.depth);
  } else if (images.facts.known() && images.facts.depth != "8-bit") {
    log_info("data.normalize.mode=auto: fixed, as {}",
             images.facts.depth == "mixed" ? "the images have several depths" : "mean or std is set");
  }
}

RunImages look_at_run(const Experiment& experiment, const Dataset& train, int threads, KeptLook& kept) {
  const uint64_t seed = experiment.train.seed;
  const auto shared = kept.look(train, kSamplesLookedAt, seed, threads);
  const DataLook& look = *shared;
  refuse_unlabelled(look, train);
  RunImages images;
  images.facts = facts_of(look, train, experiment.data, seed);
  images.normalize = decided_normalize(experiment.data, images.facts);
  if (experiment.data.normalize.mode == NormalizeMode::kAuto) say_decided(images, look.images.size());
  for (const std::string& note : range_notes(look.images, images.normalize)) log_warn("{}", note);
  for (const std::string& note : label_notes(look, train.classes())) log_warn("{}", note);
  return images;
}

NormalizeConfig normalize_in(const fs::path& config) {
  return read_experiment(parse_config(read_text(config), config.string()), MissingSecrets::kKeep).data.normalize;
}

}  // namespace

RunImages images_of_run(const Experiment& experiment, const Dataset& train, const fs::path& folder, bool resume, World& world,
                        KeptLook* kept) {
  KeptLook own;
  RunImages images{.normalize = experiment.data.normalize, .facts = {}};
  std::string mistake;
  if (world.is_first()) {
    std::error_code error;
    const bool goes_on = resume && holds_checkpoint(folder / "checkpoints") && fs::exists(folder / "config.yaml", error);
    try {
      if (!goes_on) {
        images = look_at_run(experiment, train, loader_threads(experiment.data.threads, world.spec.local_world_size),
                             kept != nullptr ? *kept : own);
      } else if (images.normalize.mode == NormalizeMode::kAuto) {
        images.normalize = normalize_in(folder / "config.yaml");
      }
    } catch (const UsageError& e) {
      if (world.alone()) throw;
      mistake = e.what();
    }
  }
  if (world.alone()) return images;
  const nlohmann::json message =
      nlohmann::json::parse(world.control.gather_text(json_text(to_message(images, mistake))).front());
  if (const auto text = message.at("mistake").get<std::string>(); !text.empty()) fail_usage("{}", text);
  images.normalize.mode = static_cast<NormalizeMode>(message.at("mode").get<int>());
  images.normalize.low_value = message.at("low_value").get<std::vector<double>>();
  images.normalize.high_value = message.at("high_value").get<std::vector<double>>();
  images.facts = message.at("facts");
  return images;
}

}  // namespace tessera
