// This process's use of the machine, as the kernel counts it, and its visibility to other
// processes.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop {

struct ProcessUsage {
  std::uint64_t resident_bytes = 0;  ///< 0: unknown.
  double cpu_seconds = 0;            ///< User and system time, since the start.
};
ProcessUsage process_usage();

/// The path of the running program; empty if unknown.
std::string own_program();

/// Call it before anything large is allocated. Large blocks then return to the system as soon as
/// they are freed, instead of becoming part of the heap, and threads share one heap.
void keep_heap_small();
/// Returns free pages of the heap to the system. Takes milliseconds.
void give_back_heap();

/// Keeps this process's memory, with its passwords and keys, out of core files. Other processes of
/// the same user cannot inspect it.
void keep_memory_private();

}  // namespace etcdop
