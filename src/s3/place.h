// The location of a bucket: the values of a spec, checked and parsed.
#pragma once
#include <string>

#include "base/result.h"

namespace etcdop::s3 {

struct PlaceOptions {
  std::string endpoint;  ///< "https://s3.example:9000", or http. No path.
  std::string bucket;
  std::string region = "us-east-1";
  /// True: the bucket is in the path, as always if the host is an address. False: it is part of the
  /// host's name.
  bool path_style = false;
};

struct Place {
  bool tls = true;
  std::string host, port;  ///< To dial; the certificate must be for this host, too.
  std::string authority;   ///< For the Host header.
  std::string path;        ///< Before "/KEY": "/BUCKET", or empty.
  std::string bucket, region;
};

/// Invalid: the message begins with the option's name and says what it must be.
Result<Place> to_place(const PlaceOptions&);

}  // namespace etcdop::s3
