#include "apps/attention_pictures.h"

#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "data/decode/png_writer.h"
#include "data/draw/heat_map.h"

namespace tessera {
namespace {

constexpr Color kQueryColor{80, 255, 120};

int64_t rounded(double value) {
  return static_cast<int64_t>(std::llround(value));
}

}  // namespace

AttentionPictures::AttentionPictures(fs::path folder, ImageJob job, Image original, Placement placement, bool grey)
    : folder_(std::move(folder)), job_(std::move(job)), original_(std::move(original)), placement_(placement), grey_(grey) {}

void AttentionPictures::add(const at::Tensor& map, int64_t patch, const std::string& what, const nlohmann::json& facts) {
  const at::Tensor cells = map.to(at::kCPU, at::kFloat).repeat_interleave(patch, 0).repeat_interleave(patch, 1);
  const int64_t height = std::max<int64_t>(1, rounded(placement_.height)),
                width = std::max<int64_t>(1, rounded(placement_.width));
  const at::Tensor content = cells.narrow(0, rounded(placement_.y), height).narrow(1, rounded(placement_.x), width);
  const at::Tensor full =
      at::upsample_nearest2d(content.unsqueeze(0).unsqueeze(0), {original_.height, original_.width}).contiguous();
  const std::vector<float> values(full.const_data_ptr<float>(), full.const_data_ptr<float>() + full.numel());
  const float highest = map.max().item<float>();
  Image picture = heat_overlay(original_, values, highest);
  if (query_) draw_frame(picture, query_->top, query_->left, query_->size, kQueryColor);
  write(what, picture, facts, highest);
  if (grey_) write(what + "_grey", heat_grey(values, original_.size(), highest), facts, highest);
}

std::array<int64_t, 2> AttentionPictures::set_query(int64_t y, int64_t x, int64_t patch) {
  if (y < 0 || x < 0 || y >= original_.height || x >= original_.width)
    fail_usage("--query {} {} lies outside {}, which has {} rows and {} columns", y, x, job_.image.string(), original_.height,
               original_.width);
  const double rows = placement_.height / original_.height, columns = placement_.width / original_.width;
  const auto cell = [&](double start, int64_t pixel, double scale) {
    return static_cast<int64_t>((start + (static_cast<double>(pixel) + 0.5) * scale) / static_cast<double>(patch));
  };
  const int64_t row = cell(placement_.y, y, rows), column = cell(placement_.x, x, columns);
  const auto edge = [&](int64_t of, double start, double scale) {
    return static_cast<int>(std::lround((static_cast<double>(of * patch) - start) / scale));
  };
  const int top = edge(row, placement_.y, rows), left = edge(column, placement_.x, columns);
  query_ = Frame{top, left, {edge(row + 1, placement_.y, rows) - top, edge(column + 1, placement_.x, columns) - left}};
  return {row, column};
}

void AttentionPictures::write(const std::string& what, const Image& picture, nlohmann::json facts, float highest) {
  const std::string name = job_.name.string() + "_" + what + ".png";
  make_folders((folder_ / name).parent_path());
  write_file(folder_ / name, encode_png(picture));
  facts["file"] = name;
  facts["image"] = job_.image.string();
  facts["highest"] = highest;
  index_.push_back(std::move(facts));
}

}  // namespace tessera
