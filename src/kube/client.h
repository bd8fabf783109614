// kube::Api over HTTP: deadlines, identity, and which requests are retried.
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

/// One API server. Calls may run at the same time, each on its own fiber.
///
/// Guarantees: every read ends within read_limit, every write within write_limit (or the fiber's
/// deadline, if that is sooner). A request that the server refused to begin (429 and 503 with
/// Retry-After) is sent again, at most kAttempts times and as long as the deadline allows. A 401 is
/// retried once, after the token is read again or the exec plugin is run again. A write whose
/// outcome is unknown (Lost, TimedOut) is never retried. A watch ends with TimedOut after
/// silence_limit: it asks for bookmarks, which come each minute, and it asks the server to close
/// after five to ten minutes.
class Client final : public Api {
 public:
  static constexpr int kAttempts = 5;
  /// Called after each exchange; `http_status` 0: no answer came.
  using OnAnswer = std::function<void(Verb, const Resource&, int http_status)>;
  struct Options {
    std::string version;  ///< For User-Agent.
    Duration read_limit = std::chrono::seconds(10);
    /// The API server waits up to 30 s for an admission webhook, and then may go on without it. A
    /// write that is given up sooner would never succeed.
    Duration write_limit = std::chrono::seconds(35);
    Duration silence_limit = std::chrono::seconds(90);
    OnAnswer on_answer = {};
    /// The plugin for the Config's `exec`; set exactly if that is set. Outlives the client. When it
    /// returns another certificate, the dial's next connections use it, and no new call uses older
    /// connections; a running watch keeps its connection.
    PluginCredentials* plugin = nullptr;
  };
  /// `dial` connects and handshakes (dialer.h); it may suspend. References must outlive this.
  Client(Executor&, Random&, const Config&, http::HttpClient::Dial dial, ReadFile, Options);

  Result<Json> call(const Call&) override;
  Result<Json> list(const Call&, const std::function<void(const Json&)>& item) override;
  Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>& each) override;

 private:
  using Exchange = std::function<Result<http::Response>(const http::Request&)>;
  using Read = std::function<Result<Json>(const http::Response&)>;
  /// Sends, and again as often as the server puts it off and the deadline allows; reads the answer.
  Result<Json> persist(const Call&, const Exchange&, const Read&);
  /// Sends with our identity; once more with a new token after a 401.
  Result<http::Response> exchange(const Call&, http::Request&, const Exchange&);
  /// Adds our identity; `credential` is set if there is a plugin.
  Result<Done> identify(http::Request&, PluginCredentials::Current& credential);
  Executor& executor_;
  Random& random_;
  Options options_;
  std::string base_path_;
  std::vector<std::pair<std::string, std::string>> impersonation_;
  BearerToken token_;
  PluginCredentials::Current shown_;  // The credential whose certificate our connections use.
  http::HttpClient http_;
};

}  // namespace etcdop::kube
