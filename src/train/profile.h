#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

// Time of all calls of one kernel or operation.
struct OpTime {
  std::string name;
  int64_t calls = 0;
  double ms = 0;
};

// Runs `work` and tells where its time went, longest first: the kernels and copies of a GPU, or on a CPU libtorch's operations
// without what others inside them took. `trace_file`, if not empty, takes a timeline for Perfetto or chrome://tracing.
std::vector<OpTime> profile(at::Device device, const std::function<void()>& work, const std::string& trace_file = "");

}  // namespace tessera
