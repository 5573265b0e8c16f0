#pragma once
#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/node/file_handle.h"

namespace tessera {

struct ProcessSpec {
  std::vector<std::string> words;             // the program, searched in PATH, and its arguments
  std::string file = {};                      // the file to run, if it is not the first word
  std::vector<std::string> environment = {};  // NAME=value
  std::optional<cpu_set_t> cores = {};        // where it may run
  std::vector<int> inherited = {};            // files left open for it
  bool pipe_stdin = false;                    // else it reads nothing
};

// A child in a process group of its own, so that signals of the terminal do not reach it by themselves, and that ends when this
// process ends, however this process ends. The destructor kills the whole group.
class Process {
 public:
  explicit Process(const ProcessSpec& spec);  // throws Error when the program cannot be started
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  int out() const { return out_.fd(); }
  int err() const { return err_.fd(); }
  int in() const { return in_.fd(); }
  void close_in() { in_.close(); }  // the end of what it reads

  void signal(int number) const;  // to the group
  bool reap();                    // looks whether it has ended; true from then on
  bool ended() const { return ended_; }
  int exit_code() const { return exit_code_; }  // once ended; 0 if killed
  int killed_by() const { return killed_by_; }  // the signal, or 0

 private:
  FileHandle in_, out_, err_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int exit_code_ = 0, killed_by_ = 0;
};

// "KILL" for 9.
std::string signal_name(int number);

}  // namespace tessera
