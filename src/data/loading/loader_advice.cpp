#include "data/loading/loader_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera {
namespace {

// The stages by their time, the longest first, with shares in percent.
std::string shares_of(const StageTimes& times, const std::vector<size_t>& order) {
  std::string text;
  for (const size_t stage : order) {
    const double share = 100.0 * static_cast<double>(times.ns[stage]) / static_cast<double>(times.all_ns());
    if (share >= 1) text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", kLoadStageNames[stage], share);
  }
  return text;
}

std::string remedy(LoadStage stage, const StageTimes& times) {
  switch (stage) {
    case LoadStage::kRead: return "keep the files on a disk of this machine";
    case LoadStage::kDecode:
      if (times.planned * 2 < times.samples) {
        return "begin data.train.transforms with resize, scale_jitter or random_crop and store images as JPEG, so that only "
               "what a crop needs is decoded";
      }
      return "store the images nearer to the size they are trained at";
    case LoadStage::kResize: return "store the images nearer to the size they are trained at";
    case LoadStage::kLabels: return "store masks as PNG of 8 bits, palette or grey";
    case LoadStage::kTransform: return "take the slowest of data.train.transforms out, or give it a lower probability";
    case LoadStage::kPlace: break;
  }
  return "use fewer threads per memory channel: memory itself is busy";
}

}  // namespace

std::string loader_advice(const LoaderLoad& load) {
  const StageTimes& times = load.times;
  if (load.wait_share < kWaitWorthSaying || times.samples == 0 || times.all_ns() == 0) return "";
  std::vector<size_t> order(times.ns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times.ns[a] > times.ns[b]; });
  const double per_thread = 1e9 * static_cast<double>(times.samples) / static_cast<double>(times.all_ns());
  const std::string threads = load.threads < load.cpus ? fmt::format("set data.threads={} (now {})", load.cpus, load.threads)
                                                       : fmt::format("all {} CPUs of this rank load already", load.cpus);
  return fmt::format("{:.0f} % of the time goes by waiting for data: a thread loads {:.0f} images/s ({}); {}, or {}",
                     100 * load.wait_share, per_thread, shares_of(times, order), threads,
                     remedy(static_cast<LoadStage>(order[0]), times));
}

}  // namespace tessera
