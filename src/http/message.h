// A request and its answer, as values; shared by our client and our server.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fiber.h"

namespace etcdop::http {

struct Request {
  std::string method = "GET", target = {};
  /// The client writes Host, Content-Length and Transfer-Encoding itself.
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  /// For watches: TimedOut after this time without a byte. Does not move the deadline.
  std::optional<Duration> silence_limit = {};
  /// Sent after `headers`, in this order; a name may appear more than once.
  std::vector<std::pair<std::string, std::string>> further_headers = {};
  /// Sent after `body`, without a copy: it must outlive the call.
  std::string_view large_body = {};
};

/// Header names compare in lower case: they are ASCII.
inline std::string lower_case(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< Names in lower case; the last of repeated names.
  std::string body;                            ///< Empty if it went to a sink.
};

}  // namespace etcdop::http
