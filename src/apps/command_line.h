#pragma once

namespace tessera {

// The program: runs the words of a command line, says on the standard error what is wrong, and returns the exit code. May be
// called again.
int run_command_line(int argc, char** argv);

}  // namespace tessera
