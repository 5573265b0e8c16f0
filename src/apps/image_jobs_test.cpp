#include "apps/image_jobs.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

const Words kAllSuffixes{".png", "_overlay.png", "_probabilities.npy"};

class ImageJobs : public ::testing::Test {
 protected:
  std::string make(const std::string& name) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    write_file(path, std::string_view("not looked into"));
    return path.string();
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  testing::TempFolder folder_;
};

Words names(const std::vector<ImageJob>& jobs) {
  Words found;
  for (const ImageJob& job : jobs) found.push_back(job.name.string());
  return found;
}

Words names_of(const Words& inputs, const Words& suffixes = {".png"}) {
  return names(collect_image_jobs(inputs, suffixes));
}

Words names_listed(const std::string& text) {
  std::istringstream list(text);
  std::streambuf* const kept = std::cin.rdbuf(list.rdbuf());
  const Words found = names_of({"-"});
  std::cin.rdbuf(kept);
  std::cin.clear();
  return found;
}

std::string why_refused(const Words& inputs, const fs::path& folder, const Words& suffixes = {".png"}) {
  return testing::message_of<UsageError>(
      [&] { check_images_are_kept(collect_image_jobs(inputs, suffixes), folder, suffixes); });
}

TEST_F(ImageJobs, FoldersAreMirroredHoweverTheyAreWritten) {
  make("in/a.jpg");
  make("in/deep/b.c.png");
  make("in/notes.txt");
  for (const char* folder : {"in", "in/", "./in", "in/../in"}) EXPECT_EQ(names_of({path(folder)}), (Words{"a", "deep/b.c"}));
}

TEST_F(ImageJobs, AnImageGivenAgainIsTakenOnce) {
  const std::string image = make("odd/full.jpg");
  fs::create_directory_symlink(folder_ / "odd", folder_ / "link");
  const auto jobs =
      collect_image_jobs({image, path("./odd/full.jpg"), path("link/full.jpg"), path("odd"), path("odd/*.jpg")}, {".png"});
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].image, image);
  EXPECT_EQ(jobs[0].name, "full");
}

TEST_F(ImageJobs, LinkedImagesKeepTheirOwnNames) {
  make("store/blob.png");
  fs::create_directories(folder_ / "in");
  fs::create_symlink("../store/blob.png", folder_ / "in/one.png");
  fs::create_symlink("../store/blob.png", folder_ / "in/two.png");
  EXPECT_EQ(names_of({path("in")}), (Words{"one", "two"}));
}

TEST_F(ImageJobs, OneNameForTwoImagesKeepsTheExtension) {
  make("in/a.jpg");
  make("in/a.png");
  make("in/b.png");
  EXPECT_EQ(names_of({path("in")}), (Words{"a_jpg", "a_png", "b"}));
  make("in/a_jpg.tif");
  EXPECT_EQ(names_of({path("in")}), (Words{"a_jpg", "a_png", "a_jpg_tif", "b"}));
}

TEST_F(ImageJobs, EqualNamesFromTwoFoldersAreNumbered) {
  const Words inputs{make("x/a.jpg"), make("y/a.jpg"), make("z/a.jpg"), make("z/a_jpg_2.jpg")};
  EXPECT_EQ(names_of(inputs), (Words{"a_jpg", "a_jpg_3", "a_jpg_4", "a_jpg_2"}));
}

TEST_F(ImageJobs, NoResultHasTheNameOfAnothersOverlay) {
  make("in/a.jpg");
  make("in/a_overlay.png");
  EXPECT_EQ(names_of({path("in")}), (Words{"a", "a_overlay"}));  // no overlays: nothing to avoid
  EXPECT_EQ(names_of({path("in")}, kAllSuffixes), (Words{"a_jpg", "a_overlay_png"}));
}

TEST_F(ImageJobs, AListMayHaveTheLineEndsOfWindows) {
  EXPECT_EQ(names_listed(make("a.png") + "\r\n\r\n" + make("b.png") + "\r\n"), (Words{"a", "b"}));
}

TEST_F(ImageJobs, AListMayBeSeparatedByNuls) {
  const std::string nul(1, '\0');
  const std::string odd = make("two\nlines.png"), last = make("last.png\r");
  EXPECT_EQ(names_listed(make("a.png") + nul + odd + nul + nul + last + nul), (Words{"a", "two\nlines", "last"}));
  EXPECT_EQ(names_listed(make("a.png") + nul + odd), (Words{"a", "two\nlines"}));
}

TEST_F(ImageJobs, WhatMatchesNothingIsNamed) {
  EXPECT_THROW(collect_image_jobs({path("nothing*.png")}), UsageError);
}

TEST_F(ImageJobs, ResultsNeverReplaceAnInput) {
  const std::string image = make("in/photo.png");
  fs::create_directory_symlink(folder_ / "in", folder_ / "link");
  for (const char* folder : {"in", "in/", "in/../in/.", "link"}) {
    for (const std::string& input : {path("in"), image, path("link"), path("link/photo.png")}) {
      const std::string why = why_refused({input}, path(folder));
      EXPECT_NE(why.find("photo.png would replace an input image; choose another folder with --output"), std::string::npos)
          << input << " to " << folder << ": " << why;
    }
  }
  EXPECT_EQ(why_refused({path("in")}, path("out")), "");
  EXPECT_EQ(why_refused({make("in/photo.jpg")}, path("in")), "");  // photo.png is not among these inputs
}

TEST_F(ImageJobs, ResultsReplaceNeitherALinkNorWhatItLeadsTo) {
  make("store/blob.png");
  fs::create_directories(folder_ / "in");
  fs::create_symlink("../store/blob.png", folder_ / "in/blob.png");
  EXPECT_NE(why_refused({path("in")}, path("in")), "");
  EXPECT_NE(why_refused({path("in")}, path("store")), "");
  EXPECT_EQ(why_refused({path("in")}, path("out")), "");
}

TEST_F(ImageJobs, OverlaysReplaceNoInputEither) {
  const Words inputs{make("in/a.jpg"), make("other/a_overlay.png")};
  EXPECT_EQ(why_refused(inputs, path("in"), kAllSuffixes), "");
  EXPECT_NE(why_refused({inputs[0], make("in/a_overlay.png")}, path("in")), "");
  EXPECT_NE(why_refused({inputs[0], make("in/deep/a_jpg_overlay.png"), make("in/a.png")}, path("in/deep"), kAllSuffixes), "");
}

TEST_F(ImageJobs, ALinkInALoopStopsNothing) {
  make("in/a.png");
  fs::create_symlink("loop.png", folder_ / "in/loop.png");
  EXPECT_EQ(names_of({path("in")}), (Words{"a", "loop"}));
  EXPECT_EQ(why_refused({path("in")}, path("out")), "");
}

}  // namespace
}  // namespace tessera
