#include "operator/pods/pod_policy.h"

#include <algorithm>
#include <functional>
#include <span>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "operator/pods/pod_shape.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

/// A field, and the values that it may have, as JSON; it may also be absent. In a path, "[]" stands
/// for each element of a list; a path that begins with '@' is that of a container.
struct Field {
  std::string_view path;
  std::span<const std::string_view> allowed;
};

constexpr std::string_view kFalse[] = {"false"};
constexpr std::string_view kZero[] = {"0"};
constexpr std::string_view kEmpty[] = {"\"\""};
constexpr std::string_view kAdded[] = {
    "\"AUDIT_WRITE\"", "\"CHOWN\"",  "\"DAC_OVERRIDE\"",     "\"FOWNER\"",  "\"FSETID\"",
    "\"KILL\"",        "\"MKNOD\"",  "\"NET_BIND_SERVICE\"", "\"SETFCAP\"", "\"SETGID\"",
    "\"SETPCAP\"",     "\"SETUID\"", "\"SYS_CHROOT\""};
constexpr std::string_view kProfiles[] = {"\"RuntimeDefault\"", "\"Localhost\""};
constexpr std::string_view kDomains[] = {"\"\"", "\"container_t\"", "\"container_init_t\"",
                                         "\"container_kvm_t\"", "\"container_engine_t\""};
constexpr std::string_view kProcMount[] = {"\"Default\""};
constexpr std::string_view kLocal[] = {"\"\"", "\"127.0.0.1\"", "\"::1\""};
constexpr std::string_view kSysctls[] = {
    "\"kernel.shm_rmid_forced\"",           "\"net.ipv4.ip_local_port_range\"",
    "\"net.ipv4.ip_local_reserved_ports\"", "\"net.ipv4.ip_unprivileged_port_start\"",
    "\"net.ipv4.ping_group_range\"",        "\"net.ipv4.tcp_fin_timeout\"",
    "\"net.ipv4.tcp_keepalive_intvl\"",     "\"net.ipv4.tcp_keepalive_probes\"",
    "\"net.ipv4.tcp_keepalive_time\"",      "\"net.ipv4.tcp_rmem\"",
    "\"net.ipv4.tcp_syncookies\"",          "\"net.ipv4.tcp_wmem\""};
constexpr std::string_view kBind[] = {"\"NET_BIND_SERVICE\""};

constexpr Field kBaseline[] = {
    {"hostNetwork", kFalse},
    {"hostPID", kFalse},
    {"hostIPC", kFalse},
    {"volumes[].hostPath", {}},
    {"securityContext.windowsOptions.hostProcess", kFalse},
    {"securityContext.appArmorProfile.type", kProfiles},
    {"securityContext.seccompProfile.type", kProfiles},
    {"securityContext.seLinuxOptions.type", kDomains},
    {"securityContext.seLinuxOptions.user", kEmpty},
    {"securityContext.seLinuxOptions.role", kEmpty},
    {"securityContext.sysctls[].name", kSysctls},
    {"@ports[].hostPort", kZero},
    {"@securityContext.privileged", kFalse},
    {"@securityContext.capabilities.add[]", kAdded},
    {"@securityContext.windowsOptions.hostProcess", kFalse},
    {"@securityContext.appArmorProfile.type", kProfiles},
    {"@securityContext.seccompProfile.type", kProfiles},
    {"@securityContext.seLinuxOptions.type", kDomains},
    {"@securityContext.seLinuxOptions.user", kEmpty},
    {"@securityContext.seLinuxOptions.role", kEmpty},
    {"@livenessProbe.httpGet.host", kLocal},
    {"@livenessProbe.tcpSocket.host", kLocal},
    {"@readinessProbe.httpGet.host", kLocal},
    {"@readinessProbe.tcpSocket.host", kLocal},
    {"@startupProbe.httpGet.host", kLocal},
    {"@startupProbe.tcpSocket.host", kLocal},
    {"@lifecycle.postStart.httpGet.host", kLocal},
    {"@lifecycle.postStart.tcpSocket.host", kLocal},
    {"@lifecycle.preStop.httpGet.host", kLocal},
    {"@lifecycle.preStop.tcpSocket.host", kLocal},
};
/// In addition, unless root in the container is another user on the node (hostUsers: false).
constexpr Field kOfHostUsers[] = {{"@securityContext.procMount", kProcMount}};
/// In addition.
constexpr Field kRestricted[] = {
    {"@securityContext.procMount", kProcMount},
    {"@securityContext.allowPrivilegeEscalation", kFalse},
    {"@securityContext.capabilities.add[]", kBind},
};

