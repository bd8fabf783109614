// Secrets, each read by its name when it is needed and cached for a while: nothing here may list
// them.
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

/// Usage: each pass asks for the Secrets that it needs; at rest that is one API call per Secret in
/// 5 min. A Secret that does not exist or is invalid (doubt) is read again after a second, then
/// less and less often, in the end once a minute.
class Secrets {
 public:
  using Value = std::shared_ptr<const kube::SecretObject>;
  /// Both outlive this.
  Secrets(Executor& executor, kube::Granted<kSecretPermissions> api)
      : executor_(executor), api_(api) {}

  /// The same pointer as long as its version is the same. While the API does not answer: the last
  /// known value. NotFound: it does not exist. Suspends.
  Result<Value> get(const api::ObjectKey&);
  /// The same, read now: an error while the API does not answer. Suspends.
  Result<Value> ask(const api::ObjectKey&);
  /// That value is invalid: the Secret is read again sooner.
  void doubt(const api::ObjectKey&, const Value&);
  /// The next get() reads it again.
  void expire(const api::ObjectKey&);
  /// The API's answer to our own write.
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

/// Why a Secret could not be read: "does not exist", or the error.
std::string why_unread(const Result<Secrets::Value>&);

}  // namespace etcdop
