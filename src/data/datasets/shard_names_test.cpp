#include "data/datasets/shard_names.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/records/tar_format.h"
#include "data/records/tfrecord_format.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

TEST(ShardNames, BracesAreExpandedAsAShellDoes) {
  EXPECT_EQ(expand_braces("shard-{000009..000011}.tar"), (Names{"shard-000009.tar", "shard-000010.tar", "shard-000011.tar"}));
  EXPECT_EQ(expand_braces("{a,b}-{0..1}"), (Names{"a-0", "a-1", "b-0", "b-1"}));
  EXPECT_EQ(expand_braces("plain"), Names{"plain"});
  EXPECT_CONTAINS(testing::message_of<UsageError>([] { expand_braces("x-{0..2.tar"); }), "closing brace");
  EXPECT_CONTAINS(testing::message_of<UsageError>([] { expand_braces("x-{5..2}"); }), "is empty");
  EXPECT_CONTAINS(testing::message_of<UsageError>([] { expand_braces("x-{0..b}"); }), "got 'b'");
  EXPECT_CONTAINS(testing::message_of<UsageError>([] { expand_braces("x-{0..18446744073709551615}"); }), "more than");
  EXPECT_CONTAINS(testing::message_of<UsageError>([] { expand_braces("{0..9999}{0..9999}"); }), "more than");
}

TEST(ShardNames, FilesOfAFormatAreKnownByTheirNames) {
  const TfRecordFormat records(feature_names({}));
  for (const char* name : {"0.tfrecord", "train/a.tfrecords", "train-00000-of-00008", "a.tfrecord.gz", "val-0-of-1.gz"})
    EXPECT_TRUE(records.is_shard(name)) << name;
  for (const char* name : {"index.json", "train-x-of-8", "a-of-", "-of-1", "1-of-2", "tfrecord", "a.tar"})
    EXPECT_FALSE(records.is_shard(name)) << name;
  const TarFormat tars(member_names({}));
  for (const char* name : {"a.tar", "x/b.TAR", "c.tar.gz", "d.tgz"}) EXPECT_TRUE(tars.is_shard(name)) << name;
  for (const char* name : {"tar", "a.zip", ".hidden.tar"}) EXPECT_FALSE(tars.is_shard(name)) << name;
}

TEST(ShardNames, ShardsAreASplitsWhereTheyAreCalledSo) {
  const TarFormat tars(member_names({}));
  const Names named{"ade_train-0.tar", "ade_train-1.tar", "ade_validation-0.tar", "other.tar", "readme.txt"};
  EXPECT_EQ(shards_of_split(named, tars, Split::kTrain).files, (Names{"ade_train-0.tar", "ade_train-1.tar"}));
  EXPECT_EQ(shards_of_split(named, tars, Split::kVal).files, Names{"ade_validation-0.tar"});
  EXPECT_TRUE(shards_of_split(named, tars, Split::kTest).files.empty());
  EXPECT_EQ(shards_of_split({"a.tar", "b.txt"}, tars, Split::kVal).files, Names{"a.tar"});
  EXPECT_FALSE(shards_of_split({"a.tar", "b.txt"}, tars, Split::kVal).named);
}

TEST(ShardNames, APlaceIsAFolderOrNamesItsShards) {
  const TarFormat tars(member_names({}));
  EXPECT_FALSE(shard_pattern("some/folder", tars).has_value());
  EXPECT_EQ(shard_pattern("some/a.tar", tars)->root, "some");
  EXPECT_EQ(shard_pattern("a-{0..1}.tar", tars)->root, ".");
  EXPECT_EQ(shard_pattern("s3://bucket/dir/a-{0..1}.tar", tars)->root, "s3://bucket/dir");
  EXPECT_EQ(shard_pattern("s3://bucket/dir/a-{0..1}.tar", tars)->files, (Names{"a-0.tar", "a-1.tar"}));
}

}  // namespace
}  // namespace tessera
