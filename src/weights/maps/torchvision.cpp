// torchvision: ResNet classifiers (conv1, bn1, layer1.0.conv1, ..., fc) and the segmentation models (backbone., classifier.,
// aux_classifier.). timm's plain ResNets have the same names, mmsegmentation's backbones too (with "stem." for a deep stem).
#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {

KeyFamily resnet() {
  return {"torchvision or timm ResNet", true,
          [](const KeySet& keys) {
            return keys.contains("layer1.0.conv1.weight") && (keys.contains("conv1.weight") || keys.contains("stem.0.weight"));
          },
          [](const NamedTensors& file, std::vector<std::string>& dropped) {
            return without(file, {"fc.", "head."}, dropped);
          }};
}

KeyFamily torchvision_segmentation() {
  return {"torchvision segmentation", false,
          [](const KeySet& keys) { return keys.contains("backbone.conv1.weight") && any_starts_with(keys, "classifier."); },
          [](const NamedTensors& file, std::vector<std::string>&) { return file; }};
}

NamedTensors to_torchvision(const NamedTensors& ours) {
  const KeySet keys = keys_of(ours);
  TSR_CHECK(torchvision_segmentation().recognises(keys) && keys.contains("classifier.4.weight"),
            "torchvision has no such model: its layout fits fcn and the torchvision variant of deeplabv3 with a plain stem; "
            "choose another --layout");
  return ours;
}

}  // namespace tessera
