#pragma once
#include <cstdlib>
#include <optional>
#include <string>

#include "support/fixtures.h"

namespace tessera::testing {

// An empty folder in the place of $TESSERA_CACHE while the object lives.
class OwnCache {
 public:
  OwnCache() {
    if (const char* before = std::getenv("TESSERA_CACHE")) before_ = before;
    ::setenv("TESSERA_CACHE", folder_.path().c_str(), 1);
  }
  ~OwnCache() { before_ ? ::setenv("TESSERA_CACHE", before_->c_str(), 1) : ::unsetenv("TESSERA_CACHE"); }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
  std::optional<std::string> before_;
};

}  // namespace tessera::testing
