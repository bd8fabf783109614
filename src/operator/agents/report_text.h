// What the reports of agents have in common: the words that may stand in them, and their length.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace etcdop {

/// What the kubelet keeps of a termination message.
inline constexpr std::size_t kAgentReportBytesMax = 4096;

/// "NoSpace".
bool is_report_reason(std::string_view text);
/// "s3://bucket/key" or "file:///folder/name.db".
bool is_report_uri(std::string_view text);
/// "sha256:" and 64 hex digits.
bool is_report_checksum(std::string_view text);
bool is_hex(std::string_view text);

/// What `with` makes of the message, or of as much of its beginning as kAgentReportBytesMax bytes
/// have room for; what is no UTF-8 in it is replaced.
std::string cut_to_fit(const std::string& message,
                       const std::function<std::string(const std::string& message)>& with);

}  // namespace etcdop
