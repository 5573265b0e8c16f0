#include "tensor/error_text.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <filesystem>
#include <new>

namespace tessera {

std::string error_text(const std::exception& error) {
  if (const auto* torch = dynamic_cast<const c10::Error*>(&error)) return torch->what_without_backtrace();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "not enough memory";
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return fmt::format("{}: {}", file->path1().string(), file->code().message());
  return error.what();
}

}  // namespace tessera
