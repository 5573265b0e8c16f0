#include "tensor/too_large.h"

#include <c10/util/Exception.h>

#include <new>
#include <system_error>

#include "tensor/cpu_allocator.h"
#include "tensor/device.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

// A system error of these codes is a thread that found no memory for its stack.
bool lacks_memory(const std::exception& error) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         (system != nullptr &&
          (system->code() == std::errc::resource_unavailable_try_again || system->code() == std::errc::not_enough_memory));
}

}  // namespace

// Allocators of the CPU, and kernels of libtorch that count with 31 bits, tell their reason in words alone.
std::string why_too_large(const std::exception& error) {
  const std::string text = error_text(error);
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || lacks_memory(error) || says("not enough memory") ||
      says("can't allocate memory"))
    return "out of memory";
  return says("less than INT_MAX elements") ? "a tensor of 2^31 numbers or more" : "";
}

void release_kept_memory() {
  empty_cpu_cache();
  if (cuda_plugin() != nullptr) cuda_plugin()->empty_cache();
}

}  // namespace tessera
