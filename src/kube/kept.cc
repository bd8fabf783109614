#include "kube/kept.h"

namespace etcdop::kube {
namespace {

constexpr std::size_t kPartMin = 1 << 10;

/// The fields of these objects are looked at.
bool has_parts(const std::string& path) {
  return path == "spec" || path == "status" || path == "status/observed";
}

/// Our own text, which was bounded when it was read. It may be longer than what was read: numbers
/// have other spellings.
Json parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = kObjectDepthMax;
  boost::system::error_code wrong;
  Json out = json::parse(text, wrong, {}, options);
  check(!wrong, "what was written is JSON");
  return out;
}

void take_parts(json::object& from, const std::string& path, SharedTexts& shared, PackedText& out) {
  std::vector<std::string> taken;
  for (auto& [key, value] : from) {
    const std::string at = path.empty() ? std::string(key) : path + "/" + std::string(key);
    if (has_parts(at) && value.is_object()) {
      take_parts(value.get_object(), at, shared, out);
    } else if (!path.empty() && value.is_structured()) {
      std::string text = serialize(value);
      if (text.size() < kPartMin) continue;
      out.parts.push_back({at, shared.share(std::move(text))});
      taken.emplace_back(key);
    }
  }
  for (const std::string& key : taken) from.erase(key);
}

}  // namespace

PackedText packed(Json object, SharedTexts& shared) {
  PackedText out;
  if (object.is_object()) take_parts(object.get_object(), "", shared, out);
  out.text = serialize(object);
  out.text.shrink_to_fit();
  out.parts.shrink_to_fit();
  return out;
}

Json unpacked(const PackedText& packed) {
  Json out = parsed(packed.text);
  for (const PackedText::Part& part : packed.parts) {
    json::object* at = &out.as_object();
    std::string_view path = part.path;
    for (std::size_t slash; (slash = path.find('/')) != path.npos; path.remove_prefix(slash + 1))
      at = &at->at(path.substr(0, slash)).as_object();
    (*at)[path] = parsed(*part.text);
  }
  return out;
}

}  // namespace etcdop::kube
