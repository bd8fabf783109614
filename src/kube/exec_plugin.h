// Credentials from a kubeconfig's exec plugin. The plugin runs when no credentials are known, when
// they have expired and when the server refused them (client.authentication.k8s.io/v1 and v1beta1,
// never interactive).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fiber.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/wall_time.h"
#include "kube/config.h"
#include "sys/command.h"

namespace etcdop::kube {

/// ExecCredential.status: a token, or a certificate with its key, or both.
struct PluginCredential {
  Secret token;
  std::string certificate;  ///< PEM.
  Secret key;               ///< PEM, key of `certificate`.
  std::optional<WallTime> expires;
};

/// Parses the plugin's output. Invalid: the message names the field, and quotes nothing.
Result<PluginCredential> parse_plugin_output(const ExecPlugin&, const std::string& output);

/// Runs a program to its end; outside tests this is run_command.
using RunPlugin = std::function<Result<CommandOutput>(const Command&)>;

/// The plugin's last credential, for all clients of one Config and their dialer.
///
/// Guarantees: at most one run at a time, for at most kRunLimit, on its own fiber. A caller whose
/// deadline is sooner does not end the run, so that a slow plugin can finish. Its result, also a
/// failure, is kept for at least kAgeMin: the plugin runs no more often than that.
class PluginCredentials {
 public:
  static constexpr Duration kRunLimit = std::chrono::seconds(30);
  static constexpr Duration kAgeMin = std::chrono::seconds(10);
  static constexpr Duration kFailureAge = std::chrono::seconds(5);
  using Current = std::shared_ptr<const PluginCredential>;

  /// References must outlive this. This must outlive its executor's run.
  PluginCredentials(Executor&, const WallClock&, ExecPlugin, RunPlugin);
  /// Suspends while the plugin runs. Unavailable: it failed; the message has the kubeconfig's field
  /// and the end of the plugin's error output. TimedOut and Cancelled: it still runs.
  Result<Current> get();
  /// The server refused `refused`. True if a retry is of use: the next get() returns another
  /// credential, or runs the plugin. False if that would be too soon.
  bool expire(const Current& refused);
  /// Ends a running plugin and starts no other; get() then returns Cancelled.
  void close();

 private:
  bool fresh() const;
  void renew();
  Result<PluginCredential> ask() const;
  Executor& executor_;
  const WallClock& wall_clock_;
  const ExecPlugin plugin_;
  const RunPlugin run_;
  Current current_;
  bool refused_ = false;
  std::optional<Error> failure_;  // Failure of the last run.
  Instant asked_at_{};            // When the last run ended.
  std::shared_ptr<Fiber> running_;
  bool closed_ = false;
};

}  // namespace etcdop::kube
