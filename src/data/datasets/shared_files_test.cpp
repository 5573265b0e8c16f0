#include "data/datasets/shared_files.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

// The files of a folder, which are never read as images.
class Files : public Dataset {
 public:
  explicit Files(const fs::path& folder) : files_(list_files(folder)) {}
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  Sample get(int64_t index) const override { throw BadSample(id(index), "no image"); }
  std::string id(int64_t index) const override { return image_file(index).stem().string(); }
  const ClassTable& classes() const override { return classes_; }
  fs::path image_file(int64_t index) const override { return files_.at(static_cast<size_t>(index)); }

 private:
  std::vector<fs::path> files_;
  ClassTable classes_;
};

class SharedFilesTest : public ::testing::Test {
 protected:
  // All files have one size; `value` stands at `place`, zeros elsewhere.
  void file(const std::string& name, char value, size_t place = kSize / 2) {
    std::string bytes(kSize, '\0');
    bytes.at(place) = value;
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, bytes);
  }
  std::vector<SharedFile> shared(int64_t max_files = 100) const {
    return shared_files(Files(folder_ / "train"), Files(folder_ / "val"), max_files);
  }
  static constexpr size_t kSize = 10000;
  testing::TempFolder folder_;
};

TEST_F(SharedFilesTest, CopiesAreFoundUnderOtherNames) {
  file("train/one.png", 1);
  file("train/two.png", 2);
  file("val/three.png", 3);
  EXPECT_TRUE(shared().empty());
  file("val/four.png", 2);
  ASSERT_EQ(shared().size(), 1U);
  EXPECT_EQ(shared()[0].train, "two");
  EXPECT_EQ(shared()[0].val, "four");
  EXPECT_TRUE(shared()[0].copied);
  EXPECT_TRUE(shared(0).empty());  // no file may be opened
}

TEST_F(SharedFilesTest, OneFileInBothIsNoCopy) {
  file("train/one.png", 1);
  fs::create_directory_symlink(folder_ / "train", folder_ / "val");
  ASSERT_EQ(shared(0).size(), 1U);
  EXPECT_FALSE(shared(0)[0].copied);
}

// The middle of the file is compared first; what differs elsewhere must not pass for a copy.
TEST_F(SharedFilesTest, FilesThatDifferInOneByteAreNotTheSame) {
  for (const size_t place : {size_t{0}, kSize / 2, kSize - 1}) {
    file("train/one.png", 1, place);
    file("val/one.png", 2, place);
    EXPECT_TRUE(shared().empty()) << place;
    file("val/one.png", 1, place);
    EXPECT_EQ(shared().size(), 1U) << place;
  }
}

}  // namespace
}  // namespace tessera
