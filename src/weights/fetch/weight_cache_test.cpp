#include "weights/fetch/weight_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "storage/cache_folder.h"
#include "storage/sha256.h"
#include "support/fixtures.h"
#include "support/weight_files.h"

namespace tessera {
namespace {

using testing::message_of;

// The cache in a folder of the test's own; downloads themselves are tested by tests/regression/download.py.
class WeightCache : public ::testing::Test {
 public:
  ~WeightCache() override { ::unsetenv("TESSERA_CACHE"); }

 protected:
  WeightCache() { ::setenv("TESSERA_CACHE", (folder_ / "cache").c_str(), 1); }

  testing::TempFolder folder_;
};

TEST_F(WeightCache, FolderFollowsTheVariables) {
  const char* home = std::getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  EXPECT_EQ(cache_folder(), folder_ / "cache");
  ::unsetenv("TESSERA_CACHE");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(cache_folder(), "/xdg/tessera");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/tessera");
  ::setenv("HOME", "", 1);
  EXPECT_CONTAINS(message_of([] { cache_folder(); }), "TESSERA_CACHE");
  ::setenv("HOME", old_home.c_str(), 1);
}

TEST_F(WeightCache, NamesAndUrlsBecomeFiles) {
  const WeightSource named = find_source("resnet50.imagenet1k_v2");
  EXPECT_EQ(named.file, folder_ / "cache" / "weights" / "resnet50-11ad3fa6.pth");
  EXPECT_TRUE(named.sha256.starts_with("11ad3fa6"));
  const std::string sum = sha256_of("x"), upper = "E" + sum.substr(1);
  const WeightSource url = find_source("https://host/a/model.pth?raw=1#sha256=" + upper);
  EXPECT_EQ(url.url, "https://host/a/model.pth?raw=1");
  EXPECT_EQ(url.sha256, "e" + sum.substr(1));
  EXPECT_EQ(url.file.filename(), "model.pth");
  EXPECT_NE(url.file, find_source("https://host/b/model.pth?raw=1").file);
  EXPECT_CONTAINS(message_of([] { find_source("https://host/a/model.pth#sha256=xyz"); }), "hex digits");
  EXPECT_CONTAINS(message_of([] { find_source("https://host/a/model.pth#sha256=11ad3fa6"); }),
                  "#sha256= expects all 64 hex digits, got 8: '11ad3fa6'");
  EXPECT_CONTAINS(message_of([] { find_source("https://host/a/model.pth#sha256="); }), "all 64 hex digits, got 0");
  for (const char* odd : {"https://host/", "https://host", "https://host/a/.", "https://host/a/..?x", "https:///m.pth",
                          "https://host?m.pth", "https://host/a\nb"}) {
    EXPECT_CONTAINS(message_of<UsageError>([&] { find_source(odd); }), "names no file") << odd;
  }
  EXPECT_THROW(find_source("https://host/" + std::string(300, 'a')), UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  EXPECT_CONTAINS(message_of([] { find_source("ftp://host/f"); }), "s3:// and gs:// only");
  EXPECT_CONTAINS(message_of([] { find_source("s3://bucket"); }), "names no file");
  EXPECT_EQ(find_source("s3://bucket/a/model.pth").file.filename(), "model.pth");
  EXPECT_CONTAINS(message_of([] { find_source("resnet50.imagenet1k_v3"); }), "did you mean 'resnet50.imagenet1k_v");
}

TEST_F(WeightCache, AFilePlacedByHandIsChecked) {
  WeightSource source = find_source("resnet18.imagenet1k_v1");
  fs::create_directories(source.file.parent_path());
  write_file(source.file, std::string("not the weights"));
  EXPECT_FALSE(is_cached(source));
  const std::string error = message_of([&] { fetch_weights(source); });
  EXPECT_CONTAINS(error, "its sha256 is " + sha256_of("not the weights") + ", expected f37072fd47e89c5e");
  EXPECT_CONTAINS(error, source.file.string());
  EXPECT_FALSE(is_cached(source));

  source.sha256 = sha256_of("not the weights").substr(0, 8);  // now it is what is wanted
  EXPECT_EQ(fetch_weights(source), source.file);
  EXPECT_TRUE(is_cached(source));
  EXPECT_FALSE(fs::exists(source.file.string() + ".lock"));
  write_file(source.file, std::string("something else!"));  // of the same length
  fs::last_write_time(source.file, fs::last_write_time(source.file) + std::chrono::seconds(2));
  EXPECT_FALSE(is_cached(source));
  EXPECT_CONTAINS(message_of([&] { fetch_weights(source); }), "expected");
}

TEST_F(WeightCache, AFileThatWasExchangedIsHashedAgain) {
  WeightSource source = find_source("https://host/a/model.pth#sha256=" + sha256_of("as it was"));
  fs::create_directories(source.file.parent_path());
  write_file(source.file, std::string("as it was"));
  fetch_weights(source);
  ASSERT_TRUE(is_cached(source));
  const auto date = fs::last_write_time(source.file);
  const fs::path other = folder_ / "other";
  write_file(other, std::string("exchanged"));  // of the same length
  fs::last_write_time(other, date);             // and date
  fs::rename(other, source.file);
  EXPECT_FALSE(is_cached(source));
  EXPECT_CONTAINS(message_of([&] { fetch_weights(source); }), "its sha256 is " + sha256_of("exchanged"));
}

TEST_F(WeightCache, TheFirstDigitsOfASumDoNotLetOtherContentIn) {
  WeightSource source = find_source("resnet18.imagenet1k_v1");
  source.sha256 = sha256_of("first").substr(0, 1);
  std::string other = "other";
  while (!sha256_of(other).starts_with(source.sha256)) other += "!";
  fs::create_directories(source.file.parent_path());
  write_file(source.file, std::string("first"));
  EXPECT_EQ(fetch_weights(source), source.file);
  write_file(source.file, other);
  EXPECT_CONTAINS(message_of([&] { fetch_weights(source); }), "but was " + sha256_of("first") + " when it was first fetched");
}

TEST_F(WeightCache, CredentialsAreNotStored) {
  const WeightSource source = find_source("http://user:pa55w0rd@host/a/model.pth?token=t0ken");
  fs::create_directories(source.file.parent_path());
  write_file(source.file, std::string("weights"));
  ::testing::internal::CaptureStderr();
  fetch_weights(source);
  const std::string seen = read_text(source.file.string() + ".seen.json"), said = ::testing::internal::GetCapturedStderr();
  EXPECT_CONTAINS(seen, "http://***@host/a/model.pth?token=***");
  for (const char* secret : {"pa55w0rd", "t0ken"}) {
    EXPECT_EQ(seen.find(secret), std::string::npos) << seen;
    EXPECT_EQ(said.find(secret), std::string::npos) << said;
  }
  for (const char* saved : {"http://***@host/a/model.pth", "http://me:pa55w0rd@host/a/model.pth?token=***"})
    EXPECT_CONTAINS(message_of<UsageError>([&] { find_source(saved); }), "were left out when it was saved");
}

TEST_F(WeightCache, ANewCacheIsItsUsersAnOldOneStaysAsItIs) {
  const auto mode = [](const fs::path& path) { return fs::status(path).permissions() & fs::perms(0777); };
  const WeightSource source = find_source("vit_ti16.augreg_in21k");
  EXPECT_THROW(fetch_weights({"", "http://127.0.0.1:1/x", "", source.file}), Error);  // nobody listens there
  EXPECT_EQ(mode(folder_ / "cache"), fs::perms(0700));
  EXPECT_EQ(mode(folder_ / "cache/weights"), fs::perms(0700));
  fs::remove_all(folder_ / "cache");
  fs::create_directory(folder_ / "cache");
  fs::permissions(folder_ / "cache", fs::perms(0755));
  EXPECT_THROW(fetch_weights({"", "http://127.0.0.1:1/x", "", source.file}), Error);
  EXPECT_EQ(mode(folder_ / "cache/weights") & fs::perms(0700), fs::perms(0700));
  EXPECT_NE(mode(folder_ / "cache/weights"), fs::perms(0700));
}

TEST_F(WeightCache, WithoutAPublishedChecksumTheFirstFileCounts) {
  const WeightSource source = find_source("vit_ti16.augreg_in21k");
  fs::create_directories(source.file.parent_path());
  write_file(source.file, std::string("first"));
  EXPECT_EQ(find_weights("vit_ti16.augreg_in21k"), source.file);
  EXPECT_TRUE(is_cached(source));
  write_file(source.file, std::string("second"));
  EXPECT_CONTAINS(message_of([&] { fetch_weights(source); }), "but was " + sha256_of("first"));
}

TEST_F(WeightCache, FilesOfThisMachineAreTakenAsTheyAre) {
  write_file(folder_ / "own.pth", std::string("x"));
  EXPECT_EQ(find_weights((folder_ / "own.pth").string()), folder_ / "own.pth");
  EXPECT_CONTAINS(message_of([&] { find_weights((folder_ / "absent.pth").string()); }), "there is no file");
}

TEST_F(WeightCache, APartOfAFileIsNamedBehindIt) {
  const auto parts = [](const std::string& text) {
    const NamedPart named = split_part(text);
    return std::pair(named.source, named.part);
  };
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(parts("run.ckpt#model_ema"), Parts("run.ckpt", "model_ema"));
  EXPECT_EQ(parts("run.ckpt"), Parts("run.ckpt", ""));
  const std::string url = "https://host/m.pth#sha256=" + std::string(64, 'a');
  EXPECT_EQ(parts(url), Parts(url, ""));
  EXPECT_EQ(parts(url + "#ema"), Parts(url, "ema"));
  const std::string odd = (folder_ / "a#b.pth").string();
  write_file(odd, std::string("x"));
  EXPECT_EQ(parts(odd), Parts(odd, ""));
}

}  // namespace
}  // namespace tessera
