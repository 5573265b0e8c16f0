#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "config/plane_choice.h"
#include "core/image.h"
#include "data/decode/raster.h"

namespace tessera {

// What is taken of a file that holds several channels, planes in depth or times (data.image).
struct StackChoice {
  std::vector<std::string> channels = {};  // names or numbers, in order; empty: all
  PlaneChoice z = {};
  PlaneChoice t = {};
  bool takes_all() const { return channels.empty() && z == PlaneChoice{} && t == PlaneChoice{}; }
};

// Throws UsageError for what parse_plane_choice refuses.
StackChoice stack_choice(const ImageConfig& config);

// What the channels of colour images are called; of others they have no names.
std::vector<std::string> color_names(ColorKind kind);

// The numbers of the channels that `wanted` names, of a file with `count` channels of which the first ones have `names`. A name
// counts before a number; upper and lower case are told apart only where there is need to. Throws Error with what there is.
std::vector<int> chosen_channels(const std::vector<std::string>& wanted, const std::vector<std::string>& names, int count);

// The numbers of the planes of one axis ("z") that are taken, of `count`. With Kind::kMax they are all, to be laid over one
// another. Throws Error where there is no such plane.
std::vector<int> chosen_planes(const PlaneChoice& choice, int count, std::string_view axis);

// `image` with its channels `which`, in that order.
Image pick_channels(Image image, const std::vector<int>& which);

// A raster of chosen channels: its meaning as colours is gone, but one channel is a grey picture. Palettes are looked up first.
Raster choose_channels(Raster raster, const std::vector<std::string>& wanted);

// The larger value of each pixel, into `image`; both have one shape.
void take_larger(Image& image, const Image& other);

// Copies all channels of `from` to those of `to` that start with `first`; both have one size and type.
void place_channels(const Image& from, Image& to, int first);

// An image with room for `times` images like `first`, which is in its first channels.
Image widened(const Image& first, int times);

// For messages: "2 channels (DAPI, GFP) x 5 planes of z", and settings to paste that make the file fit `channels`.
std::string contents_of(const StackShape& shape);
std::string settings_for(const StackShape& shape, int channels);

}  // namespace tessera
