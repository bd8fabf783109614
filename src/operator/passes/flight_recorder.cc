#include "operator/passes/flight_recorder.h"

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "operator/passes/json_delta.h"

namespace etcdop {
namespace {

constexpr std::size_t kPairCosts = 128, kRingCosts = 256;  // In addition to the texts.

/// Fields that differ between like passes: the time, etcd's raft index, how long to wait. A user's
/// label with such a key is skipped, too: a changed object has another resourceVersion anyway.
bool is_restless(std::string_view key) {
  return key == "now" || key == "applied" || key == "again";
}

/// Deeper than an API server's limit: a pair holds objects two levels down, a line one more.
Json parse(std::string_view text, boost::system::error_code& wrong) {
  json::parse_options options;
  options.max_depth = 64;
  return json::parse(text, wrong, {}, options);
}

std::uint64_t mix(std::uint64_t hash, std::string_view text) {  // FNV-1a.
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return (hash ^ 0xff) * 1099511628211U;
}

std::uint64_t hash_of(const Json& value, std::uint64_t hash = 14695981039346656037U) {
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, field] : *object)
      if (!is_restless(key)) hash = hash_of(field, mix(hash, key));
    return mix(hash, "}");
  }
  if (const json::array* list = value.if_array()) {
    for (const Json& element : *list) hash = hash_of(element, hash);
    return mix(hash, "]");
  }
  if (const json::string* text = value.if_string()) return mix(mix(hash, "\""), *text);
  return mix(hash, serialize(value));
}

void drop_annotations(Json& observation) {
  for (auto& [name, value] : observation.as_object())
    if (json::object* object = value.if_object())
      if (Json* metadata = object->if_contains("metadata"))
        if (metadata->is_object()) metadata->as_object().erase("annotations");
}

}  // namespace

void FlightRecorder::record(const char* kind, const api::ObjectKey& key, WallTime now,
                            Json observation, Json plan) {
  try {
    keep(kind, key, now, std::move(observation), std::move(plan));
  } catch (const std::exception&) { forget(kind, key); }  // A failed recording ends no pass.
}

void FlightRecorder::forget(const char* kind, const api::ObjectKey& key) {
  if (const auto at = rings_.find({kind, key}); at != rings_.end())
    while (!at->second.pairs.empty()) drop_oldest(at->second);
}

void FlightRecorder::keep(const char* kind, const api::ObjectKey& key, WallTime now,
                          Json observation, Json plan) {
  drop_annotations(observation);
  const Json pair{{"observation", std::move(observation)}, {"plan", std::move(plan)}};
  const std::uint64_t hash = hash_of(pair);
  Ring& ring = ring_of(kind, key);
  ring.gone = false;
  if (ring.last == hash) {
    if (ring.pairs.empty()) return;
    ++ring.pairs.back().times;
    ring.pairs.back().until = now;
    return;
  }
  ring.last = hash;
  std::string text = serialize(pair);
  if (!ring.pairs.empty()) {
    std::string& newest = ring.pairs.back().text;
    boost::system::error_code wrong;
    const Json before = parse(newest, wrong);
    if (wrong) {  // It has bytes that are not UTF-8: older pairs cannot be told from it.
      while (!ring.pairs.empty()) drop_oldest(ring);
    } else {
      std::string less = serialize(delta(pair, before));
      shrink(ring, newest.size());
      grow(ring, less.size());
      less.shrink_to_fit();
      newest = std::move(less);
    }
  }
  append(ring, std::move(text), now);
  make_room();
}

FlightRecorder::Ring& FlightRecorder::ring_of(const char* kind, const api::ObjectKey& key) {
  const auto [at, is_new] = rings_.try_emplace({kind, key});
  if (is_new) bytes_ += kRingCosts;
  return at->second;
}

void FlightRecorder::append(Ring& ring, std::string text, WallTime now) {
  grow(ring, text.size() + kPairCosts);
  ring.pairs.push_back({std::move(text), ++recorded_, 1, now});
  while (ring.pairs.size() > limits_.pairs || ring.bytes > limits_.object_bytes) drop_oldest(ring);
}

