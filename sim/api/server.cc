#include "sim/api/server.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>
#include <utility>

#include "base/wall_time.h"
#include "sim/api/patches.h"
#include "sim/api/selection.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
using kube::Call;
using kube::PatchType;
using kube::Verb;
using kube::WatchEvent;

constexpr std::size_t kHistoryMax = 4096;  // Changes; the real one keeps 75 s.

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

std::string kind_key(const Resource& r) { return api::api_version(r) + "/" + r.plural; }

/// As the server's messages have it: "pods", "leases.coordination.k8s.io".
std::string full_name(const Resource& r) {
  return *r.group == '\0' ? r.plural : std::string(r.plural) + "." + r.group;
}

std::string quoted(const Resource& r, const std::string& name) {
  return full_name(r) + " \"" + name + "\"";
}

/// Lists of built-in kinds carry no apiVersion and kind in their items.
bool built_in(const Resource& r) {
  const std::string group = r.group;
  return group.find('.') == group.npos || group.ends_with(".k8s.io");
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string text_at(const json::object& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

json::object& meta(Json& object) { return object.at("metadata").as_object(); }
const json::object& meta(const Json& object) { return object.at("metadata").as_object(); }

ObjectKey key_of(const Json& object) {
  return {text_at(meta(object), "namespace"), text_at(meta(object), "name")};
}

bool has_finalizers(const Json& object) { return meta(object).contains("finalizers"); }
bool terminating(const Json& object) { return meta(object).contains("deletionTimestamp"); }

/// What moves the generation: all but metadata and status.
json::object spec_of(const Json& object) {
  json::object out = object.as_object();
  out.erase("metadata");
  out.erase("status");
  return out;
}

/// The server keeps no empty labels, annotations, owners or finalizers.
void drop_empty(json::object& metadata) {
  for (const char* field : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    const Json* value = metadata.if_contains(field);
    if (value && (value->is_null() || (value->is_array() && value->as_array().empty()) ||
                  (value->is_object() && value->as_object().empty())))
      metadata.erase(field);
  }
}

/// Copies `field` from one to the other, or removes it there.
void restore(json::object& to, const json::object& from, std::string_view field) {
  if (const Json* value = from.if_contains(field)) to[field] = *value;
  else to.erase(field);
}

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

std::string query(const Call& call, const std::string& key) {
  const auto found = call.query.find(key);
  return found == call.query.end() ? std::string() : found->second;
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
  check(kinds_.try_emplace(key, Kind{std::move(about), {}, {}, {}}).second,
        "a kind is served once");
}

void ApiServer::misused(const Call& call, const std::string& how) const {
  misuse_(line_of(call) + ": " + how);
}

bool ApiServer::well_formed(const Call& call, const Kind& kind) {
  const bool named = call.verb == Verb::Get || call.verb == Verb::Patch ||
                     call.verb == Verb::Delete || call.verb == Verb::Update;
  const bool any_ns = call.verb == Verb::List || call.verb == Verb::Watch;
  const bool writes =
      call.verb == Verb::Create || call.verb == Verb::Patch || call.verb == Verb::Delete;
  std::string wrong;
  if (call.verb == Verb::Update) wrong = "nobody replaces objects that we know in part only";
  if (named == call.name.empty()) wrong = named ? "has no name" : "has a name";
  if (kind.about.namespaced && !any_ns && call.ns.empty()) wrong = "has no namespace";
  if (!kind.about.namespaced && !call.ns.empty()) wrong = "the kind has no namespaces";
  if (!writes && !call.body.is_null()) wrong = "has a body";
  if (!call.subresource.empty() &&
      (call.subresource != "status" || !kind.about.status || call.verb == Verb::Create ||
       call.verb == Verb::Delete || any_ns))
    wrong = "no such sub-resource";
  for (const auto& [key, value] : call.query)
    if (!allowed_query(call.verb).contains(key)) wrong = "unknown query parameter " + key;
  if (!wrong.empty()) misused(call, wrong);
  return wrong.empty();
}

/// Null: the request is not for this server, and the test has failed.
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
  Kind* const kind = admit(call);
  if (!kind) return Error{Code::Denied, line_of(call) + ": not modelled"};
  switch (call.verb) {
    case Verb::Get: return get(call, *kind);
    case Verb::List: return list(call, *kind);
    case Verb::Create: return create(call, *kind);
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
  if (found == kind.objects.end())
    return Error{Code::NotFound, quoted(call.resource, call.name) + " not found"};
  return *found->second;
}

Result<Json> ApiServer::list(const Call& call, const Kind& kind) const {
  auto selection = Selection::of(call);
  if (!selection) return selection.error();
  const std::size_t limit = number(query(call, "limit")).value_or(0);
  // The token is the version of the first page and the last key of the one before.
  std::uint64_t version = version_;
  std::optional<ObjectKey> after;
  if (const std::string token = query(call, "continue"); !token.empty()) {
    const std::size_t colon = token.find(':'), slash = token.find('/');
    version = number(token.substr(0, colon)).value_or(0);
    if (colon == token.npos || slash == token.npos || version == 0)
      return Error{Code::Invalid, "continue key is not valid"};
    after = {token.substr(colon + 1, slash - colon - 1), token.substr(slash + 1)};
    if (version < forgotten_)
      return Error{Code::Expired, "The provided continue parameter is too old"};
  }
  json::array items;
  json::object metadata{{"resourceVersion", std::to_string(version)}};
  std::string last;
  for (const auto& [key, object] : kind.objects) {
    if ((after && key <= *after) || !selection->takes(*object)) continue;
    if (limit > 0 && items.size() == limit) {
      metadata["continue"] = std::to_string(version) + ":" + last;
      break;
    }
    last = api::to_string(key);
    items.push_back(*object);
    if (built_in(call.resource)) {
      items.back().as_object().erase("apiVersion");
      items.back().as_object().erase("kind");
    }
  }
  return Json{{"apiVersion", api::api_version(call.resource)},
              {"kind", std::string(call.resource.kind) + "List"},
              {"metadata", std::move(metadata)},
              {"items", std::move(items)}};
}

Result<Json> ApiServer::create(const Call& call, Kind& kind) {
  const auto* body = call.body.if_object();
  const Json* metadata = body ? body->if_contains("metadata") : nullptr;
  if (!metadata || !metadata->is_object())
    return Error{Code::Invalid, "the body of a create has metadata"};
  Json object = *body;
  if (text_at(*body, "apiVersion") != api::api_version(call.resource) ||
      text_at(*body, "kind") != call.resource.kind)
    return Error{Code::Invalid, "apiVersion and kind do not match the request"};
  if (const std::string ns = text_at(meta(object), "namespace"); !ns.empty() && ns != call.ns)
    return Error{Code::Invalid, "the namespace of the object does not match the request"};
  if (!text_at(meta(object), "resourceVersion").empty())
    return Error{Code::Invalid, "resourceVersion should not be set on objects to be created"};
  if (std::ranges::count(ending_, call.ns) > 0)
    return Error{Code::Denied, quoted(call.resource, text_at(meta(object), "name")) +
                                   " is forbidden: unable to create new content in namespace " +
                                   call.ns + " because it is being terminated"};
  if (kind.about.namespaced) meta(object)["namespace"] = call.ns;
  if (kind.about.status) object.as_object().erase("status");
  return insert(kind, std::move(object));
}

Result<Json> ApiServer::insert(Kind& kind, Json object) {
  json::object& metadata = meta(object);
  if (const std::string prefix = text_at(metadata, "generateName");
      text_at(metadata, "name").empty() && !prefix.empty()) {
    static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
    std::string suffix;
    for (std::uint64_t n = ++names_ * 7919, i = 0; i < 5; ++i, n /= letters.size())
      suffix += letters[n % letters.size()];
    metadata["name"] = prefix + suffix;
  }
  const ObjectKey key = key_of(object);
  if (key.name.empty()) return Error{Code::Invalid, "metadata.name: Required value"};
  if (const auto found = kind.objects.find(key); found != kind.objects.end())
    return Error{Code::AlreadyExists,
                 (terminating(*found->second) ? "object is being deleted: " : "") +
                     quoted(kind.about.resource, key.name) + " already exists"};
  char uid[40];
  std::snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012llu",
                static_cast<unsigned long long>(++uids_));
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = now();
  metadata.erase("deletionTimestamp");
  metadata.erase("generation");
  if (kind.about.generation) metadata["generation"] = 1;
  drop_empty(metadata);
  if (kind.about.fill_in) kind.about.fill_in(object.as_object());
  if (kind.about.validate)
    if (auto ok = kind.about.validate(object, nullptr); !ok) return ok.error();
  commit(kind, key, nullptr, std::move(object));
  return *kind.objects.at(key);
}

Result<Json> ApiServer::patch(const Call& call, Kind& kind) {
  const ObjectKey key{call.ns, call.name};
  const auto found = kind.objects.find(key);
  const bool apply = call.patch == PatchType::Apply;
  if (apply && (!call.body.is_object() ||
                text_at(call.body.as_object(), "apiVersion") != api::api_version(call.resource) ||
                text_at(call.body.as_object(), "kind") != call.resource.kind))
    return Error{Code::Invalid, "an applied object has the apiVersion and kind of the request"};
  if (found == kind.objects.end()) {
    if (!apply || !call.subresource.empty())
      return Error{Code::NotFound, quoted(call.resource, call.name) + " not found"};
    Json object = call.body;
    Json& metadata = object.as_object()["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    if (metadata.as_object().contains("uid"))
      return Error{Code::Conflict, "uid mismatch: the object does not exist"};
    metadata.as_object()["name"] = call.name;
    Call creation = call;
    creation.body = std::move(object);
    auto made = create(creation, kind);
    if (made) kind.applied[key] = call.body;
    return made;
  }
  auto next = patched(call, kind, *found->second);
  if (!next) return next.error();
  auto stored = store(kind, key, std::move(*next));
  if (stored && apply && call.subresource.empty() && kind.objects.contains(key))
    kind.applied[key] = call.body;
  return stored;
}

/// The object after the patch, with preconditions checked and what the caller may not change put
/// back.
Result<Json> ApiServer::patched(const Call& call, Kind& kind, const Json& now) {
  Json next = now;
  switch (call.patch) {
    case PatchType::Merge: merge_patch(next, call.body); break;
    case PatchType::Json: {
      auto done = json_patch(next, call.body);
      if (!done) return done;
      next = std::move(*done);
      break;
    }
    case PatchType::Apply: apply_patch(next, kind.applied[key_of(now)], call.body); break;
  }
  auto* object = next.if_object();
  if (!object || !object->contains("metadata") || !object->at("metadata").is_object())
    return Error{Code::Invalid, "the patch leaves no object"};
  if (!text_at(meta(next), "uid").empty() &&
      text_at(meta(next), "uid") != text_at(meta(now), "uid"))
    return Error{Code::Conflict,
                 "Precondition failed: UID in precondition: " + text_at(meta(next), "uid") +
                     ", UID in object meta: " + text_at(meta(now), "uid")};
  if (const std::string version = text_at(meta(next), "resourceVersion");
      !version.empty() && version != text_at(meta(now), "resourceVersion"))
    return Error{Code::Conflict, "Operation cannot be fulfilled on " +
                                     quoted(call.resource, call.name) +
                                     ": the object has been modified; please apply your changes "
                                     "to the latest version and try again"};
  if (key_of(next) != key_of(now) || object->if_contains("kind") == nullptr ||
      object->at("kind") != now.at("kind") || object->at("apiVersion") != now.at("apiVersion"))
    return Error{Code::Invalid, "name, namespace, apiVersion and kind cannot be changed"};

  if (call.subresource == "status") {
    Json status_only = now;
    restore(status_only.as_object(), *object, "status");
    return status_only;
  }
  if (kind.about.status) restore(*object, now.as_object(), "status");
  for (const char* ours : {"uid", "resourceVersion", "creationTimestamp", "generation",
                           "deletionTimestamp", "deletionGracePeriodSeconds"})
    restore(meta(next), meta(now), ours);
  drop_empty(meta(next));
  return next;
}

Result<Json> ApiServer::store(Kind& kind, const ObjectKey& key, Json next) {
  const Object stored = kind.objects.at(key);
  const Json& before = *stored;
  if (kind.about.fill_in) kind.about.fill_in(next.as_object());
  if (next == before) return before;  // Same version, no event.
  if (terminating(before) && has_finalizers(next)) {
    const json::array old =
        has_finalizers(before) ? meta(before).at("finalizers").as_array() : json::array();
    for (const Json& finalizer : meta(next).at("finalizers").as_array())
      if (std::ranges::find(old, finalizer) == old.end())
        return Error{Code::Invalid,
                     "metadata.finalizers: Forbidden: no new finalizers can be added if the object "
                     "is being deleted"};
  }
  if (kind.about.validate)
    if (auto ok = kind.about.validate(next, before); !ok) return ok.error();
  if (kind.about.generation && spec_of(next) != spec_of(before))
    meta(next)["generation"] = meta(before).at("generation").to_number<std::int64_t>() + 1;
  // A Pod waits for its kubelet as well as for its finalizers.
  if (terminating(next) && !has_finalizers(next) && !kind.about.graceful) {
    commit(kind, key, std::make_shared<const Json>(next), nullptr);
    return next;
  }
  commit(kind, key, stored, std::move(next));
  return *kind.objects.at(key);
}

Result<Json> ApiServer::remove(const Call& call, Kind& kind) {
  const ObjectKey key{call.ns, call.name};
  const auto found = kind.objects.find(key);
  if (found == kind.objects.end())
    return Error{Code::NotFound, quoted(call.resource, call.name) + " not found"};
  const json::object options = call.body.is_object() ? call.body.as_object() : json::object();
  for (const auto& [field, value] : options) {
    if (field == "kind" || field == "apiVersion" || field == "gracePeriodSeconds") continue;
    if (field == "propagationPolicy" && value == "Background") continue;
    if (field == "preconditions") continue;
    misused(call, "the fake does not know this option: " + std::string(field));
  }
  if (const Json* conditions = options.if_contains("preconditions"))
    for (const char* field : {"uid", "resourceVersion"}) {
      const std::string wanted = text_at(conditions->as_object(), field);
      if (!wanted.empty() && wanted != text_at(meta(*found->second), field))
        return Error{Code::Conflict,
                     "Operation cannot be fulfilled on " + quoted(call.resource, call.name) +
                         ": Precondition failed: " + field + " in precondition: " + wanted +
                         ", in object meta: " + text_at(meta(*found->second), field)};
    }
  const Json* grace = options.if_contains("gracePeriodSeconds");
  return begin_end(kind, key, grace && *grace == 0);
}

/// Marks the object, or ends it if nothing holds it.
Json ApiServer::begin_end(Kind& kind, const ObjectKey& key, bool at_once) {
  const Object stored = kind.objects.at(key);
  const Json& before = *stored;
  if (!has_finalizers(before) && (!kind.about.graceful || at_once)) {
    commit(kind, key, stored, nullptr);
    return {{"apiVersion", "v1"}, {"kind", "Status"}, {"status", "Success"}};
  }
  if (terminating(before)) return before;
  Json next = before;
  meta(next)["deletionTimestamp"] = now();
  meta(next)["deletionGracePeriodSeconds"] = kind.about.graceful ? 30 : 0;
  if (kind.about.generation)
    meta(next)["generation"] = meta(before).at("generation").to_number<std::int64_t>() + 1;
  commit(kind, key, stored, std::move(next));
  return *kind.objects.at(key);
}

/// The one place where objects change: a new version, an event, and whoever watches is woken.
void ApiServer::commit(Kind& kind, const ObjectKey& key, Object before, Json after) {
  const std::string version = std::to_string(++version_);
  Object stored;
  if (after.is_null()) {
    Json last = *before;  // As the event of a deletion has it.
    meta(last)["resourceVersion"] = version;
    before = std::make_shared<const Json>(std::move(last));
    kind.objects.erase(key);
    kind.applied.erase(key);
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

std::string ApiServer::now() const { return to_rfc3339(clock_.wall_now()); }

Json ApiServer::put(const Resource& r, Json manifest) {
  json::object& object = manifest.as_object();
  object["apiVersion"] = api::api_version(r);
  object["kind"] = r.kind;
  auto made = insert(kind(r), std::move(manifest));
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
  drop_empty(meta(next));
  return bool(store(of, key, std::move(next)));
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

std::size_t ApiServer::collect_garbage() {
  std::size_t deleted = 0;
  for (bool again = true; std::exchange(again, false);) {
    std::set<std::string> alive;
    for (const auto& [name, of] : kinds_)
      for (const auto& [key, object] : of.objects) alive.insert(text_at(meta(*object), "uid"));
    for (auto& [name, of] : kinds_)
      for (const auto& [key, object] : std::map(of.objects)) {
        const Json* owners = meta(*object).if_contains("ownerReferences");
        const auto lives = [&](const Json& owner) {
          return alive.contains(text_at(owner.as_object(), "uid"));
        };
        if (!owners || terminating(*object) || std::ranges::any_of(owners->as_array(), lives))
          continue;
        (void)begin_end(of, key, false);
        again = true;
        ++deleted;
      }
  }
  return deleted;
}

void ApiServer::forget_history() {
  history_.clear();
  forgotten_ = version_;
}

}  // namespace etcdop::sim
