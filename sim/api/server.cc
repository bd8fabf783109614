#include "sim/api/server.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "sim/api/budgets.h"
#include "sim/api/objects.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
using kube::Call;
using kube::Verb;

constexpr std::size_t kHistoryMax = 4096;  // Changes; a real API server keeps 75 s.

const char* name_of(Verb verb) {
  switch (verb) {
    case Verb::Get: return "get";
    case Verb::List: return "list";
    case Verb::Watch: return "watch";
    case Verb::Create: return "create";
    case Verb::Patch: return "patch";
    case Verb::Delete: return "delete";
    case Verb::Update: return "update";
  }
  return "?";
}

/// The manager of changes behind the program's back.
constexpr const char* kOutside = "\"outside\"";

std::string kind_key(const Resource& r) { return api::api_version(r) + "/" + r.plural; }

const std::set<std::string>& allowed_query(Verb verb) {
  static const std::set<std::string> get{"resourceVersion"}, none{},
      list{"labelSelector",   "fieldSelector",        "limit",         "continue",
           "resourceVersion", "resourceVersionMatch", "timeoutSeconds"},
      watch{"labelSelector", "fieldSelector", "resourceVersion", "allowWatchBookmarks",
            "timeoutSeconds"},
      write{"fieldManager", "fieldValidation", "force"};
  switch (verb) {
    case Verb::Get: return get;
    case Verb::List: return list;
    case Verb::Watch: return watch;
    case Verb::Create:
    case Verb::Patch: return write;
    case Verb::Delete:
    case Verb::Update: return none;
  }
  return none;
}

}  // namespace

std::string line_of(const Call& call) {
  std::string out = std::string(name_of(call.verb)) + " " + call.resource.plural;
  if (!call.subresource.empty()) out += "/" + call.subresource;
  if (call.ns.empty() && call.name.empty()) return out + " /";
  return out + " " + call.ns + (call.name.empty() ? "" : "/" + call.name);
}

bool permits(const std::vector<kube::Permission>& permissions, const Call& call) {
  return kube::grants(permissions, call.resource, call.subresource, {call.verb});
}

ApiServer::ApiServer(const WallClock& clock, Misuse misuse)
    : clock_(clock), misuse_(std::move(misuse)) {}

ApiServer::~ApiServer() { check(watching_ == 0, "a server outlives its watches"); }

void ApiServer::serve(ApiKind about) {
  const std::string key = kind_key(about.resource);
  lacking_.erase(key);
  check(kinds_.try_emplace(key, Kind{std::move(about), {}, {}, {}, {}, {}}).second,
        "a kind is served once");
}

void ApiServer::lack(const Resource& r) { lacking_.insert(kind_key(r)); }

bool ApiServer::lacks(const Call& call) const { return lacking_.contains(kind_key(call.resource)); }

void ApiServer::misused(const Call& call, const std::string& how) const {
  misuse_(line_of(call) + ": " + how);
}

bool ApiServer::well_formed(const Call& call, const Kind& kind) {
  const bool evicts =
      call.verb == Verb::Create && call.subresource == "eviction" && kind.about.resource == kPods;
  const bool named = call.verb == Verb::Get || call.verb == Verb::Patch ||
                     call.verb == Verb::Delete || call.verb == Verb::Update || evicts;
  const bool any_ns = call.verb == Verb::List || call.verb == Verb::Watch;
  const bool writes =
      call.verb == Verb::Create || call.verb == Verb::Patch || call.verb == Verb::Delete;
  std::string wrong;
  if (call.verb == Verb::Update) wrong = "nobody replaces objects that we know in part only";
  if (named == call.name.empty()) wrong = named ? "has no name" : "has a name";
  if (kind.about.namespaced && !any_ns && call.ns.empty()) wrong = "has no namespace";
  if (!kind.about.namespaced && !call.ns.empty()) wrong = "the kind has no namespaces";
  if (!writes && !call.body.is_null()) wrong = "has a body";
  if (!is_utf8(json::serialize(call.body))) wrong = "has a body that is not UTF-8";
  if (!call.subresource.empty() && !evicts &&
      (call.subresource != "status" || !kind.about.status || call.verb == Verb::Create ||
       call.verb == Verb::Delete || any_ns))
    wrong = "no such sub-resource";
  for (const auto& [key, value] : call.query)
    if (!allowed_query(call.verb).contains(key)) wrong = "unknown query parameter " + key;
  if (!wrong.empty()) misused(call, wrong);
  return wrong.empty();
}

/// Null: the request is not for this server, and the test fails.
ApiServer::Kind* ApiServer::admit(const Call& call) {
  const auto found = kinds_.find(kind_key(call.resource));
  if (found == kinds_.end()) {
    misused(call, "the fake does not serve this resource");
    return nullptr;
  }
  if (!well_formed(call, found->second)) return nullptr;
  return &found->second;
}

