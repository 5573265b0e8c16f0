#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/records/mds_index.h"
#include "storage/blob.h"

namespace tessera {

// Note [MDS encodings]
// What a column's bytes mean: bytes, str, json, int, the number types of NumPy, str_int, str_float, str_decimal,
// ndarray[:dtype[:shape]], pil, jpeg, png, jpeg_array and list[pil|jpeg|png]. `pkl` is Python's pickle: reading it runs code
// that the file brings, so it is never read; other columns of such shards are.

// Throws Error for an encoding that is none of these, and for a size in the index that is not its own.
void check_mds_column(const MdsColumn& column, const std::string& where);

// Bytes of every value; 0: each has its own size.
uint64_t mds_value_size(const std::string& encoding);

// Whether values can be images or masks: file contents and arrays. The others are numbers and texts.
bool holds_pictures(const std::string& encoding);

enum class PictureUse { kImage, kLabels };

// A value as the bytes of an image file: what is one already as it is, arrays and Pillow's pixels as a .npy file, of a list its
// only item. Throws Error saying what it is instead.
Blob mds_picture(const MdsColumn& column, const Blob& value, PictureUse use);

// A value for people: numbers and texts as they are, of others what and how large they are.
std::string mds_text(const MdsColumn& column, std::span<const uint8_t> value);

// What a sample is called by this value: bytes, texts and numbers. Throws Error for others.
std::string mds_name(const MdsColumn& column, std::span<const uint8_t> value);

}  // namespace tessera
