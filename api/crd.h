// What a kind says about itself beside its schema, and the CustomResourceDefinition made of both.
#pragma once
#include <span>
#include <string>

#include "api/codec.h"
#include "api/meta.h"

namespace etcdop::api {

/// A column of `kubectl get`; of another priority than 0: of `kubectl get -o wide` only.
struct Column {
  const char *name, *type, *path;
  int priority = 0;
};

/// The paths of the scale sub-resource.
struct Scale {
  const char *spec_replicas, *status_replicas, *selector;
};

/// Puts the envelope of apiextensions.k8s.io/v1 around a kind's schema. `$ref`s are left as they
/// are. `scale` null: without that sub-resource.
Json crd(const Resource& resource, Json schema, std::span<const Column> columns,
         const Scale* scale);

/// The CustomResourceDefinition of a described kind with sub-resource status, and scale if it says
/// where its numbers are.
template <Described T>
Json crd() {
  if constexpr (requires { T::scale; }) return crd(T::resource, schema<T>(), T::columns, &T::scale);
  else return crd(T::resource, schema<T>(), T::columns, nullptr);
}

}  // namespace etcdop::api
