// Base64 (RFC 4648), for the fields that Kubernetes keeps as bytes: Secrets, inline certificates.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace etcdop {

/// Strict: the standard alphabet, padded, no bits left over. Skips line breaks and spaces, because
/// long values are often folded. nullopt for anything else; "" is "".
std::optional<std::string> from_base64(std::string_view);

/// Padded, without line breaks.
std::string to_base64(std::string_view);

}  // namespace etcdop
