#include "apps/data_show.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "data/datasets/folder_names.h"
#include "data/records/mds_index.h"
#include "data/records/mds_summary.h"

namespace tessera {
namespace {

// The folder itself, or those of its splits.
std::vector<std::string> mds_folders(const std::string& place) {
  std::error_code error;
  if (place.find("://") != std::string::npos || fs::exists(fs::path(place) / kMdsIndexName, error)) return {place};
  std::vector<std::string> found;
  for (const std::string& name : folders_in(place)) {
    if (fs::exists(fs::path(place) / name / kMdsIndexName, error)) found.push_back((fs::path(place) / name).string());
  }
  TSR_CHECK_USAGE(!found.empty(), "{} holds no MDS shards: there is no {} in it or in a folder below", place, kMdsIndexName);
  return found;
}

}  // namespace

void add_data_show(CLI::App& data) {
  struct Arguments {
    std::string place;
    int64_t samples = 3;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* sub = data.add_subcommand("show", "the columns of MDS shards and the values of their first samples");
  sub->add_option("place", arguments->place, "folder or URL with an index.json, or a folder of such")->required();
  sub->add_option("-n,--count", arguments->samples, "samples to show of each")->capture_default_str()->check(zero_or_more());
  sub->callback([a = arguments] {
    for (const std::string& folder : mds_folders(a->place)) fmt::print("{}", mds_summary(*open_file_store(folder), a->samples));
  });
}

}  // namespace tessera
