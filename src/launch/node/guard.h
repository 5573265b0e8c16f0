#pragma once
#include <sys/types.h>

namespace tessera {

// Note [No process left behind]
// Each process we start asks the kernel to be killed when we die, but its own children do not. So a small second process, the
// guard, knows all groups we started. It learns of our end, even by kill -9, because its pipe from us closes; then it kills
// what is left and ends too. It holds no other file of ours, so nobody who reads our output waits for it.
// A group is told of by its first process itself, before it becomes another program: later would be too late if we died in
// between.
void start_guard();               // once, before the first fork
void guard_group(pid_t group);    // nothing but a system call
void release_group(pid_t group);  // this group has ended

}  // namespace tessera
