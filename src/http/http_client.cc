#include "http/http_client.h"

#include <utility>

#include "base/permit.h"
#include "http/http_exchange.h"

namespace etcdop::http {
namespace {

bool repeatable(const Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

HttpClient::HttpClient(Executor& executor, Dial dial, Options options)
    : executor_(executor),
      dial_(std::move(dial)),
      options_(std::move(options)),
      connections_(executor, options_.connections),
      streams_(executor, options_.streams) {}

Result<Response> HttpClient::send(const Request& request) {
  return perform(request, connections_, nullptr);
}

Result<Response> HttpClient::stream(const Request& request, const Sink& sink) {
  return perform(request, streams_, &sink);
}

Result<Response> HttpClient::perform(const Request& request, Semaphore& line, const Sink* sink) {
  auto bytes = to_wire(request, options_.host);
  if (!bytes) return bytes.error();
  const std::string doing = request.method + ' ' + request.target;
  if (const Woken woken = line.acquire(); woken != Woken::Ready)
    return to_result(woken, doing.c_str()).error();
  const Permit permit{line};
  bool stale = false;
  auto response = attempt(request, *bytes, sink, stale);
  if (stale) {
    kept_.clear();  // The cause that closed one connection usually closed them all.
    if (repeatable(request)) response = attempt(request, *bytes, sink, stale);
  }
  if (!response) return Error(response.error()).during(doing);
  return response;
}

Result<Response> HttpClient::attempt(const Request& request, const std::string& bytes,
                                     const Sink* sink, bool& stale) {
  const std::uint64_t renewals = renewals_;
  auto connection = take_kept();
  const bool kept = connection != nullptr;
  if (!kept) {
    auto dialed = dial_();
    if (!dialed) return dialed.error();
    connection = std::move(*dialed);
  }
  const ExchangeOptions options{sink,          options_.header_limit, options_.body_limit,
                                kRefusalLimit, request.silence_limit, request.method == "HEAD"};
  auto [response, answered, reusable] =
      exchange(executor_, *connection, bytes, request.large_body, options);
  if (reusable && renewals == renewals_) keep(std::move(connection));
  stale = kept && !answered && response.failed_with(Code::Lost);
  return std::move(response);
}

void HttpClient::renew_connections() {
  ++renewals_;
  kept_.clear();
}

std::unique_ptr<Stream> HttpClient::take_kept() {
  std::erase_if(kept_,
                [&](const Kept& k) { return executor_.now() - k.since > options_.kept_limit; });
  if (kept_.empty()) return nullptr;
  auto connection = std::move(kept_.back().connection);
  kept_.pop_back();
  return connection;
}

void HttpClient::keep(std::unique_ptr<Stream> connection) {
  if (options_.kept == 0) return;
  if (kept_.size() == options_.kept) kept_.erase(kept_.begin());  // The longest idle.
  kept_.push_back({std::move(connection), executor_.now()});
}

}  // namespace etcdop::http
