#include "study/run_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/files.h"

namespace tessera {

RunMachine run_machine(const fs::path& run) {
  std::error_code error;
  if (!fs::exists(run / "environment.json", error)) return {};
  const auto environment = nlohmann::json::parse(read_text(run / "environment.json"), nullptr, /*allow_exceptions=*/false);
  if (!environment.is_object()) return {};
  RunMachine found{.device = environment.value("device", ""),
                   .machine = environment.value("cpu", ""),
                   .commit = environment.value("commit", "")};
  const auto gpus = environment.find("gpus");
  const bool on_gpu = found.device.starts_with("cuda") && gpus != environment.end() && gpus->is_array() && !gpus->empty();
  if (on_gpu)
    found.device = found.machine = gpus->front().is_string() ? gpus->front().get<std::string>() : gpus->front().dump();
  return found;
}

bool lacks_place(const std::string& said) {
  constexpr std::array kWords = {"No space left on device", "Disk quota exceeded", "Read-only file system", "disk is full",
                                 "MB left and checkpoints need"};
  return std::any_of(kWords.begin(), kWords.end(), [&](const char* words) { return said.find(words) != std::string::npos; });
}

int64_t newest_step(const fs::path& run) {
  int64_t newest = -1;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", error)) {
    const std::string name = entry.path().filename().string(), prefix = "step-";
    std::error_code ignored;
    if (!name.starts_with(prefix) || !fs::exists(entry.path() / "DONE", ignored)) continue;
    int64_t step = -1;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
    newest = std::max(newest, step);
  }
  return newest;
}

}  // namespace tessera
