// kube::Api over HTTP: deadlines, identity, what is tried again and what is not.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "http/http_client.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/exec_plugin.h"

namespace etcdop::kube {

/// One API server. Calls may run side by side, each on its own fiber.
///
/// Guarantees: every call ends within call_limit (of the fiber's deadline, if that is sooner).
/// What the server refused to begin (429 and 503 with Retry-After) is sent again, at most kAttempts
/// times and as long as the deadline allows; a 401 once, with the token read anew or the exec
/// plugin run anew; a write whose fate is unknown never (Lost, TimedOut). A watch ends with
/// TimedOut after silence_limit: bookmarks are asked for and come each minute, and the server is
/// asked to close after five to ten minutes.
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
    /// Of the Config's `exec`, and there exactly if that is; outlives the client. Once it gives
    /// another certificate, the dial's next connections have that, and no call uses older ones; a
    /// watch under way keeps its connection.
    PluginCredentials* plugin = nullptr;
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
  /// Fills in who we are; `credential` is the plugin's, if there is one.
  Result<Done> identify(http::Request&, PluginCredentials::Current& credential);
  Executor& executor_;
  Random& random_;
  Options options_;
  std::string base_path_;
  std::vector<std::pair<std::string, std::string>> impersonation_;
  BearerToken token_;
  PluginCredentials::Current shown_;  // Whose certificate our connections have.
  http::HttpClient http_;
};

}  // namespace etcdop::kube
