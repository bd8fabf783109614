// The API server of simulated worlds and of tests: strict where the real one is, and stricter about
// what no correct program does.
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

/// One kind that the server serves.
struct ApiKind {
  Resource resource;
  bool namespaced = true;
  bool status = false;      ///< Has a status sub-resource.
  bool generation = false;  ///< metadata.generation counts changes of the spec, as of custom ones.
  /// As Pods: once it is on a node, delete only marks it; the kubelet (erase()) ends it.
  bool graceful = false;
  bool answers_last = false;  ///< As Services: a delete answers what is gone, not a Status.
  bool scale = false;         ///< Has a scale sub-resource, whose number is spec.replicas.
  std::shared_ptr<const Schema> schema = {};  ///< Of custom kinds; null: anything goes.
  /// Asked about every object that is to be stored, after defaults, and about what it replaces
  /// (null: nothing); its error is the answer.
  std::function<Result<Done>(const Json& next, const Json& before)> validate = {};
  /// Called on every object that is to be stored.
  std::function<void(json::object&)> fill_in = {};
};

/// A kind that describes itself (api/describe.h), as its CustomResourceDefinition has it.
template <class T>
ApiKind custom_kind() {
  return {.resource = T::resource,
          .status = true,
          .generation = true,
          .scale = true,
          .schema = std::make_shared<const Schema>(api::schema<T>())};
}

/// Whether one of the permissions is for that call.
bool permits(const std::vector<kube::Permission>&, const kube::Call&);
/// "patch etcdmembers/status prod/db-x", "list pods /" ("/": all).
std::string line_of(const kube::Call&);

/// What is between the server and one who watches. May change while watches are open.
class WatchLine {
 public:
  /// Each event comes so much later.
  std::function<Duration()> lag = {};
  /// TimedOut after so long without anything, as kube::Client has it.
  Duration silence_limit = Duration::max();
  /// Nothing comes through before that.
  void silent_until(Instant);
  /// Ends every watch: with success, as the server does now and then, or with an error.
  void cut(std::optional<Error> how = std::nullopt);

 private:
  friend class ApiServer;
  Instant silent_until_{};
  std::uint64_t cuts_ = 0;
  std::optional<Error> how_;
  std::list<Wait*> waiting_;
};

/// Objects as JSON with UID, resourceVersion, generation, finalizers; get, list (paged, selected),
/// watch (from a version, bookmarks, 410), create, merge and JSON patch, server-side apply, status
/// sub-resource, delete with preconditions; namespaces that end, a garbage collector; evictions
/// and their budgets (of whole numbers). test/contract says so of the real one.
///
/// What only a faulty program does is misuse: a resource or verb that is not served, an unknown
/// query parameter, a request without the names it needs.
///
/// Caveats: managers of fields are kept apart, not shown in metadata.managedFields; of built-in
/// kinds there are no schema and no defaults (ApiKind::validate and fill_in may), of custom ones no
/// rules (CEL); nothing happens by itself: no controllers but on run_controllers(), no kubelet.
class ApiServer {
 public:
  using Misuse = std::function<void(const std::string&)>;
  using Object = std::shared_ptr<const Json>;
  ApiServer(const WallClock&, Misuse);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;

  void serve(ApiKind);
  /// Of a kind that may be asked for and is not there: NotFound, until it is served.
  void lack(const Resource&);
  /// Everything but a watch; happens at once. Denied, and misuse, if it is none of the modelled.
  Result<Json> perform(const kube::Call&);
  /// kube::Api::watch on `caller`'s running fiber.
  Result<Done> watch(Executor& caller, const kube::Call&,
                     const std::function<bool(kube::WatchEvent)>& each, WatchLine&);

  // What happens behind the program's back: never suspends, is not recorded, fails nothing.

  /// Creates the object, status included, and returns it as stored. The name must be free.
  Json put(const Resource&, Json manifest);
  std::optional<Json> find(const Resource&, const ObjectKey&) const;
  /// Null: there is none.
  Object look(const Resource&, const ObjectKey&) const;
  /// Ordered by namespace and name.
  std::vector<Json> all(const Resource&) const;
  std::vector<Object> look_all(const Resource&) const;
  /// As its kind reads it; null: it is not there, or cannot be read. Each version is read once,
  /// however many ask: worlds look at everything each second.
  template <class T>
  std::shared_ptr<const T> read(const ObjectKey& key) const {
    const Kind& of = kind(T::resource);
    const auto found = of.objects.find(key);
    return found == of.objects.end() ? nullptr : read<T>(of, found->first, *found->second);
  }
  /// Those that can be read, ordered by namespace and name.
  template <class T>
  std::vector<std::shared_ptr<const T>> read_all() const {
    std::vector<std::shared_ptr<const T>> out;
    const Kind& of = kind(T::resource);
    for (const auto& [key, object] : of.objects)
      if (auto one = read<T>(of, key, *object)) out.push_back(std::move(one));
    return out;
  }
  /// Edits an object that is there, status and all. No edit, no event. An edit that the server
  /// refuses is not made: false.
  bool change(const Resource&, const ObjectKey&, const std::function<void(json::object&)>& edit);
  /// As a user deletes it: marked, or gone if nothing holds it. False if it is not there.
  bool remove(const Resource&, const ObjectKey&, bool at_once = false);
  /// Ends it at once, finalizers or not. False if it is not there.
  bool erase(const Resource&, const ObjectKey&);
  /// Deletes, as a user would, what has owners of which none exists any more (by UID), until there
  /// is nothing more to delete. Returns how many.
  std::size_t collect_garbage();
  /// Goes on with the end of namespaces that were deleted, if Namespaces are served.
  void finish_namespaces();
  /// Counts what each PodDisruptionBudget selects, if those are served.
  void update_budgets();
  /// What Kubernetes' own controllers do, once.
  void run_controllers();

  /// A watch from an earlier version gets Expired.
  void forget_history();
  /// Watches that are open now.
  std::size_t watches() const { return watching_; }
  /// Called after each change: null is "there was", or "there is", nothing.
  using Changed = std::function<void(const Resource&, const Object& before, const Object& after)>;
  void on_change(Changed changed) { changed_.push_back(std::move(changed)); }
  /// Of the last change.
  std::uint64_t version() const { return version_; }

 protected:
  void misused(const kube::Call&, const std::string& how) const;

 private:
  struct Kind {
    ApiKind about;
    std::map<ObjectKey, Object> objects;
    std::map<ObjectKey, FieldManagers> managers;
    std::map<ObjectKey, json::object> empty_fields;  // Of metadata; in the store, never shown.
    mutable std::map<ObjectKey, std::any> read;      // A shared_ptr<const T>, of this version.
    std::list<Wait*> watchers;
  };
  struct Change {
    std::uint64_t version;
    const Kind* kind;
    Object before, after;  // Null: there was, or is, nothing.
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
  static void settle(const Kind&, Json& object);
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
};

}  // namespace etcdop::sim
