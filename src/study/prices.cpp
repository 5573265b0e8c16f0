#include "study/prices.h"

#include "config/node.h"
#include "config/reader.h"
#include "core/files.h"

namespace tessera {

Prices read_prices(const fs::path& file) {
  Prices prices;
  ConfigReader::read_struct(load_config(file), "", prices);
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
