// Makes connections to an object store, outside simulations.
#pragma once
#include <string>

#include "http/http_client.h"
#include "s3/place.h"
#include "sys/asio_loop.h"

namespace etcdop::s3 {

/// TCP, then TLS if the endpoint has it. `ca`: PEM; empty: the system's store. The loop must
/// outlive the result; the Place need not. Invalid: the message says what is wrong with `ca`. A
/// dial returns Invalid if `reach` does not allow the endpoint's address.
Result<http::HttpClient::Dial> dialer(AsioLoop&, const Place&, const std::string& ca,
                                      Reach reach = Reach::Anywhere);

}  // namespace etcdop::s3
