#include "core/printable.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Printable, LeavesNamesOfAnyLanguage) {
  for (const char* text : {"", "a b.png", "Bäume", "図", "🌳", "back\\slash"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsControlCharactersAsNumbers) {
  EXPECT_EQ(printable("a\nE 00:00:00 fake\x1b[31m\x7f\t"), "a\\x0aE 00:00:00 fake\\x1b[31m\\x7f\\x09");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");                                        // U+009B: ESC [ in one character
  EXPECT_EQ(printable("x\xe2\x80\xaegnp"), "x\\xe2\\x80\\xaegnp");  // U+202E: from right to left
}

TEST(Printable, ShowsBytesThatAreNoUtf8AsNumbers) {
  EXPECT_EQ(printable("a\xff\xfe"), "a\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");           // cut off
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");  // a newline in too long a form
  EXPECT_EQ(printable("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace tessera
