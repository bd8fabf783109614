#include "kube/config.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "sim/scheduler.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

const std::string kCertificate = "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n";
const std::string kKey = "-----BEGIN EC PRIVATE KEY-----\n...\n-----END EC PRIVATE KEY-----\n";

/// A kubeconfig with one context "c", cluster "k" and user "u", each given as lines of YAML.
std::string kubeconfig(const std::string& cluster, const std::string& user = "token: t") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts: [{name: c, context: {cluster: k, user: u, namespace: prod}}]\n"
         "clusters:\n- name: k\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

class ConfigTest : public ::testing::Test {
 protected:
  Result<std::string> read(const std::string& path) const {
    const auto found = files.find(path);
    if (found == files.end()) return Error{Code::NotFound, "no such file"};
    return found->second;
  }
  ReadFile reader() const {
    return [this](const std::string& path) { return read(path); };
  }
  Result<Config> load(const ConfigSources& sources) const { return load_config(sources, reader()); }
  /// Loads the file /d/f, given by --kubeconfig.
  Result<Config> load_text(const std::string& text) {
    files["/d/f"] = text;
    return load({.kubeconfig_flag = "/d/f"});
  }
  std::map<std::string, std::string> files{
      {"/d/ca.pem", kCertificate}, {"/d/sub/cert.pem", kCertificate}, {"/abs/key.pem", kKey}};
};

