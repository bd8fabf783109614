// Where the API server is and who we are to it: from a kubeconfig or from inside a Pod. What is not
// supported is refused by name, never ignored: insecure-skip-tls-verify, proxy-url, auth-provider,
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

/// The content of a file; NotFound if there is none.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// What a user entry's `exec` says: a program that tells who we are (exec_plugin.h).
struct ExecPlugin {
  std::string field;                       ///< For errors: "/d/config: users[me].user.exec".
  std::string program;                     ///< A path if it has a '/', else looked up in PATH.
  std::vector<std::string> args;           ///< Without the program's own name.
  std::map<std::string, std::string> env;  ///< Besides ours; KUBERNETES_EXEC_INFO is in it.
  std::string api_version;                 ///< Of its answer.
  std::string install_hint;                ///< For whoever lacks the program; mostly empty.
};

/// One server and one identity. Files named in a kubeconfig have been read; a token's file is read
/// again and again (BearerToken).
struct Config {
  std::string host;       ///< Name or address, without brackets. What its certificate is for.
  std::string port;       ///< Digits.
  std::string base_path;  ///< What comes before "/api", without a slash at the end; mostly empty.
  bool tls = true;        ///< False only without credentials ("kubectl proxy").
  std::string tls_server_name;  ///< Of the certificate, and told to the server; empty: `host`.
  std::string ca;               ///< PEM; empty: the system's store.
  std::string certificate;      ///< PEM; empty: none.
  Secret key;                   ///< PEM, of `certificate`.
  Secret token;                 ///< Empty: none, or in a file.
  std::string token_file;
  std::optional<ExecPlugin> exec;  ///< Then there is neither certificate nor token.
  /// Headers Impersonate-*, in the order to send; a name may be there more than once.
  std::vector<std::pair<std::string, std::string>> impersonation;
  std::string ns;      ///< Where namespaced commands go by default; in a Pod, the Pod's own.
  std::string source;  ///< For logs: the kubeconfig's path, or "in-cluster".
};

/// What the command line and the environment say; empty strings mean "not given".
struct ConfigSources {
  std::string kubeconfig_flag = {};  ///< --kubeconfig: this file and no other.
  std::string kubeconfig_env = {};   ///< KUBECONFIG: paths, separated by ':'.
  std::string service_host = {};     ///< KUBERNETES_SERVICE_HOST.
  std::string service_port = {};     ///< KUBERNETES_SERVICE_PORT.
  std::string home = {};             ///< HOME, for ~/.kube/config.
  std::string context = {};          ///< --context: instead of current-context.
};

/// The first of: --kubeconfig, KUBECONFIG, the Pod we run in, ~/.kube/config.
///
/// Several files are merged as kubectl does: missing ones are skipped, the first that names a
/// cluster, user or context (or the current context) wins, and paths are relative to their file.
/// Invalid: the message begins with file and field. Files are read at once; does not suspend.
Result<Config> load_config(const ConfigSources&, const ReadFile&);

/// A Config's token; one from a file is read again each minute, as the kubelet renews it.
class BearerToken {
 public:
  /// Both are used as long as this lives.
  BearerToken(const Clock&, const Config&, ReadFile);
  /// Empty: the Config has none. If the file cannot be read, what it last said; Denied if it never
  /// said anything.
  Result<Secret> get();
  /// The server refused it: the next get() reads the file, even if that was done just now. False if
  /// there is no file, so that asking again is no use.
  bool expire();

 private:
  const Clock& clock_;
  ReadFile read_file_;
  std::string file_;
  Secret token_;
  std::optional<Instant> read_at_;
};

}  // namespace etcdop::kube
