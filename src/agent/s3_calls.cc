#include "agent/s3_calls.h"

#include <string_view>
#include <utility>

#include "s3/answers.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using s3::Trouble;

constexpr Duration kPauseMin = 1s;  // Doubled after each try.

/// The answer to HEAD contains no reason; that to GET does.
Error explained(s3::Store& store, const std::string& key, const Error& of_head) {
  auto got = store.get(key, {.range = s3::GetOptions::Range{0, 1}, .only_if = {}},
                       [](std::string_view) { return false; });
  if (got) return of_head;
  const Trouble trouble = s3::trouble_of(got.error());
  const bool told = trouble == Trouble::Bucket || trouble == Trouble::Elsewhere ||
                    trouble == Trouble::Credentials || trouble == Trouble::Clock ||
                    (trouble == Trouble::Other && got.failed_with(Code::Invalid));
  return told ? got.error() : of_head;
}

}  // namespace

std::string mark_of(const s3::Object& object, const char* mark) {
  const auto it = object.metadata.find(mark);
  return it == object.metadata.end() ? std::string() : it->second;
}

Result<Done> Patience::pause(const char* doing, int tries, const Error& error) {
  log_.warn("trying again", {{"what", doing}, {"error", error.message}});
  return to_result(executor_.sleep(kPauseMin * (1 << tries)), "waiting to ask the store again");
}

Result<std::optional<s3::Object>> look_at(Patience patience, s3::Store& store,
                                          const std::string& key) {
  auto object = patience.repeat("HEAD", [&] { return store.head(key); });
  if (object) return std::optional(std::move(*object));
  if (object.failed_with(Code::NotFound)) return std::optional<s3::Object>();
  if (object.failed_with(Code::Denied) || object.failed_with(Code::Invalid))
    return explained(store, key, object.error());
  return object.error();
}

Result<std::optional<SmallObject>> read_small(Patience patience, s3::Store& store,
                                              const std::string& key) {
  SmallObject out;
  auto object = patience.repeat("GET", [&] {
    out.text.clear();
    return store.get(key, {}, [&](std::string_view piece) {
      out.text += piece.substr(0, SmallObject::kBytesMax - out.text.size());
      return out.text.size() < SmallObject::kBytesMax;
    });
  });
  if (object.failed_with(Code::NotFound)) return std::optional<SmallObject>();
  if (!object) return object.error();
  out.object = std::move(*object);
  return std::optional(std::move(out));
}

}  // namespace etcdop::agent