constexpr std::string_view kVolumes[] = {"name",      "configMap", "csi",   "downwardAPI",
                                         "emptyDir",  "ephemeral", "image", "persistentVolumeClaim",
                                         "projected", "secret"};
constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";

/// Null: no such field, or what has it is not an object.
const Json* field_of(const Json& from, std::string_view name) {
  const json::object* fields = from.if_object();
  return fields ? fields->if_contains(name) : nullptr;
}

/// The value of nested fields; null: none.
const Json* at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* out = &from;
  for (const std::string_view name : path)
    if (!out || !(out = field_of(*out, name))) return nullptr;
  return out;
}

bool is(const Json* value, const Json& wanted) { return value && *value == wanted; }

const json::array& list_of(const Json& from, std::string_view name) {
  static const json::array none;
  const Json* list = field_of(from, name);
  return list && list->is_array() ? list->get_array() : none;
}

std::string name_of(const Json& element) {
  const Json* name = field_of(element, "name");
  return name && name->is_string() ? std::string(name->get_string()) : "";
}

bool is_allowed(const Json& value, std::span<const std::string_view> allowed) {
  if (value.is_null()) return true;
  if (value.is_structured()) return false;
  return std::ranges::find(allowed, std::string_view(serialize(value))) != allowed.end();
}

/// The path of the first value below `from` that is not allowed; empty: none.
std::string fault(const Json& from, std::string_view path,
                  std::span<const std::string_view> allowed, const std::string& where) {
  if (path.empty()) return is_allowed(from, allowed) ? "" : where;
  const std::size_t dot = path.find('.');
  std::string_view name = path.substr(0, dot);
  const std::string_view rest = dot == path.npos ? "" : path.substr(dot + 1);
  const bool each = name.ends_with("[]");
  if (each) name.remove_suffix(2);
  const std::string here = where + "." + std::string(name);
  const Json* value = field_of(from, name);
  if (!value) return "";
  if (!each) return fault(*value, rest, allowed, here);
  for (const Json& element : list_of(from, name))
    if (std::string found = fault(element, rest, allowed, here + "[" + name_of(element) + "]");
        !found.empty())
      return found;
  return "";
}

using Container = std::function<std::string(const Json& container, const std::string& where)>;

/// The first answer that is not empty.
std::string of_containers(const Json& spec, const Container& judge) {
  for (const char* list : {"containers", "initContainers"})
    for (const Json& container : list_of(spec, list))
      if (std::string why =
              judge(container, std::string("spec.") + list + "[" + name_of(container) + "]");
          !why.empty())
        return why;
  return "";
}

std::string by_fields(const Json& spec, std::span<const Field> fields) {
  for (const Field& field : fields) {
    const bool in_container = field.path.starts_with('@');
    std::string found =
        in_container
            ? of_containers(spec,
                            [&](const Json& container, const std::string& where) {
                              return fault(container, field.path.substr(1), field.allowed, where);
                            })
            : fault(spec, field.path, field.allowed, "spec");
    if (!found.empty()) return found + " has a value that is not allowed";
  }
  return "";
}

std::string by_annotations(const json::object& pod) {
  const Json* metadata = pod.if_contains("metadata");
  const Json* annotations = metadata ? field_of(*metadata, "annotations") : nullptr;
  if (!annotations || !annotations->is_object()) return "";
  for (const auto& [key, value] : annotations->get_object()) {
    const std::string_view is =
        value.is_string() ? std::string_view(value.get_string()) : std::string_view();
    if (key.starts_with(kAppArmorAnnotation) && is != "runtime/default" &&
        !is.starts_with("localhost/"))
      return "metadata.annotations[" + std::string(key) + "] has a value that is not allowed";
  }
  return "";
}

std::string by_volumes(const Json& spec) {
  for (const Json& volume : list_of(spec, "volumes")) {
    const json::object* fields = volume.if_object();
    if (!fields) continue;
    for (const auto& [source, value] : *fields)
      if (std::ranges::find(kVolumes, std::string_view(source)) == std::end(kVolumes))
        return "spec.volumes[" + name_of(volume) + "]." + std::string(source) +
               " is a kind of volume that is not allowed";
  }
  return "";
}

