#include "sim/world/faults.h"

#include <algorithm>

#include "sim/dice.h"

namespace etcdop::sim {
namespace {

constexpr const char* kNames[] = {
    "api-slow",           "api-refused",    "api-lost",        "api-late",        "api-conflict",
    "api-outage",         "watch-cut",      "watch-lag",       "watch-silent",    "watch-expired",
    "etcd-slow",          "etcd-lost",      "etcd-black-hole", "operator-crash",  "operator-pause",
    "clock-jump",         "clock-rate",     "lease-edited",    "node-down",       "etcd-killed",
    "pod-killed",         "pod-evicted",    "image-errors",    "slow-start",      "dns-lag",
    "stale-address",      "partition",      "slow-snapshots",  "forgetful-peers", "quota",
    "user-spec",          "user-version",   "user-members",    "user-services",   "user-etcdctl",
    "user-cluster",       "volume-lost",    "volume-corrupt",  "user-password",   "user-secrets",
    "user-snapshots",     "user-restores",  "user-in-place",   "user-jobs",       "user-objects",
    "agent-killed",       "store-faults",   "kubelet-lag",     "pod-refused",     "oom-killed",
    "webhook-down",       "odd-neighbours", "anti-affinity",   "exact-quota",     "user-orphans",
    "user-keeps-volumes", "user-labels",    "etcd-hung",       "slow-defrag",     "slow-disk",
    "foreign-data",       "one-way-dials",  "old-crds",        "old-build",       "webhook-slow",
    "webhook-rewrites",   "late-policy",    "sidecars",        "disk-full",       "user-children",
    "user-fields",        "user-orders"};

/// Faults under which the operator is known to do wrong, and faults that too few worlds have had
/// yet. No seed draws them; `--faults` takes them.
bool is_found(Fault f) {
  (void)f;
  return false;  // None now.
}
constexpr auto kCount = static_cast<std::size_t>(Fault::kCount);
static_assert(std::size(kNames) == kCount);

}  // namespace

const char* to_string(Fault f) { return kNames[static_cast<std::size_t>(f)]; }

bool hinders(Fault f) {
  return f <= Fault::LeaseEdited || f == Fault::OldBuild || f == Fault::WebhookSlow;
}

bool Faults::hinder() const {
  return active_ && std::ranges::any_of(list(), [](Fault f) { return hinders(f); });
}

Faults Faults::draw(std::uint64_t seed) {
  const auto chance = [seed](std::string_view what) { return hash_of(what, seed); };
  const auto chance_of = [&](Fault f) { return chance(to_string(f)); };
  constexpr std::uint64_t kKinds = 16, kClear = 6, kSeeing = 4, kFewMax = 3, kDensityMax = 70;
  std::vector<Fault> all;
  for (std::size_t i = 0; i < kCount; ++i) all.push_back(static_cast<Fault>(i));
  Faults out;
  const std::uint64_t kind = chance("kind of world") % kKinds;
  if (kind == 0) return out;
  std::erase_if(all, is_found);
  if (kind <= kClear) {
    if (kind <= kSeeing) std::erase_if(all, hinders);
    std::ranges::sort(all, {}, chance_of);
    all.resize(1 + chance("how few") % kFewMax);
    for (const Fault f : all) out.set(f);
    return out;
  }
  const std::uint64_t density = chance("density") % kDensityMax;  // Percent.
  for (const Fault f : all) out.set(f, chance_of(f) % 100 < density);
  // Losing data for good is rarer: such worlds cannot show much else.
  for (const Fault f : {Fault::VolumeLost, Fault::VolumeCorrupt})
    if (hash_of("rarer", chance_of(f)) % 4 != 0) out.set(f, false);
  return out;
}

Result<Faults> Faults::parse(std::string_view text) {
  Faults out;
  if (text == "none") return out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    bool known = false;
    for (std::size_t i = 0; i < kCount; ++i)
      if (name == "all" || name == kNames[i]) {
        out.set(static_cast<Fault>(i));
        known = true;
      }
    if (!known) return Error{Code::Invalid, "there is no fault \"" + std::string(name) + "\""};
  }
  return out;
}

std::vector<Fault> Faults::list() const {
  std::vector<Fault> out;
  for (std::size_t i = 0; i < kCount; ++i)
    if (has(static_cast<Fault>(i))) out.push_back(static_cast<Fault>(i));
  return out;
}

std::string Faults::text() const {
  std::string out;
  for (const Fault f : list()) (out += out.empty() ? "" : ",") += to_string(f);
  return out.empty() ? "none" : out;
}

}  // namespace etcdop::sim
