#include "data/decode/jpeg_window.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "data/decode/jpeg_code_table.h"
#include "data/decode/jpeg_component_rows.h"
#include "data/decode/jpeg_scan_bytes.h"

namespace tessera {
namespace {

// A thread keeps what it works with, up to this of a file's bytes.
constexpr size_t kMostKeptBytes = size_t{16} << 20;

constexpr int kMostTables = 2;

// Most files of a data set have the same codes.
struct KnownTable {
  JHUFF_TBL codes{};
  CodeTable table;
  bool is_usable = false;

  const CodeTable* of(const JHUFF_TBL* wanted, CodeKind kind) {
    if (wanted == nullptr) return nullptr;
    if (!is_usable || !std::equal(std::begin(codes.bits), std::end(codes.bits), wanted->bits) ||
        !std::equal(std::begin(codes.huffval), std::end(codes.huffval), wanted->huffval)) {
      codes = *wanted;
      is_usable = make_code_table(codes.bits, codes.huffval, kind, table);
    }
    return is_usable ? &table : nullptr;
  }
};

struct Scratch {
  std::array<KnownTable, kMostTables> dc, ac;
  std::vector<uint8_t> bytes;
  std::array<ComponentRows, 3> components;
  std::array<std::vector<uint8_t>, 2> doubled;  // a row of each of the colours at full width
};

bool is_of_our_kind(const jpeg_decompress_struct& jpeg) {
  const bool grey = jpeg.num_components == 1 && jpeg.jpeg_color_space == JCS_GRAYSCALE && jpeg.out_color_space == JCS_GRAYSCALE;
  const bool colored = jpeg.num_components == 3 && jpeg.jpeg_color_space == JCS_YCbCr && jpeg.out_color_space == JCS_RGB;
  if (!grey && !colored) return false;
  if (jpeg.progressive_mode || jpeg.arith_code || jpeg.data_precision != 8 || jpeg.restart_interval != 0) return false;
  if (jpeg.comps_in_scan != jpeg.num_components || jpeg.Ss != 0 || jpeg.Se != kBlockValues - 1 || jpeg.Ah != 0 || jpeg.Al != 0)
    return false;
  for (int c = 0; c < jpeg.num_components; ++c) {
    const jpeg_component_info& component = jpeg.comp_info[c];
    if (jpeg.cur_comp_info[c] != &component) return false;
    if (component.dc_tbl_no >= kMostTables || component.ac_tbl_no >= kMostTables) return false;
    if (component.quant_tbl_no >= NUM_QUANT_TBLS || jpeg.quant_tbl_ptrs[component.quant_tbl_no] == nullptr) return false;
    if (c > 0 && (component.h_samp_factor != 1 || component.v_samp_factor != 1)) return false;
  }
  const std::pair factors(jpeg.comp_info[0].h_samp_factor, jpeg.comp_info[0].v_samp_factor);
  if (grey || factors == std::pair(1, 1)) return factors == std::pair(1, 1);
  // libjpeg repeats colours of so few columns as they are.
  const bool narrow = jpeg.image_width <= 4;
  return (factors == std::pair(2, 1) || factors == std::pair(2, 2)) && !narrow;
}

// MCUs [begin, end) along one axis.
struct McuRange {
  int begin, end, all;

  // Those of the pixels [first, last) of `size`, and of `reach` pixels around them.
  McuRange(int first, int last, int reach, int size, int mcu)
      : begin(std::max(0, first - reach) / mcu),
        end((std::min(size, last + reach) + mcu - 1) / mcu),
        all((size + mcu - 1) / mcu) {}
};

class Window {
 public:
  Window(const jpeg_decompress_struct& jpeg, const PixelArea& area, Scratch& scratch, const JpegLoops& loops)
      : jpeg_(jpeg),
        area_(area),
        scratch_(scratch),
        loops_(loops),
        wide_(jpeg.comp_info[0].h_samp_factor),
        high_(jpeg.comp_info[0].v_samp_factor),
        rows_(area.top, area.bottom, reach(), static_cast<int>(jpeg.image_height), 8 * high_),
        columns_(area.left, area.right, reach(), static_cast<int>(jpeg.image_width), 8 * wide_) {}

  bool decode(std::vector<uint8_t>& pixels) {
    const std::optional<size_t> count =
        copy_scan_bytes({jpeg_.src->next_input_byte, jpeg_.src->bytes_in_buffer}, scratch_.bytes);
    if (!count || !prepare()) return false;
    const uint8_t* const begin = scratch_.bytes.data();
    at_ = {begin, begin + *count};
    pixels.resize(static_cast<size_t>(area_.bottom - area_.top) * row_bytes());
    int made = area_.top;
    if (!skip(rows_.begin * columns_.all)) return false;
    for (int row = rows_.begin; row < rows_.end; ++row) {
      if (!read_row(row)) return false;
      // The colours of the last pixels of an MCU lie between its own and those of the next.
      const int known = (row + 1) * 8 * high_ - (high_ > 1 ? 1 : 0);
      const int end = row + 1 == rows_.end ? area_.bottom : std::min(area_.bottom, known);
      for (; made < end; ++made) make_row(made, pixels.data() + static_cast<size_t>(made - area_.top) * row_bytes());
    }
    if (!skip((rows_.all - rows_.end) * columns_.all)) return false;
    const ptrdiff_t read = (at_.next - begin) * 8 - at_.count, left = static_cast<ptrdiff_t>(*count) * 8 - read;
    return 0 <= left && left < 8;
  }

