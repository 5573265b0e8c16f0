#include "infer/image_scores.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

class ImageScoresTest : public ::testing::Test {
 protected:
  const fs::path file_ = fs::path(::testing::TempDir()) / "image_scores_test.json";
};

TEST_F(ImageScoresTest, WhatIsWrittenIsRead) {
  const EvaluatedImages written{.classes = {"sky", "road"},
                                .overlap = true,
                                .step = 40,
                                .data = "val",
                                .images = {{3, "a \"name\"", 0.25, {{0, {1, 2, 3, 4}}, {1, {5, 6, 7, 8}}}}, {7, "b", 1, {}}}};
  write_evaluated_images(file_, written);
  const EvaluatedImages read = read_evaluated_images(file_);
  EXPECT_EQ(read.classes, written.classes);
  EXPECT_TRUE(read.overlap);
  EXPECT_EQ(read.step, 40);
  ASSERT_EQ(read.images.size(), 2U);
  EXPECT_EQ(read.images[0].id, "a \"name\"");
  EXPECT_EQ(read.images[0].counts, written.images[0].counts);
  EXPECT_EQ(read.images[1].index, 7);
}

TEST_F(ImageScoresTest, OtherFilesAreNamed) {
  write_file(file_, R"({"metrics": {"mean_iou": 0.5}})");
  EXPECT_THROW(read_evaluated_images(file_), Error);
  write_file(file_, R"({"classes": ["sky"], "overlap": false, "step": 1, "data": "", "images":
    [{"index": 0, "id": "a", "mean_iou": 1, "counts": [[1, 1, 0, 0, 0]]}]})");
  EXPECT_THROW(read_evaluated_images(file_), Error);  // there is no class 1
}

}  // namespace
}  // namespace tessera
