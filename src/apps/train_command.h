#pragma once
#include <string>
#include <vector>

namespace tessera {

// A word as a POSIX-like shell must be given it; what a terminal would not print as it is needs bash's $'..'.
std::string shell_word(const std::string& word);

// The command that trains with a config: `PROGRAM train CONFIG key=value ..`, ready to be pasted. given: the key=value pairs
// the user typed, added: those to add; a key that is added takes the place of one that was given.
std::string train_command(const std::string& program, const std::string& config, const std::vector<std::string>& given,
                          const std::vector<std::string>& added);

// The name of a run on the data in this folder: the folder's own, as far as it can be one; "" where it has none.
std::string run_name_for(const std::string& data_path);

}  // namespace tessera
