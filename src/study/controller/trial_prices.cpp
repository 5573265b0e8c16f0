#include "study/controller/trial_prices.h"

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "study/run_folder.h"

namespace tessera {

TrialPrices::TrialPrices(std::optional<Prices> prices, int64_t ranks, bool needed)
    : prices_(std::move(prices)), ranks_(static_cast<double>(ranks)), needed_(needed) {}

std::optional<double> TrialPrices::per_second(const std::filesystem::path& run) {
  constexpr double kHour_s = 3600;
  if (!prices_) return 0;
  const std::string device = run_machine(run).device;
  if (device.empty()) return std::nullopt;
  const std::optional<double> hour = price_of(*prices_, device);
  if (!hour && needed_)
    fail_usage(
        "{} runs on '{}', which prices.device_hour does not have: add it, or budget.cost means nothing. Trials run on, and the "
        "same command finds them again",
        printable(run.string()), printable(device));
  if (!hour && missing_.insert(device).second)
    log_warn("costs are without '{}', which prices.device_hour does not have", printable(device));
  usual_ = hour.value_or(0) / kHour_s * ranks_;
  return usual_;
}

}  // namespace tessera
