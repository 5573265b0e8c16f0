#include "weights/maps/head_classes.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

struct ClassTensor {
  std::string_view name;
  int64_t dimensions, classes;  // how many it has, and which of them counts classes
};
// (A classifier.weight of two dimensions is that of an image classifier.)
constexpr std::array<ClassTensor, 6> kClassTensors{{{"decode_head.conv_seg.weight", 4, 0},
                                                    {"classifier.4.weight", 4, 0},
                                                    {"classifier.weight", 4, 0},
                                                    {"segmentation_head.0.weight", 4, 0},
                                                    {"decoder.head.weight", 2, 0},
                                                    {"decoder.cls_emb", 3, 1}}};
constexpr std::array<std::string_view, 7> kHeads{"decode_head.",       "auxiliary_head.", "classifier.", "aux_classifier.",
                                                 "segmentation_head.", "decoder.",        "supervision"};

}  // namespace

std::optional<int64_t> classes_of(const NamedTensors& weights) {
  for (const auto& [name, tensor] : weights) {
    for (const ClassTensor& one : kClassTensors) {
      if (name == one.name && tensor.dim() == one.dimensions) return tensor.size(one.classes);
    }
  }
  return std::nullopt;
}

bool is_of_a_head(std::string_view name) {
  return std::any_of(kHeads.begin(), kHeads.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace tessera
