#pragma once
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace tessera::testing {

// The message of the `Expected` that `action` throws, "" if it throws nothing. Other exceptions fail the test.
template <class Expected = Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return "";
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

}  // namespace tessera::testing

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(::tessera::testing::contains(text, part))
