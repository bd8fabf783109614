// The API server of simulated worlds and of tests: strict where the real one is, and stricter about
// what no correct program does.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "base/wall_time.h"
#include "kube/api.h"

namespace etcdop::sim {

using api::ObjectKey;
using api::Resource;

/// One kind that the server serves.
struct ApiKind {
  Resource resource;
  bool namespaced = true;
  bool status = false;      ///< Has a status sub-resource.
  bool generation = false;  ///< metadata.generation counts changes of the spec, as of custom ones.
  bool graceful = false;    ///< As Pods: delete only marks it; the kubelet (erase()) ends it.
  /// Asked about every object that is to be stored, after defaults, and about what it replaces
  /// (null: nothing); its error is the answer.
  std::function<Result<Done>(const Json& next, const Json& before)> validate = {};
  /// Called on every object that is to be stored.
  std::function<void(json::object&)> fill_in = {};
};

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
/// sub-resource, delete with preconditions; namespaces that end, a garbage collector; as
/// design/semantics.md has it.
///
/// What only a faulty program does is misuse: a resource or verb that is not served, an unknown
/// query parameter, a request without the names it needs.
///
/// Caveats: server-side apply knows one field manager; JSON is not checked against a schema
/// (ApiKind::validate may); nothing happens by itself: no garbage collection but on
/// collect_garbage(), no kubelet, no defaults.
class ApiServer {
 public:
  using Misuse = std::function<void(const std::string&)>;
  using Object = std::shared_ptr<const Json>;
  ApiServer(const WallClock&, Misuse);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;

  void serve(ApiKind);
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
  /// Nothing new is made in it any more.
  void terminate_namespace(const std::string& ns) { ending_.push_back(ns); }

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
    std::map<ObjectKey, Json> applied;  // The last body of server-side apply.
    std::list<Wait*> watchers;
  };
  struct Change {
    std::uint64_t version;
    const Kind* kind;
    Object before, after;  // Null: there was, or is, nothing.
  };
  struct Watching;
  Kind* admit(const kube::Call&);
  bool well_formed(const kube::Call&, const Kind&);
  Kind& kind(const Resource&);
  const Kind& kind(const Resource&) const;
  Result<Json> get(const kube::Call&, const Kind&) const;
  Result<Json> list(const kube::Call&, const Kind&) const;
  Result<Json> create(const kube::Call&, Kind&);
  Result<Json> insert(Kind&, Json object);
  Result<Json> patch(const kube::Call&, Kind&);
  Result<Json> patched(const kube::Call&, Kind&, const Json& now);
  Result<Json> remove(const kube::Call&, Kind&);
  Json begin_end(Kind&, const ObjectKey&, bool at_once);
  Result<Json> store(Kind&, const ObjectKey&, Json next);
  void commit(Kind&, const ObjectKey&, Object before, Json after);
  std::string now() const;
  Result<bool> pass_on(Watching&) const;
  Woken wait_for_more(Executor&, Kind&, WatchLine&, Instant until);

  const WallClock& clock_;
  Misuse misuse_;
  std::map<std::string, Kind> kinds_;
  std::deque<Change> history_;
  std::uint64_t version_ = 1000, forgotten_ = 0, uids_ = 0, names_ = 0;
  std::size_t watching_ = 0;
  std::vector<std::string> ending_;
  std::vector<Changed> changed_;
};

}  // namespace etcdop::sim
