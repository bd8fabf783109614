// Shared by the reports of agents: their words, their length, and how they are written and read.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "api/codec.h"
#include "base/result.h"

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

/// One line of JSON, at most kAgentReportBytesMax bytes. A message that is too long is cut.
template <class Report>
std::string write_report(const Report& report) {
  return cut_to_fit(report.message, [&](const std::string& message) {
    Report cut = report;
    cut.message = message;
    return serialize(api::encode(cut));
  });
}

/// Corrupt: it is not the JSON of a T. Unknown fields are skipped. `what`: begins the error.
template <class T>
Result<T> from_text(std::string_view text, const std::string& what) {
  boost::system::error_code wrong;
  const Json json = json::parse(text, wrong);
  if (wrong) return Error{Code::Corrupt, what + ": not JSON: " + wrong.message()};
  T out;
  if (const api::Verdict bad = api::Codec<T>::decode(json, out))
    return Error{Code::Corrupt, what + ": " + bad->where + ": " + bad->what};
  return out;
}

/// Corrupt: it is neither a failure nor a success, which lacks what `missing` says (null: nothing).
/// `what`: "the agent's report", for the error.
template <class Report>
Result<Report> read_report(std::string_view text, const std::string& what,
                           const char* (*missing)(const Report&)) {
  auto report = from_text<Report>(text, what);
  if (!report) return report;
  const char* lacks = nullptr;
  if (!report->failed()) lacks = missing(*report);
  else if (!is_report_reason(report->reason)) lacks = "no reason";
  if (lacks) return Error{Code::Corrupt, what + ": " + lacks};
  return report;
}

}  // namespace etcdop
