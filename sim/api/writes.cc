// Creates and changes objects: what a write may do, and what the server adds.
#include <array>
#include <cstdio>

#include "kube/request.h"
#include "sim/api/budgets.h"
#include "sim/api/jobs.h"
#include "sim/api/objects.h"
#include "sim/api/patches.h"
#include "sim/api/server.h"

namespace etcdop::sim {

using kube::Call;
using kube::PatchType;

namespace {

constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace"};

/// An RFC 1123 subdomain.
bool good_name(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool inside = i > 0 && i + 1 < name.size();
    const bool dot = name[i] == '.' && inside && plain(name[i - 1]) && plain(name[i + 1]);
    if (!plain(name[i]) && !dot && !(name[i] == '-' && inside)) return false;
  }
  return !name.empty() && name.size() <= 253;
}

std::string joined(const std::vector<std::string>& errors) {
  std::string out;
  for (const std::string& error : errors) out += (out.empty() ? "" : ", ") + error;
  return errors.size() == 1 ? out : "[" + out + "]";
}

Error wrong_namespace() {
  return {Code::Invalid,
          "the namespace of the provided object does not match the namespace sent on the request"};
}

Error modified(const Resource& r, const std::string& name) {
  return {Code::Conflict, "Operation cannot be fulfilled on " + quoted(r, name) +
                              ": the object has been modified; please apply your changes to the "
                              "latest version and try again"};
}

/// As messages name it. Status fields have managers of their own.
std::string manager_of(const Call& call) {
  const auto named = call.query.find("fieldManager");
  std::string out = "\"" + (named == call.query.end() ? kube::kFieldManager : named->second) + "\"";
  if (!call.subresource.empty()) out += " with subresource \"" + call.subresource + "\"";
  if (call.verb == kube::Verb::Patch && call.patch == PatchType::Apply) return out;
  return out + " using " + api::api_version(call.resource);
}

/// The empty metadata fields that an apply leaves. For custom kinds the real server stores them but
/// never shows them, and a next write without them counts as a change.
json::object left_empty(const Resource& r, const Json& object) {
  json::object out;
  const Json* const metadata = object.as_object().if_contains("metadata");
  if (built_in(r) || !metadata || !metadata->is_object()) return out;
  for (const std::string_view field : kNotKeptEmpty)
    if (const Json* value = metadata->get_object().if_contains(field); value && is_empty(*value))
      out[field] = *value;
  return out;
}

bool may_go_without_version(const Resource& r) {
  return built_in(r) && r != kBudgets && std::string_view(r.plural) != "leases";
}

/// As Go prints it: []string{"a", "b"}; empty if none is new.
std::string new_finalizers(const Json& next, const Json& before) {
  std::vector<std::string> added;
  const json::array old =
      has_finalizers(before) ? meta(before).at("finalizers").as_array() : json::array();
  for (const Json& finalizer : meta(next).at("finalizers").as_array())
    if (std::ranges::find(old, finalizer) == old.end()) added.emplace_back(finalizer.as_string());
  std::ranges::sort(added);
  std::string out;
  for (const std::string& name : added) out += (out.empty() ? "\"" : ", \"") + name + "\"";
  return added.empty() ? "" : "[]string{" + out + "}";
}

}  // namespace

/// Whether the namespace accepts a new object.
Result<Done> ApiServer::open_to(const Call& call, const std::string& name) const {
  const auto namespaces = kinds_.find(api::api_version(kNamespaces) + "/" + kNamespaces.plural);
  if (call.ns.empty() || namespaces == kinds_.end()) return Done{};
  const auto found = namespaces->second.objects.find({"", call.ns});
  if (found == namespaces->second.objects.end()) return not_found(kNamespaces, call.ns);
  if (!terminating(*found->second)) return Done{};
  return Error{Code::Denied, quoted(call.resource, name) +
                                 " is forbidden: unable to create new content in namespace " +
                                 call.ns + " because it is being terminated"};
}

Result<Json> ApiServer::create(const Call& call, Kind& kind, const Json* applied) {
  const auto* body = call.body.if_object();
  const Json* metadata = body ? body->if_contains("metadata") : nullptr;
  if (!metadata || !metadata->is_object() ||
      text_at(*body, "apiVersion") != api::api_version(call.resource) ||
      text_at(*body, "kind") != call.resource.kind) {
    misused(call, "the body of a create has apiVersion, kind and metadata");
    return Error{Code::Invalid, "not modelled"};
  }
  Json object = *body;
  if (const std::string ns = text_at(meta(object), "namespace"); !ns.empty() && ns != call.ns)
    return wrong_namespace();
  if (call.resource == kBudgets)
    if (const std::string what = not_modelled(object); !what.empty()) misused(call, what);
  if (auto open = open_to(call, text_at(meta(object), "name")); !open) return open.error();
  if (kind.about.namespaced) meta(object)["namespace"] = call.ns;
  if (kind.about.status) object.as_object().erase("status");
  return insert(kind, std::move(object), manager_of(call), applied);
}

