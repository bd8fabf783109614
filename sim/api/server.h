// The API server of simulated worlds and tests: as strict as a real one, and stricter where no
// correct program goes.
#pragma once
#include <any>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "base/wall_time.h"
#include "kube/api.h"
#include "sim/api/fields.h"
#include "sim/api/schema.h"

namespace etcdop::sim {

using api::ObjectKey;
using api::Resource;

/// A kind that the server serves.
struct ApiKind {
  Resource resource;
  bool namespaced = true;
  bool status = false;      ///< Has a status sub-resource.
  bool generation = false;  ///< metadata.generation counts spec changes, as for custom kinds.
  /// As for Pods: once the Pod is on a node, delete only marks it; the kubelet (erase()) ends it.
  bool graceful = false;
  bool answers_last = false;  ///< As for Services: a delete answers the object, not a Status.
  bool scale = false;         ///< Has a scale sub-resource; its number is spec.replicas.
  std::shared_ptr<const Schema> schema = {};  ///< For custom kinds; null: everything is accepted.
  /// Called with every object that is to be stored, after defaulting, and the object that it
  /// replaces (null: none). Its error is the answer.
  std::function<Result<Done>(const Json& next, const Json& before)> validate = {};
  /// Called with every object that is to be stored.
  std::function<void(json::object&)> fill_in = {};
};

/// A kind that describes itself (api/describe.h), as its CustomResourceDefinition says.
template <class T>
ApiKind custom_kind() {
  return {.resource = T::resource,
          .status = true,
          .generation = true,
          .scale = true,
          .schema = std::make_shared<const Schema>(api::schema<T>())};
}

/// Whether a permission allows that call.
bool permits(const std::vector<kube::Permission>&, const kube::Call&);
/// "patch etcdmembers/status prod/db-x", "list pods /" ("/": all).
std::string line_of(const kube::Call&);

/// The connection between the server and a watcher. May change while watches are open.
class WatchLine {
 public:
  /// Delays each event by this much.
  std::function<Duration()> lag = {};
  /// TimedOut after this long without an event, as in kube::Client.
  Duration silence_limit = Duration::max();
  /// No event arrives before that.
  void silent_until(Instant);
  bool is_silent(Instant now) const { return now < silent_until_; }
  /// Ends every watch: with success, as the server sometimes does, or with an error.
  void cut(std::optional<Error> how = std::nullopt);

 private:
  friend class ApiServer;
  Instant silent_until_{};
  std::uint64_t cuts_ = 0;
  std::optional<Error> how_;
  std::list<Wait*> waiting_;
};

/// Stores objects as JSON with UID, resourceVersion, generation and finalizers. Serves get, list
/// (paged, selected), watch (from a version, bookmarks, 410), create, merge and JSON patch,
/// server-side apply, the status sub-resource, delete with preconditions. Models terminating
/// namespaces, a garbage collector, evictions and their budgets (whole numbers only). test/contract
/// checks the same on a real API server.
///
/// Misuse is what only a faulty program does: a resource or verb that is not served, an unknown
/// query parameter, a request without the names that it needs.
///
/// Caveats: field managers are stored apart, not shown in metadata.managedFields; built-in kinds
/// have no schema and no defaults (ApiKind::validate and fill_in may add them), custom kinds have
/// no rules (CEL); nothing runs by itself: controllers run only in run_controllers(), and there is
/// no kubelet.
class ApiServer {
 public:
  using Misuse = std::function<void(const std::string&)>;
  using Object = std::shared_ptr<const Json>;
  ApiServer(const WallClock&, Misuse);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;

  void serve(ApiKind);
  /// A kind that clients may ask for but that is not installed: NotFound, until it is served.
  void lack(const Resource&);
  /// Every call but a watch; takes effect at once. A call that is not modelled is Denied, and
  /// misuse.
  Result<Json> perform(const kube::Call&);
  /// kube::Api::watch on `caller`'s running fiber.
  Result<Done> watch(Executor& caller, const kube::Call&,
                     const std::function<bool(kube::WatchEvent)>& each, WatchLine&);

  // Changes behind the program's back: they never suspend, are not recorded and fail nothing.

  /// Creates the object, status included, and returns it as stored. The name must be free.
  Json put(const Resource&, Json manifest);
  std::optional<Json> find(const Resource&, const ObjectKey&) const;
  /// Null if absent.
  Object look(const Resource&, const ObjectKey&) const;
  /// Ordered by namespace and name.
  std::vector<Json> all(const Resource&) const;
  std::vector<Object> look_all(const Resource&) const;
  /// The object as its kind's type; null: absent, or cannot be parsed. Each version is parsed once
  /// only, because worlds look at everything each second.
  template <class T>
  std::shared_ptr<const T> read(const ObjectKey& key) const {
    const Kind& of = kind(T::resource);
    const auto found = of.objects.find(key);
    return found == of.objects.end() ? nullptr : read<T>(of, found->first, *found->second);
  }
  /// The objects that can be parsed, ordered by namespace and name.
  template <class T>
  std::vector<std::shared_ptr<const T>> read_all() const {
    std::vector<std::shared_ptr<const T>> out;
    const Kind& of = kind(T::resource);
    for (const auto& [key, object] : of.objects)
      if (auto one = read<T>(of, key, *object)) out.push_back(std::move(one));
    return out;
  }
  /// Edits an existing object, status included. An edit that changes nothing makes no event. False:
  /// the server refuses the edit.
  bool change(const Resource&, const ObjectKey&, const std::function<void(json::object&)>& edit);
  /// Deletes as a user does: marks the object, or removes it if nothing holds it. False: absent.
  bool remove(const Resource&, const ObjectKey&, bool at_once = false);
  /// Removes it at once, whatever its finalizers. False: absent.
  bool erase(const Resource&, const ObjectKey&);
  /// Deletes, as a user would, every object whose owners (by UID) all are deleted; repeats until
  /// nothing is left to delete. Returns how many.
  std::size_t collect_garbage();
  /// Continues the termination of deleted namespaces, if Namespaces are served.
  void finish_namespaces();
  /// Updates the status of each PodDisruptionBudget, if these are served.
  void update_budgets();
  /// Runs Kubernetes' own controllers once.
  void run_controllers();

