#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/decode/tiff_file.h"

namespace tessera {

// Where the planes of a stack lie in its file.
struct StackLayout {
  int channels = 1;  // planes along this axis; a plane of colour has several channels in itself
  int z = 1;
  int t = 1;
  int samples = 1;                 // channels of a page
  std::string order = "CZT";       // the axes as the file goes through them, the fastest first
  std::vector<std::string> names;  // of channels; empty: they have none
  // The directory of plane (c, z, t) at c + channels * (z + z_count * t), or its place behind the first one where `raw` is set;
  // -1: it is not in this file.
  std::vector<int64_t> pages;
  bool raw = false;         // one directory for all: see read_tiff_raw_pixels
  bool explained = false;   // by metadata; else all pages are channels
  bool has_others = false;  // pages of the file belong to other pictures
  std::string elsewhere;    // a file that holds planes of this picture, if one is named

  int64_t page(int c, int in_z, int in_t) const;
  // Every plane is there, and every page of the file, of which it has `num_pages`, is one.
  bool fits(size_t num_pages) const;
};

// The metadata in the description of a file's first page: of OME (the first picture of several), of ImageJ. Nothing where there
// are none or where they contradict themselves. `samples`: channels of a page. `pages`: the numbers of those that are no
// previews.
std::optional<StackLayout> ome_layout(std::string_view description, int samples, size_t num_directories);
std::optional<StackLayout> imagej_layout(const TiffFile& file, std::string_view description, int samples,
                                         const std::vector<tdir_t>& pages);

// What the first page's description says about all of them, else every page as a channel. Metadata that do not fit the pages
// are believed only where parts of what they speak of are asked for.
StackLayout find_layout(const TiffFile& file, bool asks_for_parts);

// More planes than any stack has; it keeps products of forged sizes small.
inline constexpr int64_t kMaxPlanes = 1 << 20;

}  // namespace tessera
