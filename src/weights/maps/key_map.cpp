#include "weights/maps/key_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "weights/maps/families.h"

namespace tessera {
namespace {

// Put in front by DistributedDataParallel, Lightning modules, torch.compile and home-made wrappers.
constexpr std::array<std::string_view, 7> kWrappers{"module.",  "model.",     "_orig_mod.", "net.",
                                                    "network.", "segmentor.", "ema."};
constexpr std::array<std::string_view, 2> kBackbones{"backbone.", "encoder."};
// Where our models keep their backbone; the third is a ViT inside a feature pyramid.
constexpr std::array<std::string_view, 4> kPlaces{"backbone.", "encoder.", "backbone.vit.", ""};
constexpr std::string_view kBookkeeping = "num_batches_tracked";
// What torch puts into the middle of names when a part of a model is compiled, sharded or checkpointed.
constexpr std::array<std::string_view, 3> kInnerWrappers{"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};

// In the order of looking: the special ones first.
std::vector<KeyFamily> families() {
  return {flax_vit(),       mmseg_vit(), segmenter(), timm_vit(), smp(), mmseg(), torchvision_segmentation(),
          timm_deep_stem(), resnet()};
}

const KeyFamily* recognise(const std::vector<KeyFamily>& known, const KeySet& keys) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const KeyFamily& family) { return family.recognises(keys); });
  return found == known.end() ? nullptr : &*found;
}

// Takes `prefix` off if most keys have it; the few others (a loss's class weights, say) are no part of the model.
bool strip(NamedTensors& tensors, std::string_view prefix, std::vector<std::string>& dropped) {
  const auto with = std::count_if(tensors.begin(), tensors.end(), [&](const auto& e) { return e.first.starts_with(prefix); });
  if (2 * static_cast<size_t>(with) <= tensors.size()) return false;
  NamedTensors kept;
  for (auto& [key, tensor] : tensors) {
    if (key.starts_with(prefix)) {
      kept.emplace_back(key.substr(prefix.size()), tensor);
    } else {
      dropped.push_back(key);
    }
  }
  tensors = std::move(kept);
  return true;
}

void strip_inside(NamedTensors& tensors) {
  for (auto& [key, tensor] : tensors) {
    for (const std::string_view wrapper : kInnerWrappers) {
      for (size_t at = key.find(wrapper); at != std::string::npos; at = key.find(wrapper, at)) {
        if (at > 0 && key[at - 1] != '.') break;
        key.erase(at, wrapper.size());
      }
    }
  }
}

// What most names begin with, up to the first dot; "" if there is no such beginning.
std::string common_start(const NamedTensors& tensors) {
  std::map<std::string, size_t> starts;
  for (const auto& [key, tensor] : tensors) ++starts[key.substr(0, key.find('.') + 1)];
  const auto most =
      std::max_element(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != starts.end() && 2 * most->second > tensors.size() ? most->first : "";
}

size_t hits(const NamedTensors& tensors, std::string_view from, std::string_view to, const KeySet& model) {
  size_t count = 0;
  for (const auto& [key, tensor] : tensors) {
    count += key.starts_with(from) && model.contains(std::string(to) + key.substr(from.size())) ? 1 : 0;
  }
  return count;
}

// Exchanges `from` (perhaps nothing) for the backbone prefix that the model knows most of the names under.
void fit_prefix(NamedTensors& tensors, std::string_view from, const KeySet& model) {
  std::string_view best = from.empty() ? kBackbones[0] : from;
  size_t most = hits(tensors, from, best, model);
  for (const std::string_view to : kPlaces) {
    if (const size_t count = hits(tensors, from, to, model); count > most) best = to, most = count;
  }
  for (auto& [key, tensor] : tensors) {
    if (key.starts_with(from)) key = std::string(best) + key.substr(from.size());
  }
}

// A backbone under a name of its own, perhaps with a classification head beside it.
const KeyFamily* recognise_backbone(const std::vector<KeyFamily>& known, NamedTensors& file,
                                    std::vector<std::string>& dropped) {
  for (const std::string_view prefix : kBackbones) {
    NamedTensors bare = file;
    std::vector<std::string> beside;
    if (!strip(bare, prefix, beside)) continue;
    const KeyFamily* family = recognise(known, keys_of(bare));
    if (family == nullptr) continue;
    file = std::move(bare);
    dropped.insert(dropped.end(), beside.begin(), beside.end());
    return family;
  }
  return nullptr;
}

// Takes off the known wrappers; and where neither a family nor the model then knows a single name, what most names begin with
// too ("student.", "unet."), as long as that leads to names that are known. Null for names that are no library's.
const KeyFamily* unwrap(const std::vector<KeyFamily>& known, const KeySet& model, NamedTensors& file,
                        std::vector<std::string>& dropped) {
  std::optional<std::pair<NamedTensors, std::vector<std::string>>> as_it_was;
  while (true) {
    while (std::any_of(kWrappers.begin(), kWrappers.end(), [&](std::string_view w) { return strip(file, w, dropped); }))
      continue;
    if (const KeyFamily* family = recognise(known, keys_of(file))) return family;
    if (const KeyFamily* family = recognise_backbone(known, file, dropped)) return family;
    if (hits(file, "", "", model) > 0) return nullptr;
    if (!as_it_was) as_it_was = {file, dropped};
    const std::string start = common_start(file);
    if (start.empty()) break;
    strip(file, start, dropped);
  }
  std::tie(file, dropped) = std::move(*as_it_was);
  return nullptr;
}

}  // namespace

MappedKeys map_keys(NamedTensors file, const std::vector<std::string>& model_names) {
  const std::vector<KeyFamily> known = families();
  const KeySet model(model_names.begin(), model_names.end());
  MappedKeys out;
  std::erase_if(file, [&](const auto& entry) { return entry.first.ends_with(kBookkeeping) && !model.contains(entry.first); });
  strip_inside(file);
  const KeyFamily* family = unwrap(known, model, file, out.dropped);
  if (family == nullptr) {
    out.family = "tessera";
    out.tensors = std::move(file);
    return out;
  }
  refuse_multi_level_neck(keys_of(file), model);
  out.family = family->name;
  out.tensors = family->translate(file, out.dropped);
  if (family->backbone_only) {
    fit_prefix(out.tensors, "", model);
  } else {
    // A whole model of another kind can still lend its backbone.
    for (const std::string_view prefix : kBackbones) {
      if (any_starts_with(keys_of(out.tensors), prefix)) fit_prefix(out.tensors, prefix, model);
    }
  }
  return out;
}

MappedKeys to_layout(const NamedTensors& ours, WeightLayout layout) {
  switch (layout) {
    case WeightLayout::kTessera: return {"tessera", ours, {}};
    case WeightLayout::kTorchvision: return {"torchvision", to_torchvision(ours), {}};
    case WeightLayout::kTimm: {
      MappedKeys out{"timm", {}, {}};
      out.tensors = to_timm(ours, out.dropped);
      return out;
    }
    case WeightLayout::kMmseg: return {"mmseg", to_mmseg(ours), {}};
    case WeightLayout::kSmp: return {"smp", to_smp(ours), {}};
    case WeightLayout::kSegmenter: return {"segmenter", to_segmenter(ours), {}};
  }
  return {};
}

}  // namespace tessera
