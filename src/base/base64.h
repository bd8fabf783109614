// Base64 as RFC 4648 has it, for what Kubernetes keeps as bytes: Secrets, inline certificates.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace etcdop {

/// Strict: the standard alphabet, padded, no bits left over; line breaks and spaces are skipped, as
/// people fold long values. nullopt for anything else; "" is "".
std::optional<std::string> from_base64(std::string_view);

/// Padded, without line breaks.
std::string to_base64(std::string_view);

}  // namespace etcdop
