#include "core/printable.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("z\x1b[31mRED\nE 00:00:00 all fine\r\t\x7f"), "z\\x1b[31mRED\\x0aE 00:00:00 all fine\\x0d\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xc2\x85"),
            "\\xc2\\x9b31m \\xc2\\x85");  // U+009B is ESC [ to some terminals
}

TEST(Printable, MarksThatTurnTheOrderOfTextAreEscaped) {
  EXPECT_EQ(printable("a\u202Egpj.exe"), R"(a\xe2\x80\xaegpj.exe)");
  EXPECT_EQ(printable("\u2066x\u2069\u2028"), R"(\xe2\x81\xa6x\xe2\x81\xa9\xe2\x80\xa8)");
  EXPECT_EQ(printable("\u2027\u202F\u2065"), "\u2027\u202F\u2065");
}

TEST(Printable, LettersOfAnyLanguageStay) {
  for (const char* text : {"", "plain name.png",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e",
                           "\xe6\xa8\xb9", "\xf0\x9f\x98\x80", "\xc2\xa0", "C:\\x41"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");                    // an overlong line end
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(printable("\xe6\xa8"), "\\xe6\\xa8");                    // cut off
  EXPECT_EQ(printable("\xe6\x41"),
            "\\xe6"
            "A");
}

TEST(Printable, ItIsDoneOnceHoweverOften) {
  const std::string once = printable("a\nb\xff");
  EXPECT_EQ(printable(once), once);
}

TEST(Printable, LinesKeepTheirEnds) {
  EXPECT_EQ(printable_lines("a\n\tb\x1b[2J\r\n"), "a\n\tb\\x1b[2J\\x0d\n");
}

}  // namespace
}  // namespace tessera
