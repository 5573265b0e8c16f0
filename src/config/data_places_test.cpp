#include "config/data_places.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(DataPlaces, RelativeOnesBecomeThoseOfThisFolder) {
  const std::string here = std::filesystem::current_path().string();
  Experiment e = load_experiment("", {"data.path=cells", "data.train.path=/there/./train", "data.val.path=../other/val"});
  make_data_places_absolute(e);
  EXPECT_EQ(e.data.path, here + "/cells");
  EXPECT_EQ(e.data.train.path, "/there/train");
  EXPECT_EQ(e.data.val.path, (std::filesystem::path(here).parent_path() / "other/val").string());
  Experiment unset = load_experiment("");
  make_data_places_absolute(unset);
  EXPECT_EQ(unset.data.path, "");
  EXPECT_EQ(unset.data.val.path, "");
}

TEST(DataPlaces, UrlsStayAsTheyAre) {
  Experiment e = load_experiment("", {"data.path=s3://bucket/cells/", "data.val.path=https://host/val"});
  make_data_places_absolute(e);
  EXPECT_EQ(e.data.path, "s3://bucket/cells/");
  EXPECT_EQ(e.data.val.path, "https://host/val");
}

TEST(DataPlaces, AListBesideTheDataStaysAsItIsWritten) {
  const testing::TempFolder folder;
  const std::string here = std::filesystem::current_path().string(), own = "data_places_test_list.txt";
  write_file(folder / "val.txt", std::string_view("a\n"));
  write_file(own, std::string_view("b\n"));
  Experiment e =
      load_experiment("", {"data.path=" + folder.path().string(), "data.val.list=val.txt", "data.train.list=" + own});
  make_data_places_absolute(e);
  EXPECT_EQ(e.data.val.list, "val.txt");
  EXPECT_EQ(e.data.train.list, here + "/" + own);
  std::filesystem::remove(own);
}

TEST(DataPlaces, ASecretStaysAName) {
  ::setenv("PLACES_TEST_TOKEN", "hidden-folder", 1);
  Experiment e = load_experiment("", {"data.path=${PLACES_TEST_TOKEN}/cells"});
  make_data_places_absolute(e);
  EXPECT_EQ(e.data.path, "hidden-folder/cells");
  EXPECT_EQ(experiment_yaml(e).find("hidden-folder"), std::string::npos);
  ::unsetenv("PLACES_TEST_TOKEN");
}

}  // namespace
}  // namespace tessera
