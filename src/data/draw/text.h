#pragma once
#include <string>

#include "core/image.h"

namespace tessera {

// Letters of 5 x 7 dots, for legends: no font library, the same picture on every machine. Accented Latin letters lose their
// accent; what is neither those nor ASCII is a question mark.
inline constexpr int kLetterHeight = 7;
inline constexpr int kLetterStep = 6;  // from one letter to the next

// How many letters the text has, which is UTF-8.
int count_letters(const std::string& text);

// Draws the text on an RGB picture, each dot `scale` x `scale` pixels; what lies outside is left out. (top, left): of the first
// letter.
void draw_text(Image& picture, int top, int left, const std::string& text, int scale, const Color& color);

}  // namespace tessera
