#include "data/datasets/data_line.h"

#include <fmt/ranges.h>

#include <set>

#include "core/error.h"
#include "core/log.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {
namespace {

std::string one_split(const OpenSplit& open) {
  const DataOrigin& origin = open.data->origin();
  std::vector<std::string> remarks;
  if (!origin.text.empty()) remarks.push_back(origin.text);
  if (!origin.labelled) remarks.emplace_back("no masks");
  if (open.split == Split::kTest) remarks.emplace_back("not trained on");
  const std::string counted = fmt::format("{} {}", open.data->size(), name_of(open.split));
  return remarks.empty() ? counted : fmt::format("{} ({})", counted, fmt::join(remarks, ", "));
}

}  // namespace

std::string data_line(const std::vector<OpenSplit>& splits) {
  std::vector<std::string> parts;
  for (const OpenSplit& open : splits) parts.push_back(one_split(open));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void warn_of_left_out(const std::vector<OpenSplit>& splits) {
  std::set<std::string> said;
  for (const OpenSplit& open : splits) {
    for (const std::string& note : open.data->origin().notes) {
      if (said.insert(note).second) log_warn("{}", note);
    }
  }
}

void announce_data(const DataConfig& config, std::vector<OpenSplit> used) {
  if (used.size() > 1) {
    try {
      if (DatasetPtr test = make_test_set(config)) used.push_back({Split::kTest, std::move(test)});
    } catch (const Error& error) {
      log_warn("the test split cannot be opened: {}", error.what());
    }
  }
  log_info("data: {}", data_line(used));
  warn_of_left_out(used);
}

}  // namespace tessera
