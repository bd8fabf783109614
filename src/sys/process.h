// What this process uses of the machine, as the kernel counts it, and what others may see of it.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop {

struct ProcessUsage {
  std::uint64_t resident_bytes = 0;  ///< 0: the kernel does not say.
  double cpu_seconds = 0;            ///< User and system, since the start.
};
ProcessUsage process_usage();

/// The path of the program that runs; empty: the kernel does not say.
std::string own_program();

/// Before anything large is allocated: from now on what is large goes back to the system as soon as
/// it is free, instead of becoming part of the heap, and threads share one heap.
void keep_heap_small();
/// Gives pages of the heap that are free back to the system. Takes milliseconds.
void give_back_heap();

/// What it keeps in memory, passwords and keys among it, comes into no core file, and no other
/// process of the same user may look at it.
void keep_memory_private();

}  // namespace etcdop
