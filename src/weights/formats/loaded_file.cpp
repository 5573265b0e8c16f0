#include "weights/formats/loaded_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 10> kPlaces{"state.model", "state_dict", "model_state_dict", "model_state", "model",
                                                   "module",      "net",        "network",          "weights",     "params"};
constexpr std::array<std::string_view, 6> kAverages{"state_dict_ema",   "model_ema", "ema_state_dict", "ema",
                                                    "model_ema.module", "ema.module"};
constexpr std::array<std::string_view, 4> kNeverWeights{"optim", "rng", "lr_sched", "scaler"};

bool below(const std::string& key, const std::string& place) {
  return place.empty() || (key.size() > place.size() && key.starts_with(place) && key[place.size()] == '.');
}

std::string choose_place(const LoadedFile& file, bool average) {
  const auto has = [&](std::string_view place) {
    return std::find(file.groups.begin(), file.groups.end(), place) != file.groups.end();
  };
  const auto first_of = [&](const auto& places) {
    const auto found = std::find_if(places.begin(), places.end(), has);
    return found == places.end() ? std::string() : std::string(*found);
  };
  if (average) {
    const std::string place = first_of(kAverages);
    TSR_CHECK(!place.empty(), "{}: has no averaged weights; leave the average off", file.name);
    return place;
  }
  if (const std::string place = first_of(kPlaces); !place.empty()) return place;
  if (has("")) return "";
  if (const std::string place = first_of(kAverages); !place.empty()) return place;
  std::string best;
  size_t most = 0;
  for (const std::string& group : file.groups) {
    const bool other = std::any_of(kNeverWeights.begin(), kNeverWeights.end(),
                                   [&](std::string_view word) { return group.find(word) != std::string::npos; });
    const auto count = static_cast<size_t>(
        std::count_if(file.tensors.begin(), file.tensors.end(), [&](const auto& entry) { return below(entry.first, group); }));
    if (!other && count > most) best = group, most = count;
  }
  TSR_CHECK(most > 0, "{}: holds no dict of tensors; save the model's state_dict()", file.name);
  return best;
}

}  // namespace

StateDict find_state_dict(const LoadedFile& file, bool average) {
  StateDict state{choose_place(file, average), {}};
  const size_t skip = state.place.empty() ? 0 : state.place.size() + 1;
  for (const auto& [key, global] : file.opaque) {
    TSR_CHECK(!below(key, state.place),
              "{}: refused: '{}' among the weights is an object of {}, which is not on the list of known types; nothing was "
              "executed. Save plain tensors",
              file.name, key, global);
  }
  for (const auto& [key, tensor] : file.tensors) {
    if (below(key, state.place)) state.tensors.emplace_back(key.substr(skip), tensor);
  }
  TSR_CHECK(!state.tensors.empty(), "{}: holds no tensors", file.name);
  return state;
}

}  // namespace tessera
