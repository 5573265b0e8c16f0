#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

// Time of all calls of one kernel or operation.
struct OpTime {
  std::string name;
  int64_t calls = 0;
  double ms = 0;
};

// Time of a part of the work, which a ProfiledPart named, without that of parts inside it. On a GPU it is that of the kernels
// that were sent in it; host_ms is that of the program itself.
struct PartTime {
  std::string name;
  int64_t times = 0;
  double ms = 0, host_ms = 0;
};

struct Profile {
  std::vector<OpTime> ops;      // longest first
  std::vector<PartTime> parts;  // in the order in which they first came
  double wall_ms = 0;
};

// From now until `stop` all that libtorch runs is recorded. One at a time in a process; not while another profiler runs.
class ProfileSession {
 public:
  explicit ProfileSession(at::Device device);
  ~ProfileSession();
  ProfileSession(const ProfileSession&) = delete;
  ProfileSession& operator=(const ProfileSession&) = delete;

  // Waits for the device. trace_file, if not empty, takes a timeline for Perfetto, TensorBoard or chrome://tracing. Once.
  Profile stop(const std::string& trace_file = "");

 private:
  at::Device device_;
  int64_t begin_ns_;
  bool stopped_ = false;
};

// Runs `work` and tells where its time went, longest first: the kernels and copies of a GPU, or on a CPU libtorch's operations
// without what others inside them took.
std::vector<OpTime> profile(at::Device device, const std::function<void()>& work, const std::string& trace_file = "");

}  // namespace tessera
