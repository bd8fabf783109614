#include "operator/passes/refusals.h"

namespace etcdop {

bool refused(const Result<Done>& done) {
  return done.failed_with(Code::Denied) || done.failed_with(Code::Invalid) ||
         done.failed_with(Code::AlreadyExists);
}

Duration Refusals::wait(const api::ObjectKey& key, const std::string& write, Instant now) const {
  const auto last = last_.find(key);
  if (last == last_.end() || last->second.write != write) return Duration(0);
  return std::max(last->second.until - now, Duration(0));
}

bool Refusals::note(const api::ObjectKey& key, const std::string& write, const Result<Done>& done,
                    Instant now) {
  const auto last = last_.find(key);
  const bool known = last != last_.end();
  if (!refused(done)) {
    if (known && (done || last->second.write != write)) last_.erase(last);
    return false;
  }
  const bool again = known && last->second.write == write;
  const bool news = !known || last->second.why != done.error().message;
  last_[key] = {write, done.error().message, now + (again ? kLater : kSoon)};
  return news;
}

std::string Refusals::why(const api::ObjectKey& key) const {
  const auto last = last_.find(key);
  return last == last_.end() ? "" : last->second.why;
}

}  // namespace etcdop
