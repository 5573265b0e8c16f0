#include "launch/cluster/hosts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "launch/cluster/ssh_hosts.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(Hosts, ReadsNamesAndCounts) {
  EXPECT_EQ(parse_hosts("a:8,me@b:2,c"), (std::vector<Host>{{"a", 8}, {"me@b", 2}, {"c", 0}}));
  EXPECT_EQ(parse_hosts("[fe80::1]:4"), (std::vector<Host>{{"fe80::1", 4}}));
  EXPECT_EQ(parse_hosts("[fe80::1%eth0]:4,node-1.a_b"), (std::vector<Host>{{"fe80::1%eth0", 4}, {"node-1.a_b", 0}}));
}

TEST(Hosts, RefusesWhatIsNoHost) {
  for (const char* text :
       {"",     ",",    "a:0",  "a:x", ":3", "-oProxyCommand=x", "a b", "a;b", "me@-x", "-me@x", "@x", "me@", "a@b@c", "h`id`",
        "h(x)", "a\\b", "a\nb", "a*",  "~a", "\x1b[31m",         "a/b"})
    EXPECT_THROW(parse_hosts(text), UsageError) << text;
}

TEST(Hosts, ReadsAFileAsMpirunDoes) {
  const testing::TempFolder folder;
  const fs::path path = folder / "hosts";
  write_file(path, "# two machines\na slots=4\n\nb:2  # the small one\nc 3\nd\n");
  EXPECT_EQ(read_hostfile(path), (std::vector<Host>{{"a", 4}, {"b", 2}, {"c", 3}, {"d", 0}}));
}

TEST(SshHosts, QuotesForAShell) {
  EXPECT_EQ(shell_quoted("it's $HOME"), R"('it'\''s $HOME')");
}

TEST(SshHosts, EachNodeIsToldItsPlace) {
  LaunchOptions options;
  options.command = {"train", "c.yaml"};
  const auto words = node_command(options, {{"a", 4}, {"b", 2}}, 1, "a", 4711);
  const auto after = [&](const std::string& flag) { return *(std::find(words.begin(), words.end(), flag) + 1); };
  EXPECT_EQ(after("--node-rank"), "1");
  EXPECT_EQ(after("--nnodes"), "2");
  EXPECT_EQ(after("--ranks-per-node"), "2");
  EXPECT_EQ(after("--master-addr"), "a");
  EXPECT_EQ(after("--master-port"), "4711");
  EXPECT_EQ(after("--"), "train");
}

}  // namespace
}  // namespace tessera
