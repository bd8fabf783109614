// The phase and the conditions of an EtcdRestore. Pure.
#pragma once
#include <string>

#include "operator/agents/verify_report.h"
#include "operator/restore/observation.h"

namespace etcdop::restore {

/// Sets one condition, with the generation and the time of this pass.
void say(const Observation&, api::v1alpha2::EtcdRestoreStatus&, const char* type,
         const char* status, const std::string& reason, const std::string& message);

/// "3 keys at revision 42, of etcd 3.6.16"
std::string words_of(const VerifyReport&);

/// Sets phase and conditions after the cluster's record names this EtcdRestore, by the record's
/// stage.
void report_stage(const Observation&, const api::v1alpha2::RestoreRecord&,
                  api::v1alpha2::EtcdRestoreStatus&);

}  // namespace etcdop::restore
