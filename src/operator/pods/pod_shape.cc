#include "operator/pods/pod_shape.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "api/v1alpha2/names.h"
#include "etcd/flags.h"
#include "etcd/version_facts.h"
#include "kube/object_text.h"
#include "operator/passes/trims.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/member_endpoint.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

using Names = std::initializer_list<std::string_view>;

constexpr std::string_view kOurVolumes[] = {v1::kDataVolume, kRestoreToolsVolume,
                                            kRestoreSourceVolume, kRestoreAuthorityVolume,
                                            kRestoreKeysVolume};
constexpr const char* kIsOurs = " is set by the operator; remove it";

/// A list of core/v1 whose elements are merged one by one, by their `key` (its patchMergeKey). Two
/// elements may have the same key if they differ in `also` (x-kubernetes-list-map-keys); empty:
/// not.
struct KeyedList {
  std::string_view name, key, also, also_default;
};
using KeyedLists = std::span<const KeyedList>;

/// The keyed lists of a PodSpec, and of a container. A list with such a name elsewhere is replaced
/// as a whole.
constexpr KeyedList kOfSpec[] = {
    {"containers", "name", "", ""},
    {"initContainers", "name", "", ""},
    {"volumes", "name", "", ""},
    {"imagePullSecrets", "name", "", ""},
    {"resourceClaims", "name", "", ""},
    {"hostAliases", "ip", "", ""},
    {"topologySpreadConstraints", "topologyKey", "whenUnsatisfiable", ""}};
constexpr KeyedList kOfContainer[] = {{"env", "name", "", ""},
                                      {"volumeMounts", "mountPath", "", ""},
                                      {"volumeDevices", "devicePath", "", ""},
                                      {"ports", "containerPort", "protocol", "TCP"}};

/// The keyed lists in an element of this list.
KeyedLists lists_in(std::string_view list) {
  return list == "containers" || list == "initContainers" ? KeyedLists(kOfContainer) : KeyedLists();
}

/// The key by which an element is merged; null: it has none.
const Json* key_of(const Json& element, const KeyedList& list) {
  const json::object* fields = element.if_object();
  return fields ? fields->if_contains(list.key) : nullptr;
}

/// Identifies an element, which has a key, in its list.
Json identity_of(const Json& element, const KeyedList& list) {
  if (list.also.empty()) return json::array{*key_of(element, list)};
  const Json* also = element.as_object().if_contains(list.also);
  return json::array{*key_of(element, list), also ? *also : Json(list.also_default)};
}

