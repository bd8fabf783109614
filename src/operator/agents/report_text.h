// Shared by the reports of agents: their words, and their length.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace etcdop {

/// The size up to which the kubelet keeps a termination message.
inline constexpr std::size_t kAgentReportBytesMax = 4096;

/// "NoSpace".
bool is_report_reason(std::string_view text);
/// "s3://bucket/key" or "file:///folder/name.db".
bool is_report_uri(std::string_view text);
/// "sha256:" and 64 hex digits.
bool is_report_checksum(std::string_view text);
bool is_hex(std::string_view text);

/// Calls `with` on the message, or on as much of its beginning as fits into kAgentReportBytesMax
/// bytes. Bytes that are not UTF-8 are replaced.
std::string cut_to_fit(const std::string& message,
                       const std::function<std::string(const std::string& message)>& with);

}  // namespace etcdop
