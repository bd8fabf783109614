#include "sys/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>

namespace etcdop {
namespace {

template <auto F>
struct Free {
  template <class T>
  void operator()(T* p) const {
    F(p);
  }
};
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;

/// The oldest reason on OpenSSL's queue, which is then empty: a stale entry would spoil the next
/// SSL_get_error.
std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* text = ERR_reason_error_string(code);
  return text ? text : "error " + std::to_string(code);
}

/// OpenSSL between two memory buffers; we carry what it wants sent and feed it what came.
class TlsStream final : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> below, Session session)
      : below_(std::move(below)),
        session_(std::move(session)),
        in_(BIO_new(BIO_s_mem())),
        out_(BIO_new(BIO_s_mem())) {
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(session_.get(), in_, out_);  // The session owns both now.
    SSL_set_connect_state(session_.get());
  }

  Result<Done> handshake(const std::string& server_name) {
    for (;;) {
      ERR_clear_error();
      const int got = SSL_do_handshake(session_.get());
      if (got != 1 && SSL_get_error(session_.get(), got) != SSL_ERROR_WANT_READ) {
        const long verdict = SSL_get_verify_result(session_.get());
        const std::string why =
            verdict == X509_V_OK ? reason() : X509_verify_cert_error_string(verdict);
        (void)flush();  // The alert that tells the other end why.
        return Error{Code::Denied, "TLS handshake with " + server_name + ": " + why};
      }
      if (auto sent = flush(); !sent) return sent;
      if (got == 1) return Done{};
      auto more = feed();
      if (!more) return more.error();
      if (*more == 0)
        return Error{Code::Unavailable,
                     "TLS handshake with " + server_name + ": connection closed"};
    }
  }

  Result<std::size_t> read(std::span<char> into) override {
    for (;;) {
      ERR_clear_error();
      std::size_t n = 0;
      const int ok = SSL_read_ex(session_.get(), into.data(), into.size(), &n);
      const int state = SSL_get_error(session_.get(), ok);
      const std::string why = state == SSL_ERROR_SSL ? reason() : "";
      if (auto sent = flush(); !sent)
        return sent.error();  // A key update or an alert may have come up.
      if (ok) return n;
      if (state == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
      if (state != SSL_ERROR_WANT_READ) return Error{Code::Unavailable, "TLS: " + why};
      auto more = feed();
      if (!more) return more.error();
      if (*more == 0)
        return Error{Code::Unavailable,
                     "TLS: connection cut"};  // No close_notify: maybe truncated.
    }
  }

  Result<Done> write(std::string_view bytes) override {
    ERR_clear_error();
    std::size_t n = 0;
    if (!bytes.empty() && !SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &n))
      return Error{Code::Unavailable, "TLS: " + reason()};
    return flush();
  }

  void close() override { below_->close(); }

 private:
  /// Sends all that OpenSSL has put out. One fiber at a time: what another adds meanwhile, the
  /// first one sends.
  Result<Done> flush() {
    if (flushing_) return Done{};
    flushing_ = true;
    Result<Done> sent = Done{};
    while (sent && BIO_ctrl_pending(out_) > 0) {
      std::string chunk(BIO_ctrl_pending(out_), '\0');
      BIO_read(out_, chunk.data(), static_cast<int>(chunk.size()));
      sent = below_->write(chunk);
    }
    flushing_ = false;
    return sent;
  }

  Result<std::size_t> feed() {
    char chunk[4096];  // On the stack, so that an idle connection costs no buffer... but its
                       // fiber's page.
    auto n = below_->read(chunk);
    if (n) BIO_write(in_, chunk, static_cast<int>(*n));
    return n;
  }

  std::unique_ptr<Stream> below_;
  Session session_;
  BIO *in_, *out_;
  bool flushing_ = false;
};

}  // namespace

struct TlsClient::Impl {
  Context context;
  std::string alpn;  // As on the wire: length, name.
};

TlsClient::TlsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsClient::TlsClient(TlsClient&&) noexcept = default;
TlsClient::~TlsClient() = default;

Result<TlsClient> TlsClient::load(const Options& options) {
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);  // 34 KB less per idle connection.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_load_verify_locations(c, options.ca_file.c_str(), nullptr) != 1)
    return Error{Code::Invalid, options.ca_file + ": " + reason()};
  if (!options.cert_file.empty()) {
    if (SSL_CTX_use_certificate_chain_file(c, options.cert_file.c_str()) != 1)
      return Error{Code::Invalid, options.cert_file + ": " + reason()};
    if (SSL_CTX_use_PrivateKey_file(c, options.key_file.c_str(), SSL_FILETYPE_PEM) !=
        1)  // Checks that it fits, too.
      return Error{Code::Invalid, options.key_file + ": " + reason()};
  }
  auto impl = std::make_unique<Impl>();
  impl->context = std::move(context);
  if (!options.alpn.empty()) impl->alpn = static_cast<char>(options.alpn.size()) + options.alpn;
  return TlsClient(std::move(impl));
}

Result<std::unique_ptr<Stream>> TlsClient::over(std::unique_ptr<Stream> below,
                                                const std::string& server_name) const {
  Session session(SSL_new(impl_->context.get()));
  SSL* s = session.get();
  if (!impl_->alpn.empty())
    SSL_set_alpn_protos(s, reinterpret_cast<const unsigned char*>(impl_->alpn.data()),
                        static_cast<unsigned>(impl_->alpn.size()));
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), server_name.c_str()) !=
      1) {  // Not an address, so a name.
    ERR_clear_error();
    SSL_set_tlsext_host_name(s, server_name.c_str());
    SSL_set1_host(s, server_name.c_str());
  }
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(session));
  if (auto ok = stream->handshake(server_name); !ok) return ok.error();
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace etcdop
