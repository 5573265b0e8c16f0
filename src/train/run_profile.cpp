#include "train/run_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/files.h"

namespace tessera {
namespace {

constexpr int64_t kStepsBefore = 5;  // which build plans, caches and graphs
constexpr size_t kOpsShown = 12;

double host_ms_of(const Profile& profile, std::string_view begin) {
  double total = 0;
  for (const PartTime& part : profile.parts) total += part.name.starts_with(begin) ? part.host_ms : 0;
  return total;
}

std::string percent(double part, double all) {
  return fmt::format("{:.0f} %", all > 0 ? 100 * part / all : 0);
}

bool is_product(const std::string& op) {
  for (const char* word : {"conv", "gemm", "mm", "linear", "attention"}) {
    if (op.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// What keeps the device from computing goes before what it computes.
std::string profile_advice(const Profile& profile, at::Device device, const std::string& loader) {
  constexpr double kMuch = 0.2, kBusy = 0.7;
  const double wall = profile.wall_ms;
  double all = 0, products = 0;
  for (const OpTime& op : profile.ops) {
    all += op.ms;
    products += is_product(op.name) ? op.ms : 0;
  }
  if (const double data = host_ms_of(profile, "data"); data > kMuch * wall)
    return loader.empty()
               ? fmt::format("{} of the time goes by waiting for data: set data.threads higher, or data.cache=decoded",
                             percent(data, wall))
               : loader;
  if (const double evaluation = host_ms_of(profile, "evaluation"); evaluation > kMuch * wall)
    return fmt::format("evaluation takes {} of the time: set eval.every to more", percent(evaluation, wall));
  if (const double saving = host_ms_of(profile, "checkpoint"); saving > kMuch * wall)
    return fmt::format("saving takes {} of the time: set checkpoint.every to more, or save to a faster disk",
                       percent(saving, wall));
  if (const double reduce = host_ms_of(profile, "reduce"); reduce > kMuch * wall)
    return fmt::format(
        "the gradients' way between the ranks takes {} of the time: try --autotune-comm, or a larger "
        "train.batch_size with optimizer.lr_scaling",
        percent(reduce, wall));
  if (device.is_cuda() && all < kBusy * wall)
    return fmt::format(
        "the GPU computes {} of the time and waits for the program in the rest: take a larger train.batch_size, or "
        "on one GPU leave train.cuda_graph on (a profile runs without it)",
        percent(all, wall));
  const auto most = std::max_element(profile.parts.begin(), profile.parts.end(),
                                     [](const PartTime& a, const PartTime& b) { return a.ms < b.ms; });
  if (most == profile.parts.end()) return "nothing was recorded that could be told apart";
  if (products > 0.5 * all)
    return fmt::format(
        "convolutions and products take {} of what is computed: train.precision=bf16 makes them faster where the "
        "device has it (`tessera bench step` tells); the longest part is {}",
        percent(products, all), most->name);
  return fmt::format(
      "{} takes longest, {} of what is computed, most of it bound by memory: train.precision=bf16 halves "
      "what is moved",
      most->name, percent(most->ms, all));
}

std::string profile_text(const Profile& profile, int64_t steps, at::Device device, const std::string& loader) {
  const double per_step = static_cast<double>(std::max<int64_t>(1, steps));
  std::string text =
      fmt::format("{} steps, {:.2f} ms each, on {}\n\n{:<32} {:>10} {:>8}{}\n", steps, profile.wall_ms / per_step, device.str(),
                  "part", "ms/step", "share", device.is_cuda() ? "   host ms/step" : "");
  double rest = profile.wall_ms;
  for (const PartTime& part : profile.parts) {
    rest -= part.host_ms;
    text += fmt::format("{:<32} {:>10.3f} {:>8}{}\n", part.name, part.ms / per_step, percent(part.ms, profile.wall_ms),
                        device.is_cuda() ? fmt::format(" {:>14.3f}", part.host_ms / per_step) : "");
  }
  text += fmt::format("{:<32} {:>10.3f} {:>8}\n", device.is_cuda() ? "elsewhere (host)" : "elsewhere",
                      std::max(0.0, rest) / per_step, percent(std::max(0.0, rest), profile.wall_ms));
  text += fmt::format("\n{:<64} {:>8} {:>10}\n", device.is_cuda() ? "kernel" : "operation", "calls", "ms/step");
  for (size_t i = 0; i < std::min(kOpsShown, profile.ops.size()); ++i) {
    const OpTime& op = profile.ops[i];
    text += fmt::format("{:<64} {:>8} {:>10.3f}\n", op.name.substr(0, 64), op.calls, op.ms / per_step);
  }
  return text + "\n" + profile_advice(profile, device, loader) + "\n";
}

bool RunProfile::records(int64_t step) {
  if (steps_ == 0) return false;
  if (first_ < 0) first_ = step;
  if (!session_ && step >= first_ + kStepsBefore) {
    begin_ = step;
    session_.emplace(device_);
  }
  return session_.has_value();
}

std::string RunProfile::finish(const std::filesystem::path& folder, Access access, int64_t step, const std::string& loader) {
  make_folders(folder / "profile", access);
  const Profile profile = session_->stop((folder / "profile" / "trace.json").string());
  session_.reset();
  const std::string text = profile_text(profile, step - begin_, device_, loader);
  write_file(folder / "profile" / "profile.txt", text, access);
  steps_ = 0;
  return text;
}

}  // namespace tessera
