#include "sys/tls.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "sys/digest.h"
#include "sys/openssl.h"

namespace etcdop {
namespace {

using openssl::Free;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;

/// Bytes that are encrypted before they are sent: bounds the memory of a large write.
constexpr std::size_t kPiece = 64 * 1024;

/// Why the last call to OpenSSL failed.
struct Failure {
  std::string text;
  bool denied = false;  ///< The other end refused us with an alert.
};

/// True for the alerts about certificates and access (RFC 8446 section 6.2).
bool refuses_us(unsigned long code) {
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return false;
  const int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET;
  return (alert >= 40 && alert <= 49) || alert == SSL_AD_CERTIFICATE_REQUIRED;
}

/// As openssl::reason(), and whether the other end refused us.
Failure failure() {
  const bool denied = refuses_us(ERR_peek_error());
  std::string text = openssl::reason();
  // OpenSSL says "sslv3 alert certificate expired", whatever the protocol.
  if (const std::size_t at = text.find(" alert "); denied && at != std::string::npos)
    text = "the other side refuses us: " + text.substr(at + 7);
  return {std::move(text), denied};
}

Error invalid(const char* option, const std::string& why) {
  return {Code::Invalid, std::string(option) + ": " + why};
}

template <class Use>
Result<Done> each_certificate(const char* option, const std::string& pem, Use use) {
  auto done = openssl::each_certificate(pem, use);
  return done ? done : invalid(option, done.error().message);
}

Result<Done> use_trust(SSL_CTX* context, const char* option, const std::string& pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // As in Go, a trusted certificate need not be self-signed.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return each_certificate(option, pem,
                          [&](X509* c, int) { return X509_STORE_add_cert(store, c) == 1; });
}

Result<Done> use_identity(SSL_CTX* context, const std::string& certificate, const Secret& key) {
  if (key.empty()) return invalid("key", "is empty: a certificate needs its key");
  auto chain = each_certificate("certificate", certificate, [&](X509* c, int place) {
    return (place == 0 ? SSL_CTX_use_certificate(context, c)
                       : SSL_CTX_add1_chain_cert(context, c)) == 1;
  });
  if (!chain) return chain;
  const openssl::Key parsed = openssl::read_key(key);
  if (!parsed) return invalid("key", openssl::reason() + " (an unencrypted PEM key is needed)");
  if (SSL_CTX_use_PrivateKey(context, parsed.get()) != 1) return invalid("key", openssl::reason());
  return Done{};
}

Context new_context(const SSL_METHOD* method) {
  Context context(SSL_CTX_new(method));
  check(context != nullptr, "OpenSSL has memory");
  SSL_CTX* c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);  // 34 KB less per idle connection.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  return context;
}

/// As on the wire: length, name.
std::string alpn_list(const std::string& name) {
  return name.empty() ? "" : static_cast<char>(name.size()) + name;
}

