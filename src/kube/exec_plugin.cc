#include "kube/exec_plugin.h"

#include <utility>

#include "base/json.h"
#include "kube/kubeconfig_entry.h"

namespace etcdop::kube {
namespace {

/// The text at `key`; "" if it is absent. Invalid: it is not a text.
Result<std::string> text_at(const json::object& object, const char* key, const std::string& where) {
  const Json* value = object.if_contains(key);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string()) return invalid(where + key, "expected text");
  return std::string(value->get_string());
}

/// The status of an ExecCredential of the version that we asked for.
Result<json::object> status_of(const ExecPlugin& plugin, const std::string& output,
                               const std::string& where) {
  boost::system::error_code not_json;
  const Json parsed = json::parse(output, not_json);
  const json::object* object = not_json ? nullptr : parsed.if_object();
  if (!object)
    return invalid(plugin.field, "the plugin's output is no ExecCredential: expected JSON");
  auto kind = text_at(*object, "kind", where), version = text_at(*object, "apiVersion", where);
  if (!kind) return kind.error();
  if (!version) return version.error();
  if (*kind != "ExecCredential") return invalid(where + "kind", "expected ExecCredential");
  if (*version != plugin.api_version)
    return invalid(where + "apiVersion", "expected " + plugin.api_version + ", as asked for");
  const Json* status = object->if_contains("status");
  if (!status || !status->is_object()) return invalid(where + "status", "is required");
  return status->get_object();
}

bool is_pem(const std::string& text, const char* kind) {
  return text.find("-----BEGIN ") != std::string::npos && text.find(kind) != std::string::npos;
}

}  // namespace

Result<PluginCredential> parse_plugin_output(const ExecPlugin& plugin, const std::string& output) {
  std::string where = plugin.field + ": the plugin's output: ";
  auto status = status_of(plugin, output, where);
  if (!status) return status.error();
  where += "status.";
  auto token = text_at(*status, "token", where);
  auto certificate = text_at(*status, "clientCertificateData", where);
  auto key = text_at(*status, "clientKeyData", where);
  auto expires = text_at(*status, "expirationTimestamp", where);
  for (const auto* each : {&token, &certificate, &key, &expires})
    if (!*each) return each->error();
  if (certificate->empty() != key->empty())
    return invalid(where + (key->empty() ? "clientKeyData" : "clientCertificateData"),
                   "is required, as the other of the two is given");
  if (token->empty() && key->empty())
    return invalid(where + "token", "is required, or clientCertificateData and clientKeyData");
  if (!is_token(*token)) return invalid(where + "token", "has characters that no token has");
  if (!key->empty() && !is_pem(*certificate, "CERTIFICATE"))
    return invalid(where + "clientCertificateData", "holds no PEM CERTIFICATE");
  if (!key->empty() && !is_pem(*key, "PRIVATE KEY"))
    return invalid(where + "clientKeyData", "holds no PEM PRIVATE KEY");
  const auto when = from_rfc3339(*expires);
  if (!expires->empty() && !when)
    return invalid(where + "expirationTimestamp", "expected a date like 2026-11-21T03:56:18Z");
  return PluginCredential{Secret(*token), *certificate, Secret(*key), when};
}

PluginCredentials::PluginCredentials(Executor& executor, const WallClock& wall_clock,
                                     ExecPlugin plugin, RunPlugin run)
    : executor_(executor),
      wall_clock_(wall_clock),
      plugin_(std::move(plugin)),
      run_(std::move(run)) {}

/// Without a minimum age, a wrong clock would make the plugin run for each request.
bool PluginCredentials::fresh() const {
  if (!current_ || refused_) return false;
  const bool expired = current_->expires && *current_->expires <= wall_clock_.wall_now();
  return !expired || executor_.now() - asked_at_ < kAgeMin;
}

Result<PluginCredentials::Current> PluginCredentials::get() {
  if (closed_) return Error{Code::Cancelled, plugin_.field + ": we are about to end"};
  if (fresh()) return current_;
  if (failure_ && executor_.now() - asked_at_ < kFailureAge) return *failure_;
  if (!running_ || running_->done()) running_ = executor_.spawn([this] { renew(); });
  const std::shared_ptr<Fiber> running = running_;
  if (const Woken woken = running->join(); woken != Woken::Ready)
    return to_result(woken, (plugin_.field + ": wait for the plugin").c_str()).error();
  if (failure_) return *failure_;
  return current_;
}

bool PluginCredentials::expire(const Current& refused) {
  if (refused != current_ || refused_) return true;  // Another caller was quicker.
  if (executor_.now() - asked_at_ < kAgeMin) return false;
  refused_ = true;
  return true;
}

void PluginCredentials::close() {
  closed_ = true;
  if (!running_) return;
  running_->cancel();
  (void)running_->join();
}

void PluginCredentials::renew() {
  auto answer = ask();
  asked_at_ = executor_.now();
  failure_.reset();
  if (!answer) {
    failure_ = answer.error();
    return;
  }
  current_ = std::make_shared<const PluginCredential>(std::move(*answer));
  refused_ = false;
}

Result<PluginCredential> PluginCredentials::ask() const {
  const std::string where = plugin_.field + ".command";
  auto done = run_(
      {.program = plugin_.program, .args = plugin_.args, .env = plugin_.env, .limit = kRunLimit});
  if (done.failed_with(Code::Cancelled)) return done.error();
  if (!done) {
    const bool absent = done.failed_with(Code::NotFound) && !plugin_.install_hint.empty();
    return Error{Code::Unavailable,
                 where + ": " + done.error().message + (absent ? "; " + plugin_.install_hint : "")};
  }
  if (done->exit_code != 0 || done->signal != 0) {
    const std::string how = done->signal != 0 ? "was killed by signal " : "ended with exit code ";
    const int number = done->signal != 0 ? done->signal : done->exit_code;
    return Error{Code::Unavailable, where + ": '" + plugin_.program + "' " + how +
                                        std::to_string(number) +
                                        (done->err_end.empty() ? "" : ": " + done->err_end)};
  }
  auto parsed = parse_plugin_output(plugin_, done->out.reveal());
  if (!parsed) return Error{Code::Unavailable, parsed.error().message};
  return parsed;
}

}  // namespace etcdop::kube
