// Kubernetes quantities of bytes ("200Mi", "1.5G", 1e9): read once, where they come in. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace etcdop {

/// Bytes, rounded up as resource.Quantity's Value() does, and at most the largest number there is;
/// nullopt for what is no quantity.
std::optional<std::int64_t> bytes_of(std::string_view quantity);

}  // namespace etcdop
