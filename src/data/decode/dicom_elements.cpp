#include "data/decode/dicom_elements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "core/byte_reader.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kPreamble = 128;
constexpr std::string_view kMagic = "DICM";
constexpr uint32_t kUndefined = 0xFFFFFFFF;  // a length: up to a delimiter
constexpr uint32_t kItem = 0xFFFEE000, kItemEnd = 0xFFFEE00D, kSequenceEnd = 0xFFFEE0DD;
constexpr uint32_t kPixelData = 0x7FE00010;
constexpr int kMaxDepth = 32;  // of sequences in sequences; real ones have four

struct Encoding {
  bool with_types = true;  // "explicit VR"
  bool big_endian = false;
};

struct ElementHead {
  uint32_t tag = 0;
  std::string_view type;  // "" where the file does not say it
  uint32_t length = 0;
};

class ElementReader {
 public:
  ElementReader(std::span<const uint8_t> bytes, Encoding encoding) : in_(bytes, "DICOM"), encoding_(encoding) {}

  ByteReader& in() { return in_; }
  void set_encoding(Encoding encoding) { encoding_ = encoding; }
  const Encoding& encoding() const { return encoding_; }

  uint32_t number(size_t size) {
    const auto bytes = in_.take(size);
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[encoding_.big_endian ? i : size - 1 - i];
    return value;
  }

  ElementHead head() {
    ElementHead head;
    head.tag = number(2) << 16;
    head.tag |= number(2);
    const bool delimiter = head.tag >> 16 == kItem >> 16;
    if (!encoding_.with_types || delimiter) {
      head.length = number(4);
      return head;
    }
    head.type = in_.text(2);
    constexpr std::array<std::string_view, 13> kLong = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                                        "SV", "UC", "UN", "UR", "UT", "UV"};
    const bool is_long = std::find(kLong.begin(), kLong.end(), head.type) != kLong.end();
    if (is_long) in_.skip(2);
    head.length = number(is_long ? 4 : 2);
    return head;
  }

  // Over a sequence whose end a delimiter marks, of items with or without lengths. What has the type UN is encoded without
  // types.
  void skip_sequence(bool unknown, int depth) {
    TSR_CHECK(depth < kMaxDepth, "DICOM has sequences nested deeper than {}; the file is damaged", kMaxDepth);
    const Encoding outer = encoding_;
    if (unknown) encoding_ = {.with_types = false, .big_endian = false};
    for (ElementHead item = head(); item.tag != kSequenceEnd; item = head()) {
      TSR_CHECK(item.tag == kItem, "DICOM has element {:08X} where an item of a sequence was expected; the file is damaged",
                item.tag);
      if (item.length != kUndefined) {
        in_.skip(item.length);
        continue;
      }
      for (ElementHead inner = head(); inner.tag != kItemEnd; inner = head()) skip(inner, depth + 1);
    }
    encoding_ = outer;
  }

  void skip(const ElementHead& head, int depth) {
    if (head.length != kUndefined) return in_.skip(head.length);
    skip_sequence(head.type == "UN", depth);
  }

 private:
  ByteReader in_;
  Encoding encoding_;
};

