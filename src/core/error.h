#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tessera {

// A failure the user can act on: what was expected, what came, what to do. `main` prints it and exits with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A mistake in the command line or the config, found before anything was done. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> text, Args&&... args) {
  throw UsageError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace tessera

// For user input, files and peers; `assert` is for our own mistakes.
#define TSR_CHECK(condition, ...)                   \
  do {                                              \
    if (!(condition)) ::tessera::fail(__VA_ARGS__); \
  } while (false)

// For what a config or a command line says.
#define TSR_CHECK_USAGE(condition, ...)                   \
  do {                                                    \
    if (!(condition)) ::tessera::fail_usage(__VA_ARGS__); \
  } while (false)
