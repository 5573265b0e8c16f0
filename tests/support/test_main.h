#pragma once

namespace tessera::testing {

// What ctest takes as "skipped" (SKIP_RETURN_CODE of cmake/Layers.cmake).
constexpr int kSkipped = 77;

// RUN_ALL_TESTS for the main of a test program. A test that skipped itself is no pass that nobody sees: it is printed, and with
// its reason written as a line to the file $TESSERA_SKIPPED, which scripts/skipped-tests reads.
int run_all_tests(int argc, char** argv);

}  // namespace tessera::testing
