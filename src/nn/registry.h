#pragma once
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/suggest.h"

namespace tessera {

// A table of named factories. It is written out in one place per family; nothing registers itself behind the scenes.
template <class Factory>
class Registry {
 public:
  Registry(std::string family, std::vector<std::pair<std::string, Factory>> entries) : family_(std::move(family)) {
    for (auto& [name, factory] : entries) {
      TSR_CHECK(table_.emplace(name, factory).second, "{} '{}' is registered twice", family_, name);
    }
  }

  const Factory& at(const std::string& name) const {
    if (const auto found = table_.find(name); found != table_.end()) return found->second;
    fail_usage("unknown {} '{}'{}; known: {}", family_, name, did_you_mean(name, names()), fmt::join(names(), ", "));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : table_) all.push_back(entry.first);
    return all;
  }

 private:
  std::string family_;
  std::map<std::string, Factory> table_;
};

}  // namespace tessera
