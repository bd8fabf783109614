// A kind's properties besides its schema, and the CustomResourceDefinition made of both.
#pragma once
#include <span>
#include <string>

#include "api/codec.h"
#include "api/meta.h"

namespace etcdop::api {

/// A column of `kubectl get`; with a priority other than 0, only of `kubectl get -o wide`.
struct Column {
  const char *name, *type, *path;
  int priority = 0;
};

/// The paths of the scale subresource.
struct Scale {
  const char *spec_replicas, *status_replicas, *selector;
};

/// Wraps a kind's schema in a CustomResourceDefinition of apiextensions.k8s.io/v1. Leaves `$ref`s
/// unchanged. `scale` null: without that subresource.
Json crd(const Resource& resource, Json schema, std::span<const Column> columns,
         const Scale* scale);

/// The CustomResourceDefinition of a described kind with subresource status, and with scale if the
/// kind has a `scale`.
template <Described T>
Json crd() {
  if constexpr (requires { T::scale; }) return crd(T::resource, schema<T>(), T::columns, &T::scale);
  else return crd(T::resource, schema<T>(), T::columns, nullptr);
}

}  // namespace etcdop::api
