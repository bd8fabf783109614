// The Kubernetes API as the program sees it: one virtual interface for JSON requests (call and
// watch), and typed functions over it. Implemented by the client (client.h), by fakes and by the
// simulation.
#pragma once
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "api/meta.h"
#include "base/json.h"
#include "base/result.h"

namespace etcdop::kube {

using api::ObjectKey;
using api::Resource;

/// As RBAC names them. Update is never sent: it is a permission that owner references need.
enum class Verb { Get, List, Watch, Create, Patch, Delete, Update };
/// Merge: RFC 7386. Json: RFC 6902, with `test` as precondition. Apply: server-side apply by us,
/// forced.
enum class PatchType { Merge, Json, Apply };

/// One request, a value. `name` is empty for List, Watch and Create; `ns` is empty for "all
/// namespaces".
struct Call {
  Verb verb = Verb::Get;
  Resource resource;
  std::string ns, name;
  std::string subresource;                   ///< "status" or empty.
  PatchType patch = PatchType::Merge;        ///< For Patch.
  std::map<std::string, std::string> query;  ///< labelSelector, limit, continue, resourceVersion...
  Json body;                                 ///< For Create, Patch, Delete (DeleteOptions).
};

struct WatchEvent {
  enum class Type { Added, Modified, Deleted, Bookmark };
  Type type;
  Json object;
};

/// A set of them, as a constant.
class Verbs {
 public:
  constexpr Verbs(std::initializer_list<Verb> verbs) {
    for (const Verb verb : verbs) bits_ |= bit(verb);
  }
  constexpr bool contain(Verb verb) const { return (bits_ & bit(verb)) != 0; }
  constexpr bool contain(const Verbs& all) const { return (bits_ & all.bits_) == all.bits_; }

 private:
  static constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
  unsigned bits_ = 0;
};

/// Who may do what: a controller's rbac.h has a table of these, which the compiler holds its calls
/// against (granted.h), and from which the chart's rules are generated.
struct Permission {
  Resource resource;
  std::string_view subresource;
  Verbs verbs;
};

/// Whether one row is for all these verbs.
constexpr bool grants(std::span<const Permission> table, const Resource& resource,
                      std::string_view subresource, const Verbs& verbs) {
  for (const Permission& row : table)
    if (std::string_view(row.resource.group) == resource.group &&
        std::string_view(row.resource.plural) == resource.plural &&
        row.subresource == subresource && row.verbs.contain(verbs))
      return true;
  return false;
}

/// Every call may suspend the calling fiber, and has a deadline of its own inside the fiber's.
///
/// Errors: NotFound 404; AlreadyExists 409 with that reason; Conflict any other 409, a failed
/// JSON-patch `test`, and a merge patch with another metadata.uid (422); Invalid 400, 415, any
/// other 422; Denied 401, 403; Expired 410; Unavailable: it did not happen (refused, 429 and 503
/// after the retries that Retry-After allowed); for a write Lost: it may have happened (500, 504,
/// connection cut after sending). TimedOut and Cancelled as base/result.h says. The message is that
/// of the server's Status object.
class Api {
 public:
  virtual ~Api() = default;
  /// The object (or list, or Status) that the server answered.
  virtual Result<Json> call(const Call&) = 0;
  /// Calls `each` for every event until it says false, the server closes (success), or the
  /// connection is silent for longer than bookmarks allow (TimedOut). Expired: list again.
  virtual Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>& each) = 0;
};

}  // namespace etcdop::kube
