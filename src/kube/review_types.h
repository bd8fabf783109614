// TokenReview and SubjectAccessReview: questions to the API server about another client. They are
// created and never stored: the answer to the create is the whole object, with its status.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/describe.h"
#include "api/meta.h"

namespace etcdop::kube {

/// A user's identity, as the API server knows it.
struct UserInfo {
  std::string username, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool operator==(const UserInfo&) const = default;

  template <class S = UserInfo>
  static auto describe() {
    return api::value(api::sparse("username", &S::username), api::sparse("uid", &S::uid),
                      api::sparse("groups", &S::groups), api::sparse("extra", &S::extra));
  }
};

struct TokenReviewStatus {
  bool authenticated = false;  ///< `user` is the owner of the token.
  UserInfo user;
  bool operator==(const TokenReviewStatus&) const = default;

  template <class S = TokenReviewStatus>
  static auto describe() {
    return api::value(api::sparse("authenticated", &S::authenticated),
                      api::sparse("user", &S::user));
  }
};

/// Asks which user a token belongs to. The spec, with the token, is only written.
struct TokenReview {
  static constexpr api::Resource resource{"authentication.k8s.io", "v1", "tokenreviews",
                                          "TokenReview"};
  TokenReviewStatus status;
  bool operator==(const TokenReview&) const = default;

  template <class S = TokenReview>
  static auto describe() {
    return api::value(api::sparse("status", &S::status));
  }
};

struct SubjectAccessReviewStatus {
  bool allowed = false;
  bool operator==(const SubjectAccessReviewStatus&) const = default;

  template <class S = SubjectAccessReviewStatus>
  static auto describe() {
    return api::value(api::sparse("allowed", &S::allowed));
  }
};

/// Asks whether a user may do something. The spec, with the user and the action, is only written.
struct SubjectAccessReview {
  static constexpr api::Resource resource{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                          "SubjectAccessReview"};
  SubjectAccessReviewStatus status;
  bool operator==(const SubjectAccessReview&) const = default;

  template <class S = SubjectAccessReview>
  static auto describe() {
    return api::value(api::sparse("status", &S::status));
  }
};

}  // namespace etcdop::kube

namespace etcdop::api {
extern template struct Codec<kube::TokenReview>;
extern template struct Codec<kube::SubjectAccessReview>;
}  // namespace etcdop::api
