// Who may read what this process serves: the API server is asked whose the caller's token is
// (TokenReview), and whether they may have the path (SubjectAccessReview).
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

/// A call that has no row here does not compile; the chart's rules are generated from it.
inline constexpr kube::Permission kAccessPermissions[] = {
    {kube::TokenReview::resource, "", {kube::Verb::Create}},
    {kube::SubjectAccessReview::resource, "", {kube::Verb::Create}}};

/// The same table, as a list.
std::vector<kube::Permission> access_permissions();

/// What the API server says about a caller: may have it; is nobody it knows; may not have it; or
/// it did not say.
enum class Access { Granted, Unknown, Refused, Undecided };

/// Guarantees: an answer is given within Options::limit. Of tokens only their SHA-256 is kept.
///
/// Caveats: what the API server has said counts for a while: a token or a right that is taken away
/// works for up to Options::granted_for, one that is given may be refused for Options::refused_for.
/// That it did not say is never kept.
class AccessReviews {
 public:
  struct Options {
    Duration granted_for = std::chrono::seconds(60);
    Duration refused_for = std::chrono::seconds(10);
    Duration limit = std::chrono::seconds(5);  ///< For both reviews of a request.
    std::size_t kept = 256;  ///< At least 1; one answer more displaces the one that ends first.
  };
  /// All of them outlive this.
  AccessReviews(kube::Granted<kAccessPermissions>, Executor&, Log&, Options);

  /// Whether who sent this header ("Bearer TOKEN"; empty: none was sent) may get `path`. Suspends.
  Access review(const std::string& authorization, const std::string& path);
  /// `handler` for those who may get the path that they ask for; 401, 403 or 503 for the others.
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
