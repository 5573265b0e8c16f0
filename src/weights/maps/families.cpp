#include "weights/maps/families.h"

#include <algorithm>

namespace tessera {

std::string rename_start(std::string_view key, PrefixMap map, KeyDirection direction) {
  for (const PrefixPair& pair : map) {
    const auto [from, to] = direction == KeyDirection::kToOurs ? pair : PrefixPair{pair.ours, pair.theirs};
    if (key.starts_with(from)) return std::string(to).append(key.substr(from.size()));
  }
  return std::string(key);
}

bool any_starts_with(const KeySet& keys, std::string_view prefix) {
  const auto found = keys.lower_bound(std::string(prefix));
  return found != keys.end() && found->starts_with(prefix);
}

KeySet keys_of(const NamedTensors& tensors) {
  KeySet keys;
  for (const auto& [key, tensor] : tensors) keys.insert(key);
  return keys;
}

NamedTensors without(const NamedTensors& file, const std::vector<std::string_view>& prefixes,
                     std::vector<std::string>& dropped) {
  NamedTensors kept;
  for (const auto& [key, tensor] : file) {
    const std::string_view name = key;
    const bool drop = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
    if (drop) {
      dropped.push_back(key);
    } else {
      kept.emplace_back(key, tensor);
    }
  }
  return kept;
}

const at::Tensor* find_tensor(const NamedTensors& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

}  // namespace tessera