/// OpenSSL between two memory buffers; we send its output and feed it what we receive.
class TlsStream : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> below, Session session)
      : below_(std::move(below)),
        session_(std::move(session)),
        in_(BIO_new(BIO_s_mem())),
        out_(BIO_new(BIO_s_mem())) {
    check(in_ && out_, "OpenSSL has memory");
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(session_.get(), in_, out_);  // The session owns both now.
  }

  Result<Done> handshake(const std::string& doing) {
    for (;;) {
      ERR_clear_error();
      const int got = SSL_do_handshake(session_.get());
      if (got != 1 && SSL_get_error(session_.get(), got) != SSL_ERROR_WANT_READ)
        return refused(doing);
      if (auto sent = flush(); !sent) return Error(sent.error()).during(doing);
      if (got == 1) return Done{};
      auto more = feed();
      if (!more) return Error(more.error()).during(doing);
      if (*more == 0) return Error{Code::Unavailable, doing + ": connection closed"};
    }
  }

  bool agreed_on(const std::string& alpn) const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_.get(), &name, &size);
    return std::string_view(reinterpret_cast<const char*>(name), size) == alpn;
  }

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      ERR_clear_error();
      std::size_t n = 0;
      const int ok = SSL_read_ex(session_.get(), into.data(), into.size(), &n);
      const int state = SSL_get_error(session_.get(), ok);
      const Failure why = state == SSL_ERROR_SSL ? failure() : Failure{};
      // OpenSSL may have queued a key update or an alert. After a failed write, a read can still
      // report the reason.
      if (!broken_)
        if (auto sent = flush(); !sent && state != SSL_ERROR_SSL) return sent.error();
      if (ok) return n;
      if (state == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
      if (state != SSL_ERROR_WANT_READ)
        return Error{why.denied ? Code::Denied : Code::Unavailable, "TLS: " + why.text};
      auto more = feed();
      if (!more) return more.error();
      // Without a close_notify, an attacker may have cut the connection.
      if (*more == 0) return Error{Code::Unavailable, "TLS: connection cut"};
    }
  }

  Result<Done> write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPiece);
      ERR_clear_error();
      std::size_t n = 0;
      if (!SSL_write_ex(session_.get(), piece.data(), piece.size(), &n))
        return Error{Code::Unavailable, "TLS: " + failure().text};
      if (auto sent = flush(); !sent) return sent;
      bytes.remove_prefix(n);
    }
    return Done{};
  }

  void close() override { below_->close(); }

  Result<CertificateFacts> shown() const {
    const openssl::Certificate leaf(SSL_get1_peer_certificate(session_.get()));
    const openssl::Bio bio(BIO_new(BIO_s_mem()));
    check(leaf && bio && PEM_write_bio_X509(bio.get(), leaf.get()) == 1,
          "a verified peer has shown a certificate");
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return read_certificate({data, static_cast<std::size_t>(size)});
  }

 private:
  /// The handshake failed: reports the reason, to the other end too.
  Result<Done> refused(const std::string& doing) {
    const long verdict = SSL_get_verify_result(session_.get());
    const std::string why =
        verdict == X509_V_OK ? failure().text : X509_verify_cert_error_string(verdict);
    ERR_clear_error();
    (void)flush();  // The alert; we do not care whether it arrives.
    return Error{Code::Denied, doing + ": " + why};
  }

  /// Sends all pending output of OpenSSL. One fiber at a time: the first also sends what another
  /// adds meanwhile. After a failure nothing more is sent, because half a record may have been
  /// sent.
  Result<Done> flush() {
    if (broken_) return Error{Code::Unavailable, "TLS: an earlier write failed"};
    if (flushing_) return Done{};
    flushing_ = true;
    while (!broken_ && BIO_ctrl_pending(out_) > 0) {
      std::string chunk(BIO_ctrl_pending(out_), '\0');
      BIO_read(out_, chunk.data(), static_cast<int>(chunk.size()));
      if (auto sent = below_->write(chunk); !sent) {
        broken_ = true;
        flushing_ = false;
        return sent;
      }
    }
    flushing_ = false;
    return Done{};
  }

  Result<std::size_t> feed() {
    char chunk[4096];  // On the stack, so that an idle connection costs no buffer.
    auto n = below_->read(chunk);
    if (n) BIO_write(in_, chunk, static_cast<int>(*n));
    return n;
  }

  std::unique_ptr<Stream> below_;
  Session session_;
  BIO *in_, *out_;
  bool flushing_ = false, broken_ = false;
};

/// The name that the certificate must be for. False for a name that OpenSSL rejects.
bool expect_name(SSL* session, const std::string& name) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1) return true;
  ERR_clear_error();  // Not an address, so a name. As in Go, the common name is ignored.
  SSL_set_hostflags(session,
                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool taken = SSL_set_tlsext_host_name(session, name.c_str()) == 1 &&
                     SSL_set1_host(session, name.c_str()) == 1;
  ERR_clear_error();
  return taken;
}

}  // namespace

struct TlsClient::Context {
  etcdop::Context context;
  std::string alpn;
};

