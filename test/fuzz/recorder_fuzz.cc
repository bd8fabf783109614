// The flight recorder: it records whatever a pass has seen, and its reader takes any text.
#include <string>
#include <string_view>

#include "base/check.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/json_delta.h"

namespace etcdop {
namespace {

Json parsed(std::string_view text) {
  boost::system::error_code wrong;
  Json out = json::parse(text, wrong);
  return wrong ? Json(std::string(text)) : out;  // Any bytes, as a field.
}

void differ(const Json& from, const Json& to) {
  Json changed = from;
  check(bool(apply(changed, delta(from, to))), "a delta fits");
  check(serialize(changed) == serialize(to), "and leads to the other value");
  Json other = to;
  (void)apply(other, from);  // Any value as a delta.
}

/// Recorded pairs are read again, the newest first.
void record(const Json& one, const Json& two) {
  FlightRecorder recorder({.pairs = 8, .object_bytes = 4 << 10, .total_bytes = 8 << 10});
  const api::ObjectKey key{"ns", "name"};
  for (const Json* seen : {&one, &two, &one, &one})
    recorder.record("EtcdCluster", key, {}, json::object{{"seen", *seen}}, *seen);
  check(recorder.bytes() <= 8 << 10, "it is bounded");
  FlightReader reader;
  const std::string text = recorder.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    (void)reader.read(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
}

void read(std::string_view lines) {
  FlightReader reader;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    (void)reader.read(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  const std::string_view text(data, size);
  read(text);
  const std::size_t middle = std::min(text.find('\n'), text.size());
  const Json one = parsed(text.substr(0, middle));
  const Json two = parsed(text.substr(std::min(middle + 1, text.size())));
  differ(one, two);
  record(one, two);
  return 0;
}