// Texts are padded with a blank or a NUL.
std::string text_of(std::span<const uint8_t> value) {
  std::string text(value.begin(), value.end());
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

template <class T>
T number_in(std::span<const uint8_t> value, const char* what) {
  std::string text = text_of(value);
  if (text.starts_with('+')) text.erase(0, 1);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  TSR_CHECK(error == std::errc() && end == text.data() + text.size(), "DICOM has a {} that is no number; the file is damaged",
            what);
  return number;
}

int64_t short_in(std::span<const uint8_t> value, const Encoding& encoding) {
  TSR_CHECK(value.size() >= 2, "DICOM has a number without bytes; the file is damaged");
  return encoding.big_endian ? value[0] << 8 | value[1] : value[1] << 8 | value[0];
}

void take_element(uint32_t tag, std::span<const uint8_t> value, const Encoding& encoding, DicomFile& file) {
  switch (tag) {
    case 0x00020010: file.transfer_syntax = text_of(value); break;
    case 0x00080060: file.modality = text_of(value); break;
    case 0x00280002: file.samples = short_in(value, encoding); break;
    case 0x00280004: file.photometric = text_of(value); break;
    case 0x00280006: file.planes_apart = short_in(value, encoding) == 1; break;
    case 0x00280008: file.frames = number_in<int64_t>(value, "number of frames"); break;
    case 0x00280010: file.rows = short_in(value, encoding); break;
    case 0x00280011: file.columns = short_in(value, encoding); break;
    case 0x00280100: file.bits_allocated = short_in(value, encoding); break;
    case 0x00280101: file.bits_stored = short_in(value, encoding); break;
    case 0x00280102: file.high_bit = short_in(value, encoding); break;
    case 0x00280103: file.with_sign = short_in(value, encoding) == 1; break;
    case 0x00281052: file.intercept = number_in<double>(value, "rescale intercept"); break;
    case 0x00281053: file.slope = number_in<double>(value, "rescale slope"); break;
    default: break;
  }
}

bool is_wanted(uint32_t tag) {
  return tag >> 16 == 0x0002 || tag == 0x00080060 || tag >> 16 == 0x0028;
}

Encoding encoding_of(const std::string& transfer_syntax) {
  TSR_CHECK(!transfer_syntax.empty(), "DICOM does not say its transfer syntax; the file is damaged");
  TSR_CHECK(transfer_syntax != "1.2.840.10008.1.2.1.99",
            "DICOM is deflated as a whole (transfer syntax {}): unpack it, for example with dcmconv +te", transfer_syntax);
  return {.with_types = transfer_syntax != "1.2.840.10008.1.2", .big_endian = transfer_syntax == "1.2.840.10008.1.2.2"};
}

void take_pixels(ElementReader& elements, const ElementHead& head, DicomFile& file) {
  if (head.length != kUndefined) {
    file.pixels = elements.in().take(head.length);
    return;
  }
  bool is_table = true;
  for (ElementHead item = elements.head(); item.tag != kSequenceEnd; item = elements.head()) {
    TSR_CHECK(item.tag == kItem, "DICOM has element {:08X} between its compressed frames; the file is damaged", item.tag);
    const auto fragment = elements.in().take(item.length);
    if (!is_table) file.fragments.push_back(fragment);
    is_table = false;
  }
  TSR_CHECK(!file.fragments.empty(), "DICOM has no pixels in its compressed pixel data; the file is damaged");
}

}  // namespace

bool looks_like_dicom(std::span<const uint8_t> bytes) {
  return bytes.size() >= kPreamble + kMagic.size() && std::memcmp(bytes.data() + kPreamble, kMagic.data(), kMagic.size()) == 0;
}

DicomFile read_dicom_elements(std::span<const uint8_t> bytes) {
  DicomFile file;
  ElementReader elements(bytes, {});
  elements.in().skip(kPreamble + kMagic.size());
  bool in_meta = true;  // group 2 is always explicit and little-endian, what follows as it says
  while (elements.in().left() > 0) {
    if (in_meta) {
      ElementReader ahead(bytes.subspan(elements.in().position()), {});
      if (ahead.number(2) != 0x0002) {
        in_meta = false;
        elements.set_encoding(encoding_of(file.transfer_syntax));
        file.big_endian = elements.encoding().big_endian;
      }
    }
    const ElementHead head = elements.head();
    if (head.tag == kPixelData) {
      take_pixels(elements, head, file);
      return file;
    }
    if (is_wanted(head.tag) && head.length != kUndefined) {
      take_element(head.tag, elements.in().take(head.length), elements.encoding(), file);
    } else {
      elements.skip(head, 0);
    }
  }
  fail("DICOM holds no pixels: expected an image, not a report, a plan or a folder of others");
}

}  // namespace tessera
