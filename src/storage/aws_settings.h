#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tessera {

// Note [Bucket settings]
// Where a bucket is and who asks for it, taken from where Amazon's own tools take it, in this order:
//   credentials  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; the profile AWS_PROFILE (else `default`) of
//                AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials), then of AWS_CONFIG_FILE (~/.aws/config); none: requests are
//                not signed, which public buckets allow. AWS_NO_SIGN_REQUEST=1 asks for that.
//   region       AWS_REGION, AWS_DEFAULT_REGION, the profile's; else us-east-1
//   endpoint     AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, S3_ENDPOINT_URL, the profile's endpoint_url; else Amazon's
// gs:// takes GCS_KEY and GCS_SECRET (an HMAC key), and GCS_ENDPOINT_URL. A profile that asks for a login, a role or another
// program is refused with the command that makes variables of it.
struct BucketSettings {
  std::string endpoint = {};  // "https://host:port", without a '/' at its end; empty: the provider's own
  std::string region = {};
  std::string key_id = {}, secret = {}, token = {};  // empty: requests are not signed
  std::string source = {};  // where the credentials come from, for people: "profile work of ~/.aws/credentials"

  bool is_signed() const { return !key_id.empty(); }
};

// What this process is given; tests give something else. `variable` returns "" for one that is not set.
struct UserSettings {
  std::function<std::string(const char* variable)> variable;
  std::filesystem::path home;
};
UserSettings settings_of_user();

// Notes the secrets for the logs (core/secrets.h). Throws UsageError.
BucketSettings s3_settings(const UserSettings& user);
BucketSettings google_settings(const UserSettings& user);

// "[section]" and "name = value" of a file of settings; lines that are neither are passed over.
std::map<std::string, std::map<std::string, std::string>> parse_ini(std::string_view text);

}  // namespace tessera