TlsClient::TlsClient(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsClient::TlsClient(TlsClient&&) noexcept = default;
TlsClient::~TlsClient() = default;

Result<TlsClient> TlsClient::load(const Options& options) {
  auto context = new_context(TLS_client_method());
  SSL_CTX* c = context.get();
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  if (options.ca.empty()) {
    X509_STORE_set_flags(SSL_CTX_get_cert_store(c), X509_V_FLAG_PARTIAL_CHAIN);
    if (SSL_CTX_load_verify_file(c, kSystemTrust) != 1)
      return invalid("ca", std::string("none given, and ") + kSystemTrust + ": " + failure().text);
  } else if (auto trusted = use_trust(c, "ca", options.ca); !trusted) {
    return trusted.error();
  }
  if (!options.certificate.empty()) {
    if (auto used = use_identity(c, options.certificate, options.key); !used) return used.error();
  } else if (!options.key.empty()) {
    return invalid("certificate", "is empty: a key needs its certificate");
  }
  return TlsClient(std::make_unique<Context>(std::move(context), options.alpn));
}

class TlsClient::Session final : public TlsStream {
 public:
  using TlsStream::TlsStream;
};

Result<std::unique_ptr<TlsClient::Session>> TlsClient::handshake(
    std::unique_ptr<Stream> below, const std::string& server_name) const {
  const std::string doing = "TLS handshake with " + server_name;
  etcdop::Session session(SSL_new(context_->context.get()));
  check(session != nullptr, "OpenSSL has memory");
  SSL_set_connect_state(session.get());
  const std::string alpn = alpn_list(context_->alpn);
  if (!alpn.empty())
    SSL_set_alpn_protos(session.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                        static_cast<unsigned>(alpn.size()));
  // An empty name would switch the check off.
  if (server_name.empty() || server_name.find('\0') != std::string::npos ||
      !expect_name(session.get(), server_name))
    return Error{Code::Invalid, doing + ": the server name must be a DNS name or an IP address"};
  auto stream = std::make_unique<Session>(std::move(below), std::move(session));
  if (auto ok = stream->handshake(doing); !ok) return ok.error();
  if (!context_->alpn.empty() && !stream->agreed_on(context_->alpn))
    return Error{Code::Unavailable, doing + ": the server does not speak " + context_->alpn};
  return stream;
}

Result<std::unique_ptr<Stream>> TlsClient::over(std::unique_ptr<Stream> below,
                                                const std::string& server_name) const {
  auto stream = handshake(std::move(below), server_name);
  if (!stream) return stream.error();
  return std::unique_ptr<Stream>(std::move(*stream));
}

Result<CertificateFacts> TlsClient::look(std::unique_ptr<Stream> below,
                                         const std::string& server_name) const {
  auto stream = handshake(std::move(below), server_name);
  if (!stream) return stream.error();
  return (*stream)->shown();
}

namespace {

constexpr std::size_t kClientsMax = 64, kOptionsBytesMax = 1 << 20;  // Kept, together.

std::size_t bytes_of(const TlsClient::Options& options) {
  return options.ca.size() + options.certificate.size() + options.key.reveal().size();
}

/// SHA-256 of all options.
std::string content_of(const TlsClient::Options& options) {
  Digest digest(Digest::Kind::Sha256);
  for (const std::string* part :
       {&options.ca, &options.certificate, &options.key.reveal(), &options.alpn}) {
    digest.add(std::to_string(part->size()) + ":");  // So that parts cannot be mistaken.
    digest.add(*part);
  }
  return digest.bytes();
}

}  // namespace

Result<std::shared_ptr<const TlsClient>> TlsClients::of(const TlsClient::Options& options) {
  std::string content = content_of(options);
  const auto known = std::ranges::find(kept_, content, &Kept::content);
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return known->client;
  }
  auto loaded = TlsClient::load(options);
  if (!loaded) return loaded.error();
  ++loaded_;
  auto client = std::make_shared<const TlsClient>(std::move(*loaded));
  keep({std::move(content), bytes_of(options), client});
  return client;
}

void TlsClients::keep(Kept one) {
  bytes_ += one.bytes;
  kept_.push_front(std::move(one));
  while (kept_.size() > 1 && (kept_.size() > kClientsMax || bytes_ > kOptionsBytesMax)) {
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

struct TlsServer::Context {
  etcdop::Context context;
  std::string alpn;  // As on the wire; OpenSSL's callback reads it.
};

TlsServer::TlsServer(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsServer::TlsServer(TlsServer&&) noexcept = default;
TlsServer::~TlsServer() = default;

Result<TlsServer> TlsServer::load(const Options& options) {
  auto made = std::make_unique<Context>(new_context(TLS_server_method()), alpn_list(options.alpn));
  SSL_CTX* c = made->context.get();
  SSL_CTX_set_num_tickets(c, 0);  // No client resumes sessions.
  if (auto used = use_identity(c, options.certificate, options.key); !used) return used.error();
  if (!options.client_ca.empty()) {
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    if (auto trusted = use_trust(c, "client_ca", options.client_ca); !trusted)
      return trusted.error();
  }
  if (!made->alpn.empty())
    SSL_CTX_set_alpn_select_cb(
        c,
        [](SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
           unsigned offered_size, void* ours) {
          const auto& alpn = *static_cast<const std::string*>(ours);
          unsigned char* out = nullptr;
          const int found =
              SSL_select_next_proto(&out, size, reinterpret_cast<const unsigned char*>(alpn.data()),
                                    static_cast<unsigned>(alpn.size()), offered, offered_size);
          *chosen = out;
          return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
        },
        &made->alpn);
  return TlsServer(std::move(made));
}

Result<std::unique_ptr<Stream>> TlsServer::over(std::unique_ptr<Stream> below) const {
  Session session(SSL_new(context_->context.get()));
  check(session != nullptr, "OpenSSL has memory");
  SSL_set_accept_state(session.get());
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(session));
  if (auto ok = stream->handshake("TLS handshake with a client"); !ok) return ok.error();
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace etcdop
