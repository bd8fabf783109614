// A request and its answer, as values; the same for our client and our server.
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
  /// Host, Content-Length and Transfer-Encoding are the client's to write.
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  /// For watches: TimedOut once nothing has arrived for so long. Does not move the deadline.
  std::optional<Duration> silence_limit = {};
  /// Sent after `headers`, in this order; a name may be there more than once.
  std::vector<std::pair<std::string, std::string>> further_headers = {};
  /// Comes after `body`, and is not copied: it outlives the call.
  std::string_view large_body = {};
};

/// As names of headers compare: they are ASCII.
inline std::string lower_case(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< Names in lower case; of equal names, the last.
  std::string body;                            ///< Empty if it went to a sink.
};

}  // namespace etcdop::http
