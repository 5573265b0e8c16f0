#pragma once
#include <string>

#include "weights/formats/pickle_value.h"

namespace tessera {

// The callables whose effect is known and imitated. Everything else is never called.
enum class Known : uint8_t {
  kNothing,  // unknown: a call makes an opaque value
  kName,     // known as a name only, e.g. torch.float32, torch.FloatStorage, builtins.list
  kDict,
  kList,
  kFirst,  // stands for its first argument: torch.Size, Parameter, device
  kRebuildTensor,
  kRebuildTensorV3,
  kRebuildFromType,
  kNumpyReconstruct,
  kNumpyFromBuffer,
  kNumpyScalar,
  kNumpyDtype,
  kEncode,
};

// Which callable "module.name" is. Throws Error for names that no honest weight file holds.
Known find_global(const std::string& name, const std::string& file);

// What `callable(*args)` stands for: `made`, filled, or one of the arguments.
const PickleValue* call_global(const PickleValue& callable, const PickleValue& args, PickleValue& made,
                               const std::string& file);

// Python's `__setstate__`: fills arrays and NumPy types, gives objects their attributes; nothing for the others.
void build_value(PickleValue& value, const PickleValue& state, const std::string& file);

// ('storage', type, key, device, count[, view]) as torch.save writes it.
void read_storage(PickleValue& made, const PickleValue& id, const std::string& file);

}  // namespace tessera
