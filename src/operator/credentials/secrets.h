// Secrets, each read by its name when it is needed and kept for a while: nobody here may list them.
#pragma once
#include <map>
#include <memory>

#include "base/fiber.h"
#include "kube/granted.h"
#include "kube/secret_object.h"

namespace etcdop {

/// A call that has no row here does not compile; the chart's rules are generated from it.
inline constexpr kube::Permission kSecretPermissions[] = {
    {kube::SecretObject::resource, "", {kube::Verb::Get}}};

/// Expected flow: whoever needs a Secret asks for it in each pass; at rest that is one call of the
/// API in 5 min for each. What does not exist, or is of no use (doubt), is asked for again after a
/// second, and then less and less often, each minute in the end.
class Secrets {
 public:
  using Value = std::shared_ptr<const kube::SecretObject>;
  /// Both outlive this.
  Secrets(Executor& executor, kube::Granted<kSecretPermissions> api)
      : executor_(executor), api_(api) {}

  /// The same pointer as long as it is the same version of it. While the API does not answer, what
  /// was known before. NotFound: there is none. Suspends.
  Result<Value> get(const api::ObjectKey&);
  /// That value is of no use: it is read again sooner.
  void doubt(const api::ObjectKey&, const Value&);
  /// It is read again when it is next asked for.
  void expire(const api::ObjectKey&);
  /// As the API answered to a write of ours.
  void wrote(kube::SecretObject);

 private:
  struct Entry {
    Result<Value> value = Error{Code::NotFound, ""};
    Instant read{}, again = Instant::min(), used{};
    Duration pause{};
    bool doubted = false;
  };
  void keep(Entry&, Result<kube::SecretObject> read);
  void sweep();

  Executor& executor_;
  kube::Granted<kSecretPermissions> api_;
  std::map<api::ObjectKey, Entry> entries_;
  Instant swept_{};
};

/// Of one that could not be read: "does not exist", or why.
std::string why_unread(const Result<Secrets::Value>&);

}  // namespace etcdop