std::string text_of(const json::object& from, std::string_view key) {
  const Json* value = from.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

// --- Refused in every template -------------------------------------------------------------------

/// The path of the first directive of strategic merge, such as $patch; empty: none.
std::string directive(const Json& value, const std::string& path) {
  if (const json::array* list = value.if_array())
    for (const Json& element : *list)
      if (std::string found = directive(element, path + "[]"); !found.empty()) return found;
  if (const json::object* object = value.if_object())
    for (const auto& [key, child] : *object) {
      std::string at = path + "." + std::string(key);
      if (key.starts_with('$')) return at;
      if (std::string found = directive(child, at); !found.empty()) return found;
    }
  return "";
}

/// Checks the keyed lists directly in `from`: each is a list of objects, each with its key.
std::string malformed_list(const json::object& from, const std::string& path, KeyedLists lists) {
  for (const KeyedList& keyed : lists) {
    const Json* list = from.if_contains(keyed.name);
    if (!list) continue;
    const std::string at = path + "." + std::string(keyed.name);
    if (!list->is_array()) return at + " is not a list";
    for (const Json& element : list->as_array())
      if (!key_of(element, keyed)) return at + " has an element without " + std::string(keyed.key);
  }
  return "";
}

std::string first_of(const json::object& from, const std::string& path, Names owned) {
  for (const std::string_view key : owned)
    if (from.contains(key)) return path + "." + std::string(key) + kIsOurs;
  return "";
}

const json::array& list_in(const json::object& from, std::string_view name) {
  static const json::array none;
  const Json* list = from.if_contains(name);
  return list ? list->as_array() : none;
}

std::string why_not_mount(const json::object& mount, const std::string& path) {
  const Json* read_only = mount.if_contains("readOnly");
  const bool reads = read_only && *read_only == Json(true);
  if (text_of(mount, "name") == v1::kDataVolume && !reads)
    return path + ".volumeMounts: the volume data can only be mounted with readOnly: true";
  return "";
}

/// Checks the etcd container.
std::string why_not_etcd(const json::object& etcd, const std::string& path) {
  if (std::string why = first_of(
          etcd, path,
          {"command", "args", "image", "ports", "livenessProbe", "readinessProbe", "startupProbe",
           "terminationMessagePath", "terminationMessagePolicy", "restartPolicy", "envFrom"});
      !why.empty())
    return why;
  for (const Json& variable : list_in(etcd, "env"))
    if (const std::string name = text_of(variable.as_object(), "name"); name.starts_with("ETCD_"))
      return path + ".env[" + name + "]: etcd reads ETCD_ variables as flags; use extraArgs";
  for (const Json& mount : list_in(etcd, "volumeMounts"))
    if (const std::string at = text_of(mount.as_object(), "mountPath"); at.starts_with(kVolumeRoot))
      return path + ".volumeMounts[" + at + "]" + kIsOurs;
  return "";
}

std::string why_not_container(const json::object& container, const std::string& list) {
  const std::string name = text_of(container, "name");
  const std::string path = list + "[" + name + "]";
  // Merged with ours, they would change the restore; in a Pod without ours, they would do nothing.
  if (name == v1::kInstallToolsContainer || name == v1::kRestoreContainer)
    return path + ": that name is the operator's; use another";
  if (std::string why = malformed_list(container, path, kOfContainer); !why.empty()) return why;
  for (const Json& mount : list_in(container, "volumeMounts"))
    if (std::string why = why_not_mount(mount.as_object(), path); !why.empty()) return why;
  return name == v1::kEtcdContainer ? why_not_etcd(container, path) : "";
}

std::string why_not_spec(const json::object& spec) {
  const std::string path = "podTemplate.spec";
  if (const std::string found = directive(spec, path); !found.empty())
    return found + ": directives are not supported";
  if (std::string why = malformed_list(spec, path, kOfSpec); !why.empty()) return why;
  if (std::string why =
          first_of(spec, path,
                   {"hostname", "subdomain", "restartPolicy", "hostNetwork", "setHostnameAsFQDN",
                    "nodeName", "activeDeadlineSeconds", "ephemeralContainers", "schedulingGates"});
      !why.empty())
    return why;
  for (const char* list : {"containers", "initContainers"})
    for (const Json& container : list_in(spec, list))
      if (std::string why = why_not_container(container.as_object(), path + "." + list);
          !why.empty())
        return why;
  for (const Json& volume : list_in(spec, "volumes"))
    for (const std::string_view ours : kOurVolumes)
      if (text_of(volume.as_object(), "name") == ours)
        return path + ".volumes[" + std::string(ours) + "]" + kIsOurs;
  return "";
}

std::string too_deep() {
  return "podTemplate is nested more than " + std::to_string(kTemplateDepthMax) +
         " levels deep; remove fields that a Pod does not have";
}

std::string why_not_keys(const std::map<std::string, std::string>& keys, const char* path) {
  for (const auto& [key, value] : keys)
    if (key.starts_with(v1::kReservedPrefix) || key == v1::kAppNameLabel ||
        key == v1::kAppInstanceLabel || key == v1::kAppManagedByLabel ||
        key == v1::kAppComponentLabel)
      return std::string(path) + "[" + key + "]" + kIsOurs;
  return "";
}

// --- Refused in a new template -------------------------------------------------------------------

/// Checks the keyed lists directly in `from`, and those in their elements.
std::string duplicate(const json::object& from, const std::string& path, KeyedLists lists) {
  for (const KeyedList& keyed : lists) {
    const std::string at = path + "." + std::string(keyed.name);
    std::set<std::string> known;
    for (const Json& element : list_in(from, keyed.name)) {
      if (!known.insert(serialize(identity_of(element, keyed))).second)
        return at + " has two elements with the same " + std::string(keyed.key) +
               "; remove one of them";
      const json::object& fields = element.as_object();
      const std::string inside = at + "[" + text_of(fields, keyed.key) + "]";
      if (std::string why = duplicate(fields, inside, lists_in(keyed.name)); !why.empty())
        return why;
    }
  }
  return "";
}

std::size_t depth_of(const Json& value) {
  std::size_t deepest = 0;
  if (const json::array* list = value.if_array())
    for (const Json& element : *list) deepest = std::max(deepest, depth_of(element));
  else if (const json::object* object = value.if_object())
    for (const auto& [key, child] : *object) deepest = std::max(deepest, depth_of(child));
  else return 0;
  return deepest + 1;
}

// --- Merging -------------------------------------------------------------------------------------

// Merges any template: an earlier release may have accepted what is refused now, and its members
// must still get their Pods.

void merge(json::object& into, const json::object& from, KeyedLists lists);

void merge_list(json::array& into, const json::array& from, const KeyedList& list) {
  for (const Json& element : from) {
    const auto same = std::ranges::find_if(into, [&](const Json& there) {
      const Json* key = key_of(element, list);
      const Json* other = key_of(there, list);
      return key && other && *key == *other;
    });
    if (same == into.end()) into.push_back(element);
    else if (list.name == "volumes") *same = element;  // A volume has exactly one source.
    else merge(same->as_object(), element.as_object(), lists_in(list.name));
  }
}

/// `lists`: the keyed lists directly in `into`.
void merge(json::object& into, const json::object& from, KeyedLists lists) {
  for (const auto& [key, value] : from) {
    Json* there = into.if_contains(key);
    const auto list = std::ranges::find(lists, std::string_view(key), &KeyedList::name);
    if (value.is_null()) into.erase(key);
    else if (there && there->is_object() && value.is_object())
      merge(there->as_object(), value.as_object(), {});
    else if (there && there->is_array() && value.is_array() && list != lists.end())
      merge_list(there->as_array(), value.as_array(), *list);
    else into[key] = value;
  }
}

}  // namespace

