// Temporary credentials for an object store that a Pod gets for its identity, instead of keys in a
// Secret.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "base/wall_time.h"
#include "http/http_client.h"
#include "s3/sigv4.h"

namespace etcdop::s3 {

/// The Pod's ServiceAccount token, which STS or a compatible service exchanges for a role
/// (AssumeRoleWithWebIdentity).
struct WebIdentity {
  std::string endpoint;  ///< "https://sts.eu-west-1.amazonaws.com"
  std::string token_path, role, session;
  bool operator==(const WebIdentity&) const = default;
};

/// An agent on the node serves credentials (EKS Pod Identity, ECS).
struct NodeIdentity {
  std::string endpoint;    ///< "http://169.254.170.23"
  std::string target;      ///< "/v1/credentials"
  std::string token_path;  ///< Path of the token to send; empty: no token.
  bool operator==(const NodeIdentity&) const = default;
};

using PodIdentity = std::variant<WebIdentity, NodeIdentity>;

inline const std::string& endpoint_of(const PodIdentity& identity) {
  return std::visit([](const auto& one) -> const std::string& { return one.endpoint; }, identity);
}

struct Lent {
  Credentials credentials;
  std::optional<WallTime> until;  ///< nullopt: valid for ever.
};

/// `token`: the content of the file.
http::Request to_request(const PodIdentity&, const std::string& token);
/// Denied: it was refused, and only people can fix that. Unavailable: try again. Corrupt: not a
/// valid answer. No error quotes a secret.
Result<Lent> to_lent(const PodIdentity&, const http::Response&);

/// Whether an error is about these credentials, and not about the request that needed them.
bool is_of_identity(const Error&);

/// Keeps the borrowed credentials, and renews them well before they expire. The token's file is
/// read each time, because the kubelet replaces it. Calls may run at the same time; one fiber
/// borrows at a time.
class Borrowed {
 public:
  /// `dial` connects to the identity's endpoint. References must outlive this.
  Borrowed(Executor&, const WallClock&, PodIdentity, http::HttpClient::Dial dial);
  /// Suspends, for kAskLimit at most if it has to ask. If that fails, returns the previous
  /// credentials until they expire. Errors as for to_lent(); Denied if the token's file cannot be
  /// read.
  Result<Credentials> get();

  static constexpr Duration kAskLimit = std::chrono::seconds(15);
  /// Renewal before the end; a quarter of the lifetime, if that is less.
  static constexpr std::chrono::seconds kEarlier{300};
  /// Retry after a failure, while the previous credentials are valid.
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
  std::optional<WallTime> again_;  // Set with `lent_`; nullopt: never.
};

}  // namespace etcdop::s3
