#include "sys/process.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

namespace etcdop {
namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

std::string own_program() {
  std::string out(PATH_MAX, 0);
  const ssize_t size = readlink("/proc/self/exe", out.data(), out.size());
  out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return out;
}

ProcessUsage process_usage() {
  ProcessUsage out;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long total = 0, resident = 0;
    if (std::fscanf(file, "%llu %llu", &total, &resident) == 2)
      out.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    (void)std::fclose(file);
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    out.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return out;
}

void keep_memory_private() {
  const rlimit none{};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)prctl(PR_SET_DUMPABLE, 0);
}

#ifdef __GLIBC__
void keep_heap_small() {
  constexpr int kLarge = 64 << 10;  // Once set, glibc no longer raises it to the largest freed.
  (void)mallopt(M_MMAP_THRESHOLD, kLarge);
  (void)mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
  (void)mallopt(M_ARENA_MAX, 1);
}
void give_back_heap() { (void)malloc_trim(0); }
#else
void keep_heap_small() {}
void give_back_heap() {}
#endif

}  // namespace etcdop
