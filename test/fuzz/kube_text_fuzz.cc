// Answers of an API server: objects, lists, watches. Users write large parts of them.
#include <algorithm>
#include <string>
#include <string_view>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "base/check.h"
#include "kube/core_types.h"
#include "kube/kept.h"
#include "kube/object_text.h"
#include "kube/reflector.h"
#include "kube/request.h"
#include "kube/watch_lines.h"

namespace etcdop::kube {
namespace {

/// An object that could be read can be kept, and read again: a Store relies on it.
template <class T>
void keep(const Json& json) {
  T object;
  (void)identity_of(json);
  (void)replaced_field(json);
  if (!api::decode(json, object, T::resource.kind)) return;
  boost::system::error_code wrong;
  T again;
  const auto ok =
      api::decode(parse_objects(serialize(api::encode(object)), 0, wrong), again, T::resource.kind);
  check(!wrong && ok, "what was written can be read");
  check(api::encode(again) == api::encode(object), "and is the same");
}

void keep_as_each_kind(const Json& json) {
  keep<api::v1alpha2::EtcdCluster>(json);
  keep<api::v1alpha2::EtcdMember>(json);
  keep<Pod>(json);
  keep<PersistentVolumeClaim>(json);
  keep<Service>(json);
}

void objects(std::string_view text, std::size_t level) {
  boost::system::error_code wrong;
  const Json read = parse_objects(text, level, wrong);
  if (wrong) return;
  if (level == 0) keep_as_each_kind(read);
  const json::object* const whole = read.if_object();
  const Json* const items = whole ? whole->if_contains("items") : nullptr;
  if (level == 2 && items && items->is_array())
    for (const Json& item : items->get_array()) keep_as_each_kind(item);
}

/// In pieces: the same objects, whatever the pieces.
void list(std::string_view body, std::size_t piece) {
  const auto objects_of = [&](std::size_t size) {
    std::string seen;
    const ListText::Item item = [&](const Json& object) {
      keep<Pod>(object);
      seen += serialize(object) + "\n";
    };
    ListText text(item);
    for (std::size_t at = 0; at < body.size(); at += size)
      if (!text.take(body.substr(at, size))) break;
    auto rest = text.result();
    return seen + (rest ? serialize(*rest) : rest.error().message);
  };
  check(objects_of(piece) == objects_of(std::max<std::size_t>(body.size(), 1)),
        "pieces do not matter");
}

/// In pieces: the same events, whatever the pieces.
void watch(std::string_view body, std::size_t piece) {
  const Call call{Verb::Watch, Pod::resource, "", {}, {}, {}, {}, {}};
  const auto events = [&](std::size_t size) {
    std::string seen;
    const WatchLines::Each each = [&](const WatchEvent& event) {
      keep<Pod>(event.object);
      seen += serialize(event.object) + "\n";
      return true;
    };
    WatchLines lines(call, each);
    for (std::size_t at = 0; at < body.size(); at += size)
      if (!lines.take(body.substr(at, size))) break;
    return seen + (lines.result() ? "" : lines.result().error().message);
  };
  check(events(piece) == events(std::max<std::size_t>(body.size(), 1)), "pieces do not matter");
}

}  // namespace
}  // namespace etcdop::kube

/// The first byte is the form, and the size of the pieces of a watch.
extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop::kube;
  if (size == 0) return 0;
  const auto form = static_cast<unsigned char>(data[0]);
  const std::string_view text(data + 1, size - 1);
  if (form % 4 < 3) objects(text, form % 4);
  if (form % 4 == 2) list(text, 1 + form / 4);
  else watch(text, 1 + form / 4);
  (void)to_error({Verb::Get, Pod::resource, "", {}, {}, {}, {}, {}}, 400 + form, text);
  return 0;
}
