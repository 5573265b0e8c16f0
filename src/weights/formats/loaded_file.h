#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weights/formats/safetensors.h"

namespace tessera {

// The tensors of a weight file of any kind, on the CPU. They may lie on the file's pages and share memory with one another:
// read them, copy them, do not write to them.
struct LoadedFile {
  std::string name;      // path, for messages
  std::string format;    // "pth", "safetensors", "npz", ...
  NamedTensors tensors;  // dotted keys from the top of the file, e.g. "state_dict.backbone.conv1.weight"
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, std::string>> opaque;  // key and Python name of what was not understood (nor executed)
  std::vector<std::string> groups{""};                      // keys of the dicts that hold tensors themselves; "" is the top
};

struct StateDict {
  std::string place;  // where it was, e.g. "state_dict" or "state.model"; "" is the top
  NamedTensors tensors;
};

// The model's weights among all that a checkpoint holds (optimizer, random states, averages): the usual places of torch,
// Lightning, Composer, mmengine, timm and Segmenter, else the largest dict of tensors. `average` prefers the averaged (EMA)
// weights where the file has them. Throws Error if there is none or if a part of it is an object that was not understood.
StateDict find_state_dict(const LoadedFile& file, bool average = false);

}  // namespace tessera
