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
  std::vector<std::string> others;  // places of further weights of a model in the file, averaged ones for instance
};

// The model's weights among all that a checkpoint holds (optimizer, random states, averages): the usual places of torch,
// Lightning, Composer, mmengine, timm and Segmenter, else the largest dict of tensors; or those below `place`, where one is
// given. Throws Error if there is none, if two dicts are the largest, or if a part of it is an object that was not understood.
StateDict find_state_dict(const LoadedFile& file, const std::string& place = "");

}  // namespace tessera
