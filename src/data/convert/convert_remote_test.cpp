#include <gtest/gtest.h>

#include "core/files.h"
#include "data/convert/convert.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/http_server.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

constexpr int kSamples = 12;

DataConfig made_pairs(const testing::TempFolder& root) {
  for (int i = 0; i < kSamples; ++i) {
    const Size size{5 + i % 3, 7 + i};
    testing::write_image(root / fmt::format("images/s{:02}.png", i), size, static_cast<uint8_t>(10 * i));
    testing::write_mask(root / fmt::format("masks/s{:02}.png", i), size, i % 2);
  }
  return testing::pairs_at(root.path());
}

TEST(ConvertRemote, ShardsBehindAUrlThatFailsGiveTheSamplesOfTheFolder) {
  const testing::TempFolder from, shards, cache;
  const DataConfig pairs = made_pairs(from);
  const fs::path to = shards / "mds";
  const OutputOptions output{.format = "mds", .compression = "zstd", .hashes = {"sha1"}, .shard_bytes = 1200};
  convert(pairs, {{Split::kTrain, make_dataset(pairs, Split::kTrain)}, {Split::kVal, make_dataset(pairs, Split::kVal)}}, to,
          {output, 1}, [](int64_t) {});
  testing::HttpServer server;
  for (const fs::path& file : list_files(to))
    server.put("/set/" + file.lexically_relative(to).generic_string() + "?key=of-this-test", read_text(file));
  int number = 0;
  server.on_request([&](const testing::HttpServer::Request&) {
    ++number;
    return testing::HttpServer::Fault{.status = number % 5 == 2 ? 503 : 0, .cut_at = number % 5 == 4 ? 100 : -1};
  });
  DataConfig local;
  local.type = SourceType::kMds;
  local.path = to.string();
  DataConfig remote = local;
  remote.path = server.url() + "/set?key=of-this-test";
  remote.remote.cache = (cache / "data").string();
  remote.remote.cache_limit = "1MB";
  for (const Split split : {Split::kTrain, Split::kVal}) {
    const DatasetPtr a = make_dataset(local, split), b = make_dataset(remote, split);
    ASSERT_EQ(a->size(), b->size());
    EXPECT_EQ(a->classes().names, b->classes().names);
    for (int64_t i = 0; i < a->size(); ++i) {
      const Sample one = a->get(i), other = b->get(i);
      EXPECT_EQ(one.image.bytes(), other.image.bytes()) << i;
      EXPECT_EQ(one.labels->labels, other.labels->labels) << i;
    }
  }
  remote.remote.cache_limit = "much";
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { make_dataset(remote, Split::kTrain); }),
                  "data.remote.cache_limit=much");
}

}  // namespace
}  // namespace tessera
