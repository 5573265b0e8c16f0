#include "infer/environment.h"

#include <ATen/Parallel.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "core/cpu_budget.h"
#include "core/version.h"
#include "tensor/device.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// Returns the first line of a file; "" where there is no such file.
std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string nvidia_driver(const std::string& says) {
  std::smatch found;
  return std::regex_search(says, found, std::regex(R"(\b\d{3,}\.\d+(\.\d+)?\b)")) ? found.str() : "none";
}

nlohmann::json describe_environment() {
  utsname system{};
  ::uname(&system);
  nlohmann::json gpus = nlohmann::json::array();
  if (cuda_plugin() != nullptr) {
    for (const GpuInfo& gpu : cuda_plugin()->gpus()) gpus.push_back(gpu.name);
  }
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"tessera", version()},
          {"commit", build_commit()},
          {"torch", TORCH_VERSION},
          {"system", std::string(system.sysname) + " " + system.release},
          {"cpu", cpu_name()},
          {"instructions", describe_instructions(cpu_features(), onednn_bound())},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"usable_cpus", cpu_budget().cpus()},
          {"compute_threads", at::get_num_threads()},
          {"memory_gb", static_cast<int>(memory / 1e9)},
          {"cuda", cuda_status()},
          {"driver", nvidia_driver(first_line("/proc/driver/nvidia/version"))},
          {"gpus", gpus}};
}

}  // namespace tessera
