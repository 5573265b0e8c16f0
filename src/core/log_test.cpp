#include "core/log.h"

#include <gtest/gtest.h>

#include "core/secrets.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::string logged(const std::string& text) {
  ::testing::internal::CaptureStderr();
  log_warn("{}", text);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, NamesMoveNoCursorAndMakeNoLines) {
  const std::string line = logged("bad sample z\x1b[31mRED\nE 00:00:00 all fine\n  and\tmore\n");
  EXPECT_CONTAINS(line, "bad sample z\\x1b[31mRED\n  E 00:00:00 all fine\n  and\tmore\n");
}

TEST(Log, SecretsAreNotShown) {
  hide_secret("LOG_TEST_TOKEN", "sesame open");
  EXPECT_CONTAINS(logged("no folder /x/sesame open"), "no folder /x/${LOG_TEST_TOKEN}");
  EXPECT_CONTAINS(logged("downloading http://user:pw@host/m?token=abc to x"), "downloading http://***@host/m?token=*** to x");
}

}  // namespace
}  // namespace tessera
