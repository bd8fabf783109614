// What a kind says about itself beside its schema, and the CustomResourceDefinition made of both.
#pragma once
#include <span>
#include <string>

#include "api/codec.h"
#include "api/meta.h"

namespace etcdop::api {

/// A column of `kubectl get`.
struct Column {
  const char *name, *type, *path;
};

/// The paths of the scale sub-resource.
struct Scale {
  const char *spec_replicas, *status_replicas, *selector;
};

/// Puts the envelope of apiextensions.k8s.io/v1 around a kind's schema. `$ref`s are left as they
/// are.
Json crd(const Resource& resource, Json schema, std::span<const Column> columns,
         const Scale& scale);

/// The CustomResourceDefinition of a described kind with sub-resources status and scale.
template <Described T>
Json crd() {
  return crd(T::resource, schema<T>(), T::columns, T::scale);
}

}  // namespace etcdop::api
