#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/blob.h"
#include "weights/formats/pickle_value.h"

namespace tessera {

// What a .pth / .pt / .ckpt file holds, parsed and checked but with no tensor made yet: this half knows nothing of libtorch.
struct PthFile {
  struct Entry {
    std::string key;  // dotted path from the top, e.g. "state_dict.backbone.conv1.weight"
    TensorRef tensor;
    Blob storage;  // exactly the bytes the tensor is a window on
  };
  std::vector<Entry> tensors;                               // in the order of the file
  std::map<std::string, std::string> metadata;              // numbers and short strings, e.g. "epoch" -> "12"
  std::vector<std::pair<std::string, std::string>> opaque;  // where something unknown lies, and the global that makes it
  std::vector<std::string> groups;                          // dicts that hold tensors themselves; "" is the top
};

// Both formats of torch.save: a ZIP file (since torch 1.6) and the older run of pickles. Every tensor returned lies wholly
// inside its storage and every storage inside the file. Throws Error naming the file; executes nothing.
PthFile parse_pth(const Blob& file, const std::string& name);

// The older format's first bytes: the pickled number 0x1950a86a20f9469cfc6c.
bool looks_like_legacy_pth(std::span<const uint8_t> bytes);

}  // namespace tessera
