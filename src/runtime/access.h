// Access control of this process's HTTP endpoints. The API server tells which user a caller's token
// belongs to (TokenReview), and whether that user may read the path (SubjectAccessReview).
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "base/log.h"
#include "http/server.h"
#include "kube/granted.h"
#include "kube/review_types.h"

namespace etcdop::runtime {

/// A call without a row here does not compile; the chart's rules are generated from it.
inline constexpr kube::Permission kAccessPermissions[] = {
    {kube::TokenReview::resource, "", {kube::Verb::Create}},
    {kube::SubjectAccessReview::resource, "", {kube::Verb::Create}}};

/// The same table, as a list.
std::vector<kube::Permission> access_permissions();

/// The API server's answer about a caller: permitted; not a user it knows; not permitted; or no
/// answer.
enum class Access { Granted, Unknown, Refused, Undecided };

/// Guarantees: returns within Options::limit. Keeps only the SHA-256 of tokens.
///
/// Caveats: answers are cached. A revoked token or permission works for up to Options::granted_for;
/// a new permission may be refused for up to Options::refused_for. A missing answer is never
/// cached.
class AccessReviews {
 public:
  struct Options {
    Duration granted_for = std::chrono::seconds(60);
    Duration refused_for = std::chrono::seconds(10);
    Duration limit = std::chrono::seconds(5);  ///< For both reviews of a request.
    std::size_t kept = 256;  ///< At least 1; a new answer replaces the first to expire.
  };
  /// All of them must outlive this.
  AccessReviews(kube::Granted<kAccessPermissions>, Executor&, Log&, Options);

  /// Whether the sender of this header ("Bearer TOKEN"; empty: not sent) may get `path`. Suspends.
  Access review(const std::string& authorization, const std::string& path);
  /// Runs `handler` for callers that may get the requested path; answers 401, 403 or 503 to others.
  http::Server::Handler guard(http::Server::Handler handler);

 private:
  struct Kept {
    Access access;
    Instant until;
  };
  using Question = std::pair<std::string, std::string>;  // SHA-256 of the token, path.
  Result<Access> ask(const std::string& token, const std::string& path) const;
  void keep(const Question&, Access);

  kube::Granted<kAccessPermissions> api_;
  Executor& executor_;
  Log& log_;
  Options options_;
  std::map<Question, Kept> kept_;
  std::string complaint_;
};

}  // namespace etcdop::runtime
