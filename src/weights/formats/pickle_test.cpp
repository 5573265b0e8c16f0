#include "weights/formats/pickle.h"

#include <gtest/gtest.h>

#include "support/weight_files.h"
#include "weights/formats/pickle_walk.h"

namespace tessera {
namespace {

using namespace std::string_literals;
using testing::bytes_of;
using testing::message_of;

Pickle parse(const std::string& text) {
  return parse_pickle(bytes_of(text), "f");
}

std::string complaint(const std::string& text) {
  return message_of([&] {
    const Pickle pickle = parse(text);
    walk_pickle(*pickle.root, "f");
  });
}

TEST(Pickle, ReadsPlainValues) {
  // pickle.dumps({'a': (1, -2, 300, 70000, 2**40), 'b': [True, None, 0.5, 'x', b'y']}, protocol=4), written out by hand.
  const Pickle pickle =
      parse("\x80\x04}(\x8c\x01"s + "a(K\x01J\xfe\xff\xff\xffM\x2c\x01J\x70\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01t"s +
            "\x8c\x01"s + "b](\x88NG\x3f\xe0\x00\x00\x00\x00\x00\x00\x8c\x01xC\x01yeu."s);
  const PickleValue& root = *pickle.root;
  ASSERT_TRUE(root.is(PickleKind::kDict));
  const auto& numbers = root.find("a")->items;
  ASSERT_EQ(numbers.size(), 5U);
  const int64_t expected[] = {1, -2, 300, 70000, int64_t{1} << 40};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(numbers[i]->integer, expected[i]);
  const auto& others = root.find("b")->items;
  EXPECT_TRUE(others[0]->is(PickleKind::kBool) && others[0]->integer == 1);
  EXPECT_TRUE(others[1]->is(PickleKind::kNone));
  EXPECT_DOUBLE_EQ(others[2]->real, 0.5);
  EXPECT_EQ(others[3]->text, "x");
  EXPECT_TRUE(others[4]->is(PickleKind::kBytes) && others[4]->text == "y");
  EXPECT_EQ(root.find("c"), nullptr);
}

TEST(Pickle, NothingRunsAndTheNameIsSaid) {
  EXPECT_CONTAINS(complaint("\x80\x02"s + "cos\nsystem\n(X\x02\0\0\0lstR."s), "os.system");
  EXPECT_CONTAINS(complaint("\x80\x02"s + "cposix\nsystem\n."s), "posix.system");
  EXPECT_CONTAINS(complaint("\x80\x04\x8c\x08"s + "builtins\x8c\x04"s + "eval\x93\x8c\x01"s + "1\x85R."s), "builtins.eval");
  EXPECT_CONTAINS(complaint("\x80\x02"s + "csubprocess\nPopen\n)R."s), "nothing was run");
}

TEST(Pickle, UnknownClassesBecomeOpaqueAndAreListed) {
  const Pickle pickle = parse("\x80\x02}(X\x01\0\0\0acsome.module\nThing\n)\x81}X\x01\0\0\0kK\x01sbX\x01\0\0\0bK\x07u."s);
  const PthFile file = walk_pickle(*pickle.root, "f");
  ASSERT_EQ(file.opaque.size(), 1U);
  EXPECT_EQ(file.opaque[0], (std::pair<std::string, std::string>{"a", "some.module.Thing"}));
  EXPECT_EQ(file.metadata.at("b"), "7");
  EXPECT_CONTAINS(complaint("\x80\x02"s + "csome.module\nThing\n)R."s), "some.module.Thing");
}

TEST(Pickle, OrderedDictsOfPython2AndCopiesHaveTheirItems) {
  EXPECT_EQ(parse("\x80\x02"s + "ccollections\nOrderedDict\n](](U\x01"s + "aK\x05"s + "ee\x85R."s).root->find("a")->integer, 5);
  EXPECT_EQ(parse("\x80\x02"s + "ccollections\nCounter\n}U\x01"s + "aK\x05s\x85R."s).root->find("a")->integer, 5);
}

TEST(Pickle, BrokenOnesAreErrors) {
  EXPECT_CONTAINS(complaint(""), "truncated");
  EXPECT_CONTAINS(complaint("\x80\x02"s), "truncated");
  EXPECT_CONTAINS(complaint("\x80\x09."s), "protocol 9");
  EXPECT_CONTAINS(complaint("\x80\x02."s), "stack is empty");
  EXPECT_CONTAINS(complaint("\x80\x02u."s), "no mark");
  EXPECT_CONTAINS(complaint("\x80\x02h\x05."s), "memo 5");
  EXPECT_CONTAINS(complaint("\x80\x02X\xff\xff\xff\x7f."s), "2147483647 bytes expected");
  EXPECT_CONTAINS(complaint("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s), "truncated");
  EXPECT_CONTAINS(complaint("\x80\x02K\x01K\x01R."s), "without arguments");
  EXPECT_CONTAINS(complaint("\x80\x02K\x01]a."s), "no list");
  EXPECT_CONTAINS(complaint("\x80\x02K\x01Q."s), "no storage");
  EXPECT_CONTAINS(complaint("\x80\x02\x82\x01."s), "instruction 0x82");
  EXPECT_CONTAINS(complaint("\x80\x02(K\x01]\x30\x30\x30."s), "stack is empty");
}

TEST(Pickle, ListsThatHoldThemselvesAreAnErrorNotALoop) {
  EXPECT_CONTAINS(complaint("\x80\x02]q\x00h\x00"s + "a."s), "holds itself");
}

TEST(Pickle, ListsThatUnfoldWithoutEndAreAnError) {
  std::string bomb = "\x80\x02]q\x00"s;  // each list holds the one before twice
  for (char i = 0; i < 40; ++i) bomb += "](h"s + i + "h"s + i + "eq"s + static_cast<char>(i + 1);
  EXPECT_CONTAINS(complaint(bomb + "."), "unfold");
}

TEST(Pickle, CopiesWithoutEndAreAnError) {
  std::string bomb = "\x80\x02X"s + "\xa0\x86\x01\0"s + std::string(100'000, 'a') + "q\x00"s;  // a name of 100 kB
  for (int i = 0; i < 2000; ++i) bomb += "h\x00h\x00\x93"s;                                    // taken for a global
  EXPECT_CONTAINS(complaint(bomb + "."), "copies values without end");
}

}  // namespace
}  // namespace tessera
