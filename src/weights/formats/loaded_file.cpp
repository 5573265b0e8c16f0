#include "weights/formats/loaded_file.h"

#include <fmt/ranges.h>

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

size_t tensors_below(const LoadedFile& file, const std::string& place) {
  return static_cast<size_t>(
      std::count_if(file.tensors.begin(), file.tensors.end(), [&](const auto& entry) { return below(entry.first, place); }));
}

bool may_be_weights(const std::string& group) {
  return std::none_of(kNeverWeights.begin(), kNeverWeights.end(),
                      [&](std::string_view word) { return group.find(word) != std::string::npos; });
}

// The dict with the most tensors. Of two that are as large nobody can tell which one is meant.
std::string largest_place(const LoadedFile& file) {
  std::vector<std::string> largest;
  size_t most = 1;
  for (const std::string& group : file.groups) {
    const size_t count = may_be_weights(group) ? tensors_below(file, group) : 0;
    if (count > most) largest.clear(), most = count;
    if (count == most) largest.push_back(group);
  }
  TSR_CHECK(!largest.empty(), "{}: holds no dict of tensors; save the model's state_dict()", file.name);
  TSR_CHECK(largest.size() == 1, "{}: holds several models: {}; say which, as in {}#{}", file.name, fmt::join(largest, ", "),
            file.name, largest.back());
  return largest.front();
}

std::string choose_place(const LoadedFile& file) {
  const auto has = [&](std::string_view place) {
    return std::find(file.groups.begin(), file.groups.end(), place) != file.groups.end();
  };
  const auto first_of = [&](const auto& places) {
    const auto found = std::find_if(places.begin(), places.end(), has);
    return found == places.end() ? std::string() : std::string(*found);
  };
  if (const std::string place = first_of(kPlaces); !place.empty()) return place;
  if (has("")) return "";
  if (const std::string place = first_of(kAverages); !place.empty()) return place;
  return largest_place(file);
}

// Averages, and whatever else is as large as what was chosen.
std::vector<std::string> further_models(const LoadedFile& file, const std::string& chosen) {
  std::vector<std::string> others;
  const size_t enough = tensors_below(file, chosen);
  for (const std::string& group : file.groups) {
    const bool apart = group != chosen && !below(group, chosen) && !below(chosen, group);
    const bool average = std::find(kAverages.begin(), kAverages.end(), group) != kAverages.end();
    if (apart && may_be_weights(group) && (average || tensors_below(file, group) >= enough)) others.push_back(group);
  }
  return others;
}

}  // namespace

StateDict find_state_dict(const LoadedFile& file, const std::string& place) {
  StateDict state{place.empty() ? choose_place(file) : place, {}, {}};
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
  TSR_CHECK(!state.tensors.empty() || place.empty(), "{}: holds no tensors below '{}'; it has dicts of tensors at: {}",
            file.name, place, fmt::join(file.groups, ", "));
  TSR_CHECK(!state.tensors.empty(), "{}: holds no tensors", file.name);
  if (place.empty()) state.others = further_models(file, state.place);
  return state;
}

}  // namespace tessera
