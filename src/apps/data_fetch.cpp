// `tessera data fetch`: public data sets, downloaded, checked and unpacked.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/error.h"
#include "core/json_text.h"
#include "data/fetch/fetch_data.h"
#include "storage/cache_folder.h"
#include "storage/place_url.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct FetchArguments {
  std::vector<std::string> names;
  std::string to, from;
  bool list = false, json = false, keep = false;
};

// Where the configs of public data sets look for them, if that is said.
fs::path folder_of_data(const FetchArguments& arguments) {
  TSR_CHECK_USAGE(!is_url(arguments.to), "--to {} is a URL, and archives are unpacked into a folder of this machine: name one",
                  arguments.to);
  if (!arguments.to.empty()) return arguments.to;
  const char* set = std::getenv("TESSERA_DATA");
  return set != nullptr && *set != '\0' ? fs::path(set) : cache_folder() / "datasets";
}

std::string size_text(const PublicData& data) {
  const bool known = std::all_of(data.files.begin(), data.files.end(), [](const PublicFile& file) { return file.bytes >= 0; });
  return known ? fmt::format("{:.2f} GB", static_cast<double>(data.known_bytes()) * 1e-9) : "?";
}

void list(const std::vector<PublicData>& all, const FetchArguments& arguments) {
  const fs::path to = folder_of_data(arguments);
  nlohmann::json entries = nlohmann::json::array();
  if (!arguments.json) fmt::print("{:<12} {:>9} {:<5} {}\n", "name", "download", "here", "what it is");
  for (const PublicData& data : all) {
    const bool here = is_fetched(data, to / data.folder);
    if (!arguments.json) {
      fmt::print("{:<12} {:>9} {:<5} {}\n{:29}{}\n", data.name, size_text(data), here ? "yes" : "-", data.title, "",
                 data.licence);
      continue;
    }
    nlohmann::json files = nlohmann::json::array();
    for (const PublicFile& file : data.files) {
      nlohmann::json entry{{"url", file.url}};
      if (file.bytes >= 0) entry["bytes"] = file.bytes;
      if (!file.algorithm.empty()) entry[file.algorithm] = file.digest;
      files.push_back(entry);
    }
    entries.push_back({{"name", data.name},
                       {"title", data.title},
                       {"licence", data.licence},
                       {"licence_url", data.licence_url},
                       {"files", files},
                       {"folder", (to / data.folder).string()},
                       {"config", data.config},
                       {"here", here}});
  }
  if (arguments.json) {
    fmt::print("{}\n", json_text(entries, 2));
  } else {
    fmt::print("\nThey go to {} (--to, else TESSERA_DATA, else the cache).\n", to.string());
  }
}

// How to read what is at `root` now: the config finds it below TESSERA_DATA, else it has to be told.
std::string how_to_read(const PublicData& data, const fs::path& to) {
  if (data.config.empty()) return "";
  const char* set = std::getenv("TESSERA_DATA");
  std::error_code error;
  const bool found = set != nullptr && fs::equivalent(set, to, error);
  return fmt::format("{}tessera data check {}", found ? "" : fmt::format("TESSERA_DATA={} ", to.string()), data.config);
}

void fetch(const FetchArguments& arguments) {
  std::vector<PublicData> all = public_data();
  if (!arguments.from.empty()) all = read_catalogue(arguments.from);
  if (arguments.list) return list(all, arguments);
  if (arguments.names.empty())
    fail_usage("say what to fetch: a name of `tessera data fetch --list`, as `tessera data fetch ade20k --to /data`");
  std::vector<const PublicData*> wanted;  // all names are looked at before the first is fetched
  for (const std::string& name : arguments.names) wanted.push_back(&find_public_data(all, name));
  const fs::path to = folder_of_data(arguments);
  for (const PublicData* data : wanted) {
    fetch_data(*data, to / data->folder, arguments.keep);
    fmt::print("{}\n", (to / data->folder).string());
    if (const std::string command = how_to_read(*data, to); !command.empty()) fmt::print(stderr, "look at it: {}\n", command);
  }
}

}  // namespace

void add_data_fetch(CLI::App& data) {
  auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command =
      data.add_subcommand("fetch", "download public data sets, check and unpack them, and print where they are");
  command->add_option("name", arguments->names, "names of --list");
  command->add_flag("--list", arguments->list, "what is known, with sizes and licences");
  command->add_flag("--json", arguments->json, "with --list: print as JSON, with URLs, sizes and checksums");
  command->add_option("--to", arguments->to, "folder of all data sets; default: $TESSERA_DATA, else datasets/ in the cache");
  command->add_option("--from", arguments->from, "a YAML file of further data sets to take instead of the known ones")
      ->check(CLI::ExistingFile);
  command->add_flag("--keep", arguments->keep, "keep the archives in NAME.fetch");
  command->footer(
      "A call that was stopped, however that happened, is gone on with by the same command. Without a network, put the "
      "archives where the error says; docs/data.md, Fetching, has the form of --from.");
  command->callback([=] { fetch(*arguments); });
}

}  // namespace tessera
