// Spans of time as people write them in fields and annotations.
#pragma once
#include <optional>
#include <string_view>

namespace etcdop {

/// "1h30m", "1.5h", in seconds, as Go's time.ParseDuration reads it; nullopt for anything else, and
/// for what has a sign or begins with its point.
std::optional<double> to_seconds(std::string_view);

}  // namespace etcdop
