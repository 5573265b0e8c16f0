#include "core/secrets.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Secrets, CredentialsOfUrlsAreMasked) {
  EXPECT_EQ(mask_urls("http://user:pa55w0rd@host:80/a/m.pth?token=t0ken"), "http://***@host:80/a/m.pth?token=***");
  EXPECT_EQ(mask_urls("https://ghp_abc@host/x"), "https://***@host/x");
  EXPECT_EQ(mask_urls("https://a@b@host/x"), "https://***@host/x");
  EXPECT_EQ(mask_urls("https://host/x?X-Amz-Signature=ab12&X-Amz-Expires=60"),
            "https://host/x?X-Amz-Signature=***&X-Amz-Expires=***");
  EXPECT_EQ(mask_urls("https://host/x?sesame#access_token=abc"), "https://host/x?***#access_token=***");
  EXPECT_EQ(mask_urls("https://u:p@host?k=v"), "https://***@host?k=***");
  EXPECT_EQ(mask_urls("s3://key:word@bucket/x"), "s3://***@bucket/x");
}

TEST(Secrets, PasswordsWithBareSlashesAreMaskedWhole) {
  EXPECT_EQ(mask_urls("https://me:pa/ss#w?rd@host/m.pth"), "https://***@host/m.pth");
  EXPECT_EQ(mask_urls("https://host:8080/a@b/m.pth"), "https://host:8080/a@b/m.pth");
}

TEST(Secrets, WhatIsNoCredentialStays) {
  const std::string sum(64, 'a');
  for (const std::string& text : {std::string("https://host/a@b/m.pth"), std::string("https://host/m.pth?download=true&raw=1"),
                                  "https://host/m.pth#sha256=" + sum, std::string("no URL: user@host?x=1"), std::string("://"),
                                  std::string(), std::string("https://${USER}:${PASSWORD}@host/m.pth?token=${TOKEN}")}) {
    EXPECT_EQ(mask_urls(text), text);
  }
  EXPECT_EQ(mask_urls("https://host/x?raw=" + sum + sum), "https://host/x?raw=***");
}

TEST(Secrets, WhatStandsBesideAVariableIsMasked) {
  EXPECT_EQ(mask_urls("https://me:${PW}@h/m"), "https://me:${PW}@h/m");
  EXPECT_EQ(mask_urls("https://${ME}:w0rd@h/m"), "https://${ME}:***@h/m");
  EXPECT_EQ(mask_urls("https://ab${ME}@h/m"), "https://***${ME}@h/m");
  EXPECT_EQ(mask_urls("https://h/m?t=ab${X}cd"), "https://h/m?t=***${X}***");
  EXPECT_EQ(mask_urls("https://h/m?t=ab${X"), "https://h/m?t=***");
}

TEST(Secrets, UrlsAreFoundWithinASentence) {
  EXPECT_EQ(mask_urls("cannot download 'http://a:b@h/m?t=1': gone; see https://h/x?k=2, or http://h."),
            "cannot download 'http://***@h/m?t=***': gone; see https://h/x?k=***, or http://h.");
}

TEST(Secrets, NotedValuesAreShownByTheirVariable) {
  hide_secret("SECRETS_TEST_A", "correct horse");
  hide_secret("SECRETS_TEST_B", "correct horse battery");
  hide_secret("SECRETS_TEST_SHORT", "e");
  EXPECT_EQ(without_secrets("no such folder: /data/correct horse battery/correct horse"),
            "no such folder: /data/${SECRETS_TEST_B}/${SECRETS_TEST_A}");
  EXPECT_EQ(without_secrets("https://h/x?token=correct horse"), "https://h/x?token=${SECRETS_TEST_A}");
  EXPECT_EQ(without_secrets("feel free"), "feel free");
}

}  // namespace
}  // namespace tessera
