#include "storage/aws_settings.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/secrets.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

class AwsSettings : public ::testing::Test {
 protected:
  UserSettings user() {
    const auto variable = [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::string() : found->second;
    };
    return {.variable = variable, .home = home_ / ""};
  }
  void write(const std::string& name, const std::string& text) {
    make_folders(home_ / ".aws");
    write_file(home_ / (".aws/" + name), text);
  }

  testing::TempFolder home_;
  std::map<std::string, std::string> variables_;
};

TEST_F(AwsSettings, NothingSetMeansUnsignedRequestsToAmazon) {
  const BucketSettings settings = s3_settings(user());
  EXPECT_FALSE(settings.is_signed());
  EXPECT_EQ(settings.region, "us-east-1");
  EXPECT_EQ(settings.endpoint, "");
}

TEST_F(AwsSettings, VariablesGoBeforeFiles) {
  write("credentials", "[default]\naws_access_key_id = FILEKEY\naws_secret_access_key = filesecret\n");
  write("config", "[default]\nregion = eu-west-1\nendpoint_url = http://files:1\n");
  EXPECT_EQ(s3_settings(user()).key_id, "FILEKEY");
  EXPECT_EQ(s3_settings(user()).region, "eu-west-1");
  EXPECT_EQ(s3_settings(user()).endpoint, "http://files:1");
  variables_ = {{"AWS_ACCESS_KEY_ID", "OWNKEY1"},     {"AWS_SECRET_ACCESS_KEY", "ownsecret"},
                {"AWS_SESSION_TOKEN", "owntoken"},    {"AWS_DEFAULT_REGION", "us-west-2"},
                {"S3_ENDPOINT_URL", "http://last:1"}, {"AWS_ENDPOINT_URL", "https://mine:9000/"}};
  const BucketSettings settings = s3_settings(user());
  EXPECT_EQ(settings.key_id, "OWNKEY1");
  EXPECT_EQ(settings.secret, "ownsecret");
  EXPECT_EQ(settings.token, "owntoken");
  EXPECT_EQ(settings.region, "us-west-2");
  EXPECT_EQ(settings.endpoint, "https://mine:9000");
  EXPECT_EQ(without_secrets("signed with ownsecret by OWNKEY1 and owntoken"),
            "signed with ${AWS_SECRET_ACCESS_KEY} by ${AWS_ACCESS_KEY_ID} and ${AWS_SESSION_TOKEN}");
  variables_["AWS_REGION"] = "eu-north-1";
  variables_["AWS_NO_SIGN_REQUEST"] = "true";
  EXPECT_EQ(s3_settings(user()).region, "eu-north-1");
  EXPECT_FALSE(s3_settings(user()).is_signed());
}

TEST_F(AwsSettings, ProfilesOfBothFiles) {
  write("credentials",
        "; mine\n[default]\naws_access_key_id=A\naws_secret_access_key=B\n\n[work]\r\n"
        "AWS_ACCESS_KEY_ID = WORKKEY\r\naws_secret_access_key = a=b/c+d\r\naws_session_token = tok\r\n");
  write("config",
        "[profile work]\nregion = ap-south-1\ns3 =\n  addressing_style = path\n  region = no\n"
        "[profile sso]\nsso_session = corp\nregion = eu-west-1\n");
  variables_["AWS_PROFILE"] = "work";
  const BucketSettings settings = s3_settings(user());
  EXPECT_EQ(settings.key_id, "WORKKEY");
  EXPECT_EQ(settings.secret, "a=b/c+d");
  EXPECT_EQ(settings.token, "tok");
  EXPECT_EQ(settings.region, "ap-south-1");
  EXPECT_CONTAINS(settings.source, "profile work of");
  variables_["AWS_PROFILE"] = "sso";
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { s3_settings(user()); }),
                  "aws configure export-credentials --profile sso");
  variables_["AWS_PROFILE"] = "absent";
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { s3_settings(user()); }), "no such profile");
  variables_["AWS_PROFILE"] = "";
  variables_["AWS_SHARED_CREDENTIALS_FILE"] = (home_ / "other").string();
  write_file(home_ / "other", "[default]\naws_access_key_id = OTHERKEY\naws_secret_access_key = othersecret\n");
  EXPECT_EQ(s3_settings(user()).key_id, "OTHERKEY");
}

TEST_F(AwsSettings, WhatCannotBeMeantIsRefused) {
  const auto refused = [&](std::map<std::string, std::string> variables) {
    variables_ = std::move(variables);
    return testing::message_of<UsageError>([&] { s3_settings(user()); });
  };
  EXPECT_CONTAINS(refused({{"AWS_ACCESS_KEY_ID", "ALONE1"}}), "only one of");
  EXPECT_CONTAINS(refused({{"AWS_ENDPOINT_URL", "minio:9000"}}), "expected https://host");
  EXPECT_EQ(refused({{"AWS_ENDPOINT_URL", "http://user:hunter22@host"}}).find("hunter22"), std::string::npos);
  EXPECT_CONTAINS(refused({{"AWS_REGION", "x.evil.example/"}}), "is no region");
  EXPECT_CONTAINS(refused({{"AWS_ACCESS_KEY_ID", "KEYKEY\r\nX: y"}, {"AWS_SECRET_ACCESS_KEY", "secret"}}), "line end");
}

TEST_F(AwsSettings, GoogleHasKeysOfItsOwn) {
  variables_ = {{"AWS_ACCESS_KEY_ID", "AMAZON1"}, {"AWS_SECRET_ACCESS_KEY", "amazonsecret"}};
  EXPECT_FALSE(google_settings(user()).is_signed());
  variables_["GCS_KEY"] = "GOOG1E";
  EXPECT_THROW(google_settings(user()), UsageError);
  variables_["GCS_SECRET"] = "googlesecret";
  EXPECT_EQ(google_settings(user()).secret, "googlesecret");
}

}  // namespace
}  // namespace tessera
