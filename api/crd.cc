#include "api/crd.h"

#include <algorithm>

namespace etcdop::api {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

/// The root's own fields: the API server checks metadata.
json::object root_properties(json::object properties) {
  json::object out{
      {"apiVersion", {{"description", "Version of this representation."}, {"type", "string"}}},
      {"kind", {{"description", "What this object is."}, {"type", "string"}}},
      {"metadata", {{"type", "object"}}}};
  for (auto& [name, property] : properties)
    if (name != "metadata") out[name] = std::move(property);
  return out;
}

}  // namespace

Json crd(const Resource& resource, Json schema, std::span<const Column> columns,
         const Scale* scale) {
  json::object& root = schema.as_object();
  root["properties"] = root_properties(std::move(root["properties"].as_object()));
  json::array printed;
  for (const Column& c : columns) {
    json::object column{{"name", c.name}, {"type", c.type}, {"jsonPath", c.path}};
    if (c.priority != 0) column["priority"] = c.priority;
    printed.push_back(std::move(column));
  }
  json::object subresources{{"status", json::object{}}};
  if (scale)
    subresources["scale"] = json::object{{"specReplicasPath", scale->spec_replicas},
                                         {"statusReplicasPath", scale->status_replicas},
                                         {"labelSelectorPath", scale->selector}};
  const std::string kind = resource.kind;
  return json::object{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", {{"name", std::string(resource.plural) + "." + resource.group}}},
      {"spec",
       {{"group", resource.group},
        {"scope", "Namespaced"},
        {"names",
         {{"kind", kind},
          {"listKind", kind + "List"},
          {"plural", resource.plural},
          {"singular", lower(kind)}}},
        {"versions", json::array{{{"name", resource.version},
                                  {"served", true},
                                  {"storage", true},
                                  {"subresources", std::move(subresources)},
                                  {"additionalPrinterColumns", std::move(printed)},
                                  {"schema", {{"openAPIV3Schema", std::move(schema)}}}}}}}}};
}

}  // namespace etcdop::api
