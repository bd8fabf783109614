// One request and its answer on one connection; the client's pool is built on it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "sys/stream.h"

namespace etcdop::http {

/// The bytes of a request except `large_body`. Invalid: it holds something that HTTP cannot carry,
/// like a line break in a header; the message names it.
Result<std::string> to_wire(const Request&, const std::string& host);

struct ExchangeOptions {
  const std::function<bool(std::string_view)>* sink = nullptr;  ///< For the body of a 2xx answer.
  std::size_t header_limit = 0, body_limit = 0;  ///< Bytes; `body_limit` without a sink.
  std::size_t refusal_limit = 0;  ///< With a sink: bytes kept of the body of a non-2xx answer.
  std::optional<Duration> silence_limit;
  bool head = false;  ///< The answer has no body, whatever its header says.
};

struct Exchanged {
  Result<Response> response;
  bool answered = false;  ///< Some bytes arrived.
  bool reusable = false;  ///< The connection may take another request.
};

/// Sends `request`, then `large_body`, and reads the answer, which suspends. Errors as for
/// HttpClient.
Exchanged exchange(Executor&, Stream&, std::string_view request, std::string_view large_body,
                   const ExchangeOptions&);

}  // namespace etcdop::http
