#include "storage/s3_bucket.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

std::string url_of(const std::string& place, const BucketSettings& settings) {
  return S3Bucket(parse_place(place), settings, {}).request("a b/ü").url;
}

TEST(S3Bucket, AmazonIsAskedByHostAndOthersByPath) {
  EXPECT_EQ(url_of("s3://my-data/set", {.region = "eu-west-1"}), "https://my-data.s3.eu-west-1.amazonaws.com/set/a%20b/%C3%BC");
  EXPECT_EQ(url_of("s3://my.data/set", {.region = "eu-west-1"}), "https://s3.eu-west-1.amazonaws.com/my.data/set/a%20b/%C3%BC");
  EXPECT_EQ(url_of("s3://d", {.region = "cn-north-1"}), "https://d.s3.cn-north-1.amazonaws.com.cn/a%20b/%C3%BC");
  EXPECT_EQ(url_of("s3://d/x", {.endpoint = "http://minio:9000", .region = "us-east-1"}), "http://minio:9000/d/x/a%20b/%C3%BC");
  EXPECT_EQ(url_of("gs://d/x/", {.region = "auto"}), "https://storage.googleapis.com/d/x/a%20b/%C3%BC");
}

TEST(S3Bucket, AnswersAreExplained) {
  const S3Bucket unsigned_bucket(parse_place("s3://d"), {.region = "us-east-1"}, {});
  const S3Bucket signed_bucket(parse_place("s3://d"),
                               {.region = "us-east-1", .key_id = "KEY", .secret = "SECRET", .source = "profile work of file"},
                               {});
  const HttpReply denied{.status = 403, .body = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"};
  EXPECT_CONTAINS(unsigned_bucket.reason(denied), "the server answered 403 (AccessDenied: no); not signed");
  EXPECT_CONTAINS(signed_bucket.reason(denied), "signed with the credentials of profile work of file");
  const HttpReply moved{.status = 301, .headers = {{"x-amz-bucket-region", "eu-west-3"}}};
  EXPECT_CONTAINS(signed_bucket.reason(moved), "set AWS_REGION=eu-west-3");
  EXPECT_EQ(signed_bucket.reason({.failure = "Connection reset by peer"}), "Connection reset by peer");
  EXPECT_TRUE(signed_bucket.is_temporary({.status = 400, .body = "<Error><Code>RequestTimeout</Code></Error>"}));
  EXPECT_FALSE(signed_bucket.is_temporary({.status = 400, .body = "<Error><Code>InvalidArgument</Code></Error>"}));
  EXPECT_FALSE(signed_bucket.is_temporary(denied));
}

TEST(S3Bucket, ItsNameForPeopleAndCachesHoldsNoCredentials) {
  const S3Bucket bucket(parse_place("s3://d/x"),
                        {.endpoint = "http://minio:9000", .region = "us-east-1", .key_id = "KEY", .secret = "SECRET"}, {});
  EXPECT_EQ(bucket.root(), "s3://d/x");
  EXPECT_EQ(bucket.identity(), "http://minio:9000/d/x/");
  const HttpRequest request = bucket.request("a");
  for (const std::string& header : request.headers) EXPECT_EQ(header.find("SECRET"), std::string::npos);
  EXPECT_EQ(request.url.find("KEY"), std::string::npos);
}

}  // namespace
}  // namespace tessera
