#include "weights/fetch/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "config/experiment.h"
#include "core/files.h"

namespace tessera {
namespace {

TEST(Zoo, ChecksumsComeFromTheFileNames) {
  EXPECT_EQ(find_in_zoo("resnet50.imagenet1k_v2")->sha256(),
            "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca");
  EXPECT_EQ(find_in_zoo("resnet152.imagenet1k_v2")->sha256(), "f82ba261");  // no more is known
  EXPECT_EQ(find_in_zoo("resnet50.imagenet1k_v2")->url(), "https://download.pytorch.org/models/resnet50-11ad3fa6.pth");
  EXPECT_TRUE(find_in_zoo("deeplabv3_resnet101.coco_with_voc_labels_v1")->sha256().starts_with("586e9e4e"));
  EXPECT_EQ(find_in_zoo("vit_b16.augreg_in21k")->sha256(), "");  // ends in -sd_0.0.npz
  EXPECT_EQ(find_in_zoo("vit_b16.mae")->sha256(), "");
  EXPECT_EQ(find_in_zoo("resnet51"), nullptr);
}

TEST(Zoo, WholeSumsAreWholeAndEachIsOfOneFile) {
  for (const std::string_view sum : whole_sums()) {
    EXPECT_EQ(sum.size(), 64U) << sum;
    EXPECT_EQ(sum.find_first_not_of("0123456789abcdef"), std::string_view::npos) << sum;
    const auto has_it = [&](const ZooEntry& entry) { return entry.sha256() == sum; };
    EXPECT_EQ(std::count_if(zoo().begin(), zoo().end(), has_it), 1) << sum;
  }
}

TEST(Zoo, NamesAndFilesAreUniqueAndSettingsAreReal) {
  EXPECT_GE(zoo().size(), 60U);
  std::set<std::string> names, files;
  for (const ZooEntry& entry : zoo()) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(names.emplace(entry.name).second);
    EXPECT_TRUE(files.insert(fs::path(entry.file).filename().string()).second);
    std::istringstream words{std::string(entry.fits)};
    const std::vector<std::string> settings{std::istream_iterator<std::string>(words), {}};
    EXPECT_NO_THROW(load_experiment("", settings));
    const bool library = entry.origin.starts_with("torchvision ") || entry.origin.starts_with("timm ");
    EXPECT_TRUE(library) << entry.origin;
  }
}

}  // namespace
}  // namespace tessera
