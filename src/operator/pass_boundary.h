// The boundary of a pass: a programming error on one object is reported on that object. The process
// and all other objects go on.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "api/v1alpha2/names.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_time.h"
#include "kube/granted.h"
#include "kube/store.h"
#include "operator/passes/flight_recorder.h"
#include "runtime/conditions.h"
#include "runtime/controller.h"
#include "runtime/events.h"
#include "runtime/metrics.h"
#include "runtime/transitions.h"

namespace etcdop {

/// Shared by every boundary. All of it must outlive them.
struct PassBoundary {
  const WallClock& clock;
  Log& log;
  FlightRecorder* flight = nullptr;          ///< Null: the log has no pair.
  runtime::EventRecorder* events = nullptr;  ///< Null: no Event is made.
  runtime::Metrics* metrics = nullptr;       ///< Null: errors are not counted.

  /// Returns the pass over objects of T, for a controller. A pass that throws (an exception of a
  /// library, a failed check) sets the condition InternalError on its object, records an Event,
  /// logs what the pass had seen, and counts in a metric. The queue then backs off. The first pass
  /// that throws nothing sets the condition to False. `api` is the controller's API, which may
  /// patch the status.
  template <class T, class Api>
  runtime::Controller::Reconcile around(Api api, kube::Store<T>& store,
                                        runtime::Controller::Reconcile pass) const {
    return [with = *this, api, &store,
            pass = std::move(pass)](const api::ObjectKey& key) -> Result<runtime::Requeue> {
      std::string error;
      try {
        auto result = pass(key);
        with.succeeded(api, store, key);
        return result;
      } catch (const std::exception& thrown) {
        error = as_utf8(thrown.what());  // It may quote bytes of the object.
      } catch (...) { error = "an exception of an unknown type"; }
      // Outside the handler: no fiber may suspend in it.
      try {
        with.failed(api, store, key, error);
      } catch (const std::exception& again) {  // The object cannot be read again.
        with.log.error("the condition InternalError could not be written",
                       {{"object", to_string(key)}, {"error", as_utf8(again.what())}});
      }
      return Error{Code::Corrupt, "internal error: " + error};
    };
  }

 private:
  template <class T, class Api>
  void failed(Api& api, kube::Store<T>& store, const api::ObjectKey& key,
              const std::string& error) const {
    const char* const kind = T::resource.kind;
    log.error("internal error: a pass has failed, other objects go on",
              {{"kind", kind},
               {"object", to_string(key)},
               {"error", error},
               {"pair", flight ? flight->newest(kind, key) : ""}});
    if (metrics)
      metrics
          ->counter("etcd_operator_internal_errors_total",
                    "Passes over an object that ended in a programming error of the operator.",
                    {{"kind", kind}})
          .add();
    write(api, store, key,
          {api::v1alpha2::kInternalError, "True", api::v1alpha2::kPassFailed,
           "the operator cannot work on this object: " + error +
               "; this is a bug in the operator, and its log has the details; it tries again, and "
               "serves all other objects"});
  }

  template <class T, class Api>
  void succeeded(Api& api, kube::Store<T>& store, const api::ObjectKey& key) const {
    const auto object = store.get(key);
    if (!object) return;
    const api::Condition* told =
        runtime::find_condition(object->status.conditions, api::v1alpha2::kInternalError);
    if (told && told->status == "True")
      write(api, store, key,
            {api::v1alpha2::kInternalError, "False", api::v1alpha2::kPassSucceeded,
             "the operator works on this object again"});
  }

  /// Writes once per change, with the known resourceVersion. The next pass tries a refused write
  /// again.
  template <class T, class Api>
  void write(Api& api, kube::Store<T>& store, const api::ObjectKey& key,
             const runtime::NewCondition& condition) const {
    const auto object = store.get(key);
    if (!object || object->metadata.terminating()) return;
    const api::ObjectMeta& meta = object->metadata;
    auto conditions = object->status.conditions;
    runtime::set_condition(conditions, condition, meta.generation, clock.wall_now());
    if (conditions == object->status.conditions) return;
    auto written = api.template merge_patch<T, kube::Part::Status>(
        key, {{"metadata", {{"resourceVersion", meta.resource_version}}},
              {"status", {{"conditions", api::encode(conditions)}}}});
    if (!written) {
      log.warn("the condition InternalError could not be written",
               {{"object", to_string(key)}, {"error", written.error().message}});
      return;
    }
    if (events)
      for (const auto& one : runtime::transitions({T::resource, key, meta.uid},
                                                  object->status.conditions, conditions))
        events->record(one);
    store.wrote(std::move(*written));
  }
};

}  // namespace etcdop
