#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/image.h"
#include "data/simd/jpeg_loops.h"

namespace tessera {

// One of the components of a JPEG, brightness or a colour at its own resolution: of a run of its columns the last two rows of
// MCUs that were made.
class ComponentRows {
 public:
  // size: of the whole component; first_block, blocks: of each row; block_rows: of an MCU. Memory is kept from one image to the
  // next.
  void set(Size size, int first_block, int blocks, int block_rows, std::span<const uint16_t, kBlockValues> quantizers);

  // Where the coefficients of the next row of MCUs go.
  std::array<int16_t*, 2> block_rows();

  // Makes their pixels, those of row `mcu_row` of MCUs. False where no encoder has made them.
  bool make_rows(int mcu_row, const JpegLoops& loops);

  // Row y, or the nearest there is, from column x on. One column more is there on both sides: that of the image, or where it
  // ends, the last one again.
  const uint8_t* at(int y, int x) const;

 private:
  uint8_t* row(int y);

  Size size_;
  int left_ = 0, blocks_ = 0, block_rows_ = 0;
  std::array<uint16_t, kBlockValues> quantizers_{};
  std::vector<int16_t> coefficients_;
  size_t stride_ = 0;
  std::vector<uint8_t> pixels_;
};

}  // namespace tessera
