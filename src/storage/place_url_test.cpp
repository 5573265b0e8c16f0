#include "storage/place_url.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

TEST(PlaceUrl, BucketsAndPrefixes) {
  const Place plain = parse_place("s3://my.bucket-1/data/train");
  EXPECT_EQ(plain.kind, PlaceKind::kS3);
  EXPECT_EQ(plain.bucket, "my.bucket-1");
  EXPECT_EQ(plain.prefix, "data/train/");
  EXPECT_EQ(parse_place("S3://b/data/").prefix, "data/");
  EXPECT_EQ(parse_place("s3://b").prefix, "");
  EXPECT_EQ(parse_place("s3://b/").prefix, "");
  EXPECT_EQ(parse_place("gs://b/x").kind, PlaceKind::kGoogle);
}

TEST(PlaceUrl, WebFoldersKeepTheirQueryForEachFile) {
  const Place place = parse_place("https://host:8080/data?sig=abc&x=1");
  EXPECT_EQ(place.kind, PlaceKind::kWeb);
  EXPECT_EQ(place.url, "https://host:8080/data/");
  EXPECT_EQ(place.query, "?sig=abc&x=1");
}

TEST(PlaceUrl, WhatLiesBelow) {
  EXPECT_EQ(below("s3://b/x", "train"), "s3://b/x/train");
  EXPECT_EQ(below("s3://b/x/", "train"), "s3://b/x/train");
  EXPECT_EQ(below("https://host/x?sig=a/b", "train"), "https://host/x/train?sig=a/b");
  EXPECT_EQ(below("/data/what?", "train"), "/data/what?/train");
}

TEST(PlaceUrl, FilesAndFolders) {
  EXPECT_EQ(parse_place("file:///a%20b/c").folder, "/a b/c");
  EXPECT_EQ(parse_place("file://localhost/a").folder, "/a");
  EXPECT_EQ(parse_place("data/ade").folder, "data/ade");
  EXPECT_EQ(parse_place("file:///100%").folder, "/100%");
}

TEST(PlaceUrl, WhatIsNoPlaceIsRefusedWithoutShowingCredentials) {
  for (const char* bad : {"s3://", "s3:///x", "s3://.hidden/x", "s3://a b/x", "s3://b/x?versionId=1", "ftp://host/x",
                          "file://x/y", "https:///x", "https://host/x#y"}) {
    EXPECT_THROW(parse_place(bad), UsageError) << bad;
  }
  const std::string message = testing::message_of([] { parse_place("s3://AKIAEXAMPLE:secretsecret@bucket/x"); });
  EXPECT_CONTAINS(message, "taken from the environment");
  EXPECT_EQ(message.find("secretsecret"), std::string::npos) << message;
}

TEST(PlaceUrl, KeysAreEncodedByte) {
  EXPECT_EQ(percent_encoded("a b/ü+~", /*keep_slashes=*/true), "a%20b/%C3%BC%2B~");
  EXPECT_EQ(percent_encoded("a/b", /*keep_slashes=*/false), "a%2Fb");
}

}  // namespace
}  // namespace tessera
