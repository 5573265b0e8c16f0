#include "weights/formats/load_weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/rng.h"
#include "support/weight_files.h"
#include "weights/formats/npz.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::weight_file;
using testing::weight_values;

TEST(LoadWeights, KindIsToldByContentNotByName) {
  testing::TempFolder folder;
  const std::pair<const char*, const char*> kinds[] = {{"plain.pth", "pth"},
                                                       {"plain_legacy.pth", "pth"},
                                                       {"odd.safetensors", "safetensors"},
                                                       {"plain.npz", "npz"},
                                                       {"c.npy", "npy"}};
  for (const auto& [name, format] : kinds) {
    write_file(folder / "weights.bin", weight_file(name).bytes);
    EXPECT_EQ(read_weights(folder / "weights.bin").format, format) << name;
  }
}

// What save_pretrained() of Hugging Face's libraries (and of smp) leaves.
TEST(LoadWeights, TheFolderOfOneSafetensorsFileIsThatFile) {
  testing::TempFolder folder;
  write_file(folder / "config.json", std::string("{}"));
  EXPECT_CONTAINS(message_of([&] { read_weights(folder / "."); }), "0 safetensors files");
  write_file(folder / "model.safetensors", weight_file("odd.safetensors").bytes);
  EXPECT_EQ(read_weights(folder / ".").format, "safetensors");
  write_file(folder / "other.safetensors", weight_file("odd.safetensors").bytes);
  EXPECT_CONTAINS(message_of([&] { read_weights(folder / "."); }), "2 safetensors files");
}

TEST(LoadWeights, StrangersAreNamed) {
  testing::TempFolder folder;
  const auto complaint = [&](const std::string& content) {
    write_file(folder / "x", content);
    return message_of([&] { read_weights(folder / "x"); });
  };
  EXPECT_CONTAINS(complaint("<!DOCTYPE html><html>"), "web page");
  EXPECT_CONTAINS(complaint("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull");
  EXPECT_CONTAINS(complaint("\x89HDF\r\n"), "HDF5");
  EXPECT_CONTAINS(complaint("nothing"), "no weight file");
  EXPECT_CONTAINS(complaint(""), "no weight file");
  EXPECT_CONTAINS(complaint("{\"a\": 1}"), "no weight_map");
  EXPECT_CONTAINS(message_of([&] { read_weights(folder / "absent"); }), "absent");
  EXPECT_CONTAINS(message_of([&] { parse_weights(weight_file("evil.pkl"), "f"); }), "bare pickle");
}

TEST(LoadWeights, TensorsOutliveTheFile) {
  testing::TempFolder folder;
  write_file(folder / "w.pth", weight_file("plain.pth").bytes);
  const LoadedFile file = read_weights(folder / "w.pth");
  std::filesystem::remove(folder / "w.pth");
  EXPECT_TRUE(file.tensors[0].second.equal(weight_values({4, 3, 2, 2}, 0)));
}

// Large enough to be read ahead; told to leave the cache first (where the file system has one).
TEST(MapFile, LargeFilesAreWholeAndCanBeLetGoAtAnyTime) {
  testing::TempFolder folder;
  std::vector<uint8_t> content(20 << 20);
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<uint8_t>(i * 2654435761U >> 24);
  write_file(folder / "large", content);
  const int file = ::open((folder / "large").c_str(), O_RDONLY);
  for (int round = 0; round < 4; ++round) {
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    const Blob blob = map_file(folder / "large");
    if (round % 2 == 0) continue;
    EXPECT_TRUE(std::equal(content.begin(), content.end(), blob.bytes.begin(), blob.bytes.end()));
  }
  ::close(file);
}

TEST(LoadNpz, ArraysOfAllKindsInBothOrders) {
  for (const char* name : {"plain.npz", "packed.npz"}) {
    const LoadedFile file = load_npz(weight_file(name), name);
    EXPECT_EQ(file.tensors[0].first, "conv.weight");
    EXPECT_TRUE(file.tensors[0].second.equal(weight_values({4, 3, 2, 2}, 0)));
    EXPECT_EQ(file.tensors[3].second.item<int64_t>(), 7);
  }
  const auto array = [](const char* name) { return load_npy(weight_file(name), name).tensors[0].second; };
  EXPECT_TRUE(array("c.npy").equal(weight_values({3, 4}, 9)));
  EXPECT_TRUE(array("fortran.npy").equal(weight_values({3, 4}, 9)));
  EXPECT_TRUE(array("half.npy").equal(weight_values({3, 4}, 9, at::kHalf)));
  EXPECT_TRUE(array("bfloat16.npy").equal(weight_values({3, 4}, 9, at::kBFloat16)));
  EXPECT_EQ(array("bool.npy").scalar_type(), at::kBool);
  EXPECT_CONTAINS(message_of([&] { array("big_endian.npy"); }), "'>f4'");
}

TEST(LoadNpz, CutOrLyingArraysAreErrors) {
  const Blob file = weight_file("c.npy");
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(message_of([&] { load_npy(file.part(0, size), "f"); }), "") << size;
  }
  std::string text(file.bytes.begin(), file.bytes.end());
  text.replace(text.find("(3, 4)"), 6, "(9,99)");
  EXPECT_CONTAINS(message_of([&] { load_npy({testing::bytes_of(text), nullptr}, "f"); }), "needs 3564 bytes, the file has 48");
}

// Damaged files of every kind: an Error or tensors, never a crash, a hang or memory without end. The sanitizer build runs this.
TEST(LoadWeights, SurvivesMutatedFiles) {
  const char* names[] = {
      "plain.pth",   "odd.pth",       "plain_legacy.pth", "odd_legacy.pth", "lightning.ckpt", "lightning_legacy.ckpt",
      "composer.pt", "protocol5.pth", "odd.safetensors",  "plain.npz",      "packed.npz",     "fortran.npy"};
  std::vector<Blob> files;
  for (const char* name : names) files.push_back(weight_file(name));
  Rng rng(11, Stream::kAugment);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const Blob& from = files[rng.below(std::size(names))];
    std::vector<uint8_t> bytes(from.bytes.begin(), from.bytes.end());
    const auto size = static_cast<uint32_t>(bytes.size());
    for (uint32_t n = rng.below(6) + 1; n > 0; --n) {
      const uint32_t at = rng.below(size);
      switch (rng.below(4)) {
        case 0: bytes[at] = static_cast<uint8_t>(rng.bits()); break;
        case 1: bytes[at] ^= static_cast<uint8_t>(1U << rng.below(8)); break;
        case 2: std::fill_n(bytes.begin() + at, std::min(size - at, 8U), rng.chance(0.5) ? 0xFF : 0); break;
        default:
          std::copy_n(bytes.begin() + rng.below(size - std::min(size - at, 16U) + 1), std::min(size - at, 16U),
                      bytes.begin() + at);
      }
    }
    if (rng.chance(0.1)) bytes.resize(rng.below(size));
    try {
      for (const auto& [key, tensor] : parse_weights(own_bytes(std::move(bytes)), "mutated").tensors) {
        if (tensor.numel() > 0) tensor.contiguous().view(-1)[-1].item();
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

}  // namespace
}  // namespace tessera