ApiServer::Kind& ApiServer::kind(const Resource& r) {
  const auto found = kinds_.find(kind_key(r));
  check(found != kinds_.end(), "a test uses kinds that the fake serves");
  return found->second;
}
const ApiServer::Kind& ApiServer::kind(const Resource& r) const {
  return const_cast<ApiServer*>(this)->kind(r);
}

Result<Json> ApiServer::perform(const Call& call) {
  if (lacks(call)) return Error{Code::NotFound, kNoSuchResource};
  Kind* const kind = admit(call);
  if (!kind) return Error{Code::Denied, line_of(call) + ": not modelled"};
  switch (call.verb) {
    case Verb::Get: return get(call, *kind);
    case Verb::List: return list(call, *kind);
    case Verb::Create: return call.subresource.empty() ? create(call, *kind) : evict(call, *kind);
    case Verb::Patch: return patch(call, *kind);
    case Verb::Delete: return remove(call, *kind);
    case Verb::Watch:
    case Verb::Update: break;
  }
  misused(call, "watch() is for that");
  return Error{Code::Invalid, "not a call"};
}

Result<Json> ApiServer::get(const Call& call, const Kind& kind) const {
  const auto found = kind.objects.find({call.ns, call.name});
  if (found == kind.objects.end()) return not_found(call.resource, call.name);
  return *found->second;
}

/// The only place where objects change: assigns a version, records an event, wakes the watchers.
void ApiServer::commit(Kind& kind, const ObjectKey& key, Object before, Json after) {
  const std::string version = std::to_string(++version_);
  Object stored;
  kind.empty_fields.erase(key);
  kind.read.erase(key);
  if (after.is_null()) {
    kind.objects.erase(key);
    kind.managers.erase(key);
  } else {
    meta(after)["resourceVersion"] = version;
    stored = std::make_shared<const Json>(std::move(after));
    kind.objects[key] = stored;
  }
  history_.push_back({version_, &kind, before, stored});
  if (history_.size() > kHistoryMax) {
    forgotten_ = history_.front().version;
    history_.pop_front();
  }
  for (Wait* wait : std::exchange(kind.watchers, {})) (void)wait->notify();
  for (const Changed& changed : changed_) changed(kind.about.resource, before, stored);
}

std::string ApiServer::now(std::chrono::seconds later) const {
  return to_rfc3339(clock_.wall_now() + later);
}

Json ApiServer::put(const Resource& r, Json manifest) {
  json::object& object = manifest.as_object();
  object["apiVersion"] = api::api_version(r);
  object["kind"] = r.kind;
  meta(manifest).erase("resourceVersion");
  auto made = insert(kind(r), std::move(manifest), kOutside, nullptr);
  check(bool(made), "what a test puts is good");
  return *made;
}

std::optional<Json> ApiServer::find(const Resource& r, const ObjectKey& key) const {
  const Object found = look(r, key);
  return found ? std::optional<Json>(*found) : std::nullopt;
}

ApiServer::Object ApiServer::look(const Resource& r, const ObjectKey& key) const {
  const Kind& of = kind(r);
  const auto found = of.objects.find(key);
  return found == of.objects.end() ? nullptr : found->second;
}

std::vector<Json> ApiServer::all(const Resource& r) const {
  std::vector<Json> out;
  for (const auto& [key, object] : kind(r).objects) out.push_back(*object);
  return out;
}

std::vector<ApiServer::Object> ApiServer::look_all(const Resource& r) const {
  std::vector<Object> out;
  for (const auto& [key, object] : kind(r).objects) out.push_back(object);
  return out;
}

bool ApiServer::change(const Resource& r, const ObjectKey& key,
                       const std::function<void(json::object&)>& edit) {
  Kind& of = kind(r);
  check(of.objects.contains(key), "what is changed is there");
  Json next = *of.objects.at(key);
  edit(next.as_object());
  tidy(meta(next));
  settle(of, next);
  // The same result as store(), without comparing each field.
  if (next == *of.objects.at(key) && !of.empty_fields.contains(key)) return true;
  FieldManagers managers = of.managers[key];
  note_update(managers, kOutside, *of.objects.at(key), next);
  return bool(store(of, key, std::move(next), std::move(managers)));
}

bool ApiServer::remove(const Resource& r, const ObjectKey& key, bool at_once) {
  Kind& of = kind(r);
  if (!of.objects.contains(key)) return false;
  (void)begin_end(of, key, at_once);
  return true;
}

bool ApiServer::erase(const Resource& r, const ObjectKey& key) {
  Kind& of = kind(r);
  const auto found = of.objects.find(key);
  if (found == of.objects.end()) return false;
  commit(of, key, found->second, nullptr);
  return true;
}

void ApiServer::forget_history() {
  history_.clear();
  forgotten_ = version_;
}

}  // namespace etcdop::sim
