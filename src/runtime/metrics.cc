#include "runtime/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace etcdop::runtime {
namespace {

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::isnan(value)) return "NaN";
  char text[64];
  // Counts of bytes stay readable; beyond 2^53 a double is not exact anyway.
  const bool whole = value == std::floor(value) && std::fabs(value) < 9e15;
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
                         : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

std::string escaped(std::string_view text, bool in_quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else if (c == '"' && in_quotes) out += "\\\"";
    else out += c;
  }
  return out;
}

/// {a="x",b="y"}, or empty.
std::string text_of(const Metrics::Labels& labels) {
  std::string out;
  for (const auto& [key, value] : labels)
    out += (out.empty() ? "{" : ",") + key + "=\"" + escaped(value, true) + "\"";
  return out.empty() ? out : out + "}";
}

Metrics::Labels with(Metrics::Labels labels, std::string key, std::string value) {
  labels[std::move(key)] = std::move(value);
  return labels;
}

const char* method(kube::Verb verb) {
  switch (verb) {
    case kube::Verb::Get:
    case kube::Verb::List:
    case kube::Verb::Watch: return "GET";
    case kube::Verb::Create: return "POST";
    case kube::Verb::Patch: return "PATCH";
    case kube::Verb::Delete: return "DELETE";
    case kube::Verb::Update: return "PUT";
  }
  return "";
}

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

/// The buckets of client-go's queues: from 10 ns to 1,000 s.
Metrics::Histogram& queue_times(Metrics& metrics, const std::string& name, const std::string& help,
                                const std::string& queue) {
  return metrics.histogram(name, help,
                           {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000},
                           {{"controller", queue}, {"name", queue}});
}

}  // namespace

void Metrics::Histogram::observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value);
  if (bucket != bounds_.end()) ++counts_[static_cast<std::size_t>(bucket - bounds_.begin())];
  ++count_;
  sum_ += value;
}

Metrics::Cell& Metrics::cell(const std::string& name, const std::string& type,
                             const std::string& help, const Labels& labels, Cell fresh) {
  Family& family = families_[name];
  if (family.type.empty()) {
    family.type = type;
    family.help = help;
  }
  check(family.type == type && family.help == help, "a metric's name has one meaning");
  return family.cells.try_emplace(labels, std::move(fresh)).first->second;
}

Metrics::Number& Metrics::counter(const std::string& name, const std::string& help,
                                  const Labels& labels) {
  check(name.ends_with("_total"), "a counter's name ends in _total");
  return std::get<Number>(cell(name, "counter", help, labels, Number()));
}

Metrics::Number& Metrics::gauge(const std::string& name, const std::string& help,
                                const Labels& labels) {
  return std::get<Number>(cell(name, "gauge", help, labels, Number()));
}

Metrics::Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                                       const std::vector<double>& bounds, const Labels& labels) {
  check(std::ranges::is_sorted(bounds), "the bounds of buckets ascend");
  return std::get<Histogram>(cell(name, "histogram", help, labels, Histogram(bounds)));
}

void Metrics::gauges(const std::string& name, const std::string& help,
                     std::function<void(const Line&)> each) {
  const bool first = families_.try_emplace(name, Family{"gauge", help, {}, std::move(each)}).second;
  check(first, "a metric's name has one meaning");
}

void Metrics::forget(const Labels& labels) {
  for (auto& [name, family] : families_)
    std::erase_if(family.cells, [&](const auto& entry) {
      return std::ranges::includes(entry.first, labels);  // Both are ordered.
    });
}

