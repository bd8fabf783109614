// kube::Api over HTTP: deadlines, identity, what is tried again and what is not.
#pragma once
#include <functional>
#include <string>

#include "base/random.h"
#include "http/http_client.h"
#include "kube/api.h"
#include "kube/config.h"

namespace etcdop::kube {

/// One API server. Calls may run side by side, each on its own fiber.
///
/// Guarantees: every call ends within call_limit (of the fiber's deadline, if that is sooner).
/// What the server refused to begin (429 and 503 with Retry-After) is sent again, at most kAttempts
/// times and as long as the deadline allows; a 401 once, with the token read anew; a write whose
/// fate is unknown never (Lost, TimedOut). A watch ends with TimedOut after silence_limit:
/// bookmarks are asked for and come each minute, and the server is asked to close after five to ten
/// minutes.
class Client final : public Api {
 public:
  static constexpr int kAttempts = 5;
  /// After each exchange; `http_status` 0: no answer came.
  using OnAnswer = std::function<void(Verb, const Resource&, int http_status)>;
  struct Options {
    std::string version;  ///< For User-Agent.
    Duration call_limit = std::chrono::seconds(10);
    Duration silence_limit = std::chrono::seconds(90);
    OnAnswer on_answer = {};
  };
  /// `dial` connects and handshakes (dialer.h); it may suspend. References are used as long as this
  /// lives.
  Client(Executor&, Random&, const Config&, http::HttpClient::Dial dial, ReadFile, Options);

  Result<Json> call(const Call&) override;
  Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>& each) override;

 private:
  using Exchange = std::function<Result<http::Response>(const http::Request&)>;
  /// With identity; once more with a new token, if the server does not know us.
  Result<http::Response> exchange(const Call&, http::Request&, const Exchange&);
  Executor& executor_;
  Random& random_;
  Options options_;
  std::string base_path_;
  BearerToken token_;
  http::HttpClient http_;
};

}  // namespace etcdop::kube
