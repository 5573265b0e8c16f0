// The precompiled header of every layer from tensor upwards: libtorch takes 20 s to parse, this takes 2.
#pragma once
#include <torch/nn.h>
#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>
