// Durations as people write them in fields and annotations.
#pragma once
#include <optional>
#include <string_view>

namespace etcdop {

/// "1h30m", "1.5h", in seconds, as Go's time.ParseDuration reads it. nullopt for anything else, and
/// for text with a sign or a leading point.
std::optional<double> to_seconds(std::string_view);

}  // namespace etcdop
