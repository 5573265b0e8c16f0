#include "study/prices.h"

#include "config/reader.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace tessera {
namespace {

constexpr const char* kExample = "currency: EUR, device_hour: {H200: 3.5, cpu: 0.04}";

}  // namespace

Node prices_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    fail_usage("prices: there is no file '{}'; expected one with {}", printable(file.string()), kExample);
  return load_config(file);
}

Node prices_section(const Node& written, const fs::path& folder) {
  if (written.kind != Node::Kind::kScalar) return written;
  std::error_code error;
  const fs::path beside = folder / written.scalar;
  return prices_file(fs::exists(beside, error) ? beside : fs::path(written.scalar));
}

Prices read_prices(const Node& section) {
  Prices prices;
  if (section.kind != Node::Kind::kNull) ConfigReader::read_struct(section, "prices", prices);
  if (prices.device_hour.empty())
    fail_usage("{}{}prices: expected what a device costs for an hour, as {}", section.origin.text(),
               section.origin.file.empty() ? "" : ": ", kExample);
  return prices;
}

std::optional<double> price_of(const Prices& prices, const std::string& device) {
  const std::string name = lower(device);
  std::optional<double> price;
  size_t longest = 0;
  for (const auto& [part, value] : prices.device_hour) {
    if (part.size() < longest || name.find(lower(part)) == std::string::npos) continue;
    longest = part.size();
    price = value;
  }
  return price;
}

}  // namespace tessera
