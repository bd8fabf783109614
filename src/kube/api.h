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

/// Named as in RBAC. Update is never sent: it is a permission that owner references need.
enum class Verb { Get, List, Watch, Create, Patch, Delete, Update };
/// Merge: RFC 7386. Json: RFC 6902, with `test` as precondition. Apply: server-side apply by us,
/// forced.
enum class PatchType { Merge, Json, Apply };

/// One request, as a value. `name` is empty for List, Watch and Create; `ns` is empty for "all
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

/// A set of verbs, as a constant.
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

/// One row of a controller's permissions. The table is in the controller's rbac.h. The compiler
/// checks its calls against the table (granted.h), and the chart's rules are generated from it.
struct Permission {
  Resource resource;
  std::string_view subresource;
  Verbs verbs;
  std::string_view name = {};  ///< The only object for which it is granted; empty: all.
};

/// Whether one row grants all these verbs.
constexpr bool grants(std::span<const Permission> table, const Resource& resource,
                      std::string_view subresource, const Verbs& verbs) {
  for (const Permission& row : table)
    if (std::string_view(row.resource.group) == resource.group &&
        std::string_view(row.resource.plural) == resource.plural &&
        row.subresource == subresource && row.verbs.contain(verbs))
      return true;
  return false;
}

/// Every call may suspend the calling fiber, and has its own deadline within the fiber's.
///
/// Errors: NotFound 404; AlreadyExists 409 with that reason; Conflict any other 409, a failed
/// JSON-patch `test`, and a merge patch with another metadata.uid (422); Invalid 400, 415, any
/// other 422; Denied 401, 403; Expired 410; Unavailable: it did not happen (refused, 429 and 503
/// after the retries that Retry-After allowed); for a write Lost: it may have happened (500, 504,
/// connection cut after sending). TimedOut and Cancelled as in base/result.h. The message is that
/// of the server's Status object.
class Api {
 public:
  virtual ~Api() = default;
  /// The object (or list, or Status) in the server's answer.
  virtual Result<Json> call(const Call&) = 0;
  /// One page of a list (`call` is a List): passes each object to `item`, which must not suspend,
  /// and returns the page without them. After an error some objects may have been passed. The
  /// client has one object at a time in memory.
  virtual Result<Json> list(const Call& call, const std::function<void(const Json&)>& item);
  /// Calls `each` for every event until it returns false, the server closes (success), or the
  /// connection is silent for longer than bookmarks allow (TimedOut). Expired: list again.
  virtual Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>& each) = 0;
};

}  // namespace etcdop::kube
