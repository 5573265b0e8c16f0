#include "config/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "config/experiment.h"
#include "core/error.h"
#include "core/secrets.h"
#include "support/messages.h"

namespace tessera {
namespace {

// Variables that are gone when the test ends.
class Environment : public ::testing::Test {
 protected:
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  ~Environment() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> names_;
};

// What config.yaml holds of a run with this value for model.pretrained.
std::string saved(const std::string& value) {
  const std::string yaml = experiment_yaml(load_experiment("", {"model.pretrained=" + value}));
  const size_t begin = yaml.find("pretrained: ");
  return yaml.substr(begin + 12, yaml.find('\n', begin) - begin - 12);
}

TEST_F(Environment, SecretsAreSavedByTheirName) {
  set("TEST_HF_TOKEN", "t0ken-value");
  set("TEST_ACCESS_KEY", "k3y-value");
  set("TEST_PLAIN", "plain-value");
  EXPECT_EQ(saved("https://h/m?token=${TEST_HF_TOKEN}"), R"("https://h/m?token=${TEST_HF_TOKEN}")");
  EXPECT_EQ(saved("${TEST_ACCESS_KEY}/m.pth"), R"("${TEST_ACCESS_KEY}/m.pth")");
  EXPECT_EQ(saved("${TEST_HF_TOKEN:-none}$$"), R"("${TEST_HF_TOKEN:-none}$$")");
  EXPECT_EQ(saved("${secret:TEST_PLAIN}/m.pth"), R"("${secret:TEST_PLAIN}/m.pth")");
  EXPECT_EQ(load_experiment("", {"model.pretrained=${secret:TEST_PLAIN}/m.pth"}).model.pretrained, "plain-value/m.pth");
  EXPECT_EQ(without_secrets("plain-value"), "${TEST_PLAIN}");
}

TEST_F(Environment, WordsOfNamesTellSecrets) {
  for (const char* name : {"DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "HF_AUTH", "SESSION_COOKIE", "AUTH_BEARER", "JWT",
                           "URL_SIGNATURE", "AZURE_SAS", "MY_API_KEY"}) {
    set(name, "s3cret-value");
    EXPECT_EQ(saved(fmt::format("${{{}}}/m.pth", name)), fmt::format(R"("${{{}}}/m.pth")", name));
  }
  for (const char* name : {"DATA_PATH", "COMPASS", "PWD", "OLDPWD", "SAST_HOME", "PATTERN", "AUTHOR"}) {
    set(name, "/plain");
    EXPECT_EQ(saved(fmt::format("${{{}}}/m.pth", name)), R"("/plain/m.pth")") << name;
  }
}

TEST_F(Environment, WhatIsNoSecretIsSavedExpanded) {
  set("TEST_DATA", "/datasets");
  set("TEST_KEYPOINTS", "points");
  EXPECT_EQ(saved("${TEST_DATA}/m.pth"), R"("/datasets/m.pth")");
  EXPECT_EQ(saved("${TEST_KEYPOINTS}/m.pth"), R"("points/m.pth")");
  EXPECT_EQ(saved("https://h${TEST_DATA}/m.pth?download=true"), R"("https://h/datasets/m.pth?download=true")");
}

TEST_F(Environment, CredentialsOfUrlsAreSavedAsVariablesOrMasked) {
  set("TEST_USER", "somebody");
  set("TEST_PLACE", "https://somebody:w0rd@host/m.pth?sig=abc");
  EXPECT_EQ(saved("https://user:w0rd@h/m?token=abc"), R"("https://***@h/m?token=***")");
  EXPECT_EQ(saved("https://${TEST_USER}@h/m"), R"("https://${TEST_USER}@h/m")");
  EXPECT_EQ(saved("https://h/m?who=${TEST_USER}&token=abc"), R"("https://h/m?who=${TEST_USER}&token=***")");
  EXPECT_EQ(saved("${TEST_PLACE}"), R"("${TEST_PLACE}")");
  EXPECT_EQ(without_secrets("downloading https://somebody:w0rd@host/m.pth?sig=abc"), "downloading ${TEST_PLACE}");
}

TEST_F(Environment, SecretsAreFoundInListsAndEntriesAndStayInTheirField) {
  set("TEST_SECRET", "unet");
  set("TEST_TOKEN", "");
  const Experiment e = load_experiment("", {"data.classes=[a, '${TEST_SECRET}']", "model.options={deep: [\"${TEST_SECRET}\"]}",
                                            "data.path=${TEST_TOKEN}", "model.name=unet"});
  const std::string yaml = experiment_yaml(e);
  EXPECT_CONTAINS(yaml, R"(classes: ["a", "${TEST_SECRET}"])");
  EXPECT_CONTAINS(yaml, R"(options: {"deep": ["${TEST_SECRET}"]})");
  EXPECT_CONTAINS(yaml, R"(name: "unet")");
  EXPECT_CONTAINS(yaml, R"(path: "${TEST_TOKEN}")");
  EXPECT_CONTAINS(yaml, R"(dir: "")");
  EXPECT_EQ(e.data.classes[1], "unet");
  EXPECT_EQ(experiment_yaml(read_experiment(parse_config(yaml, "saved"))), yaml);
}

TEST_F(Environment, AMissingVariableIsNamedWithTheKeyThatNeedsIt) {
  const Node node = parse_config("data: {path: \"${TEST_NOT_SET}/x\"}", "c.yaml");
  EXPECT_EQ(testing::message_of([&] { read_experiment(node); }),
            "c.yaml:1: the environment variable TEST_NOT_SET is not set; export TEST_NOT_SET=..., set data.path=..., or write "
            "${TEST_NOT_SET:-default}");
}

TEST_F(Environment, OnlyASecretOfTheCommandLineCanWait) {
  Node node = parse_config("data: {path: \"${TEST_NOT_SET}/x\"}", "config.yaml");
  EXPECT_EQ(read_experiment(node, MissingSecrets::kKeep).data.path, "${TEST_NOT_SET}/x");
  apply_override(node, "data.path=${TEST_MISSPELLED}/x");
  EXPECT_THROW(read_experiment(node, MissingSecrets::kKeep), UsageError);
  apply_override(node, "data.path=${TEST_NO_TOKEN}/x");
  EXPECT_EQ(read_experiment(node, MissingSecrets::kKeep).data.path, "${TEST_NO_TOKEN}/x");
}

TEST_F(Environment, AMissingSecretCanWait) {
  const Node node = parse_config("model: {pretrained: \"https://h/m?token=${TEST_NO_TOKEN}\"}", "c.yaml");
  EXPECT_THROW(read_experiment(node), UsageError);
  const Experiment e = read_experiment(node, MissingSecrets::kKeep);
  EXPECT_EQ(e.model.pretrained, "https://h/m?token=${TEST_NO_TOKEN}");
  ASSERT_EQ(e.secrets.size(), 1U);
  EXPECT_EQ(e.secrets[0].key, "model.pretrained");
  EXPECT_EQ(e.secrets[0].missing, "TEST_NO_TOKEN");
  EXPECT_CONTAINS(experiment_yaml(e), R"(pretrained: "https://h/m?token=${TEST_NO_TOKEN}")");
}

}  // namespace
}  // namespace tessera