  /// Watches from an earlier version get Expired.
  void forget_history();
  /// Number of open watches.
  std::size_t watches() const { return watching_; }
  /// Called with each object that is to be stored, by whomever: webhooks that rewrite, and fields
  /// that the installed CRD does not know.
  using Rewrite = std::function<void(const Resource&, json::object&)>;
  void on_store(Rewrite rewrite) { rewrites_.push_back(std::move(rewrite)); }
  /// Called after each change; a null object did not exist, or does not exist any more.
  using Changed = std::function<void(const Resource&, const Object& before, const Object& after)>;
  void on_change(Changed changed) { changed_.push_back(std::move(changed)); }
  /// The version of the last change.
  std::uint64_t version() const { return version_; }

 protected:
  void misused(const kube::Call&, const std::string& how) const;

 private:
  struct Kind {
    ApiKind about;
    std::map<ObjectKey, Object> objects;
    std::map<ObjectKey, FieldManagers> managers;
    std::map<ObjectKey, json::object> empty_fields;  // In metadata; stored, never shown.
    mutable std::map<ObjectKey, std::any> read;      // A shared_ptr<const T> of this version.
    std::list<Wait*> watchers;
  };
  struct Change {
    std::uint64_t version;
    const Kind* kind;
    Object before, after;  // Null: absent.
  };
  struct Watching;
  struct Page;
  Result<Page> page_of(const kube::Call&) const;
  Kind* admit(const kube::Call&);
  bool lacks(const kube::Call&) const;
  bool well_formed(const kube::Call&, const Kind&);
  Kind& kind(const Resource&);
  const Kind& kind(const Resource&) const;
  template <class T>
  static std::shared_ptr<const T> read(const Kind& of, const ObjectKey& key, const Json& object) {
    std::any& kept = of.read[key];
    if (const auto* known = std::any_cast<std::shared_ptr<const T>>(&kept)) return *known;
    auto out = std::make_shared<T>();
    if (!api::decode(object, *out, T::resource.kind)) out = nullptr;
    return kept.emplace<std::shared_ptr<const T>>(std::move(out));
  }
  Result<Json> get(const kube::Call&, const Kind&) const;
  Result<Json> list(const kube::Call&, const Kind&) const;
  std::map<ObjectKey, Object> state_at(const Kind&, std::uint64_t version) const;
  Result<Done> open_to(const kube::Call&, const std::string& name) const;
  Result<Json> create(const kube::Call&, Kind&, const Json* applied = nullptr);
  Result<Json> insert(Kind&, Json object, const std::string& manager, const Json* applied);
  Result<Json> evict(const kube::Call&, Kind&);
  Result<Done> allowed_by_budgets(const Json& pod);
  Result<Done> spend(const ObjectKey& budget, const std::string& pod);
  std::vector<Object> pods_of(const Json& budget) const;
  std::optional<std::int64_t> scale_of(const std::vector<Object>& pods) const;
  Json status_of(const Json& budget) const;
  Result<Json> patch(const kube::Call&, Kind&);
  Result<Json> patched(const kube::Call&, const Json& now, FieldManagers&);
  Result<Json> admitted(const kube::Call&, const Kind&, const Json& now, Json next);
  Result<Done> fit(const Kind&, const Json& next, const Json& before) const;
  Result<Json> remove(const kube::Call&, Kind&);
  std::int64_t grace_of(const Kind&, const Json& object) const;
  void mark(Kind&, const ObjectKey&, std::int64_t grace);
  Json begin_end(Kind&, const ObjectKey&, bool at_once);
  Result<Json> store(Kind&, const ObjectKey&, Json next, FieldManagers, json::object empty = {});
  void settle(const Kind&, Json& object) const;
  static void keep_empty(Kind&, const ObjectKey&, json::object fields);
  void commit(Kind&, const ObjectKey&, Object before, Json after);
  std::string now(std::chrono::seconds later = {}) const;
  Result<bool> pass_on(Watching&) const;
  Woken wait_for_more(Executor&, Kind&, WatchLine&, Instant until);

  const WallClock& clock_;
  Misuse misuse_;
  std::map<std::string, Kind> kinds_;
  std::set<std::string> lacking_;
  std::deque<Change> history_;
  std::uint64_t version_ = 1000, forgotten_ = 1000, uids_ = 0, names_ = 0;
  std::size_t watching_ = 0;
  std::vector<Changed> changed_;
  std::vector<Rewrite> rewrites_;
};

}  // namespace etcdop::sim