/// `applied`: null unless it is created by apply.
Result<Json> ApiServer::insert(Kind& kind, Json object, const std::string& manager,
                               const Json* applied) {
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
  const bool taken = kind.objects.contains(key);
  char uid[40];
  std::snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012llu",
                static_cast<unsigned long long>(taken ? 0 : ++uids_));
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = now();
  for (const char* ours : {"deletionTimestamp", "deletionGracePeriodSeconds"}) metadata.erase(ours);
  if (kind.about.generation) metadata["generation"] = 1;
  tidy(metadata);
  settle(kind, object);
  if (auto ok = fit(kind, object, nullptr); !ok) return ok.error();
  if (!text_at(meta(object), "resourceVersion").empty())
    return Error{Code::Lost, "resourceVersion should not be set on objects to be created"};
  if (taken)
    return Error{Code::AlreadyExists,
                 (terminating(*kind.objects.at(key)) ? "object is being deleted: " : "") +
                     quoted(kind.about.resource, key.name) + " already exists"};
  FieldManagers& managers = kind.managers[key];
  managers.clear();
  if (applied) managers[manager] = fields_of(*applied);
  else note_update(managers, manager, nullptr, object);
  commit(kind, key, nullptr, std::move(object));
  if (applied) keep_empty(kind, key, left_empty(kind.about.resource, *applied));
  return *kind.objects.at(key);
}

void ApiServer::settle(const Kind& kind, Json& object) const {
  if (kind.about.schema) kind.about.schema->complete(object.as_object());
  if (kind.about.fill_in) kind.about.fill_in(object.as_object());
  for (const Rewrite& rewrite : rewrites_) rewrite(kind.about.resource, object.as_object());
}

void ApiServer::keep_empty(Kind& kind, const ObjectKey& key, json::object fields) {
  if (!fields.empty()) kind.empty_fields[key] = std::move(fields);
}

