#include "storage/s3_xml.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

TEST(S3Xml, PagesOfAList) {
  const ListedPage page = parse_listed_page(
      R"(<?xml version="1.0" encoding="UTF-8"?>
      <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><IsTruncated>true</IsTruncated>
      <Contents><Key>a/x &amp; y.mds</Key><Size>3</Size></Contents><Contents><Key>a/z</Key></Contents>
      <NextContinuationToken>1ue/==</NextContinuationToken></ListBucketResult>)");
  EXPECT_EQ(page.keys, (std::vector<std::string>{"a/x & y.mds", "a/z"}));
  EXPECT_EQ(page.next, "1ue/==");
  const ListedPage last = parse_listed_page("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
  EXPECT_TRUE(last.keys.empty());
  EXPECT_EQ(last.next, "");
}

TEST(S3Xml, WhatIsNoListIsRefused) {
  EXPECT_CONTAINS(testing::message_of([] { parse_listed_page("<html>"); }), "no XML");
  EXPECT_CONTAINS(testing::message_of([] { parse_listed_page("<html></html>"); }), "no list");
  EXPECT_CONTAINS(testing::message_of([] { parse_listed_page(""); }), "no XML");
  EXPECT_CONTAINS(
      testing::message_of([] { parse_listed_page("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"); }),
      "how it goes on");
  EXPECT_CONTAINS(testing::message_of(
                      [] { parse_listed_page("<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"); }),
                  "damaged");
}

TEST(S3Xml, Errors) {
  const auto error = parse_s3_error("<Error><Code>SlowDown</Code><Message>Reduce\nyour rate</Message></Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "SlowDown");
  EXPECT_EQ(error->message, R"(Reduce\x0ayour rate)");
  EXPECT_FALSE(parse_s3_error("<html><body>503</body></html>"));
  EXPECT_FALSE(parse_s3_error(""));
  EXPECT_FALSE(parse_s3_error("{}"));
}

TEST(S3Xml, Uploads) {
  EXPECT_EQ(parse_upload_id("<InitiateMultipartUploadResult><UploadId>abc</UploadId></InitiateMultipartUploadResult>"), "abc");
  EXPECT_THROW(parse_upload_id("<InitiateMultipartUploadResult/>"), Error);
  EXPECT_EQ(complete_upload_xml({"\"e1\"", "\"e2\""}),
            R"(<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><PartNumber>1</PartNumber>)"
            R"(<ETag>"e1"</ETag></Part><Part><PartNumber>2</PartNumber><ETag>"e2"</ETag></Part></CompleteMultipartUpload>)");
}

}  // namespace
}  // namespace tessera
