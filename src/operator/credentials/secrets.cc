#include "operator/credentials/secrets.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace etcdop {

using namespace std::chrono_literals;

namespace {
constexpr Duration kKept = 5min;                      // For each Secret that is referred to (I9).
constexpr Duration kPauseMin = 1s, kPauseMax = 1min;  // Between reads of a missing Secret.
constexpr Duration kUnused = 15min;                   // Since the last use.
}  // namespace

void Secrets::keep(Entry& entry, Result<kube::SecretObject> read) {
  const bool known = bool(entry.value);
  entry.read = executor_.now();
  if (read) {
    auto& value = entry.value;
    if (!known || (*value)->metadata.resource_version != read->metadata.resource_version)
      value = std::make_shared<const kube::SecretObject>(std::move(*read));
    entry.pause = entry.doubted ? entry.pause : kKept;
    entry.doubted = false;
  } else if (!known || read.failed_with(Code::NotFound)) {
    entry.value = read.error();
  }
  const bool news = entry.pause >= kKept || (known && !entry.value);
  if (!read) entry.pause = news ? kPauseMin : std::clamp(2 * entry.pause, kPauseMin, kPauseMax);
  entry.again = entry.read + entry.pause;
}

Result<Secrets::Value> Secrets::get(const api::ObjectKey& key) {
  sweep();
  const auto known = entries_.find(key);
  if (known == entries_.end() || executor_.now() >= known->second.again) (void)ask(key);
  Entry& entry = entries_[key];
  entry.used = executor_.now();
  return entry.value;
}

Result<Secrets::Value> Secrets::ask(const api::ObjectKey& key) {
  auto read = api_.get<kube::SecretObject>(key);  // Suspends: entries may come and go meanwhile.
  std::optional<Error> failed;
  if (!read) failed = read.error();
  Entry& entry = entries_[key];
  entry.used = executor_.now();
  keep(entry, std::move(read));
  if (failed) return *failed;
  return entry.value;
}

void Secrets::doubt(const api::ObjectKey& key, const Value& value) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.doubted || !found->second.value ||
      *found->second.value != value)
    return;
  Entry& entry = found->second;
  entry.doubted = true;
  entry.pause = entry.pause >= kKept ? kPauseMin : std::min(2 * entry.pause, kPauseMax);
  entry.again = entry.read + entry.pause;
}

void Secrets::expire(const api::ObjectKey& key) {
  if (const auto found = entries_.find(key); found != entries_.end())
    found->second.again = Instant::min();
}

void Secrets::wrote(kube::SecretObject object) {
  const api::ObjectKey key = object.metadata.key();
  keep(entries_[key], std::move(object));
}

void Secrets::sweep() {
  const Instant now = executor_.now();
  if (now - swept_ < kUnused) return;
  swept_ = now;
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.used > kUnused; });
}

std::string why_unread(const Result<Secrets::Value>& read) {
  return read.failed_with(Code::NotFound) ? "does not exist"
                                          : "cannot be read: " + read.error().message;
}

}  // namespace etcdop
