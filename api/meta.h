// The common parts of every Kubernetes object: names, identity, owners; and a kind's names in
// paths.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/describe.h"

namespace etcdop::api {

/// A kind's place in the API: constants, never built from outside data.
struct Resource {
  const char* group;  ///< "" for core/v1.
  const char* version;
  const char* plural;
  const char* kind;
  /// Compares the texts: equal literals may have several addresses.
  constexpr bool operator==(const Resource& other) const {
    using Text = std::string_view;
    return Text(group) == other.group && Text(version) == other.version &&
           Text(plural) == other.plural && Text(kind) == other.kind;
  }
};

/// "v1" or "group/version".
inline std::string api_version(const Resource& r) {
  return *r.group == '\0' ? r.version : std::string(r.group) + "/" + r.version;
}

/// Identifies an object; never one of its states.
struct ObjectKey {
  std::string ns, name;
  auto operator<=>(const ObjectKey&) const = default;
};
inline std::string to_string(const ObjectKey& key) { return key.ns + "/" + key.name; }

struct OwnerReference {
  std::string api_version, kind, name, uid;
  std::optional<bool> controller, block_owner_deletion;
  bool operator==(const OwnerReference&) const = default;

  template <class S = OwnerReference>
  static auto describe() {
    return object("Whom the garbage collector asks.",
                  Fields{required("apiVersion", &S::api_version, ""),
                         required("kind", &S::kind, ""), required("name", &S::name, ""),
                         required("uid", &S::uid, ""), optional("controller", &S::controller, ""),
                         optional("blockOwnerDeletion", &S::block_owner_deletion, "")});
  }
};

/// The part of metav1.ObjectMeta that we use. `resource_version` compares for equality only.
struct ObjectMeta {
  std::string name, ns, uid, resource_version;
  std::int64_t generation = 0;
  std::string creation_timestamp;                 ///< RFC 3339, whole seconds.
  std::optional<std::string> deletion_timestamp;  ///< Set: being deleted; finalizers may hold it.
  std::map<std::string, std::string> labels, annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;
  bool operator==(const ObjectMeta&) const = default;

  ObjectKey key() const { return {ns, name}; }
  bool terminating() const { return deletion_timestamp.has_value(); }
  /// The owner with `controller: true`; null without one.
  const OwnerReference* controller() const {
    for (const OwnerReference& o : owner_references)
      if (o.controller.value_or(false)) return &o;
    return nullptr;
  }

  template <class S = ObjectMeta>
  static auto describe() {
    return object(
        "metav1.ObjectMeta, the part that we use.",
        Fields{sparse("name", &S::name, ""), sparse("namespace", &S::ns, ""),
               sparse("uid", &S::uid, ""), sparse("resourceVersion", &S::resource_version, ""),
               sparse("generation", &S::generation, ""),
               sparse("creationTimestamp", &S::creation_timestamp, ""),
               optional("deletionTimestamp", &S::deletion_timestamp, ""),
               sparse("labels", &S::labels, ""), sparse("annotations", &S::annotations, ""),
               sparse("ownerReferences", &S::owner_references, ""),
               sparse("finalizers", &S::finalizers, "")});
  }
};

/// metav1.Condition.
struct Condition {
  std::string type, status, reason, message, last_transition_time;
  std::int64_t observed_generation = 0;
  bool operator==(const Condition&) const = default;

  template <class S = Condition>
  static auto describe() {
    return object(
        "metav1.Condition.",
        Fields{required("type", &S::type, "What the condition is about.",
                        {{"maxLength", 316},
                         {"pattern",
                          R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?)"
                          R"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)"}}),
               required("status", &S::status, "Whether it holds.",
                        {{"enum", json::array{"True", "False", "Unknown"}}}),
               required("reason", &S::reason, "Why, in one word for programs.",
                        {{"minLength", 1},
                         {"maxLength", 1024},
                         {"pattern", "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}}),
               required("message", &S::message, "Why, in a sentence for people.",
                        {{"maxLength", 32768}}),
               required("lastTransitionTime", &S::last_transition_time, "When status last changed.",
                        {{"format", "date-time"}}),
               sparse("observedGeneration", &S::observed_generation,
                      "The metadata.generation that this was said about.", {{"minimum", 0}})});
  }
};

}  // namespace etcdop::api
