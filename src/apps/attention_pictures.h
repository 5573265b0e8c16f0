#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/image_jobs.h"
#include "data/sample.h"

namespace tessera {

// Draws maps of one value per patch over the image they come from. Every picture has the image's own size.
class AttentionPictures {
 public:
  // placement: where the image lies in what the network saw. grey: write the bare maps too.
  AttentionPictures(std::filesystem::path folder, ImageJob job, Image original, Placement placement, bool grey);

  // map: (h, w), one value per patch. Writes FOLDER/NAME_WHAT.png; `facts` go into the index.
  void add(const at::Tensor& map, int64_t patch, const std::string& what, const nlohmann::json& facts);

  // The patch that holds the pixel (y, x) of the image: its row and column. It is framed in the pictures from now on. Throws
  // UsageError for a pixel outside.
  std::array<int64_t, 2> set_query(int64_t y, int64_t x, int64_t patch);
  void clear_query() { query_.reset(); }

  const nlohmann::json& index() const { return index_; }  // of the pictures so far

 private:
  struct Frame {
    int top = 0, left = 0;
    Size size;
  };

  void write(const std::string& what, const Image& picture, nlohmann::json facts, float highest);

  std::filesystem::path folder_;
  ImageJob job_;
  Image original_;
  Placement placement_;
  bool grey_;
  std::optional<Frame> query_;
  nlohmann::json index_ = nlohmann::json::array();
};

}  // namespace tessera