 private:
  int reach() const { return wide_ > 1 ? 2 : 0; }
  size_t row_bytes() const { return static_cast<size_t>(area_.right - area_.left) * static_cast<size_t>(jpeg_.num_components); }

  bool prepare() {
    for (int c = 0; c < jpeg_.num_components; ++c) {
      const jpeg_component_info& info = jpeg_.comp_info[c];
      const CodeTable* const dc =
          scratch_.dc[static_cast<size_t>(info.dc_tbl_no)].of(jpeg_.dc_huff_tbl_ptrs[info.dc_tbl_no], CodeKind::kDc);
      const CodeTable* const ac =
          scratch_.ac[static_cast<size_t>(info.ac_tbl_no)].of(jpeg_.ac_huff_tbl_ptrs[info.ac_tbl_no], CodeKind::kAc);
      if (dc == nullptr || ac == nullptr) return false;
      scan_[static_cast<size_t>(c)] = {dc, ac, info.h_samp_factor, info.v_samp_factor};
      const int shrunk = wide_ / info.h_samp_factor, flattened = high_ / info.v_samp_factor;
      const Size size{(static_cast<int>(jpeg_.image_height) + flattened - 1) / flattened,
                      (static_cast<int>(jpeg_.image_width) + shrunk - 1) / shrunk};
      scratch_.components[static_cast<size_t>(c)].set(size, columns_.begin * info.h_samp_factor,
                                                      (columns_.end - columns_.begin) * info.h_samp_factor, info.v_samp_factor,
                                                      jpeg_.quant_tbl_ptrs[info.quant_tbl_no]->quantval);
    }
    const size_t doubled =
        static_cast<size_t>(columns_.end - columns_.begin) * 8 * static_cast<size_t>(wide_) + 2 * kPixelsAtOnce;
    for (std::vector<uint8_t>& row : scratch_.doubled) row.resize(std::max(row.size(), doubled));
    return true;
  }

  bool skip(int mcus) { return mcus == 0 || loops_.skip_mcus(at_, scan_.data(), jpeg_.num_components, mcus); }

  bool read_row(int row) {
    if (!skip(columns_.begin)) return false;
    for (int c = 0; c < jpeg_.num_components; ++c)
      scan_[static_cast<size_t>(c)].blocks = scratch_.components[static_cast<size_t>(c)].block_rows();
    if (!loops_.read_mcus(at_, scan_.data(), jpeg_.num_components, columns_.end - columns_.begin)) return false;
    for (int c = 0; c < jpeg_.num_components; ++c) {
      if (!scratch_.components[static_cast<size_t>(c)].make_rows(row, loops_)) return false;
    }
    return skip(columns_.all - columns_.end);
  }

  void make_row(int y, uint8_t* to) {
    const auto count = static_cast<size_t>(area_.right - area_.left);
    const uint8_t* const grey = scratch_.components[0].at(y, area_.left);
    if (jpeg_.num_components == 1) {
      std::copy_n(grey, count, to);
      return;
    }
    loops_.rgb_row(grey, colors(0, y), colors(1, y), to, count);
  }

  // Of the pixels of a row, from the first one of the window on.
  const uint8_t* colors(size_t which, int y) {
    const ComponentRows& rows = scratch_.components[1 + which];
    if (wide_ == 1) return rows.at(y, area_.left);
    uint8_t* const to = scratch_.doubled[which].data();
    const int first = area_.left / 2;
    const auto count = static_cast<size_t>((area_.right + 1) / 2 - first);
    if (high_ == 1) {
      loops_.double_row(rows.at(y, first), to, count);
    } else {
      const int own = y / 2, other = y % 2 == 0 ? own - 1 : own + 1;
      loops_.double_between(rows.at(own, first), rows.at(other, first), to, count);
    }
    return to + (area_.left - 2 * first);
  }

  const jpeg_decompress_struct& jpeg_;
  const PixelArea& area_;
  Scratch& scratch_;
  const JpegLoops& loops_;
  int wide_, high_;  // pixels that share a colour
  McuRange rows_, columns_;
  ScanPlace at_{};
  std::array<ScanComponent, 3> scan_{};
};

}  // namespace

bool decode_jpeg_window(const jpeg_decompress_struct& jpeg, const PixelArea& area, std::vector<uint8_t>& pixels) {
  const JpegLoops* const loops = jpeg_loops();
  if (loops == nullptr || !is_of_our_kind(jpeg)) return false;
  static thread_local Scratch scratch;
  const bool done = Window(jpeg, area, scratch, *loops).decode(pixels);
  if (scratch.bytes.size() > kMostKeptBytes) scratch.bytes = {};
  return done;
}

}  // namespace tessera