/// Fields that a container must have, or have from its Pod.
std::string lacks_in(const Json& container, const std::string& where, const Json& spec) {
  const std::string context = where + ".securityContext.";
  if (!is(at(container, {"securityContext", "allowPrivilegeEscalation"}), false))
    return context + "allowPrivilegeEscalation must be false";
  const Json* const capabilities = at(container, {"securityContext", "capabilities"});
  const bool drops = capabilities && std::ranges::any_of(list_of(*capabilities, "drop"),
                                                         [](const Json& c) { return c == "ALL"; });
  if (!drops) return context + "capabilities.drop must have ALL";
  const auto from_either = [&](std::initializer_list<std::string_view> path) {
    const Json* own = at(container, {"securityContext"});
    if (const Json* value = own ? at(*own, path) : nullptr; value && !value->is_null())
      return value;
    const Json* pods = at(spec, {"securityContext"});
    return pods ? at(*pods, path) : nullptr;
  };
  if (!is(from_either({"runAsNonRoot"}), true)) return context + "runAsNonRoot must be true";
  if (is(from_either({"runAsUser"}), 0)) return context + "runAsUser must not be 0";
  const Json* const profile = from_either({"seccompProfile", "type"});
  if (!profile || profile->is_null())
    return context + "seccompProfile.type must be RuntimeDefault or Localhost";
  return "";
}

std::string not_restricted(const Json& spec) {
  if (std::string why = by_volumes(spec); !why.empty()) return why;
  if (std::string why = by_fields(spec, kRestricted); !why.empty()) return why;
  if (is(at(spec, {"securityContext", "runAsNonRoot"}), false))
    return "spec.securityContext.runAsNonRoot must be true";
  if (is(at(spec, {"securityContext", "runAsUser"}), 0))
    return "spec.securityContext.runAsUser must not be 0";
  return of_containers(spec, [&](const Json& container, const std::string& where) {
    return lacks_in(container, where, spec);
  });
}

/// The parts of a member's Pod that a standard judges, with the template.
json::object with_template(const v1::PodTemplate& added) {
  json::object out{{"metadata", json::object()},
                   {"spec",
                    {{"automountServiceAccountToken", false},
                     {"securityContext", pod_security()},
                     {"containers", json::array{{{"name", v1::kEtcdContainer},
                                                 {"securityContext", container_security()}}}}}}};
  merge_template(out, added);
  return out;
}

}  // namespace

std::string why_not_pod(const json::object& pod, PodPolicy policy) {
  if (policy == PodPolicy::Any) return "";
  static const Json none = json::object();
  const Json* found = pod.if_contains("spec");
  const Json& spec = found ? *found : none;
  if (std::string why = by_annotations(pod); !why.empty()) return why;
  if (std::string why = by_fields(spec, kBaseline); !why.empty()) return why;
  if (!is(field_of(spec, "hostUsers"), false))
    if (std::string why = by_fields(spec, kOfHostUsers); !why.empty()) return why;
  return policy == PodPolicy::Restricted ? not_restricted(spec) : "";
}

std::string why_not_by_policy(const v1::PodTemplate& added, PodPolicy policy) {
  const std::string why = why_not_pod(with_template(added), policy);
  if (why.empty()) return "";
  const bool baseline = policy == PodPolicy::Baseline;
  return "podTemplate." + why +
         " by --pod-template-policy=" + (baseline ? "baseline" : "restricted") +
         "; remove it, or let the operator's administrator choose --pod-template-policy=" +
         (baseline ? "any" : "baseline");
}

std::string account_of(const v1::PodTemplate& added) {
  const json::object pod = with_template(added);
  const Json& spec = pod.at("spec");
  const bool projected = std::ranges::any_of(list_of(spec, "volumes"), [](const Json& volume) {
    const Json* sources = at(volume, {"projected"});
    return sources && std::ranges::any_of(list_of(*sources, "sources"), [](const Json& source) {
             return field_of(source, "serviceAccountToken") != nullptr;
           });
  });
  const Json* const named = field_of(spec, "serviceAccountName");
  const std::string name =
      named && named->is_string() ? std::string(named->get_string()) : std::string();
  const bool has_token = projected || !is(field_of(spec, "automountServiceAccountToken"), false);
  if (!has_token && name.empty()) return "";
  return name.empty() ? "default" : name;
}

}  // namespace etcdop