void FlightRecorder::drop_oldest(Ring& ring) {
  shrink(ring, ring.pairs.front().text.size() + kPairCosts);
  ring.pairs.pop_front();
}

void FlightRecorder::make_room() {
  const auto age = [](const Rings::value_type& ring) {
    return ring.second.pairs.empty() ? UINT64_MAX : ring.second.pairs.front().nth;
  };
  while (bytes_ > limits_.total_bytes) {
    const auto oldest = std::ranges::min_element(rings_, {}, age);
    if (oldest == rings_.end() || oldest->second.pairs.empty()) return;
    drop_oldest(oldest->second);
    if (oldest->second.pairs.empty() && oldest->second.gone) erase(oldest);
  }
}

void FlightRecorder::gone(const char* kind, const api::ObjectKey& key) {
  const auto at = rings_.find({kind, key});
  if (at == rings_.end()) return;
  at->second.gone = true;
  if (at->second.pairs.empty()) erase(at);
}

void FlightRecorder::erase(Rings::iterator at) {
  bytes_ -= kRingCosts;
  rings_.erase(at);
}

void FlightRecorder::grow(Ring& ring, std::size_t more) {
  ring.bytes += more;
  bytes_ += more;
}

void FlightRecorder::shrink(Ring& ring, std::size_t less) {
  ring.bytes -= less;
  bytes_ -= less;
}

std::string FlightRecorder::newest(const char* kind, const api::ObjectKey& key) const {
  const auto at = rings_.find({kind, key});
  return at == rings_.end() || at->second.pairs.empty() ? "" : at->second.pairs.back().text;
}

std::string FlightRecorder::text() const {
  std::string out;
  for (const auto& [whose, ring] : rings_)
    for (auto pair = ring.pairs.rbegin(); pair != ring.pairs.rend(); ++pair) {
      json::object head{{"kind", whose.first},
                        {"object", to_string(whose.second)},
                        {"times", pair->times},
                        {"until", to_rfc3339(pair->until)}};
      std::string line = serialize(head);
      line.back() = ',';
      out +=
          line + (pair == ring.pairs.rbegin() ? "\"pair\":" : "\"before\":") + pair->text + "}\n";
    }
  return out;
}

namespace {

std::string text_at(const json::object& line, const char* key) {
  const Json* value = line.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

}  // namespace

Result<FlightReader::Pair> FlightReader::read(std::string_view line) {
  boost::system::error_code wrong;
  const Json parsed = parse(line, wrong);
  const json::object* fields = parsed.if_object();
  if (wrong || !fields) return Error{Code::Invalid, "it is not a JSON object"};
  Pair out;
  out.kind = text_at(*fields, "kind");
  out.object = text_at(*fields, "object");
  out.until = text_at(*fields, "until");
  if (const Json* times = fields->if_contains("times"); times && times->is_int64())
    out.times = times->as_int64();
  const std::string whose = out.kind + " " + out.object;
  if (const Json* whole = fields->if_contains("pair")) {
    last_.emplace(whose, *whole);
  } else if (const Json* before = fields->if_contains("before")) {
    if (!last_ || last_->first != whose)
      return Error{Code::Invalid, "it says what was before a pair that does not precede it"};
    if (auto applied = apply(last_->second, *before); !applied) {
      last_.reset();
      return Error(applied.error()).during("before");
    }
  } else {
    return Error{Code::Invalid, "it has neither pair nor before"};
  }
  const json::object* pair = last_->second.if_object();
  const Json* observation = pair ? pair->if_contains("observation") : nullptr;
  const Json* plan = pair ? pair->if_contains("plan") : nullptr;
  if (!observation || !plan) return Error{Code::Invalid, "the pair has no observation, or no plan"};
  out.observation = *observation;
  out.plan = *plan;
  return out;
}

}  // namespace etcdop
