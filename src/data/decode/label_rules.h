#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "config/data_config.h"
#include "core/image.h"
#include "data/decode/mask.h"

namespace tessera {

// Note [Label rules]
// A colour mask that is grey in disguise (r = g = b everywhere) is read as grey, unless `colors` will look at it.
// What a stored value becomes, first rule that applies:
//   1. listed in `ignore` (a colour as the number 0xRRGGBB)                  -> kIgnoreLabel
//   2. `binary`: 0 is class 0, everything else class 1. A palette mask whose pixels are all black or white goes by the
//      colour: black is class 0, white class 1.
//   3. `colors`: the place of the pixel's colour in the list is its class. Palette masks are looked up by their palette's
//      colour, grey ones of up to 8 bits as (v, v, v); 16-bit ones are an error, and so is an unlisted colour.
//   4. any other colour mask is an error
//   5. `map`, then `offset`; negative results                                -> kIgnoreLabel
//   6. 0 .. num_classes - 1 is the class
//   7. the largest value of the mask's depth (255 of 8-bit, 65535 of 16-bit) when rules 5 and 6 leave it without a class:
//      "not labelled" by convention of the field                             -> kIgnoreLabel
//   8. anything else is an error that names the value, the place and the keys to set

// Throws UsageError when `colors` cannot be right whatever the masks hold: not [r, g, b], or more of them than classes.
void check_label_rules(const LabelConfig& config, int num_classes);

// The stored value of `mask` that rule 7 leaves out; none where another rule decides about it.
std::optional<int32_t> value_left_out(const RawMask& mask, const LabelConfig& config, int num_classes);

// Throws Error, see the note.
LabelMap apply_label_rules(const RawMask& mask, const LabelConfig& config, int num_classes);

// For a mask of one byte a pixel that is no colour mask, and no palette mask under `binary`: the class of each value that comes
// in it. `mask` has everything but the values. Throws Error as apply_label_rules does, about the same pixel.
std::array<int16_t, 256> classes_of_values(const RawMask& mask, std::span<const uint8_t> values, const LabelConfig& config,
                                           int num_classes);

}  // namespace tessera
