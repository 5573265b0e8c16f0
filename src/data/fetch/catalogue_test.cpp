#include <gtest/gtest.h>

#include <set>

#include "config/builtin_configs.h"
#include "config/experiment.h"
#include "core/files.h"
#include "data/fetch/public_data.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;

std::string error_of(const testing::TempFolder& folder, const std::string& text) {
  write_file(folder / "c.yaml", text);
  return message_of<UsageError>([&] { read_catalogue(folder / "c.yaml"); });
}

TEST(Catalogue, EveryKnownDataSetCanBeFetchedAndRead) {
  std::set<std::string> names, folders;
  const std::map<std::string, size_t> digits{{"md5", 32}, {"sha1", 40}, {"sha256", 64}};
  for (const PublicData& data : public_data()) {
    EXPECT_TRUE(names.insert(data.name).second && folders.insert(data.folder).second) << data.name;
    EXPECT_FALSE(data.files.empty() || data.has.empty() || data.licence.empty() || data.licence_url.empty()) << data.name;
    std::set<std::string> files;
    for (const PublicFile& file : data.files) {
      EXPECT_TRUE(files.insert(file.name()).second) << file.url;
      EXPECT_EQ(file.digest.size(), file.algorithm.empty() ? 0 : digits.at(file.algorithm)) << file.url;
    }
    // The config looks for it where it is put, and fetches it itself where it says so.
    ASSERT_NE(find_builtin_config("builtin:" + data.config), nullptr) << data.config;
    ::setenv("TESSERA_DATA", "/data", 1);
    const Experiment experiment = load_experiment(fs::path(testing::source_dir()) / "configs" / (data.config + ".yaml"), {});
    EXPECT_EQ(public_data_at(public_data(), experiment.data.path), &data) << experiment.data.path;
    ::unsetenv("TESSERA_DATA");
  }
}

TEST(Catalogue, FindsByNameAndByFolder) {
  EXPECT_EQ(find_public_data(public_data(), "ade20k").folder, "ADEChallengeData2016");
  EXPECT_CONTAINS(message_of<UsageError>([] { find_public_data(public_data(), "ade2k"); }), "did you mean 'ade20k'?");
  EXPECT_EQ(public_data_at(public_data(), "/x/VOCdevkit/VOC2012/")->name, "voc2012");
  EXPECT_EQ(public_data_at(public_data(), "/x/VOC2012"), nullptr);
  EXPECT_EQ(public_data_at(public_data(), "/x/mycoco"), nullptr);
}

TEST(Catalogue, ReadsAFileOfOnesOwn) {
  const testing::TempFolder folder;
  write_file(folder / "c.yaml",
             "cells:\n  licence: ours\n  folder: sets/cells\n  has: [images, masks]\n  files:\n"
             "    - {url: 'http://store/a/cells.zip', bytes: 123, sha256: ab, strip: inner}\n");
  const std::vector<PublicData> all = read_catalogue(folder / "c.yaml");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "cells");
  EXPECT_EQ(all[0].folder, "sets/cells");
  EXPECT_EQ(all[0].files[0].name(), "cells.zip");
  EXPECT_EQ(all[0].files[0].bytes, 123);
  EXPECT_EQ(all[0].files[0].algorithm, "sha256");
  EXPECT_EQ(all[0].has.size(), 2U);
}

TEST(Catalogue, WhatCannotBeMeantIsRefusedWithItsLine) {
  const testing::TempFolder folder;
  EXPECT_CONTAINS(error_of(folder, "a: {files: [{url: 'ftp://x/a.zip'}]}"), "names no file");
  EXPECT_CONTAINS(error_of(folder, "a: {files: [{url: 'http://x/..'}]}"), "names no file");
  EXPECT_CONTAINS(error_of(folder, "a: {files: [{url: 'http://x/a.zip', bytes: many}]}"), "expected a whole number");
  EXPECT_CONTAINS(error_of(folder, "a:\n  folder: ../b\n  files: [{url: 'http://x/a.zip'}]"), "leads out");
  EXPECT_CONTAINS(error_of(folder, "a: {has: [/etc], files: [{url: 'http://x/a.zip'}]}"), "leads out");
  EXPECT_CONTAINS(error_of(folder, "a: {title: b}"), "has no files");
  EXPECT_CONTAINS(error_of(folder, "a:\n  lizence: b"), "c.yaml:2");
  EXPECT_CONTAINS(error_of(folder, "a: [b]"), "expected a map with files");
}

}  // namespace
}  // namespace tessera
