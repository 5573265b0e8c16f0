#include "data/decode/jpeg_component_rows.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr size_t kBefore = 64;  // bytes of a row before its first column; one of them is read

size_t padded(int blocks) {
  return static_cast<size_t>(blocks) + kBlocksAtOnce - 1;
}

}  // namespace

void ComponentRows::set(Size size, int first_block, int blocks, int block_rows,
                        std::span<const uint16_t, kBlockValues> quantizers) {
  size_ = size;
  left_ = 8 * first_block;
  blocks_ = blocks;
  block_rows_ = block_rows;
  std::copy(quantizers.begin(), quantizers.end(), quantizers_.begin());
  const auto rows = static_cast<size_t>(block_rows);
  const size_t values = rows * padded(blocks) * kBlockValues;
  if (coefficients_.size() < values) coefficients_.resize(values);
  // What is computed beyond the last block is nothing that could be taken for damage.
  for (size_t i = 0; i < rows; ++i) {
    int16_t* const end = coefficients_.data() + (i * padded(blocks) + static_cast<size_t>(blocks)) * kBlockValues;
    std::fill_n(end, (kBlocksAtOnce - 1) * kBlockValues, int16_t{0});
  }
  stride_ = kBefore + padded(blocks) * 8 + kPixelsAtOnce;
  const size_t bytes = 2 * 8 * rows * stride_;
  if (pixels_.size() < bytes) pixels_.resize(bytes);
}

std::array<int16_t*, 2> ComponentRows::block_rows() {
  int16_t* const first = coefficients_.data();
  return {first, block_rows_ > 1 ? first + padded(blocks_) * kBlockValues : nullptr};
}

uint8_t* ComponentRows::row(int y) {
  return pixels_.data() + static_cast<size_t>(y % (2 * 8 * block_rows_)) * stride_ + kBefore;
}

bool ComponentRows::make_rows(int mcu_row, const JpegLoops& loops) {
  const std::array<int16_t*, 2> blocks = block_rows();
  const int top = mcu_row * 8 * block_rows_;
  for (int i = 0; i < block_rows_; ++i) {
    if (!loops.make_pixels(blocks[static_cast<size_t>(i)], quantizers_.data(), blocks_, row(top + 8 * i), stride_))
      return false;
  }
  const int end = size_.width - left_;
  for (int y = top; y < top + 8 * block_rows_; ++y) {
    uint8_t* const pixels = row(y);
    if (left_ == 0) pixels[-1] = pixels[0];
    if (end <= 8 * blocks_) pixels[end] = pixels[end - 1];
  }
  return true;
}

const uint8_t* ComponentRows::at(int y, int x) const {
  const int there = std::clamp(y, 0, size_.height - 1);
  return pixels_.data() + static_cast<size_t>(there % (2 * 8 * block_rows_)) * stride_ + kBefore + (x - left_);
}

}  // namespace tessera