json::object cluster_labels(const std::string& cluster) {
  return {{v1::kAppNameLabel, "etcd"},
          {v1::kAppInstanceLabel, cluster},
          {v1::kAppManagedByLabel, "etcd-operator"},
          {v1::kClusterLabel, cluster}};
}

json::object pod_security() {
  return {{"runAsNonRoot", true},
          {"runAsUser", v1::kUserId},
          {"runAsGroup", v1::kUserId},
          {"fsGroup", v1::kUserId},
          {"fsGroupChangePolicy", "OnRootMismatch"},  // Else each start walks over all files.
          {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

json::object container_security() {
  return {{"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"capabilities", {{"drop", json::array{"ALL"}}}}};
}

std::string why_not_flags(const std::string& version, const v1::ExtraArgs& flags) {
  const auto parsed = etcd::parse_version(version);
  for (const auto& [flag, value] : flags) {
    if (v1::is_own_flag(flag)) return "extraArgs." + flag + kIsOurs;
    if (parsed && !etcd::takes_flag(*parsed, flag))
      return "extraArgs." + flag + " is not a flag of etcd " + std::to_string(parsed->major) + "." +
             std::to_string(parsed->minor);
  }
  return "";
}

std::string why_not_template(const v1::PodTemplate& added) {
  if (added.metadata) {
    if (std::string why = why_not_keys(added.metadata->labels, "podTemplate.metadata.labels");
        !why.empty())
      return why;
    if (std::string why =
            why_not_keys(added.metadata->annotations, "podTemplate.metadata.annotations");
        !why.empty())
      return why;
  }
  if (!added.spec) return "";
  if (kube::is_too_deep(*added.spec)) return too_deep();
  if (std::string why = why_too_large(added); !why.empty()) return why;
  return added.spec->is_object() ? why_not_spec(added.spec->as_object())
                                 : "podTemplate.spec is not an object";
}

std::string why_not_new_template(const v1::PodTemplate& added) {
  if (std::string why = why_not_template(added); !why.empty()) return why;
  const Json whole = api::encode(added);
  if (depth_of(whole) > kTemplateDepthMax) return too_deep();
  if (const std::size_t bytes = serialize(whole).size(); bytes > kTemplateBytesMax)
    return "podTemplate has " + std::to_string(bytes) + " bytes, more than " +
           std::to_string(kTemplateBytesMax) + "; move files and scripts into a ConfigMap";
  return added.spec ? duplicate(added.spec->as_object(), "podTemplate.spec", kOfSpec) : "";
}

void merge_template(json::object& pod, const v1::PodTemplate& added) {
  if (added.metadata)
    merge(pod["metadata"].as_object(), api::encode(*added.metadata).as_object(), {});
  if (added.spec && added.spec->is_object())
    merge(pod["spec"].as_object(), added.spec->as_object(), kOfSpec);
}

}  // namespace etcdop
