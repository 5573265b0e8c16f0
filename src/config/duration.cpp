#include "config/duration.h"

#include <charconv>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// A million steps a second for eleven days. Far below where counts of steps, or of samples, would overflow.
constexpr double kMostSteps = 1e12;

int64_t whole_steps(double steps, const Duration& duration) {
  TSR_CHECK_USAGE(steps <= kMostSteps, "the duration {} is {:.3g} steps; expected at most {:.0e}", duration.text(), steps,
                  kMostSteps);
  return std::llround(steps);
}

}  // namespace

Duration Duration::parse(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  TSR_CHECK(error == std::errc() && value >= 0 && std::isfinite(value) && (unit == "ep" || unit == "ba" || unit == "dur"),
            "expected a duration such as 25ep (epochs), 1000ba (batches) or 0.5dur (share of the run), got '{}'", text);
  TSR_CHECK(unit != "ba" || value == std::floor(value), "expected a whole number of batches, got '{}'", text);
  TSR_CHECK(unit == "dur" || value <= kMostSteps, "expected a duration of at most {:.0e} batches or epochs, got '{}'",
            kMostSteps, text);
  TSR_CHECK(unit != "dur" || value <= 1, "expected a share of the run between 0dur and 1dur, got '{}'", text);
  if (unit == "ep") return epochs(value);
  return unit == "ba" ? batches(value) : share(value);
}

std::string Duration::text() const {
  const char* suffix = unit == Unit::kEpochs ? "ep" : unit == Unit::kBatches ? "ba" : "dur";
  return fmt::format("{}{}", value, suffix);
}

int64_t Duration::steps(int64_t steps_per_epoch, int64_t total) const {
  switch (unit) {
    case Unit::kEpochs: return whole_steps(value * static_cast<double>(steps_per_epoch), *this);
    case Unit::kBatches: return whole_steps(value, *this);
    case Unit::kShare: return whole_steps(value * static_cast<double>(total), *this);
  }
  return 0;
}

}  // namespace tessera
