#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "data/datasets/split.h"

namespace tessera {

// What folders are called in the field. Names are compared without regard to case and to _, - and spaces, so that Train_Labels
// and trainlabels are one.

enum class FolderKind { kAny, kImages, kMasks };

// What a name says: "val" a split, "masks" a kind, "trainannot", "imagesTr", "labelTrain" both.
struct FolderMeaning {
  std::optional<Split> split;
  FolderKind kind = FolderKind::kAny;
};
FolderMeaning meaning_of(std::string_view name);

// Only what is called after a split and nothing else: "training", "valid", "test", "train2017".
std::optional<Split> split_named(std::string_view name);

// The names of the folders in `folder`, sorted, hidden ones left out; none where it cannot be read.
std::vector<std::string> folders_in(const fs::path& folder);
std::string folder_list(const fs::path& folder);  // "photos, truth", for a message; "none"

// The folder of images or masks in `root` by its usual name, the commonest first (of several, one that holds image files);
// empty where there is none.
fs::path folder_of_kind(const fs::path& root, FolderKind kind);
std::vector<std::string> usual_names(FolderKind kind);

// The folder in `root` that is called after the split; empty where there is none. Throws Error where two are.
fs::path folder_of_split(const fs::path& root, Split split);

}  // namespace tessera
