// Address of the API server and our identity, from a kubeconfig or from inside a Pod. Unsupported
// fields are refused by name, never ignored: insecure-skip-tls-verify, proxy-url, auth-provider,
// username and password, and exec plugins that need a terminal.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "base/result.h"
#include "base/secret.h"

namespace etcdop::kube {

/// The content of a file; NotFound if it is missing.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// The `exec` of a user entry: a program that returns our credentials (exec_plugin.h).
struct ExecPlugin {
  std::string field;                       ///< For errors: "/d/config: users[me].user.exec".
  std::string program;                     ///< A path if it has a '/', else looked up in PATH.
  std::vector<std::string> args;           ///< Without the program's own name.
  std::map<std::string, std::string> env;  ///< Added to ours; KUBERNETES_EXEC_INFO is in it.
  std::string api_version;                 ///< The apiVersion that its output must have.
  std::string install_hint;                ///< Shown if the program is missing; mostly empty.
};

/// One server and one identity. Files named in a kubeconfig have been read; a token's file is read
/// again and again (BearerToken).
struct Config {
  std::string host;       ///< Name or address, without brackets. Its certificate is for this name.
  std::string port;       ///< Digits.
  std::string base_path;  ///< The path before "/api", without a trailing slash; mostly empty.
  bool tls = true;        ///< False only without credentials ("kubectl proxy").
  std::string tls_server_name;  ///< Name in the certificate, sent to the server; empty: `host`.
  std::string ca;               ///< PEM; empty: the system's store.
  std::string certificate;      ///< PEM; empty: none.
  Secret key;                   ///< PEM, key of `certificate`.
  Secret token;                 ///< Empty: no token, or a token file.
  std::string token_file;
  std::optional<ExecPlugin> exec;  ///< If set, both certificate and token are empty.
  /// Headers Impersonate-*, in the order to send; a name may appear more than once.
  std::vector<std::pair<std::string, std::string>> impersonation;
  std::string ns;      ///< Default namespace of commands; in a Pod, the Pod's own.
  std::string source;  ///< For logs: the kubeconfig's path, or "in-cluster".
};

/// The inputs from the command line and the environment; empty means "not given".
struct ConfigSources {
  std::string kubeconfig_flag = {};  ///< --kubeconfig: only this file.
  std::string kubeconfig_env = {};   ///< KUBECONFIG: paths, separated by ':'.
  std::string service_host = {};     ///< KUBERNETES_SERVICE_HOST.
  std::string service_port = {};     ///< KUBERNETES_SERVICE_PORT.
  std::string home = {};             ///< HOME, for ~/.kube/config.
  std::string context = {};          ///< --context: instead of current-context.
};

/// The first of: --kubeconfig, KUBECONFIG, the Pod we run in, ~/.kube/config.
///
/// Several files are merged as in kubectl: missing files are skipped, the first file that names a
/// cluster, user or context (or the current context) wins, and paths are relative to their file.
/// Invalid: the message begins with file and field. Reads files synchronously; does not suspend.
Result<Config> load_config(const ConfigSources&, const ReadFile&);

/// A Config's token; a token file is read again each minute, because the kubelet renews it.
class BearerToken {
 public:
  /// Both must outlive this.
  BearerToken(const Clock&, const Config&, ReadFile);
  /// Empty if the Config has no token. If the file cannot be read: the last token; Denied if no
  /// read ever succeeded.
  Result<Secret> get();
  /// The server refused the token: the next get() reads the file, even if it was just read. False
  /// if there is no file, so that a retry is no use.
  bool expire();

 private:
  const Clock& clock_;
  ReadFile read_file_;
  std::string file_;
  Secret token_;
  std::optional<Instant> read_at_;
};

}  // namespace etcdop::kube
