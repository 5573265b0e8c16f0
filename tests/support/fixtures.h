#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/source_dir.h"

namespace tessera::testing {

// Answers of the reference libraries, kept under tests/interop/fixtures (made by the scripts beside them).
inline std::filesystem::path fixture_path(const std::string& name) {
  const char* set = std::getenv("TESSERA_FIXTURES");
  return std::filesystem::path(set != nullptr ? set : source_dir() + "/tests/interop/fixtures") / name;
}

inline nlohmann::json load_fixture(const std::string& name) {
  std::ifstream file(fixture_path(name));
  EXPECT_TRUE(file.good()) << "missing fixture " << fixture_path(name);
  return nlohmann::json::parse(file);
}

// A real data set below $TESSERA_DATA (default: ../shared/data beside the checkout); empty when it is not there.
inline std::filesystem::path data_path(const std::string& name) {
  const char* set = std::getenv("TESSERA_DATA");
  const std::filesystem::path path = std::filesystem::path(set != nullptr ? set : source_dir() + "/../shared/data") / name;
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

// A folder that is gone when the test ends.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace tessera::testing

// Skips the running test with a clear line when a real data set is not on this machine.
#define TSR_NEED_DATA(variable, name)                        \
  const auto variable = ::tessera::testing::data_path(name); \
  if (variable.empty()) GTEST_SKIP() << "data set " name " is not here; set TESSERA_DATA to the folder that holds it"
