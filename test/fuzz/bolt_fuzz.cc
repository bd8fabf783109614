// A database from a bucket or a volume: nothing in it is trusted.
#include <string>
#include <string_view>

#include "agent/database_facts.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  const std::string_view file(data, size);
  std::size_t reads = 0;
  const auto read_at = [&](std::uint64_t offset, std::size_t count) -> Result<std::string> {
    check(count <= (1 << 20), "memory is bounded");
    check(++reads < 1'000'000, "it ends");
    if (offset >= file.size()) return std::string();
    return std::string(file.substr(static_cast<std::size_t>(offset), count));
  };
  for (const std::uint64_t said : {std::uint64_t{size}, std::uint64_t{1} << 40}) {
    reads = 0;
    (void)agent::read_facts(read_at, said);
  }
  return 0;
}
