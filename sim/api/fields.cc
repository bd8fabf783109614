#include "sim/api/fields.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/api/patches.h"

namespace etcdop::sim {
namespace {

/// The parts of an object. Parents are objects, and lists of entries, that are not empty.
struct Parts {
  std::map<FieldPath, Json> leaves;
  FieldSet parents;
  bool has(const FieldPath& path) const { return leaves.contains(path) || parents.contains(path); }
};

bool is_the_servers(const FieldPath& path) {
  constexpr std::array<std::string_view, 9> kOfMetadata{
      "name",          "namespace",         "uid",
      "selfLink",      "generation",        "creationTimestamp",
      "managedFields", "deletionTimestamp", "resourceVersion"};
  if (path.size() == 1) return path[0] == "apiVersion" || path[0] == "kind";
  return path.size() == 2 && path[0] == "metadata" &&
         (std::ranges::find(kOfMetadata, path[1]) != kOfMetadata.end() ||
          path[1] == "deletionGracePeriodSeconds");
}

bool has_entries(const FieldPath& path) {
  return path.size() == 2 && path[0] == "metadata" &&
         (path[1] == "finalizers" || path[1] == "ownerReferences");
}

std::string entry_name(const Json& entry) {
  return entry.is_object() ? "[uid=" + json::serialize(entry.at("uid")) + "]"
                           : "[=" + json::serialize(entry) + "]";
}

/// Leaves out what is as in `other`, if there is one.
void collect(const Json& value, const Json* other, FieldPath& path, Parts& out) {
  if (is_the_servers(path) || (other && *other == value)) return;
  const bool always = path.empty() || (path.size() == 1 && path[0] == "metadata");
  if (const auto* object = value.if_object(); object && (!object->empty() || always)) {
    if (!always) out.parents.insert(path);
    const auto* const others = other ? other->if_object() : nullptr;
    for (const auto& [key, child] : *object) {
      path.emplace_back(key);
      collect(child, others ? others->if_contains(key) : nullptr, path, out);
      path.pop_back();
    }
  } else if (value.is_array() && has_entries(path)) {
    if (!value.get_array().empty()) out.parents.insert(path);
    for (const Json& entry : value.get_array()) {
      path.push_back(entry_name(entry));
      out.leaves[path] = entry;
      path.pop_back();
    }
  } else {
    out.leaves[path] = value;
  }
}

Parts parts_of(const Json& object, const Json* other = nullptr) {
  Parts out;
  FieldPath path;
  if (!object.is_null()) collect(object, other, path, out);
  return out;
}

struct Difference {
  FieldSet changed, removed;  // `changed` includes new fields.
};

Difference compare(const Json& before, const Json& after) {
  Difference out;
  const Parts old = parts_of(before, &after), now = parts_of(after, &before);
  for (const auto& [path, value] : now.leaves) {
    const auto was = old.leaves.find(path);
    if (!old.has(path) || (was != old.leaves.end() && was->second != value))
      out.changed.insert(path);
  }
  for (const FieldPath& path : now.parents)
    if (!old.has(path)) out.changed.insert(path);
  for (const auto& [path, value] : old.leaves)
    if (!now.has(path)) out.removed.insert(path);
  for (const FieldPath& path : old.parents)
    if (!now.has(path)) out.removed.insert(path);
  return out;
}

/// Whether any manager owns the field or something in it.
bool owned(const FieldManagers& managers, const FieldPath& path) {
  return std::ranges::any_of(managers, [&](const auto& m) {
    const auto next = m.second.lower_bound(path);
    return next != m.second.end() && next->size() >= path.size() &&
           std::equal(path.begin(), path.end(), next->begin());
  });
}

void take_away(FieldSet& from, const FieldSet& what) {
  std::erase_if(from, [&](const FieldPath& path) { return what.contains(path); });
}

/// The outermost unowned ancestor of an unowned field; no manager owns anything in it.
FieldPath nobodys(const FieldManagers& managers, const FieldPath& field) {
  FieldPath out;
  for (const std::string& step : field) {
    out.push_back(step);
    if (out != FieldPath{"metadata"} && !owned(managers, out)) break;
  }
  return out;
}

/// Removes the field, and every parent that becomes empty. An empty map of metadata stays as null.
void erase_at(Json& value, const FieldPath& path, std::size_t step) {
  if (auto* list = value.if_array()) {
    json::array left;
    for (const Json& entry : *list)
      if (entry_name(entry) != path[step]) left.push_back(entry);
    *list = std::move(left);
    return;
  }
  auto* object = value.if_object();
  Json* const child = object ? object->if_contains(path[step]) : nullptr;
  if (!child) return;
  if (step + 1 < path.size()) {
    erase_at(*child, path, step + 1);
    const bool empty = (child->is_object() && child->get_object().empty()) ||
                       (child->is_array() && child->get_array().empty());
    if (!empty) return;
    if (step == 1 && path[0] == "metadata" && child->is_object()) {
      *child = nullptr;
      return;
    }
  }
  object->erase(path[step]);
}

std::string shown(const FieldPath& path) {
  std::string out;
  for (const std::string& step : path) out += (step.starts_with('[') ? "" : ".") + step;
  return out;
}

/// As the server words it.
Error conflict(const std::map<std::string, FieldSet>& with) {
  std::size_t fields = 0;
  std::string what;
  for (const auto& [manager, paths] : with) {
    fields += paths.size();
    what += (what.empty() ? "" : "\n") + ("conflicts with " + manager + ":");
    for (const FieldPath& path : paths) what += "\n- " + shown(path);
  }
  if (fields == 1)
    return {Code::Conflict, "Apply failed with 1 conflict: conflict with " + with.begin()->first +
                                ": " + shown(*with.begin()->second.begin())};
  return {Code::Conflict, "Apply failed with " + std::to_string(fields) + " conflicts: " + what};
}

}  // namespace

FieldSet fields_of(const Json& object) {
  FieldSet out;
  const Parts parts = parts_of(object);
  for (const auto& [path, value] : parts.leaves) out.insert(path);
  return out;
}

void note_update(FieldManagers& managers, const std::string& manager, const Json& before,
                 const Json& after) {
  if (!before.is_null() && managers.empty()) return;  // Managers count from the first apply on.
  const Difference difference = compare(before, after);
  for (auto& [name, fields] : managers) {
    take_away(fields, difference.removed);
    if (name != manager) take_away(fields, difference.changed);
  }
  if (!difference.changed.empty())
    managers[manager].insert(difference.changed.begin(), difference.changed.end());
  std::erase_if(managers, [](const auto& m) { return m.second.empty(); });
}

Result<Json> apply(FieldManagers& managers, const std::string& manager, bool forced,
                   const Json& live, const Json& config) {
  if (managers.empty()) {
    const Json* const version = live.as_object().if_contains("apiVersion");
    note_update(managers,
                "\"before-first-apply\" using " + std::string(version ? version->as_string() : ""),
                nullptr, live);
  }
  FieldSet wanted = fields_of(config);
  Json next = live;
  merge_applied(next, config);
  const FieldSet last = std::exchange(managers[manager], wanted);
  for (const FieldPath& path : last)
    if (!owned(managers, path)) erase_at(next, nobodys(managers, path), 0);
  managers.erase(manager);
  const Difference difference = compare(live, next);
  std::map<std::string, FieldSet> conflicts;
  for (auto& [name, fields] : managers) {
    for (const FieldPath& path : difference.changed)
      if (fields.contains(path)) conflicts[name].insert(path);
    take_away(fields, difference.changed);
    take_away(fields, difference.removed);
  }
  if (!forced && !conflicts.empty()) return conflict(conflicts);
  managers[manager] = std::move(wanted);
  std::erase_if(managers, [](const auto& m) { return m.second.empty(); });
  return next;
}

}  // namespace etcdop::sim
