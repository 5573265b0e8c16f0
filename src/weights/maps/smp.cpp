// segmentation_models_pytorch: encoder. (a torchvision ResNet), decoder.blocks., segmentation_head.; our names too.
#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {

KeyFamily smp() {
  return {"segmentation_models_pytorch", false,
          [](const KeySet& keys) { return any_starts_with(keys, "encoder.") && keys.contains("segmentation_head.0.weight"); },
          [](const NamedTensors& file, std::vector<std::string>& dropped) {
            return without(file, {"classification_head.", "encoder.fc."}, dropped);
          }};
}

NamedTensors to_smp(const NamedTensors& ours) {
  TSR_CHECK(
      smp().recognises(keys_of(ours)),
      "segmentation_models_pytorch has no such model: its layout fits unet with a ResNet encoder; choose another --layout");
  std::vector<std::string> of_training_alone;
  return without(ours, {"supervision"}, of_training_alone);
}

}  // namespace tessera
