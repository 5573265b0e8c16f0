#include "config/duration.h"

#include <charconv>
#include <cmath>

#include "core/error.h"

namespace tessera {

Duration Duration::parse(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  TSR_CHECK(error == std::errc() && value >= 0 && std::isfinite(value) && (unit == "ep" || unit == "ba" || unit == "dur"),
            "expected a duration such as 25ep (epochs), 1000ba (batches) or 0.5dur (share of the run), got '{}'", text);
  TSR_CHECK(unit != "ba" || value == std::floor(value), "expected a whole number of batches, got '{}'", text);
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
    case Unit::kEpochs: return std::llround(value * static_cast<double>(steps_per_epoch));
    case Unit::kBatches: return std::llround(value);
    case Unit::kShare: return std::llround(value * static_cast<double>(total));
  }
  return 0;
}

}  // namespace tessera
