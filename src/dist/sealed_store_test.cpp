#include "dist/sealed_store.h"

#include <gtest/gtest.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "core/error.h"

namespace tessera {
namespace {

// The store that strangers reach as well, and what ranks with a key see of it.
class SealedStoreTest : public ::testing::Test {
 protected:
  using Pointer = c10::intrusive_ptr<c10d::Store>;
  Pointer with(const std::string& key) { return c10::make_intrusive<SealedStore>(open, key, "here:1"); }
  Pointer open = c10::make_intrusive<c10d::HashStore>(), one = with("right"), two = with("right");
};

const std::string kText("a text with \0 in it", 19);

TEST_F(SealedStoreTest, CarriesValuesBetweenThoseWhoHaveTheKey) {
  one->set("a", kText);
  EXPECT_EQ(two->get_to_str("a"), kText);
  EXPECT_TRUE(two->check({"a"}));
  EXPECT_FALSE(two->check({"a", "b"}));
  two->wait({"a"}, std::chrono::seconds(5));
  one->set("b", std::string());
  EXPECT_EQ(two->get_to_str("b"), "");
  EXPECT_EQ(two->multiGet({"a", "b"}).at(0).size(), kText.size());
  EXPECT_EQ(two->clone()->get_to_str("a"), kText);
}

TEST_F(SealedStoreTest, WhatStrangersWriteIsNotThere) {
  one->setTimeout(std::chrono::milliseconds(100));
  const auto other = with("another key");
  one->set("a", kText);
  const std::string of_a = open->get_to_str("a");
  for (const auto& overwrite : std::vector<std::function<void()>>{
           [&] { open->set("k", std::string("plain")); }, [&] { open->set("k", std::string(200, 'x')); },
           [&] { open->set("k", std::string()); }, [&] { other->set("k", kText); },
           [&] {
             open->set("k", of_a); /* signed, but for another name */
           }}) {
    one->set("k", std::string("right"));
    EXPECT_TRUE(one->check({"k"}));
    overwrite();
    EXPECT_FALSE(one->check({"k"}));
    EXPECT_THROW(one->get("k"), Error);
    EXPECT_THROW(one->wait({"k"}, std::chrono::milliseconds(100)), std::exception);
    EXPECT_EQ(one->compareSet("k", "", "ours"), "ours") << "it is replaced by what belongs there";
    EXPECT_EQ(two->get_to_str("k"), "ours");
  }
}

TEST_F(SealedStoreTest, AValueThatAStrangerWasFasterWithIsWaitedFor) {
  open->set("a", std::string("a stranger's"));
  std::thread owner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    two->set("a", std::string("ours"));
  });
  EXPECT_EQ(one->get_to_str("a"), "ours");
  owner.join();
}

TEST_F(SealedStoreTest, ComparesAndSetsAsTheStoreBehindIt) {
  EXPECT_EQ(one->compareSet("a", "x", "y"), "x");  // nothing there, something expected
  EXPECT_FALSE(open->check({"a"}));
  EXPECT_EQ(one->compareSet("a", "", "1"), "1");
  EXPECT_EQ(two->compareSet("a", "", "2"), "1");
  EXPECT_EQ(two->compareSet("a", "1", "2"), "2");
  EXPECT_EQ(one->get_to_str("a"), "2");
}

TEST_F(SealedStoreTest, AddsWhatMembersAddAndNothingElse) {
  EXPECT_EQ(one->add("n", 2), 2);
  EXPECT_EQ(two->add("n", 3), 5);
  EXPECT_EQ(two->add("n", 0), 5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const auto own = with("right");
      for (int k = 0; k < 50; ++k) own->add("m", 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(one->add("m", 0), 200);
  open->set("n", std::string("1000"));
  EXPECT_EQ(one->add("n", 1), 1) << "a stranger's number is none";
}

}  // namespace
}  // namespace tessera
