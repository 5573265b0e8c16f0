#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "weights/formats/safetensors.h"

namespace tessera {

// How many classes the weights of a model were made for, by the tensor that has one row for each, under any of the names that
// heads have here (mmsegmentation's, torchvision's, smp's, Segmenter's, our U-Net's). Nothing for a backbone alone.
std::optional<int64_t> classes_of(const NamedTensors& weights);

// Whether a tensor of that name belongs to one of those heads, or to an auxiliary one.
bool is_of_a_head(std::string_view name);

}  // namespace tessera
