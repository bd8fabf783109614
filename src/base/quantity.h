// Kubernetes quantities of bytes ("200Mi", "1.5G", 1e9): parsed once, where they enter. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace etcdop {

/// Bytes, rounded up as resource.Quantity's Value() does, capped at the largest std::int64_t;
/// nullopt if the text is not a quantity.
std::optional<std::int64_t> bytes_of(std::string_view quantity);

}  // namespace etcdop
