#include "support/test_main.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace tessera::testing {
namespace {

std::string reason(const ::testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (!result.GetTestPartResult(i).skipped()) continue;
    std::string text = result.GetTestPartResult(i).message();
    return text.substr(0, text.find('\n'));
  }
  return "";
}

// A line `program<TAB>test<TAB>reason` for each test that skipped itself.
std::string skipped_lines(const std::string& program) {
  std::ostringstream lines;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(k);
      if (!test.should_run() || !test.result()->Skipped()) continue;
      lines << program << '\t' << suite.name() << '.' << test.name() << '\t' << reason(*test.result()) << '\n';
    }
  }
  return lines.str();
}

}  // namespace

int run_all_tests(int argc, char** argv) {
  const std::string program = std::filesystem::path(argv[0]).filename();
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const std::string lines = skipped_lines(program);
  if (lines.empty()) return failed;
  std::cout << "skipped:\n" << lines;
  // One write in append mode: programs that run beside each other do not mix their lines.
  if (const char* file = std::getenv("TESSERA_SKIPPED")) std::ofstream(file, std::ios::app) << lines << std::flush;
  return failed;
}

}  // namespace tessera::testing
