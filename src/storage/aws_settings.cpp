#include "storage/aws_settings.h"

#include <cstdlib>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/secrets.h"

namespace tessera {
namespace {

using Section = std::map<std::string, std::string>;

constexpr uint64_t kMostSettingsBytes = 1 << 20;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string value_of(const Section& section, const char* name) {
  const auto found = section.find(name);
  return found == section.end() ? "" : found->second;
}

// The sections of a file; of none where there is no such file.
std::map<std::string, Section> read_ini(const fs::path& path) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return {};
  const std::vector<uint8_t> bytes = read_bytes(path, kMostSettingsBytes);
  return parse_ini({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

fs::path settings_file(const UserSettings& user, const char* variable, const char* usual) {
  if (const std::string own = user.variable(variable); !own.empty()) return own;
  return user.home.empty() ? fs::path() : user.home / ".aws" / usual;
}

// What both files say of the profile that is asked for.
struct Profile {
  std::string name;
  Section credentials = {}, config = {};
  fs::path credentials_file = {}, config_file = {};
};

Profile read_profile(const UserSettings& user) {
  const std::string first = user.variable("AWS_PROFILE");
  const std::string asked = first.empty() ? user.variable("AWS_DEFAULT_PROFILE") : first;
  Profile profile{.name = asked.empty() ? "default" : asked};
  profile.credentials_file = settings_file(user, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  profile.config_file = settings_file(user, "AWS_CONFIG_FILE", "config");
  const auto credentials = read_ini(profile.credentials_file), config = read_ini(profile.config_file);
  const auto in_credentials = credentials.find(profile.name);
  auto in_config = config.find("profile " + profile.name);
  if (in_config == config.end()) in_config = config.find(profile.name);
  TSR_CHECK_USAGE(asked.empty() || in_credentials != credentials.end() || in_config != config.end(),
                  "AWS_PROFILE={}: no such profile in {} or {}", printable(asked), profile.credentials_file.string(),
                  profile.config_file.string());
  if (in_credentials != credentials.end()) profile.credentials = in_credentials->second;
  if (in_config != config.end()) profile.config = in_config->second;
  return profile;
}

bool says_yes(const std::string& text) {
  const std::string value = lower(text);
  return value == "1" || value == "true" || value == "yes";
}

// True where the section holds a pair of keys.
bool take_keys(const Section& section, const std::string& source, BucketSettings& settings) {
  const std::string id = value_of(section, "aws_access_key_id"), secret = value_of(section, "aws_secret_access_key");
  TSR_CHECK_USAGE(id.empty() == secret.empty(), "{} has only one of aws_access_key_id and aws_secret_access_key", source);
  if (id.empty()) return false;
  settings.key_id = id;
  settings.secret = secret;
  settings.token = value_of(section, "aws_session_token");
  settings.source = source;
  return true;
}

void take_credentials(const UserSettings& user, const Profile& profile, BucketSettings& settings) {
  if (says_yes(user.variable("AWS_NO_SIGN_REQUEST"))) return;
  const Section variables{{"aws_access_key_id", user.variable("AWS_ACCESS_KEY_ID")},
                          {"aws_secret_access_key", user.variable("AWS_SECRET_ACCESS_KEY")},
                          {"aws_session_token", user.variable("AWS_SESSION_TOKEN")}};
  if (take_keys(variables, "the environment", settings)) return;
  const auto source = [&](const fs::path& file) { return fmt::format("profile {} of {}", profile.name, file.string()); };
  if (take_keys(profile.credentials, source(profile.credentials_file), settings)) return;
  if (take_keys(profile.config, source(profile.config_file), settings)) return;
  for (const char* other : {"sso_session", "sso_start_url", "role_arn", "credential_process", "login_session"}) {
    TSR_CHECK_USAGE(value_of(profile.config, other).empty() && value_of(profile.credentials, other).empty(),
                    "profile {} of {} needs more than a file ({}); run `eval \"$(aws configure export-credentials --profile {} "
                    "--format env)\"` first, which sets AWS_ACCESS_KEY_ID and the others",
                    profile.name, profile.config_file.string(), other, profile.name);
  }
}

std::string first_set(const UserSettings& user, const std::vector<const char*>& variables, std::string otherwise) {
  for (const char* name : variables) {
    if (std::string value = user.variable(name); !value.empty()) return value;
  }
  return otherwise;
}

std::string checked_endpoint(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const size_t mark = url.find("://");
  const std::string scheme = lower(url.substr(0, mark == std::string::npos ? 0 : mark));
  const bool fine = url.empty() || ((scheme == "http" || scheme == "https") && url.find_first_of("?#@ ") == std::string::npos);
  TSR_CHECK_USAGE(fine, "the endpoint {} of object storage is no such URL; expected https://host or http://host:port",
                  printable(mask_urls(url)));
  return url;
}

// The region goes into the host's name and the signature.
std::string checked_region(const std::string& region) {
  const bool fine =
      !region.empty() && region.size() <= 64 &&
      region.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos;
  TSR_CHECK_USAGE(fine, "'{}' is no region; set AWS_REGION to one such as eu-central-1", printable(region));
  return region;
}

// No credential may break out of its header.
void check_and_hide(const BucketSettings& settings, const char* id, const char* secret, const char* token) {
  for (const std::string& value : {settings.key_id, settings.secret, settings.token}) {
    TSR_CHECK_USAGE(value.find_first_of(std::string_view("\r\n\0 ", 4)) == std::string::npos,
                    "the credentials of {} hold a space or line end", settings.source);
  }
  hide_secret(id, settings.key_id);
  hide_secret(secret, settings.secret);
  hide_secret(token, settings.token);
}

}  // namespace

UserSettings settings_of_user() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {.variable = variable, .home = variable("HOME")};
}

BucketSettings s3_settings(const UserSettings& user) {
  const Profile profile = read_profile(user);
  BucketSettings settings;
  take_credentials(user, profile, settings);
  check_and_hide(settings, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");
  const std::string region = value_of(profile.config, "region");
  settings.region =
      checked_region(first_set(user, {"AWS_REGION", "AWS_DEFAULT_REGION"}, region.empty() ? "us-east-1" : region));
  settings.endpoint = checked_endpoint(first_set(user, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL"},
                                                 value_of(profile.config, "endpoint_url")));
  return settings;
}

BucketSettings google_settings(const UserSettings& user) {
  BucketSettings settings{.endpoint = checked_endpoint(user.variable("GCS_ENDPOINT_URL")),
                          .region = "auto",
                          .key_id = user.variable("GCS_KEY"),
                          .secret = user.variable("GCS_SECRET"),
                          .source = "the environment"};
  TSR_CHECK_USAGE(settings.key_id.empty() == settings.secret.empty(), "only one of GCS_KEY and GCS_SECRET is set");
  check_and_hide(settings, "GCS_KEY", "GCS_SECRET", "");
  return settings;
}

std::map<std::string, std::map<std::string, std::string>> parse_ini(std::string_view text) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  Section* section = nullptr;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end), line = trimmed(whole);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const size_t close = line.find(']');
      section = close == std::string_view::npos ? nullptr : &sections[std::string(trimmed(line.substr(1, close - 1)))];
      continue;
    }
    const bool nested = whole.front() == ' ' || whole.front() == '\t';  // settings of a service, below its name
    const size_t equals = line.find('=');
    if (section == nullptr || nested || equals == std::string_view::npos) continue;
    (*section)[lower(trimmed(line.substr(0, equals)))] = std::string(trimmed(line.substr(equals + 1)));
  }
  return sections;
}

}  // namespace tessera
