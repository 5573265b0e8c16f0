#pragma once
#include <string>
#include <vector>

#include "core/element_type.h"
#include "weights/formats/pickle_value.h"

// Pieces of pickles that several known callables share. `file` is for messages; all throw Error.
namespace tessera {

// args[index], which must be of this kind; `what` says what else is wrong.
const PickleValue& item(const PickleValue& args, size_t index, PickleKind kind, const char* what, const std::string& file);

// A shape, strides: numbers from 0 to kLargestCount.
std::vector<int64_t> whole_numbers(const PickleValue& tuple, const char* what, const std::string& file);

void become_opaque(PickleValue& value, const std::string& what);

// A NumPy array over bytes that are in the pickle. Arrays of objects, dates and the like become opaque.
void fill_array(PickleValue& array, const PickleValue& shape, const PickleValue& dtype, bool fortran, const PickleValue& data,
                const std::string& file);

void numpy_scalar(PickleValue& made, const PickleValue& args, const std::string& file);

// Protocol 2 has no bytes: they travel as text in which each character is one byte.
void encode_latin1(PickleValue& made, const PickleValue& args, const std::string& file);

}  // namespace tessera
