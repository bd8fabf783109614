#include "operator/passes/refusals.h"

#include <algorithm>

namespace etcdop {
namespace {

constexpr int kDoublings = 5;  // From kSoon to about kLater.

}  // namespace

bool refused(const Result<Done>& done) {
  return done.failed_with(Code::Denied) || done.failed_with(Code::Invalid) ||
         done.failed_with(Code::AlreadyExists);
}

bool failed(const Result<Done>& done) {
  return done.failed_with(Code::Lost) || done.failed_with(Code::TimedOut) ||
         done.failed_with(Code::Unavailable);
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
  const bool again = known && last->second.write == write;
  if (!refused(done) && !failed(done)) {
    if (known && (done || !again)) last_.erase(last);
    return false;
  }
  Refusal& noted = last_[key];
  const std::string& words = done.error().message;
  if (refused(done)) {
    noted.write = write;
    noted.taken = done.failed_with(Code::AlreadyExists);
    return note_refusal(noted, words, again, now);
  }
  if (!again)
    noted = {.write = write, .why = "", .until = now, .first = now, .told = now, .taken = false};
  return note_failure(noted, words, now);
}

bool Refusals::note_refusal(Refusal& noted, const std::string& words, bool again,
                            Instant now) const {
  const bool again_refused = again && noted.failures == 0;
  const bool news = noted.why != words;
  noted.failures = 0;
  noted.why = words;
  noted.until = now + (again_refused ? kLater : kSoon);
  noted.told = now;
  return news;
}

bool Refusals::note_failure(Refusal& noted, const std::string& words, Instant now) const {
  if (noted.failures++ == 0) noted.first = now;
  if (hold_ == Hold::Write)
    noted.until = now + std::min(kSoon * (1 << std::min(noted.failures - 1, kDoublings)), kLater);
  const bool lasts = noted.failures > 1 && now - noted.first >= kSoon;
  const bool may_change = noted.why.empty() || now - noted.told >= kLater;
  if (!lasts || !may_change || noted.why == words) return false;
  noted.why = words;
  noted.told = now;
  return true;
}

bool Refusals::name_is_taken(const api::ObjectKey& key) const {
  const auto last = last_.find(key);
  return last != last_.end() && last->second.taken;
}

std::string Refusals::failing(const api::ObjectKey& key) const {
  const auto last = last_.find(key);
  return last == last_.end() ? "" : last->second.write;
}

void Refusals::hold(const api::ObjectKey& key, Instant now) {
  if (const auto last = last_.find(key); last != last_.end()) last->second.until = now + kLater;
}

std::string Refusals::why(const api::ObjectKey& key) const {
  const auto last = last_.find(key);
  return last == last_.end() ? "" : last->second.why;
}

}  // namespace etcdop
