#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

namespace tessera {

// An operator of torch's dispatcher, which then chooses the implementation for the tensors' device. The search goes by name:
// keep what it finds.
template <class Signature>
auto find_op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace tessera
