#include "config/data_places.h"

#include <algorithm>

namespace tessera {

void make_data_places_absolute(Experiment& experiment) {
  const auto make_absolute = [&](const char* key, std::string& place) {
    const auto& secrets = experiment.secrets;
    const bool secret = std::any_of(secrets.begin(), secrets.end(), [&](const SecretText& text) { return text.key == key; });
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(place, error);
    if (!place.empty() && !secret && !error) place = absolute.lexically_normal().string();
  };
  make_absolute("data.path", experiment.data.path);
  make_absolute("data.train.path", experiment.data.train.path);
  make_absolute("data.val.path", experiment.data.val.path);
}

}  // namespace tessera