std::string Metrics::text() {
  for (const auto& refresh : refresh_) refresh();
  std::string out;
  const auto line = [&](const std::string& name, const Labels& labels, double value) {
    out += name + text_of(labels) + " " + number(value) + "\n";
  };
  for (const auto& [name, family] : families_) {
    const std::size_t before = out.size();
    out += "# HELP " + name + " " + escaped(family.help, false) + "\n";
    out += "# TYPE " + name + " " + family.type + "\n";
    const std::size_t head = out.size();
    if (family.each)
      family.each([&](const Labels& labels, double value) { line(name, labels, value); });
    for (const auto& [labels, cell] : family.cells) {
      if (const auto* one = std::get_if<Number>(&cell)) {
        line(name, labels, one->value());
        continue;
      }
      const auto& histogram = std::get<Histogram>(cell);
      std::uint64_t below = 0;
      for (std::size_t i = 0; i < histogram.bounds_.size(); ++i) {
        below += histogram.counts_[i];
        line(name + "_bucket", with(labels, "le", number(histogram.bounds_[i])),
             static_cast<double>(below));
      }
      line(name + "_bucket", with(labels, "le", "+Inf"), static_cast<double>(histogram.count_));
      line(name + "_sum", labels, histogram.sum_);
      line(name + "_count", labels, static_cast<double>(histogram.count_));
    }
    if (out.size() == head) out.resize(before);  // No metric has that name.
  }
  return out;
}

Controller::Options measured(Metrics& metrics, Controller::Options options) {
  const Metrics::Labels labels{{"controller", options.name}};
  options.on_take =
      [waits = &queue_times(metrics, "workqueue_queue_duration_seconds",
                            "How long in seconds an item stays in workqueue before being requested",
                            options.name),
       also = std::move(options.on_take)](Duration waited) {
        waits->observe(seconds(waited));
        if (also) also(waited);
      };
  const auto result = [&](const char* value) {
    return &metrics.counter("controller_runtime_reconcile_total",
                            "Total number of reconciliations per controller",
                            with(labels, "result", value));
  };
  options.on_pass =
      [good = result("success"), later = result("requeue_after"), bad = result("error"),
       errors = &metrics.counter("controller_runtime_reconcile_errors_total",
                                 "Total number of reconciliation errors per controller", labels),
       times = &metrics.histogram("controller_runtime_reconcile_time_seconds",
                                  "Length of time per reconciliation per controller",
                                  {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
                                  labels),
       work = &queue_times(metrics, "workqueue_work_duration_seconds",
                           "How long in seconds processing an item from workqueue takes",
                           options.name),
       also = std::move(options.on_pass)](Result<Requeue> outcome, Duration took) {
        times->observe(seconds(took));
        work->observe(seconds(took));
        if (!outcome) errors->add();
        (!outcome ? bad : outcome->after ? later : good)->add();
        if (also) also(std::move(outcome), took);
      };
  return options;
}

void measure(Metrics& metrics, Controller& controller) {
  const Metrics::Labels labels{{"controller", controller.options().name}};
  const Metrics::Labels queue = with(labels, "name", controller.options().name);
  metrics
      .gauge("controller_runtime_max_concurrent_reconciles",
             "Maximum number of concurrent reconciles per controller", labels)
      .set(static_cast<double>(controller.options().concurrency));
  metrics.on_scrape(
      [&controller,
       active = &metrics.gauge("controller_runtime_active_workers",
                               "Number of currently used workers per controller", labels),
       depth = &metrics.gauge("workqueue_depth", "Current depth of workqueue", queue),
       adds = &metrics.counter("workqueue_adds_total", "Total number of adds handled by workqueue",
                               queue),
       retries = &metrics.counter("workqueue_retries_total",
                                  "Total number of retries handled by workqueue", queue)] {
        active->set(static_cast<double>(controller.active()));
        depth->set(static_cast<double>(controller.queue().waiting()));
        adds->set(static_cast<double>(controller.queue().counts().adds));
        retries->set(static_cast<double>(controller.queue().counts().retries));
      });
}

std::function<void(kube::Verb, const api::Resource&, int)> count_requests(Metrics& metrics,
                                                                          std::string host) {
  return [&metrics, host = std::move(host)](kube::Verb verb, const api::Resource&, int status) {
    metrics
        .counter("rest_client_requests_total",
                 "Number of HTTP requests, partitioned by status code, method, and host.",
                 {{"code", status == 0 ? "<error>" : std::to_string(status)},
                  {"host", host},
                  {"method", method(verb)}})
        .add();
  };
}

}  // namespace etcdop::runtime
