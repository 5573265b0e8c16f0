#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/formats/safetensors.h"

namespace tessera {

using KeySet = std::set<std::string>;

// A library's way of naming parameters: how to tell it by its keys, and how its names and layouts become ours. Our models
// carry the names of the library they follow, so many translations only drop what we have no use for.
struct KeyFamily {
  const char* name;
  bool backbone_only;  // the keys have no "backbone." or "encoder." in front; the model says which it wants
  bool (*recognises)(const KeySet& keys);
  // Names of keys left out on purpose (a classification head) are added to `dropped`.
  NamedTensors (*translate)(const NamedTensors& file, std::vector<std::string>& dropped);
};

KeyFamily flax_vit();                  // maps/flax_vit.cpp
KeyFamily mmseg_vit();                 // maps/mmseg_vit.cpp
KeyFamily segmenter();                 // maps/segmenter.cpp
KeyFamily timm_vit();                  // maps/timm.cpp
KeyFamily timm_deep_stem();            // maps/timm.cpp
KeyFamily resnet();                    // maps/torchvision.cpp
KeyFamily torchvision_segmentation();  // maps/torchvision.cpp
KeyFamily mmseg();                     // maps/mmseg.cpp
KeyFamily smp();                       // maps/smp.cpp

// mmsegmentation's ViT with MultiLevelNeck and UPerNet has the names of our upernet_vit in part, but is another model.
void refuse_multi_level_neck(const KeySet& file, const KeySet& model);  // maps/mmseg_vit.cpp

// The way back, for export. Throw Error when the tensors are not of a model that the library has.
NamedTensors to_torchvision(const NamedTensors& ours);
NamedTensors to_timm(const NamedTensors& ours, std::vector<std::string>& dropped);
NamedTensors to_mmseg(const NamedTensors& ours);
NamedTensors to_mmseg_vit(const NamedTensors& ours);
NamedTensors to_smp(const NamedTensors& ours);
NamedTensors to_segmenter(const NamedTensors& ours);

// What a library and we call the same parts, as beginnings of names.
struct PrefixPair {
  std::string_view theirs, ours;
};
using PrefixMap = std::span<const PrefixPair>;
enum class KeyDirection { kToOurs, kToTheirs };

// `key` with another beginning: that of the first pair that fits. A key that none fits stays as it is.
std::string rename_start(std::string_view key, PrefixMap map, KeyDirection direction);

// Shared by the families.
bool any_starts_with(const KeySet& keys, std::string_view prefix);
KeySet keys_of(const NamedTensors& tensors);
NamedTensors without(const NamedTensors& file, const std::vector<std::string_view>& prefixes,
                     std::vector<std::string>& dropped);
const at::Tensor* find_tensor(const NamedTensors& tensors, std::string_view name);

}  // namespace tessera
