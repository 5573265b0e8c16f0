#include "infer/pretrained.h"

#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>

#include "core/files.h"
#include "core/log.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/checkpoint/model_state.h"
#include "infer/trained_model.h"
#include "nn/backbones/vit.h"
#include "weights/fetch/weight_cache.h"
#include "weights/formats/load_weights.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

const VitConfig* vit_of(const ModelConfig& config) {
  if (config.name == "segmenter") return &config.segmenter;
  return config.name == "upernet_vit" ? &config.upernet_vit : nullptr;
}

// Position embeddings do not say what grid they are for, and it need not be square.
void describe_positions(const ModelConfig& config, const NamedTensors& ours, MatchOptions& options) {
  const VitConfig* vit = vit_of(config);
  if (vit == nullptr) return;
  options.position_fit = position_fit(vit->position_resize);
  for (const auto& [name, tensor] : ours) {
    if (!name.ends_with("patch_embed.proj.weight")) continue;
    const int64_t patch = tensor.size(2);
    options.position_grid = {(vit->image_size.height + patch - 1) / patch, (vit->image_size.width + patch - 1) / patch};
  }
}

// The checkpoint that model.pretrained means, where that is a run or a checkpoint.
std::optional<fs::path> named_checkpoint(const fs::path& given) {
  std::error_code error;
  const bool is_one = fs::is_directory(given / "checkpoints", error) || fs::exists(given / "DONE", error);
  return is_one ? std::optional(resolve_checkpoint(given)) : std::nullopt;
}

// The head of a run for as many classes is taken as it is, and its channels mean what they meant there.
void warn_of_other_classes(const std::vector<std::string>& theirs, const std::vector<std::string>& ours, const fs::path& run) {
  if (ours.empty() || theirs.size() != ours.size() || theirs == ours) return;
  const size_t at = static_cast<size_t>(std::mismatch(theirs.begin(), theirs.end(), ours.begin()).first - theirs.begin());
  log_warn(
      "{} was trained on other classes than the data has ({} is '{}' there, '{}' here), in the same number: its head is taken "
      "with them. Give data.classes the run's names and order where they are the same classes",
      run.string(), at, theirs[at], ours[at]);
}

NamedTensors weights_of(const fs::path& run, const PretrainedUse& use) {
  const Checkpoint checkpoint = read_checkpoint(run, /*with_optimizer=*/false);
  warn_of_other_classes(checkpoint.classes.names, use.classes, run);
  const bool raw = use.weights == EvalWeights::kRaw;
  return weights_to_use(
      checkpoint, trained_experiment(run, raw ? std::vector<std::string>{"eval.weights=raw"} : std::vector<std::string>{}));
}

// The weights of a file, those of a part of it where `part` names one. Which of several were taken is said: averaged weights
// measure otherwise than those that they are the average of.
NamedTensors weights_of(const fs::path& file, const std::string& part) {
  StateDict found = find_state_dict(read_weights(file), part);
  if (!found.others.empty())
    log_warn("{} holds weights at {} too; taken are those at {}. To take others: model.pretrained={}#{}", file.string(),
             fmt::join(found.others, ", "), found.place.empty() ? "its top" : found.place, file.string(), found.others.front());
  return std::move(found.tensors);
}

}  // namespace

MatchReport load_pretrained(SegmentationModel& model, const ModelConfig& config, const PretrainedUse& use) {
  const auto [source, part] = split_part(config.pretrained);
  const auto checkpoint = named_checkpoint(source);
  const fs::path file = checkpoint ? *checkpoint : find_weights(source);
  const at::NoGradGuard no_grad;
  const NamedTensors ours = model_state(model);
  std::vector<std::string> names;
  for (const auto& entry : ours) names.push_back(entry.first);
  const MappedKeys mapped = map_keys(checkpoint ? weights_of(*checkpoint, use) : weights_of(file, part), names);
  MatchOptions options;
  options.allow_missing = config.allow_missing;
  options.head_prefixes = model.head_prefixes();
  if (config.name == "upernet_vit") {  // a bare ViT has none of the pyramid on it, which has no use for the last norm
    options.head_prefixes.emplace_back("backbone.up");
    options.unneeded.emplace_back("backbone.vit.norm.");
  }
  describe_positions(config, ours, options);
  return match_weights(ours, mapped.tensors, options, file.string() + " (" + mapped.family + ")");
}

}  // namespace tessera
