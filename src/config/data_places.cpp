#include "config/data_places.h"

#include <algorithm>

namespace tessera {

namespace {

// As listed_samples looks for it: with the data first, then here.
bool lies_here(const std::string& list, const std::string& root) {
  std::error_code error;
  return !list.empty() && !std::filesystem::exists(std::filesystem::path(root) / list, error) &&
         std::filesystem::exists(list, error);
}

}  // namespace

void make_data_places_absolute(Experiment& experiment) {
  const auto make_absolute = [&](const char* key, std::string& place) {
    const auto& secrets = experiment.secrets;
    const bool secret = std::any_of(secrets.begin(), secrets.end(), [&](const SecretText& text) { return text.key == key; });
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(place, error);
    const bool is_url = place.find("://") != std::string::npos;
    if (!place.empty() && !secret && !is_url && !error) place = absolute.lexically_normal().string();
  };
  make_absolute("data.path", experiment.data.path);
  make_absolute("data.train.path", experiment.data.train.path);
  make_absolute("data.val.path", experiment.data.val.path);
  DataConfig& data = experiment.data;
  const auto root_of = [&](const SplitConfig& split) { return split.path.empty() ? data.path : split.path; };
  if (lies_here(data.train.list, root_of(data.train))) make_absolute("data.train.list", data.train.list);
  if (lies_here(data.val.list, root_of(data.val))) make_absolute("data.val.list", data.val.list);
}

}  // namespace tessera
