// Credentials of an object store that a Pod is lent for who it is, in place of keys in a Secret.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "base/wall_time.h"
#include "http/http_client.h"
#include "s3/sigv4.h"

namespace etcdop::s3 {

/// The token of its ServiceAccount, which STS, or what is like it, takes for a role
/// (AssumeRoleWithWebIdentity).
struct WebIdentity {
  std::string endpoint;  ///< "https://sts.eu-west-1.amazonaws.com"
  std::string token_path, role, session;
  bool operator==(const WebIdentity&) const = default;
};

/// Somebody on the node hands them out (EKS Pod Identity, ECS).
struct NodeIdentity {
  std::string endpoint;    ///< "http://169.254.170.23"
  std::string target;      ///< "/v1/credentials"
  std::string token_path;  ///< Of what is shown there; empty: nothing is.
  bool operator==(const NodeIdentity&) const = default;
};

using PodIdentity = std::variant<WebIdentity, NodeIdentity>;

inline const std::string& endpoint_of(const PodIdentity& identity) {
  return std::visit([](const auto& one) -> const std::string& { return one.endpoint; }, identity);
}

struct Lent {
  Credentials credentials;
  std::optional<WallTime> until;  ///< nullopt: for ever.
};

/// `token`: what is in the file.
http::Request to_request(const PodIdentity&, const std::string& token);
/// Denied: it was refused, which only people can mend. Unavailable: ask again. Corrupt: that is no
/// answer. None quotes a secret.
Result<Lent> to_lent(const PodIdentity&, const http::Response&);

/// That an error is about these credentials, and not about what they were to be used for.
bool is_of_identity(const Error&);

/// Keeps what was lent, and borrows anew well before it ends: the token's file is read each time,
/// as the kubelet replaces it. Calls may run side by side; one borrows at a time.
class Borrowed {
 public:
  /// `dial` connects to the identity's endpoint. References are used as long as this lives.
  Borrowed(Executor&, const WallClock&, PodIdentity, http::HttpClient::Dial dial);
  /// Suspends, for kAskLimit at most if it has to ask. While that fails, what was lent before,
  /// until it ends. Errors as of to_lent(); Denied, if the file with the token cannot be read.
  Result<Credentials> get();

  static constexpr Duration kAskLimit = std::chrono::seconds(15);
  /// Before the end; a quarter of the whole time, if that is less.
  static constexpr std::chrono::seconds kEarlier{300};
  /// After it failed, as long as something is lent.
  static constexpr std::chrono::seconds kFailedAgain{30};
  static constexpr std::size_t kAnswerBytesMax = 64 << 10;

 private:
  bool fresh() const;
  Result<Lent> ask();
  Result<Done> borrow();

  Executor& executor_;
  const WallClock& wall_;
  const PodIdentity identity_;
  http::HttpClient http_;
  Semaphore line_;
  std::optional<Lent> lent_;
  std::optional<WallTime> again_;  // With `lent_`; nullopt: never.
};

}  // namespace etcdop::s3
