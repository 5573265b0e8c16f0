#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "config/node.h"
#include "config/schema.h"

namespace tessera {

// What an hour of a device costs, in the user's own currency.
struct Prices {
  std::string currency = "USD";
  std::map<std::string, double> device_hour = {};
};
template <class V>
void describe(V& v, Prices& c) {
  v.field("currency", c.currency, "for people; nothing is converted");
  v.field("device_hour", c.device_hour,
          "price of a device for an hour: {H200: 3.5, cpu: 0.04}; a part of the GPU's name as `tessera doctor` prints it, or "
          "cpu for a rank on a CPU. The longest name that fits counts",
          at_least(0));
}

// The `prices:` section of a study's file: the prices themselves, or the name of a file with them, relative to `folder` or to
// where one is. Returns the former. Throws UsageError with file and line.
Node prices_section(const Node& written, const std::filesystem::path& folder);

// Such a file. Throws UsageError.
Node prices_file(const std::filesystem::path& file);

// Throws UsageError with file and line.
Prices read_prices(const Node& section);

// Of a device by its name, capitals and small letters alike; nothing where the list has none that fits.
std::optional<double> price_of(const Prices& prices, const std::string& device);

}  // namespace tessera
