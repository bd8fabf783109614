// The codecs of Kubernetes' own kinds: instantiated only here (api/codec.h).
#include "kube/certificate.h"
#include "kube/core_types.h"
#include "kube/review_types.h"

namespace etcdop::api {

template struct Codec<kube::Certificate>;
template struct Codec<kube::Event>;
template struct Codec<kube::Job>;
template struct Codec<kube::Lease>;
template struct Codec<kube::PersistentVolumeClaim>;
template struct Codec<kube::Pod>;
template struct Codec<kube::PodDisruptionBudget>;
template struct Codec<kube::Service>;
template struct Codec<kube::SubjectAccessReview>;
template struct Codec<kube::TokenReview>;

}  // namespace etcdop::api

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 gives these symbols internal linkage. Nothing in the language explains this: a smaller
// file of the same shape has weak symbols, and so has clang. The concepts of api/field.h are not
// the cause. The build that checks this tree with g++ makes its symbols global here.
#define ETCDOP_GLOBAL(kind)                           \
  __asm__(".globl _ZN6etcdop3api5CodecINS_4kube" kind \
          "EE6encodeERKS3_\n"                         \
          ".globl _ZN6etcdop3api5CodecINS_4kube" kind "EE6decodeERKN5boost4json5valueERS3_\n")
ETCDOP_GLOBAL("11Certificate");
ETCDOP_GLOBAL("5Event");
ETCDOP_GLOBAL("3Job");
ETCDOP_GLOBAL("5Lease");
ETCDOP_GLOBAL("21PersistentVolumeClaim");
ETCDOP_GLOBAL("3Pod");
ETCDOP_GLOBAL("19PodDisruptionBudget");
ETCDOP_GLOBAL("7Service");
ETCDOP_GLOBAL("19SubjectAccessReview");
ETCDOP_GLOBAL("11TokenReview");
#endif
