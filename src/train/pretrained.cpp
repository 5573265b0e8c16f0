#include "train/pretrained.h"

#include <torch/types.h>

#include "core/error.h"
#include "train/model_state.h"
#include "weights/key_map.h"
#include "weights/load_weights.h"

namespace tessera {

MatchReport load_pretrained(SegmentationModel& model, const std::filesystem::path& file, bool allow_missing) {
  TSR_CHECK(std::filesystem::exists(file),
            "model.pretrained: no file {}; expected a .pth, .safetensors or .npz file on this machine", file.string());
  const at::NoGradGuard no_grad;
  const NamedTensors ours = model_state(model);
  std::vector<std::string> names;
  for (const auto& entry : ours) names.push_back(entry.first);
  const MappedKeys mapped = map_keys(find_state_dict(read_weights(file)).tensors, names);
  MatchOptions options;
  options.allow_missing = allow_missing;
  options.head_prefixes = model.head_prefixes();
  return match_weights(ours, mapped.tensors, options, file.string() + " (" + mapped.family + ")");
}

}  // namespace tessera
