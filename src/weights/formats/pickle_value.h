#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/element_type.h"

namespace tessera {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kBytes,
  kTuple,
  kList,    // also sets
  kDict,    // also OrderedDict, Namespace and the like
  kGlobal,  // a name from a Python module; nothing is ever imported
  kStorage,
  kTensor,  // also NumPy arrays
  kDtype,   // of NumPy
  kArray,   // a NumPy array whose content has not come yet
  kOpaque,  // made by a global that is not known; `text` names it
};

struct PickleValue;

// A tensor as the pickle describes it: a window on a storage that lies elsewhere in the file, or on bytes of the pickle
// itself (NumPy). What it claims is checked by `PthFile`, not here.
struct TensorRef {
  Element type = Element::kUInt8;
  std::string storage_key;
  int64_t storage_bytes = 0;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;       // in elements
  const PickleValue* data = nullptr;  // bytes inside the pickle, instead of a storage
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  int64_t integer = 0;                    // int, bool; which known callable a global is
  double real = 0;                        // float
  std::string text;                       // string, bytes, long integers (little-endian), "module.name", NumPy type
  std::vector<const PickleValue*> items;  // tuple, list; dict: key, value, key, value, ...
  std::unique_ptr<TensorRef> tensor;      // storage, tensor

  bool is(PickleKind other) const { return kind == other; }
  // The value of a string key of a dict, or null. The last one counts, as in Python.
  const PickleValue* find(const std::string& key) const;
};

// What one pickle describes. Containers may hold themselves: walk with a limit on the depth.
struct Pickle {
  std::deque<PickleValue> values;  // owns everything; addresses stay
  const PickleValue* root = nullptr;
  size_t length = 0;  // bytes read; another pickle may follow
};

}  // namespace tessera
