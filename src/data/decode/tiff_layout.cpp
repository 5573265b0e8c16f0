#include "data/decode/tiff_layout.h"

#include <algorithm>

#include "core/error.h"
#include "data/decode/tiff_page.h"

namespace tessera {
namespace {

// The numbers of all directories but those of previews and masks; `directories` counts these too.
std::vector<tdir_t> list_pages(const TiffFile& file, size_t& directories) {
  std::vector<tdir_t> pages;
  for (tdir_t number = 0;; ++number) {
    if (!is_auxiliary_page(file)) pages.push_back(number);
    directories = size_t{number} + 1;
    if (TIFFLastDirectory(file.get()) != 0) break;
    if (TIFFReadDirectory(file.get()) != 1) file.fail_with(fmt::format("has a damaged directory after page {}", number + 1));
  }
  TSR_CHECK(!pages.empty(), "TIFF holds only previews and masks: expected at least one full picture");
  return pages;
}

}  // namespace

int64_t StackLayout::page(int c, int in_z, int in_t) const {
  const int64_t found = pages[static_cast<size_t>(c + channels * (in_z + z * in_t))];
  TSR_CHECK(found >= 0, "TIFF has no page for channel {}, z {}, t {}, which its metadata speak of{}; {}", c, in_z, in_t,
            elsewhere.empty() ? "" : fmt::format(" (it may lie in the file {})", elsewhere),
            elsewhere.empty() ? "get it again, or choose other planes with data.image" : "save the stack as one file");
  return found;
}

bool StackLayout::fits(size_t num_pages) const {
  const bool complete = std::none_of(pages.begin(), pages.end(), [](int64_t page) { return page < 0; });
  return complete && (raw || has_others || pages.size() == num_pages);
}

StackLayout find_layout(const TiffFile& file, bool asks_for_parts) {
  size_t directories = 0;
  const std::vector<tdir_t> pages = list_pages(file, directories);
  file.go_to(pages.front());
  char* text = nullptr;
  uint16_t stored_samples = 1;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SAMPLESPERPIXEL, &stored_samples);
  const int samples = std::max<int>(stored_samples, 1);
  if (TIFFGetField(file.get(), TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text != nullptr) {
    auto layout = ome_layout(text, samples, directories);
    if (!layout) layout = imagej_layout(file, text, samples, pages);
    if (layout && (asks_for_parts || layout->fits(pages.size()))) return std::move(*layout);
  }
  StackLayout plain;
  plain.samples = samples;
  plain.channels = static_cast<int>(pages.size());
  plain.pages.assign(pages.begin(), pages.end());
  return plain;
}

}  // namespace tessera
