// The main of the test programs that need no libtorch.
#include "support/test_main.h"

int main(int argc, char** argv) {
  return tessera::testing::run_all_tests(argc, argv);
}
