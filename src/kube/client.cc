#include "kube/client.h"

#include <utility>

#include "kube/object_text.h"
#include "kube/request.h"
#include "kube/watch_lines.h"

namespace etcdop::kube {
namespace {

using std::chrono::seconds;

constexpr Duration kDialLimit = seconds(10);
/// Several times etcd's limit for an object. Lists are not read as a whole.
constexpr std::size_t kObjectLimit = 8 << 20;
constexpr std::uint64_t kWatchSecondsMin = 300, kWatchSecondsMax = 600;

/// The form that the Host header needs.
std::string authority(const Config& config) {
  const bool ipv6 = config.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + config.host + "]" : config.host) + ":" + config.port;
}

/// Maps an error of http::HttpClient to the codes of api.h.
Error to_error(const Call& call, const Error& error) {
  const bool unknown = error.code == Code::Lost || error.code == Code::Corrupt;
  if (reads(call.verb))
    return {error.code == Code::Lost ? Code::Unavailable : error.code, error.message};
  return {unknown ? Code::Lost : error.code, error.message};
}

/// Our own limit has passed. The same words each time: they may become a condition.
Error no_answer(const Call& call, Duration limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  return {Code::TimedOut, "the API server gave no answer within " + std::to_string(seconds) + " s" +
                              (reads(call.verb) ? "" : ": it may wait for an admission webhook")};
}

}  // namespace

Client::Client(Executor& executor, Random& random, const Config& config,
               http::HttpClient::Dial dial, ReadFile read_file, Options options)
    : executor_(executor),
      random_(random),
      options_(std::move(options)),
      base_path_(config.base_path),
      impersonation_(config.impersonation),
      token_(executor, config, std::move(read_file)),
      http_(executor,
            [&executor, dial = std::move(dial)] {
              Within limit(executor, kDialLimit);  // A watch has no deadline of its own.
              return dial();
            },
            {.host = authority(config), .body_limit = kObjectLimit}) {
  check(config.exec.has_value() == (options_.plugin != nullptr), "a Config's plugin is given");
}

Result<Done> Client::identify(http::Request& request, PluginCredentials::Current& credential) {
  auto token = token_.get();
  if (!token) return token.error();
  if (options_.plugin) {
    auto current = options_.plugin->get();
    if (!current) return current.error();
    credential = *current;
    if (shown_ && shown_->certificate != credential->certificate) http_.renew_connections();
    shown_ = credential;
    token = credential->token;
  }
  request.headers.erase("Authorization");
  if (!token->empty()) request.headers["Authorization"] = "Bearer " + token->reveal();
  return Done{};
}

Result<http::Response> Client::exchange(const Call& call, http::Request& request,
                                        const Exchange& send) {
  request.headers["User-Agent"] = "etcd-operator/" + options_.version;
  request.further_headers = impersonation_;
  for (bool renewed = false;; renewed = true) {
    PluginCredentials::Current credential;
    if (auto ok = identify(request, credential); !ok) return ok.error();
    auto response = send(request);
    if (options_.on_answer)
      options_.on_answer(call.verb, call.resource, response ? response->status : 0);
    if (!response) return to_error(call, response.error());
    if (response->status != 401 || renewed) return response;
    const bool again = credential ? options_.plugin->expire(credential) : token_.expire();
    if (!again) return response;
  }
}

Result<Json> Client::call(const Call& call) {
  return persist(
      call, [this](const auto& request) { return http_.send(request); },
      [&](const http::Response& response) { return to_answer(call, response); });
}

Result<Json> Client::list(const Call& call, const std::function<void(const Json&)>& item) {
  ListText text(item);
  return persist(
      call,
      [&](const auto& request) {
        return http_.stream(request, [&](std::string_view piece) { return text.take(piece); });
      },
      [&](const http::Response& response) {
        return response.status / 100 == 2 ? text.result() : to_answer(call, response);
      });
}

Result<Json> Client::persist(const Call& call, const Exchange& send, const Read& read) {
  auto request = to_request(call, base_path_);
  if (!request) return request.error();
  const Duration most = reads(call.verb) ? options_.read_limit : options_.write_limit;
  Within limit(executor_, most);
  const Instant deadline = executor_.now() + most;
  for (int attempt = 1;; ++attempt) {
    auto response = exchange(call, *request, send);
    if (response.failed_with(Code::TimedOut) && executor_.now() >= deadline)
      return no_answer(call, most);
    if (!response) return response.error();
    auto answer = read(*response);
    if (answer) return answer;
    if (!reads(call.verb) && answer.failed_with(Code::Corrupt))
      return Error{Code::Lost, answer.error().message};  // It happened; its result is unknown.
    const bool put_off = response->status == 429 || response->status == 503;
    const auto wait = retry_after(*response);
    if (!put_off || !wait || !answer.failed_with(Code::Unavailable) || attempt == kAttempts)
      return answer;
    // Up to a quarter longer, at random, so that clients do not return all at once.
    const Instant again = executor_.now() + *wait + *wait / 1000 * (random_.next() % 250);
    if (again >= deadline) return answer;
    const Woken woken = executor_.sleep_until(again);
    if (woken == Woken::Cancelled) return etcdop::to_result(woken, "wait for Retry-After").error();
    if (woken == Woken::Deadline) return answer;
  }
}

Result<Done> Client::watch(const Call& call, const std::function<bool(WatchEvent)>& each) {
  Call timed = call;
  const auto spread = random_.next() % (kWatchSecondsMax - kWatchSecondsMin + 1);
  timed.query.emplace("timeoutSeconds", std::to_string(kWatchSecondsMin + spread));
  auto request = to_request(timed, base_path_);
  if (!request) return request.error();
  request->silence_limit = options_.silence_limit;
  WatchLines lines(call, each);
  auto response = exchange(call, *request, [&](const auto& r) {
    return http_.stream(r, [&lines](std::string_view piece) { return lines.take(piece); });
  });
  if (!response) return response.error();
  if (response->status < 200 || response->status > 299)
    return kube::to_error(call, response->status, response->body);
  return lines.result();
}

}  // namespace etcdop::kube