TEST_F(ConfigTest, FilesAreNamedRelativeToTheKubeconfig) {
  auto config = load_text(
      kubeconfig("server: 'https://api.example:6443', certificate-authority: ca.pem",
                 "client-certificate: sub/cert.pem, client-key: /abs/key.pem, tokenFile: tok"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "api.example");
  EXPECT_EQ(config->port, "6443");
  EXPECT_EQ(config->base_path, "");
  EXPECT_TRUE(config->tls);
  EXPECT_EQ(config->ca, kCertificate);
  EXPECT_EQ(config->certificate, kCertificate);
  EXPECT_EQ(config->key, Secret(kKey));
  EXPECT_EQ(config->token_file, "/d/tok");
  EXPECT_EQ(config->ns, "prod");
  EXPECT_EQ(config->source, "/d/f");
}

TEST_F(ConfigTest, InlineDataIsBase64AndBeatsTheFile) {
  auto config =
      load_text(kubeconfig("server: 'https://h', certificate-authority: absent.pem, "
                           "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(config->token, Secret("t"));
}

TEST_F(ConfigTest, ServersAreReadAsUrls) {
  struct Row {
    const char *url, *host, *port, *base_path;
  };
  for (const Row& row : {Row{"https://h", "h", "443", ""}, Row{"https://h/", "h", "443", ""},
                         Row{"https://10.0.0.1:6443", "10.0.0.1", "6443", ""},
                         Row{"https://[::1]:6443/k8s/c-1/", "::1", "6443", "/k8s/c-1"},
                         Row{"https://[fd00::2]", "fd00::2", "443", ""}}) {
    auto config = load_text(kubeconfig("server: '" + std::string(row.url) + "'"));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->host, row.host) << row.url;
    EXPECT_EQ(config->port, row.port) << row.url;
    EXPECT_EQ(config->base_path, row.base_path) << row.url;
    EXPECT_EQ(config->ca, "") << "the system's store";
  }
  auto plain = load_text(kubeconfig("server: 'http://127.0.0.1:8001'", ""));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(plain->tls);
}

TEST_F(ConfigTest, ErrorsNameFileAndField) {
  const std::string ok = "server: 'https://h'";
  struct Row {
    std::string text, message;
  };
  const Row rows[] = {
      {"a: [", "/d/f: line 1, column 1: end of sequence flow not found"},
      {"a: b: c", "/d/f: line 1, column 5: illegal map value"},
      {"\t- x", "/d/f: line 1, column 2: illegal"},
      {"hello", "/d/f: is no kubeconfig: expected a mapping"},
      {"", "/d/f: current-context: is required"},
      {"kind: Pod", "/d/f: kind: expected Config"},
      {"clusters: 7", "/d/f: clusters: expected a list"},
      {"clusters: [7]", "/d/f: clusters[0]: expected name and cluster"},
      {"users: [{user: {}}]", "/d/f: users[0].name: is required"},
      {"users: [{name: a}, {name: a}]", "/d/f: users[1].name: 'a' is there twice"},
      {"users: [{name: a, user: b}]", "/d/f: users[0].user: expected a mapping"},
      {"current-context: [a]", "/d/f: current-context: expected text"},
      {"current-context: a", "/d/f: current-context: there is no context 'a'"},
      {"current-context: a\ncontexts: [{name: a}]",
       "/d/f: contexts[a].context.cluster: is required"},
      {"current-context: a\ncontexts: [{name: a, context: {cluster: x}}]",
       "/d/f: contexts[a].context.cluster: there is no cluster 'x'"},
      {kubeconfig(""), "/d/f: clusters[k].cluster.server: is required"},
      {kubeconfig("server: [a]"), "/d/f: clusters[k].cluster.server: expected text"},
      {kubeconfig("server: h:6443"), "/d/f: clusters[k].cluster.server: 'h:6443' must begin with"},
      {kubeconfig("server: 'https://'"), "/d/f: clusters[k].cluster.server: no host"},
      {kubeconfig("server: 'https://h:0'"), "/d/f: clusters[k].cluster.server: '0' is no port"},
      {kubeconfig("server: 'https://h:x'"), "/d/f: clusters[k].cluster.server: 'x' is no port"},
      {kubeconfig("server: 'https://[::1'"), "/d/f: clusters[k].cluster.server: '['"},
      {kubeconfig("server: 'https://me@h'"), "/d/f: clusters[k].cluster.server: expected https"},
      {kubeconfig("server: 'https://::1:6443'"), "/d/f: clusters[k].cluster.server: an IPv6"},
      {kubeconfig("server: 'http://h'"), "/d/f: clusters[k].cluster.server: http:// would send"},
      {kubeconfig(ok + ", insecure-skip-tls-verify: true"),
       "/d/f: clusters[k].cluster.insecure-skip-tls-verify: is not supported yet"},
      {kubeconfig(ok + ", proxy-url: p"), "/d/f: clusters[k].cluster.proxy-url: is not supported"},
      {kubeconfig(ok + ", tls-server-name: a b"),
       "/d/f: clusters[k].cluster.tls-server-name: expected a DNS name"},
      {kubeconfig("server: 'http://h', tls-server-name: n", ""),
       "/d/f: clusters[k].cluster.tls-server-name: means nothing"},
      {kubeconfig(ok + ", certificate-authority: x.pem"),
       "/d/f: clusters[k].cluster.certificate-authority: no such file"},
      {kubeconfig(ok + ", certificate-authority: /abs/key.pem"),
       "/d/f: clusters[k].cluster.certificate-authority: holds no PEM CERTIFICATE"},
      {kubeconfig(ok + ", certificate-authority-data: '%'"),
       "/d/f: clusters[k].cluster.certificate-authority-data: is not base64"},
      {kubeconfig(ok, "auth-provider: {name: gcp}"), "/d/f: users[u].user.auth-provider: is not"},
      {kubeconfig(ok, "username: a"), "/d/f: users[u].user.username: is not supported yet"},
      {kubeconfig(ok, "password: a"), "/d/f: users[u].user.password: is not supported yet"},
      {kubeconfig(ok, "as: [a]"), "/d/f: users[u].user.as: expected text"},
      {kubeconfig(ok, "as: \"a\\nb\""), "/d/f: users[u].user.as: has control characters"},
      {kubeconfig(ok, "as-uid: a"), "/d/f: users[u].user.as-uid: needs a user to be: set `as`"},
      {kubeconfig(ok, "as-groups: [a]"), "/d/f: users[u].user.as-groups: needs a user to be"},
      {kubeconfig(ok, "as-user-extra: {a: [b]}"), "/d/f: users[u].user.as-user-extra: needs a"},
      {kubeconfig(ok, "as: a, as-groups: b"), "/d/f: users[u].user.as-groups: expected a list"},
      {kubeconfig(ok, "as: a, as-groups: [a, [b]]"),
       "/d/f: users[u].user.as-groups[1]: expected text"},
      {kubeconfig(ok, "as: a, as-user-extra: [b]"),
       "/d/f: users[u].user.as-user-extra: expected a mapping"},
      {kubeconfig(ok, "as: a, as-user-extra: {k: v}"),
       "/d/f: users[u].user.as-user-extra.k: expected a list"},
      {kubeconfig(ok, "client-certificate: sub/cert.pem"),
       "/d/f: users[u].user.client-key: is required"},
      {kubeconfig(ok, "client-key: /abs/key.pem"),
       "/d/f: users[u].user.client-certificate: is required"},
      {kubeconfig(ok, "token: \"a\\r\\nHost: b\""), "/d/f: users[u].user.token: has characters"},
      {std::string((1 << 20) + 1, '#'), "/d/f: is over 1048576 bytes"},
  };
  for (const Row& row : rows) {
    auto config = load_text(row.text);
    ASSERT_TRUE(config.failed_with(Code::Invalid)) << row.text.substr(0, 200);
    EXPECT_EQ(config.error().message.substr(0, row.message.size()), row.message);
  }
}

TEST_F(ConfigTest, WhatAPluginCannotBeGivenIsRefused) {
  const std::string version = "apiVersion: client.authentication.k8s.io/v1beta1";
  const std::string ok = "command: aws, " + version;
  struct Row {
    std::string exec, message;
  };
  const Row rows[] = {
      {"[a]", ": expected a mapping"},
      {"{" + version + "}", ".command: is required"},
      {"{command: \"a\\0\", " + version + "}", ".command: has a NUL character"},
      {"{command: aws}", ".apiVersion: is required"},
      {"{command: aws, apiVersion: client.authentication.k8s.io/v1alpha1}",
       ".apiVersion: expected client.authentication.k8s.io/v1 or "
       "client.authentication.k8s.io/v1beta1"},
      {"{command: aws, apiVersion: client.authentication.k8s.io/v1}",
       ".interactiveMode: is required: Never or IfAvailable"},
      {"{" + ok + ", interactiveMode: Always}", ".interactiveMode: Always is not supported"},
      {"{" + ok + ", interactiveMode: never}", ".interactiveMode: expected Never or IfAvailable"},
      {"{" + ok + ", args: a}", ".args: expected a list"},
      {"{" + ok + ", args: [a, \"\\0\"]}", ".args[1]: has a NUL character"},
      {"{" + ok + ", env: a}", ".env: expected a list"},
      {"{" + ok + ", env: [a]}", ".env[0]: expected name and value"},
      {"{" + ok + ", env: [{value: a}]}", ".env[0].name: is required"},
      {"{" + ok + ", env: [{name: a=b}]}", ".env[0].name: must have no '='"},
      {"{" + ok + ", env: [{name: a, value: \"\\0\"}]}", ".env[0].value: has a NUL character"},
      {"{" + ok + ", provideClusterInfo: 7}", ".provideClusterInfo: expected true or false"},
      {"{" + ok + ", installHint: " + std::string(1025, 'x') + "}",
       ".installHint: is over 1024 bytes"},
  };
  for (const Row& row : rows) {
    auto config = load_text(kubeconfig("server: 'https://h'", "exec: " + row.exec));
    ASSERT_TRUE(config.failed_with(Code::Invalid)) << row.exec;
    const std::string message = "/d/f: users[u].user.exec" + row.message;
    EXPECT_EQ(config.error().message.substr(0, message.size()), message);
  }
  auto both = load_text(kubeconfig("server: 'https://h'", "token: t, exec: {" + ok + "}"));
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message,
            "/d/f: users[u].user.token: cannot stand beside exec; keep one of the two");
  auto plain = load_text(kubeconfig("server: 'http://h'", "exec: {" + ok + "}"));
  ASSERT_FALSE(plain);
  EXPECT_NE(plain.error().message.find("http:// would send credentials"), std::string::npos);
}

TEST_F(ConfigTest, APluginIsTakenAsItStands) {
  auto config = load_text(
      kubeconfig("server: 'https://h/x', tls-server-name: n, certificate-authority: ca.pem, "
                 "extensions: [{name: other}, {name: client.authentication.k8s.io/exec, "
                 "extension: {a: 1, b: [yes, '1', null, 1.5, x], c: {d: e}}}]",
                 "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, "
                 "args: [get-token, a b], env: [{name: A, value: 1}, {name: B}], "
                 "interactiveMode: IfAvailable, provideClusterInfo: true, installHint: get it}"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tls_server_name, "n");
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->field, "/d/f: users[u].user.exec");
  EXPECT_EQ(config->exec->program, "/d/./bin/login") << "beside the kubeconfig";
  EXPECT_EQ(config->exec->args, (std::vector<std::string>{"get-token", "a b"}));
  EXPECT_EQ(config->exec->install_hint, "get it");
  auto env = config->exec->env;
  EXPECT_EQ(json::parse(env["KUBERNETES_EXEC_INFO"]), json::parse(R"({
      "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
      "spec": {"interactive": false, "cluster": {
          "server": "https://h/x", "tls-server-name": "n",
          "certificate-authority-data":
              "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi4uLgotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==",
          "config": {"a": 1, "b": [true, "1", null, 1.5, "x"], "c": {"d": "e"}}}}})"));
  env.erase("KUBERNETES_EXEC_INFO");
  EXPECT_EQ(env, (std::map<std::string, std::string>{{"A", "1"}, {"B", ""}}));

  config = load_text(
      kubeconfig("server: 'https://h'",
                 "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->exec->program, "aws") << "by PATH";
  EXPECT_EQ(config->exec->env.at("KUBERNETES_EXEC_INFO"),
            R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false}})")
      << "of the cluster it is told only if it asked";
}

TEST_F(ConfigTest, ImpersonationBecomesHeadersAsKubectlSendsThem) {
  auto config =
      load_text(kubeconfig("server: 'https://h'",
                           "token: t, as: 'system:admin', as-uid: '17', as-groups: [b, a], "
                           "as-user-extra: {'example.com/per%cent Ä': [y, x], Plain-1: [z]}"));
  ASSERT_TRUE(config) << config.error().message;
  using Headers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(config->impersonation,
            (Headers{{"Impersonate-User", "system:admin"},
                     {"Impersonate-Uid", "17"},
                     {"Impersonate-Group", "b"},
                     {"Impersonate-Group", "a"},
                     {"Impersonate-Extra-example.com%2Fper%25cent%20%C3%84", "y"},
                     {"Impersonate-Extra-example.com%2Fper%25cent%20%C3%84", "x"},
                     {"Impersonate-Extra-Plain-1", "z"}}));
  EXPECT_TRUE(load_text(kubeconfig("server: 'https://h'", "as: ''"))->impersonation.empty());
}

TEST_F(ConfigTest, WhatIsNotUsedIsNotRefused) {
  auto config =
      load_text(kubeconfig("server: 'https://h', insecure-skip-tls-verify: false, proxy-url: ''") +
                "- name: other\n  user: {exec: {command: aws}}\n");
  EXPECT_TRUE(config) << config.error().message;
}

TEST_F(ConfigTest, NoErrorRepeatsASecret) {
  for (const char* user :
       {"token: 'hush hush'", "client-key-data: hush!, client-certificate: sub/cert.pem",
        "password: hush", "token: {hush: hush}",
        "exec: {command: a, env: [{name: A, value: hush}]}"}) {
    auto config = load_text(kubeconfig("server: 'https://h'", user));
    ASSERT_FALSE(config) << user;
    EXPECT_EQ(config.error().message.find("hush"), std::string::npos) << config.error().message;
  }
}

TEST_F(ConfigTest, OfSeveralFilesTheFirstWordCounts) {
  files["/a"] = "current-context: c\nclusters: [{name: k, cluster: {server: 'https://first'}}]";
  files["/b/f"] =
      kubeconfig("server: 'https://second', certificate-authority: gone.pem", "tokenFile: tok");
  files["/c"] = "current-context: other\ncontexts: [{name: other, context: {cluster: k}}]";
  auto config = load({.kubeconfig_env = "/missing:/a::/b/f:/c"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "first") << "and nothing of the second of that name";
  EXPECT_EQ(config->token_file, "/b/tok") << "relative to the file it stands in";
  config = load({.kubeconfig_env = "/a:/b/f:/c", .context = "other"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ns, "default");
  EXPECT_EQ(config->token_file, "") << "a context without user is anonymous";
}

TEST_F(ConfigTest, AMissingFileIsPassedOverOnlyIfThereIsAnother) {
  EXPECT_EQ(load({.kubeconfig_env = "/x:/y"}).error().message, "/y: no such file");
  EXPECT_EQ(load({.kubeconfig_env = ":"}).error().message, "KUBECONFIG: names no file");
  EXPECT_EQ(load({.kubeconfig_flag = "/x", .kubeconfig_env = "/d/f"}).error().message,
            "/x: no such file");
  EXPECT_EQ(load({.home = "/root"}).error().message, "/root/.kube/config: no such file");
  EXPECT_EQ(load({}).error().message, "no API server: give --kubeconfig or KUBECONFIG");
  EXPECT_EQ(load({.kubeconfig_env = "/d/f", .context = "x"}).error().message, "/d/f: no such file");
}

TEST_F(ConfigTest, InsideAPodTheServiceAccountSpeaks) {
  const std::string mount = "/var/run/secrets/kubernetes.io/serviceaccount/";
  const ConfigSources pod{.service_host = "fd00::1", .service_port = "443", .home = "/root"};
  EXPECT_EQ(load(pod).error().message,
            mount + "token: no such file; does the Pod have automountServiceAccountToken?");
  files[mount + "token"] = "abc\n";
  files[mount + "ca.crt"] = kCertificate;
  files[mount + "namespace"] = "etcd-system\n";
  auto config = load(pod);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "fd00::1");
  EXPECT_EQ(config->ns, "etcd-system");
  EXPECT_EQ(config->ca, kCertificate);
  EXPECT_EQ(config->token_file, mount + "token");
  EXPECT_EQ(config->source, "in-cluster");
  EXPECT_EQ(load({.service_host = "h", .service_port = ""}).error().message,
            "KUBERNETES_SERVICE_HOST and _PORT: '' is no port; expected 1 to 65535");
}

TEST_F(ConfigTest, ATokenIsReadAgainEachMinuteAndWhenRefused) {
  sim::Scheduler world(1);
  Config config;
  config.token_file = "/t";
  BearerToken token(world, config, reader());
  EXPECT_TRUE(token.get().failed_with(Code::Denied));
  files["/t"] = "one\n";
  EXPECT_EQ(token.get()->reveal(), "one");
  files["/t"] = "two\n";
  world.run_until(world.now() + 59s);
  EXPECT_EQ(token.get()->reveal(), "one");
  world.run_until(world.now() + 1s);
  EXPECT_EQ(token.get()->reveal(), "two");
  files["/t"] = "three";
  EXPECT_TRUE(token.expire());
  EXPECT_EQ(token.get()->reveal(), "three");
  files["/t"] = "no\ntoken";
  (void)token.expire();
  EXPECT_EQ(token.get()->reveal(), "three") << "half-written: keep what there was";
}

TEST_F(ConfigTest, AFixedTokenNeedsNoFile) {
  sim::Scheduler world(1);
  Config config;
  EXPECT_TRUE(BearerToken(world, config, reader()).get()->empty());
  config.token = Secret("fixed");
  BearerToken token(world, config, reader());
  EXPECT_EQ(token.get()->reveal(), "fixed");
  EXPECT_FALSE(token.expire());
}

}  // namespace
}  // namespace etcdop::kube
