#include "storage/remote_store.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "storage/content_hash.h"
#include "support/fixtures.h"
#include "support/http_server.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Fault = testing::HttpServer::Fault;
using Request = testing::HttpServer::Request;

std::string some_bytes(size_t count, uint32_t seed) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>((seed = seed * 1664525U + 1013904223U) >> 24);
  return bytes;
}

std::string text_of(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.bytes.data()), blob.size()};
}

FileSum sum_of(const std::string& content) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  return {.bytes = static_cast<int64_t>(content.size()), .hashes = {{"sha1", content_hash("sha1", bytes)}}};
}

class RemoteStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<FileStore> open(int64_t retries = 4, int64_t limit = 100 << 20) {
    return open_file_store(server_.url() + "/data",
                           {.cache = folder_ / "cache", .cache_limit = limit, .timeout_s = 5, .retries = retries});
  }

  testing::TempFolder folder_;
  testing::HttpServer server_;
  const std::string content_ = some_bytes(300'000, 1);
};

TEST_F(RemoteStoreTest, AFileWithAHashIsAskedForOnceAndOthersOnceInAProcess) {
  server_.put("/data/a", content_);
  server_.put("/data/index.json", "one");
  const auto store = open();
  EXPECT_EQ(text_of(store->open("a", sum_of(content_))), content_);
  EXPECT_EQ(text_of(store->open("a", sum_of(content_))), content_);
  EXPECT_EQ(text_of(open()->open("a", sum_of(content_))), content_);
  EXPECT_EQ(server_.take_requests("/a").size(), 1U);
  EXPECT_EQ(text_of(store->open("index.json")), "one");
  EXPECT_EQ(text_of(store->open("index.json")), "one");
  EXPECT_EQ(server_.take_requests("/index.json").size(), 1U);
  const auto later = open();
  EXPECT_EQ(text_of(later->open("index.json")), "one");
  server_.put("/data/index.json", "other");
  EXPECT_EQ(text_of(open()->open("index.json")), "other");
  EXPECT_EQ(text_of(later->open("index.json", {.bytes = 5, .hashes = {}})), "other");
}

TEST_F(RemoteStoreTest, WhatBreaksIsGoneOnWithAndBusyServersAreAskedAgain) {
  server_.put("/data/a", content_);
  int number = 0;
  server_.on_request([&](const Request&) {
    switch (number++) {
      case 0: return Fault{.status = 503};
      case 1: return Fault{.cut_at = 100'000};
      case 2: return Fault{.cut_at = 50'000};
      case 3: return Fault{.status = 500};
      default: return Fault{};
    }
  });
  EXPECT_EQ(text_of(open()->open("a", sum_of(content_))), content_);
  std::vector<std::string> ranges;
  for (const Request& request : server_.take_requests()) ranges.push_back(request.range);
  EXPECT_EQ(ranges, (std::vector<std::string>{"", "", "bytes=100000-", "bytes=150000-", "bytes=150000-"}));
}

TEST_F(RemoteStoreTest, PiecesOfTwoVersionsAreNeverPutTogether) {
  const std::string other = some_bytes(300'000, 2);
  server_.put("/data/a", content_);
  int number = 0;
  server_.on_request([&](const Request&) {
    switch (number++) {
      case 0: return Fault{.cut_at = 100'000};
      case 1: return Fault{.replace = other};
      default: return Fault{};
    }
  });
  EXPECT_EQ(text_of(open()->open("a")), other);
  EXPECT_EQ(number, 3);  // the rest of the old one was asked for, and refused
}

TEST_F(RemoteStoreTest, WrongContentIsFetchedAgainAndNeverKept) {
  server_.put("/data/a", content_);
  int number = 0;
  server_.on_request([&](const Request&) { return number++ == 0 ? Fault{.flip = 1000} : Fault{}; });
  EXPECT_EQ(text_of(open()->open("a", sum_of(content_))), content_);
  server_.on_request([](const Request&) { return Fault{.flip = 7}; });
  server_.put("/data/b", content_);
  const std::string message = testing::message_of([&] { open()->open("b", sum_of(content_)); });
  EXPECT_CONTAINS(message, "/data/b is damaged: its sha1 is");
  EXPECT_CONTAINS(message, "fetched 3 times");
  int64_t objects = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) objects += entry.path().extension() == ".object" ? 1 : 0;
  EXPECT_EQ(objects, 1);
}

TEST_F(RemoteStoreTest, WhatStaysBrokenIsAnErrorThatNamesFileAndCause) {
  server_.on_request([](const Request&) { return Fault{.status = 503}; });
  EXPECT_CONTAINS(testing::message_of([&] { open(1)->open("shard.mds"); }), "/data/shard.mds: the server answered 503");
  server_.on_request({});
  EXPECT_CONTAINS(testing::message_of([&] { open()->open("absent"); }), "/data/absent: the server answered 404");
  EXPECT_CONTAINS(testing::message_of([&] { open()->open("../etc/passwd"); }), "is no name of a file");
  EXPECT_CONTAINS(testing::message_of([&] { open()->open("/etc/passwd"); }), "is no name of a file");
}

TEST_F(RemoteStoreTest, WhatIsNeededSoonComesMeanwhileEachOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) {
    names.push_back("s" + std::to_string(i));
    server_.put("/data/" + names.back(), some_bytes(50'000, static_cast<uint32_t>(i)));
  }
  const auto store = open();
  store->will_need(names);
  store->will_need(names);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(text_of(store->open(names[static_cast<size_t>(i)])), some_bytes(50'000, static_cast<uint32_t>(i)));
  EXPECT_EQ(server_.take_requests().size(), 12U);
}

TEST_F(RemoteStoreTest, ASmallCacheServesAllFilesAndWhoHoldsOneKeepsIt) {
  constexpr int64_t kLimit = 200'000;
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back("s" + std::to_string(i));
    server_.put("/data/" + names.back(), some_bytes(50'000, static_cast<uint32_t>(i)));
  }
  const auto store = open(4, kLimit);
  store->will_need(names);
  std::vector<Blob> held;
  for (const std::string& name : names) held.push_back(store->open(name));
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(text_of(held[i]), some_bytes(50'000, i));
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) bytes += static_cast<int64_t>(entry.file_size());
  EXPECT_LE(bytes, kLimit);
}

TEST_F(RemoteStoreTest, AWebFolderListsAFileByItsNameOnly) {
  server_.put("/data/card.yaml", "x");
  EXPECT_EQ(open()->list("card.yaml"), std::vector<std::string>{"card.yaml"});
  EXPECT_TRUE(open()->list("card").empty());
  EXPECT_TRUE(open()->list("").empty());
}

TEST_F(RemoteStoreTest, CredentialsOfAUrlAreNeitherInMessagesNorInTheCache) {
  server_.put("/data/a?sig=topsecretvalue", content_);
  const std::string url = "http://ada:hunter2hunter2@" + server_.url().substr(7) + "/data?sig=topsecretvalue";
  const auto store = open_file_store(url, {.cache = folder_ / "cache", .retries = 0});
  EXPECT_EQ(text_of(store->open("a")), content_);
  std::string seen = store->root() + testing::message_of([&] { store->open("absent"); });
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) seen += entry.path().string() + read_text(entry.path());
  for (const char* secret : {"topsecretvalue", "hunter2hunter2", "ada:"})
    EXPECT_EQ(seen.find(secret), std::string::npos) << secret;
}

}  // namespace
}  // namespace tessera
