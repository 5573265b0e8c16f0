#include "tensor/error_text.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>

#include "core/error.h"

namespace tessera {
namespace {

template <class Throw>
std::string text_of(Throw&& throws) {
  try {
    throws();
  } catch (const std::exception& e) {
    return error_text(e);
  }
  return "nothing was thrown";
}

TEST(ErrorText, HasNoStackOfTheLibrary) {
  const std::string text = text_of([] { TORCH_CHECK(false, "the reason"); });
  EXPECT_NE(text.find("the reason"), std::string::npos) << text;
  EXPECT_EQ(text.find("frame #"), std::string::npos) << text;
}

TEST(ErrorText, MemoryAndFilesAreSaidInWords) {
  EXPECT_EQ(text_of([] { throw std::bad_alloc(); }), "not enough memory");
  EXPECT_EQ(text_of([] { std::filesystem::create_directory("/no/such/folder"); }),
            "/no/such/folder: No such file or directory");
  EXPECT_EQ(text_of([] { fail("as it is"); }), "as it is");
}

}  // namespace
}  // namespace tessera
