#include "tensor/device.h"

#include <dlfcn.h>

#include <charconv>
#include <filesystem>

#include "core/error.h"

namespace tessera {
namespace {

struct State {
  CudaPlugin plugin;
  bool registered = false;
  std::string status = "not looked for";
};

State& state() {
  static State instance;
  return instance;
}

// The plug-in lies beside the program (build tree) or in ../lib (bundle).
std::string find_plugin() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& folder : {program, program / "../lib", program / "../bin"}) {
    if (const auto file = folder / "libtessera_cuda.so"; std::filesystem::exists(file, error)) return file.string();
  }
  return "";
}

}  // namespace

void register_cuda_plugin(const CudaPlugin& plugin) {
  state().plugin = plugin;
  state().registered = true;
}

void load_cuda_plugin() {
  if (state().registered) return;
  // Loading libtorch_cuda without a driver makes the first allocation throw: look for the driver first.
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    state().status = "no NVIDIA driver found (libcuda.so.1)";
    return;
  }
  auto* init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  if (const int code = init == nullptr ? -1 : init(0); code != 0) {
    state().status = fmt::format("the NVIDIA driver does not start (cuInit: {})", code);
    return;
  }
  const std::string file = find_plugin();
  if (file.empty()) {
    state().status =
        "a GPU driver is here, but this build has no CUDA plug-in (libtessera_cuda.so): `make gpu` builds it (nvcc of CUDA 13 "
        "is needed)";
    return;
  }
  if (::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr || !state().registered) {
    const char* why = ::dlerror();
    state().status = fmt::format("the CUDA plug-in {} does not load: {}", file, why != nullptr ? why : "it did not register");
    return;
  }
  state().status = fmt::format("{} GPU(s)", state().plugin.gpus().size());
}

const CudaPlugin* cuda_plugin() {
  return state().registered ? &state().plugin : nullptr;
}

std::string cuda_status() {
  return state().status;
}

c10::Device pick_device(const std::string& name) {
  const int gpus = cuda_plugin() != nullptr ? static_cast<int>(cuda_plugin()->gpus().size()) : 0;
  if (name == "cpu" || (name == "auto" && gpus == 0)) return c10::Device(c10::kCPU);
  if (name == "auto") return c10::Device(c10::kCUDA, 0);
  int index = 0;
  if (name.rfind("cuda", 0) == 0) {
    const bool plain = name == "cuda";
    const char* end = name.data() + name.size();
    const bool numbered = name.size() > 5 && name[4] == ':' && std::from_chars(name.data() + 5, end, index).ptr == end;
    if (plain || numbered) {
      if (index >= 0 && index < gpus) return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
      fail_usage("there is no device {}: {}; use train.device=cpu or auto, or -d cpu", name, cuda_status());
    }
  }
  fail_usage("train.device expects auto, cpu, cuda or cuda:N, got '{}'", name);
}

}  // namespace tessera