/// Whether an object may replace the stored one (null: none).
Result<Done> ApiServer::fit(const Kind& kind, const Json& next, const Json& before) const {
  const std::string name = text_at(meta(next), "name");
  std::vector<std::string> errors;
  if (name.empty())
    errors.emplace_back("metadata.name: Required value: name or generateName is required");
  else if (before.is_null() && !good_name(name))
    errors.push_back(
        "metadata.name: Invalid value: \"" + name +
        "\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
        "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
        "regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  if (kind.about.schema)
    for (std::string& error : kind.about.schema->errors(next)) errors.push_back(std::move(error));
  if (!errors.empty()) return invalid(kind.about.resource, name, joined(errors));
  return kind.about.validate ? kind.about.validate(next, before) : Result<Done>(Done{});
}

Result<Json> ApiServer::patch(const Call& call, Kind& kind) {
  const ObjectKey key{call.ns, call.name};
  const auto found = kind.objects.find(key);
  const bool apply = call.patch == PatchType::Apply;
  if (apply && (!call.body.is_object() ||
                text_at(call.body.as_object(), "apiVersion") != api::api_version(call.resource) ||
                text_at(call.body.as_object(), "kind") != call.resource.kind)) {
    misused(call, "an applied object has the apiVersion and kind of the request");
    return Error{Code::Invalid, "not modelled"};
  }
  if (found == kind.objects.end()) {
    if (!apply || !call.subresource.empty()) return not_found(call.resource, call.name);
    Json object = call.body;
    Json& metadata = object.as_object()["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    if (const std::string uid = text_at(metadata.as_object(), "uid"); !uid.empty())
      return Error{Code::Conflict, "Operation cannot be fulfilled on " +
                                       quoted(call.resource, call.name) +
                                       ": uid mismatch: the provided object specified uid " + uid +
                                       ", and no existing object was found"};
    metadata.as_object()["name"] = call.name;
    metadata.as_object().erase("resourceVersion");
    Call creation = call;
    creation.body = std::move(object);
    return create(creation, kind, &call.body);
  }
  FieldManagers managers = kind.managers[key];
  auto next = patched(call, *found->second, managers);
  if (!next) return next.error();
  json::object empty = apply ? left_empty(call.resource, *next) : json::object();
  next = admitted(call, kind, *found->second, std::move(*next));
  if (!next) return next.error();
  settle(kind, *next);
  if (!apply) note_update(managers, manager_of(call), *found->second, *next);
  return store(kind, key, std::move(*next), std::move(managers), std::move(empty));
}

/// The object after the patch.
Result<Json> ApiServer::patched(const Call& call, const Json& now, FieldManagers& managers) {
  if (call.patch == PatchType::Apply) {
    for (const auto& [field, value] : call.body.as_object())
      if (value.is_object() && value.get_object().empty())
        misused(call, "to apply an empty " + std::string(field) + ": whose it is afterwards");
    const Json* const metadata = call.body.as_object().if_contains("metadata");
    if (metadata && metadata->as_object().contains("ownerReferences"))
      misused(call, "to apply owners: an empty list of them stays until the next write");
    return apply(managers, manager_of(call), query(call, "force") != "false", now, call.body);
  }
  if (call.patch == PatchType::Json) {
    auto done = json_patch(now, call.body);
    if (done.failed_with(Code::Invalid)) misused(call, done.error().message);
    return done;
  }
  Json next = now;
  merge_patch(next, call.body);
  return next;
}

/// The object to be stored: checks preconditions and restores fields that the caller may not
/// change.
Result<Json> ApiServer::admitted(const Call& call, const Kind& kind, const Json& now, Json next) {
  auto* object = next.if_object();
  if (!object || text_at(*object, "kind") != call.resource.kind ||
      text_at(*object, "apiVersion") != api::api_version(call.resource)) {
    misused(call, "apiVersion and kind cannot be changed");
    return Error{Code::Invalid, "not modelled"};
  }
  const Json* const metadata = object->if_contains("metadata");
  const auto said = [&](const char* field) {
    return metadata && metadata->is_object() ? text_at(metadata->get_object(), field) : "";
  };
  if (const std::string ns = said("namespace"); !ns.empty() && ns != call.ns)
    return wrong_namespace();
  const std::string name = said("name");
  if (name.empty())
    return Error{Code::Invalid, "the name of the object (" + call.name +
                                    " based on URL) was undeterminable: name must be provided"};
  if (name != call.name)
    return Error{Code::Invalid, "the name of the object (" + name +
                                    ") does not match the name on the URL (" + call.name + ")"};
  restore(meta(next), meta(now), "namespace");
  const std::string version = text_at(meta(next), "resourceVersion");
  if (version.empty() && !may_go_without_version(call.resource))
    return Error{Code::Invalid, quoted(call.resource, call.name) +
                                    " is invalid: metadata.resourceVersion: Invalid value: 0: must "
                                    "be specified for an update"};
  if (!version.empty() && !number(version))
    return Error{Code::Lost, "strconv.ParseUint: parsing \"" + version + "\": invalid syntax"};
  if (!version.empty() && version != text_at(meta(now), "resourceVersion"))
    return modified(call.resource, call.name);

  if (call.subresource == "status") {  // Metadata is ignored: even another UID is not noticed.
    Json status_only = now;
    restore(status_only.as_object(), *object, "status");
    return status_only;
  }
  if (const std::string uid = text_at(meta(next), "uid");
      !uid.empty() && uid != text_at(meta(now), "uid"))
    return invalid(call.resource, call.name,
                   "metadata.uid: Invalid value: \"" + uid + "\": field is immutable",
                   Code::Conflict);  // The client maps this 422 so.
  if (kind.about.status) restore(*object, now.as_object(), "status");
  for (const char* ours : {"uid", "resourceVersion", "creationTimestamp", "generation",
                           "deletionTimestamp", "deletionGracePeriodSeconds"})
    restore(meta(next), meta(now), ours);
  tidy(meta(next));
  return next;
}

/// `empty`: see left_empty().
Result<Json> ApiServer::store(Kind& kind, const ObjectKey& key, Json next, FieldManagers managers,
                              json::object empty) {
  const Object stored = kind.objects.at(key);
  const Json& before = *stored;
  const auto kept = kind.empty_fields.find(key);
  const bool same_empty = kept == kind.empty_fields.end() ? empty.empty() : kept->second == empty;
  if (same_empty && next == before && managers == kind.managers[key])
    return before;  // No new version, no event.
  if (terminating(before) && has_finalizers(next))
    if (const std::string added = new_finalizers(next, before); !added.empty())
      return invalid(kind.about.resource, key.name,
                     "metadata.finalizers: Forbidden: no new finalizers can be added if the object "
                     "is being deleted, found new finalizers " +
                         added);
  if (auto ok = fit(kind, next, before); !ok) return ok.error();
  if (kind.about.generation && spec_of(next) != spec_of(before))
    meta(next)["generation"] = meta(before).at("generation").to_number<std::int64_t>() + 1;
  // A Pod waits for its kubelet and for its finalizers.
  if (terminating(next) && !has_finalizers(next) && kind.about.resource != kNamespaces &&
      meta(next).at("deletionGracePeriodSeconds") == 0) {
    commit(kind, key, stored, nullptr);
    return next;
  }
  kind.managers[key] = std::move(managers);
  commit(kind, key, stored, std::move(next));
  keep_empty(kind, key, std::move(empty));
  return *kind.objects.at(key);
}

Result<Json> ApiServer::remove(const Call& call, Kind& kind) {
  const ObjectKey key{call.ns, call.name};
  const auto found = kind.objects.find(key);
  if (found == kind.objects.end()) return not_found(call.resource, call.name);
  const json::object options = call.body.is_object() ? call.body.as_object() : json::object();
  for (const auto& [field, value] : options) {
    if (field == "kind" || field == "apiVersion" || field == "gracePeriodSeconds") continue;
    if (field == "propagationPolicy" && value == "Background") continue;
    if (field == "preconditions") continue;
    misused(call, "the fake does not know this option: " + std::string(field));
  }
  if (call.resource == kJobs && !options.contains("propagationPolicy"))
    misused(call, "the Pods of a Job stay, unless propagationPolicy says otherwise");
  if (const Json* conditions = options.if_contains("preconditions")) {
    constexpr std::array<std::array<const char*, 3>, 2> kConditions{
        {{"uid", "UID", ". The object might have been deleted and then recreated"},
         {"resourceVersion", "ResourceVersion", ". The object might have been modified"}}};
    for (const auto& [field, word, hint] : kConditions) {
      const std::string wanted = text_at(conditions->as_object(), field),
                        is = text_at(meta(*found->second), field);
      if (!wanted.empty() && wanted != is)
        return Error{Code::Conflict,
                     "Operation cannot be fulfilled on " + quoted_kind(call.resource, call.name) +
                         ": the " + word + " in the precondition (" + wanted +
                         ") does not match the " + word + " in record (" + is + ")" + hint};
    }
  }
  const Json* grace = options.if_contains("gracePeriodSeconds");
  return begin_end(kind, key, grace && *grace == 0);
}

/// The grace period of a deleted object, in seconds.
std::int64_t ApiServer::grace_of(const Kind& kind, const Json& object) const {
  if (kind.about.graceful && terminating(object))
    return whole(&object.at("metadata"), "deletionGracePeriodSeconds", 0);  // Already set.
  const auto* spec = object.as_object().if_contains("spec");
  if (!kind.about.graceful || !spec || text_at(spec->as_object(), "nodeName").empty()) return 0;
  const auto* status = object.as_object().if_contains("status");
  const std::string phase = status ? text_at(status->as_object(), "phase") : "";
  if (phase == "Succeeded" || phase == "Failed") return 0;
  const Json* const seconds = spec->as_object().if_contains("terminationGracePeriodSeconds");
  return seconds ? seconds->to_number<std::int64_t>() : 30;
}

/// Marks the object as terminating, to end after `grace`; never lengthens a grace period.
void ApiServer::mark(Kind& kind, const ObjectKey& key, std::int64_t grace) {
  const Object stored = kind.objects.at(key);
  const Json& before = *stored;
  const bool again = terminating(before);
  if (again && (!kind.about.graceful ||
                whole(&before.at("metadata"), "deletionGracePeriodSeconds", 0) <= grace))
    return;
  Json next = before;
  meta(next)["deletionTimestamp"] = now(std::chrono::seconds(grace));
  meta(next)["deletionGracePeriodSeconds"] = grace;
  if (kind.about.generation && !again)
    meta(next)["generation"] = meta(before).at("generation").to_number<std::int64_t>() + 1;
  if (kind.about.resource == kNamespaces)
    next.as_object()["status"] = json::object{{"phase", "Terminating"}};
  commit(kind, key, stored, std::move(next));
}

/// Marks the object, or removes it if nothing holds it. A kind with grace periods is always marked
/// first.
Json ApiServer::begin_end(Kind& kind, const ObjectKey& key, bool at_once) {
  const Object before = kind.objects.at(key);
  const std::int64_t grace = at_once ? 0 : grace_of(kind, *before);
  const bool until_empty = kind.about.resource == kNamespaces;
  const bool ends = !has_finalizers(*before) && grace == 0 && !until_empty;
  if (!ends || kind.about.graceful) mark(kind, key, grace);
  const Object marked = kind.objects.at(key);
  if (!ends) return *marked;
  commit(kind, key, marked, nullptr);
  if (kind.about.graceful || kind.about.answers_last) {
    Json last = *marked;
    meta(last)["resourceVersion"] = std::to_string(version_);
    return last;
  }
  json::object what{{"name", key.name}, {"kind", kind.about.resource.plural}};
  if (*kind.about.resource.group != '\0') what["group"] = kind.about.resource.group;
  what["uid"] = text_at(meta(*before), "uid");
  return {{"apiVersion", "v1"},
          {"kind", "Status"},
          {"metadata", json::object()},
          {"status", "Success"},
          {"details", std::move(what)}};
}

}  // namespace etcdop::sim
