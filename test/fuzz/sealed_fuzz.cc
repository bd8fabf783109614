// Sealed snapshots, which any user of a bucket can write: the first byte is the size of the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/sealed.h"
#include "base/check.h"

namespace etcdop {
namespace {

const agent::Sealing& sealing() {
  static const agent::Sealing one = [] {
    auto key = agent::to_sealing_key(Secret(std::string(kAeadKeyBytes, 'k')));
    check(static_cast<bool>(key), "32 bytes are a key");
    return agent::Sealing{*key, std::string(agent::kSealSaltBytes, 's')};
  }();
  return one;
}

bool opens(std::string_view sealed, std::size_t step, std::string& plain) {
  const agent::SealingKey& key = sealing().key;
  agent::Opener opener({{key.id, key.key}}, [&](std::string_view bytes) {
    plain += bytes;
    return Done{};
  });
  for (; !sealed.empty(); sealed.remove_prefix(std::min(step, sealed.size())))
    if (!opener.add(sealed.substr(0, step))) return false;
  return static_cast<bool>(opener.end());
}

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace etcdop;
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string plain;
  // Only bytes that our key has sealed can be opened, and the fuzzer lacks that key.
  if (opens(bytes, step, plain)) check(agent::is_sealed(bytes), "nothing else opens");
  std::string sealed, back;
  agent::Sealer sealer(sealing(), [&](std::string_view piece) {
    sealed += piece;
    return Done{};
  });
  check(sealer.add(bytes) && sealer.end(), "anything can be sealed");
  check(opens(sealed, step, back) && back == bytes, "and opens to what it was");
  return 0;
}
