// A hash that is the same in every build and on every machine. No protection against attackers.
#pragma once
#include <cstdint>
#include <string_view>

namespace etcdop {

/// FNV-1a, 64 bits.
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace etcdop
