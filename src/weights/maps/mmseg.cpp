// mmsegmentation with a ResNet: backbone., decode_head., auxiliary_head., the names our heads have as well.
#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {

KeyFamily mmseg() {
  return {"mmsegmentation", false,
          [](const KeySet& keys) { return any_starts_with(keys, "backbone.") && any_starts_with(keys, "decode_head."); },
          [](const NamedTensors& file, std::vector<std::string>&) { return file; }};
}

NamedTensors to_mmseg(const NamedTensors& ours) {
  const KeySet keys = keys_of(ours);
  if (segmenter().recognises(keys)) return to_mmseg_vit(ours);
  TSR_CHECK(mmseg().recognises(keys) && !any_starts_with(keys, "backbone.vit."),
            "mmsegmentation has no such model: its layout fits pspnet, upernet, deeplabv3, deeplabv3plus, fcn with mmseg heads "
            "and segmenter; choose another --layout");
  return ours;
}

}  // namespace tessera
