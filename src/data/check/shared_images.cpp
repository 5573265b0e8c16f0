#include "data/check/shared_images.h"

#include <unordered_map>

namespace tessera {

std::vector<std::pair<std::string, std::string>> shared_images(const Survey& train, const Survey& val) {
  std::unordered_map<uint64_t, size_t> known;
  for (size_t i = 0; i < train.samples.size(); ++i) {
    if (train.samples[i].usable() && train.samples[i].decoded) known.emplace(train.samples[i].hash, i);
  }
  std::vector<std::pair<std::string, std::string>> shared;
  for (size_t i = 0; i < val.samples.size(); ++i) {
    const SampleFacts& facts = val.samples[i];
    const auto place = facts.usable() && facts.decoded ? known.find(facts.hash) : known.end();
    if (place != known.end() && train.samples[place->second].same_image(facts))
      shared.emplace_back(train.data->id(static_cast<int64_t>(place->second)), val.data->id(static_cast<int64_t>(i)));
  }
  return shared;
}

}  // namespace tessera
