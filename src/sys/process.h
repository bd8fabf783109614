// What this process uses of the machine, as the kernel counts it.
#pragma once
#include <cstdint>

namespace etcdop {

struct ProcessUsage {
  std::uint64_t resident_bytes = 0;  ///< 0: the kernel does not say.
  double cpu_seconds = 0;            ///< User and system, since the start.
};
ProcessUsage process_usage();

}  // namespace etcdop
