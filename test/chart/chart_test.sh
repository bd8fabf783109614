#!/bin/bash
# chart_test.sh [CHART]: tests the `helm template` output of the chart (charts/etcd-operator): its objects and rights, the effect of
# each value of values.yaml, and refused values. Needs helm on PATH, no cluster. Ends with the line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
chart=${1:-charts/etcd-operator}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
image=ghcr.io/cozystack/etcd-operator
pod=spec.template.spec
manager=$pod.containers.0
operator=Deployment/etcd-operator
clusters=CustomResourceDefinition/etcdclusters.etcd-operator.cozystack.io
members=CustomResourceDefinition/etcdmembers.etcd-operator.cozystack.io
defrags=CustomResourceDefinition/etcddefrags.etcd-operator.cozystack.io
snapshots=CustomResourceDefinition/etcdsnapshots.etcd-operator.cozystack.io
schedules=CustomResourceDefinition/etcdsnapshotschedules.etcd-operator.cozystack.io
restores=CustomResourceDefinition/etcdrestores.etcd-operator.cozystack.io
keep='metadata.annotations.helm.sh/resource-policy="keep"'

# test_that SENTENCE COMMAND...: counts whether the command succeeds.
test_that() {
  if "${@:2}" >"$work/said" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
    head -n 20 "$work/said" | cut -c1-200 | sed 's/^/    /'
  fi
}

flatten() { /usr/bin/python3 test/chart/flatten.py "$@"; }

# render [FLAG...]: the objects that helm makes with these flags, as flatten.py writes them.
render() { helm template etcd-operator "$chart" --namespace operators "$@" | flatten; }

# has FACTS LINE...: the file FACTS contains each line.
has() {
  local line missing=0
  for line in "${@:2}"; do
    grep -qFx -- "$line" "$1" || {
      echo "missing: $line"
      missing=1
    }
  done
  return "$missing"
}

# lacks FACTS OBJECT TEXT: the file FACTS has lines that begin with OBJECT, and none of them contains the text.
lacks() {
  local lines
  lines=$(grep "^$2" "$1") && ! grep -F -- "$3" <<<"$lines"
}

# part FACTS OBJECT PATH: the object's content below the path.
part() { grep -F -- "$2 $3." "$1" | cut -d' ' -f2-; }

# same A B: the two texts are equal and not empty.
same() { [ -n "$1" ] && diff <(echo "$1") <(echo "$2"); }

# as_file OBJECT PATH FILE: the object's content below the path equals that file of the chart.
as_file() {
  same "$(part "$default" "$1" "$2" | sort)" "$(flatten <"$chart/files/$3" | sed 's/^[^ =]* //' | grep "^$2\." | sort)"
}

# in_namespace: each namespaced object is in the release's namespace.
in_namespace() {
  local object
  while read -r object; do
    has "$default" "$object metadata.namespace=\"operators\"" || return
  done < <(cut -d' ' -f1 "$default" | sort -u | grep -v '^Cluster\|^CustomResource')
}

# verbs OBJECT RESOURCE: the verbs that the object's rules allow for the resource, one line per rule.
verbs() {
  local rule
  while read -r rule; do
    part "$default" "$1" "$rule.verbs" | cut -d= -f2 | xargs
  done < <(part "$default" "$1" rules | sed -n "s/^\(rules\.[0-9]*\)\.resources\.[0-9]*=\"$2\"$/\1/p")
}

# selects OBJECT PATH: the labels that the object selects there are labels of the operator's Pods.
selects() {
  local label
  [ -n "$(part "$default" "$1" "$2")" ] || return
  while read -r label; do
    has "$default" "$operator spec.template.metadata.labels.$label" || return
  done < <(part "$default" "$1" "$2" | sed "s/^$2\.//")
}

# as_roles FACTS: these objects, in one namespace, give the operator's account the rules of rbac-manager.yaml.
as_roles() {
  local role=Role/etcd-operator-manager-role binding=RoleBinding/etcd-operator-manager-rolebinding
  same "$(part "$1" "$role" rules | sort)" "$(flatten <"$chart/files/rbac-manager.yaml" | sort)" || return
  has "$1" "$binding roleRef.kind=\"Role\"" "$binding roleRef.name=\"${role#*/}\"" \
    "$binding subjects.0.kind=\"ServiceAccount\"" "$binding subjects.0.name=\"etcd-operator\"" \
    "$binding subjects.0.namespace=\"operators\""
}

# refused WORDS FLAG...: helm fails with these words.
refused() {
  if helm template etcd-operator "$chart" --namespace operators "${@:2}" >"$work/refused" 2>&1; then
    echo "it is accepted"
    return 1
  fi
  grep -qF -- "$1" "$work/refused" || {
    cat "$work/refused"
    return 1
  }
}

# value NAME FLAG... -- LINE...: with these flags, which set the value NAME, the objects have the lines. Without the flags they lack
# at least one of them; otherwise the value would not be the cause.
value() {
  local flags=()
  echo "$1" >>"$work/tested"
  shift
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  render "${flags[@]}" >"$work/with" || return
  if has "$default" "$@" >/dev/null; then
    echo "that is so by default: $*"
    return 1
  fi
  has "$work/with" "$@"
}
takes() { test_that "the value $1 takes effect" value "$@"; }

# every_value: each leaf of values.yaml was tested above, and no other value.
every_value() {
  same "$(flatten <"$chart/values.yaml" | cut -d= -f1 | sort)" "$(sort -u "$work/tested")"
}

default=$work/default
if ! render >"$default"; then
  echo "FAILED: the chart renders"
  echo "0 passed, 1 failed"
  exit 1
fi
test_that "the objects are these" same "$(cut -d' ' -f1 "$default" | sort -u)" "ClusterRole/etcd-operator-manager-role
ClusterRole/etcd-operator-metrics-reader
ClusterRole/etcd-operator-proxy-role
ClusterRoleBinding/etcd-operator-manager-rolebinding
ClusterRoleBinding/etcd-operator-proxy-rolebinding
$clusters
$defrags
$members
$restores
$snapshots
$schedules
$operator
Role/etcd-operator-leader-election-role
RoleBinding/etcd-operator-leader-election-rolebinding
Service/etcd-operator-metrics
ServiceAccount/etcd-operator"
test_that "what has a namespace is in the release's" in_namespace

# Rights.
test_that "the ClusterRole has the rules of rbac-manager.yaml" \
  as_file ClusterRole/etcd-operator-manager-role rules rbac-manager.yaml
test_that "Secrets are got by name, made and changed: not listed, watched or deleted" \
  same "$(verbs ClusterRole/etcd-operator-manager-role secrets)" "create get patch"
test_that "Certificates are asked for and followed, and not deleted" \
  same "$(verbs ClusterRole/etcd-operator-manager-role certificates)" "create get list patch watch"
test_that "no other role speaks of Secrets" \
  same "$(grep -F '"secrets"' "$default" | cut -d' ' -f1)" ClusterRole/etcd-operator-manager-role
test_that "what cert-manager has beside Certificates is nobody's" \
  same "$(grep -cF '"cert-manager.io"' "$default")" 1
for kind in ClusterRole/ Role/; do
  test_that "no $kind gives everything of something" lacks "$default" "$kind" '"*"'
done
test_that "the Role has the rules of rbac-leader-election.yaml" \
  as_file Role/etcd-operator-leader-election-role rules rbac-leader-election.yaml
test_that "the Lease's rights are in the Role" \
  has "$default" 'Role/etcd-operator-leader-election-role rules.0.apiGroups.0="coordination.k8s.io"' \
  'Role/etcd-operator-leader-election-role rules.0.resources.0="leases"'
test_that "N11: it may read and write its own Lease only" \
  has "$default" 'Role/etcd-operator-leader-election-role rules.0.verbs.0="create"' \
  'Role/etcd-operator-leader-election-role rules.1.resourceNames.0="aa20b3a9.etcd-operator.cozystack.io"'
test_that "they are in no ClusterRole" lacks "$default" ClusterRole/ leases
test_that "the ClusterRole for the metrics' callers has the rules of rbac-proxy.yaml" \
  as_file ClusterRole/etcd-operator-proxy-role rules rbac-proxy.yaml
test_that "who reads metrics may get /metrics and nothing else" \
  same "$(part "$default" ClusterRole/etcd-operator-metrics-reader rules | sort)" \
  'rules.0.nonResourceURLs.0="/metrics"
rules.0.verbs.0="get"'
test_that "that is given to nobody" lacks "$default" ClusterRoleBinding/ metrics-reader
for binding in ClusterRole/manager ClusterRole/proxy Role/leader-election; do
  kind=${binding%/*} name=etcd-operator-${binding#*/}
  test_that "the ${kind}Binding gives the ServiceAccount that $kind" \
    has "$default" "${kind}Binding/${name}-rolebinding roleRef.kind=\"$kind\"" \
    "${kind}Binding/${name}-rolebinding roleRef.name=\"${name}-role\"" \
    "${kind}Binding/${name}-rolebinding subjects.0.kind=\"ServiceAccount\"" \
    "${kind}Binding/${name}-rolebinding subjects.0.name=\"etcd-operator\"" \
    "${kind}Binding/${name}-rolebinding subjects.0.namespace=\"operators\""
  test_that "it gives it to nobody else" lacks "$default" "${kind}Binding/" subjects.1
done
test_that "the Pod runs as that account" has "$default" "$operator $pod.serviceAccountName=\"etcd-operator\""

# CRDs.
test_that "the CRDs outlive the release" has "$default" "$clusters $keep" "$members $keep" "$defrags $keep" \
  "$snapshots $keep" "$schedules $keep" "$restores $keep"
test_that "the EtcdCluster's CRD is that of files/crds" as_file "$clusters" spec crds/etcdclusters.yaml
test_that "the EtcdMember's CRD is that of files/crds" as_file "$members" spec crds/etcdmembers.yaml
test_that "the EtcdDefrag's CRD is that of files/crds" as_file "$defrags" spec crds/etcddefrags.yaml
test_that "the EtcdSnapshot's CRD is that of files/crds" as_file "$snapshots" spec crds/etcdsnapshots.yaml
test_that "the EtcdSnapshotSchedule's CRD is that of files/crds" as_file "$schedules" spec crds/etcdsnapshotschedules.yaml
test_that "the EtcdRestore's CRD is that of files/crds" as_file "$restores" spec crds/etcdrestores.yaml
render --set crds.enabled=false >"$work/no-crds"
echo crds.enabled >>"$work/tested"
test_that "crds.enabled=false renders no CRD" lacks "$work/no-crds" "" CustomResourceDefinition
test_that "and the operator all the same" has "$work/no-crds" "$operator kind=\"Deployment\""
render --set crds.keep=false >"$work/no-keep"
echo crds.keep >>"$work/tested"
test_that "crds.keep=false leaves no resource policy" lacks "$work/no-keep" CustomResourceDefinition/ resource-policy
test_that "and the CRDs all the same" has "$work/no-keep" "$clusters kind=\"CustomResourceDefinition\"" \
  "$members kind=\"CustomResourceDefinition\""

# The Deployment.
version=$(sed -n 's/^appVersion: "\(.*\)"$/\1/p' "$chart/Chart.yaml")
test_that "the image is the appVersion's" has "$default" "$operator $manager.image=\"$image:$version\""
test_that "the operator is told its own image" has "$default" "$operator $manager.env.0.name=\"OPERATOR_IMAGE\"" \
  "$operator $manager.env.0.value=\"$image:$version\""
test_that "metrics, for whom the API server lets have them, and probes are on :8443 and :8081" \
  has "$default" "$operator $manager.args.0=\"--health-probe-bind-address=:8081\"" \
  "$operator $manager.args.1=\"--metrics-bind-address=:8443\"" "$operator $manager.args.2=\"--metrics-secure\"" \
  "$operator $manager.args.3=\"--leader-elect\"" \
  "$operator $manager.ports.0.name=\"https\"" "$operator $manager.ports.0.containerPort=8443" \
  "$operator $manager.ports.1.name=\"probes\"" "$operator $manager.ports.1.containerPort=8081" \
  "$operator $manager.livenessProbe.httpGet.path=\"/healthz\"" "$operator $manager.livenessProbe.httpGet.port=\"probes\"" \
  "$operator $manager.readinessProbe.httpGet.path=\"/readyz\"" "$operator $manager.readinessProbe.httpGet.port=\"probes\""
test_that "the metrics' Service leads there" has "$default" 'Service/etcd-operator-metrics spec.ports.0.port=8443' \
  'Service/etcd-operator-metrics spec.ports.0.name="https"' 'Service/etcd-operator-metrics spec.ports.0.targetPort="https"'
test_that "no container stands beside the manager" lacks "$default" "$operator" "$pod.containers.1"
test_that "the Deployment selects its Pods" selects "$operator" spec.selector.matchLabels
# A Deployment's selector is immutable: with a version label in it, no upgrade would work.
test_that "it selects by what no upgrade changes" same "$(part "$default" "$operator" spec.selector.matchLabels)" \
  'spec.selector.matchLabels.app.kubernetes.io/name="etcd-operator"
spec.selector.matchLabels.app.kubernetes.io/instance="etcd-operator"'
test_that "the Service selects its Pods" selects Service/etcd-operator-metrics spec.selector
test_that "the Pod may run where Pod security is restricted" \
  has "$default" "$operator $pod.securityContext.runAsNonRoot=true" \
  "$operator $pod.securityContext.seccompProfile.type=\"RuntimeDefault\"" \
  "$operator $manager.securityContext.allowPrivilegeEscalation=false" \
  "$operator $manager.securityContext.capabilities.drop.0=\"ALL\""

# Each value of values.yaml.
takes namespace.create --set namespace.create=true -- 'Namespace/operators kind="Namespace"'
takes image.repository --set image.repository=here/op -- "$operator $manager.image=\"here/op:$version\"" \
  "$operator $manager.env.0.value=\"here/op:$version\""
takes image.tag --set-string image.tag=1.20 -- "$operator $manager.image=\"$image:1.20\"" \
  "$operator $manager.env.0.value=\"$image:1.20\""
takes image.pullPolicy --set image.pullPolicy=Never -- "$operator $manager.imagePullPolicy=\"Never\""
takes etcdImage.repository --set etcdImage.repository=here/etcd -- \
  "$operator $manager.env.1.name=\"ETCD_IMAGE_REPOSITORY\"" "$operator $manager.env.1.value=\"here/etcd\""
takes replicaCount --set replicaCount=2 -- "$operator spec.replicas=2"
takes imagePullSecrets --set 'imagePullSecrets[0].name=key' -- "$operator $pod.imagePullSecrets.0.name=\"key\""
takes nameOverride --set nameOverride=keeper -- 'Deployment/etcd-operator-keeper kind="Deployment"' \
  'Deployment/etcd-operator-keeper spec.template.metadata.labels.app.kubernetes.io/name="keeper"'
takes fullnameOverride --set fullnameOverride=keeper -- 'Deployment/keeper kind="Deployment"' \
  'ClusterRole/keeper-manager-role kind="ClusterRole"' 'ServiceAccount/keeper kind="ServiceAccount"'
takes serviceAccount.name --set serviceAccount.name=robot -- 'ServiceAccount/robot kind="ServiceAccount"' \
  "$operator $pod.serviceAccountName=\"robot\"" \
  'ClusterRoleBinding/etcd-operator-manager-rolebinding subjects.0.name="robot"' \
  'RoleBinding/etcd-operator-leader-election-rolebinding subjects.0.name="robot"'
takes serviceAccount.create --set serviceAccount.create=false,serviceAccount.name=theirs -- \
  "$operator $pod.serviceAccountName=\"theirs\"" \
  'ClusterRoleBinding/etcd-operator-manager-rolebinding subjects.0.name="theirs"'
render --set serviceAccount.create=false,serviceAccount.name=theirs >"$work/theirs"
test_that "serviceAccount.create=false makes none" lacks "$work/theirs" "" ServiceAccount/
takes serviceAccount.annotations --set serviceAccount.annotations.team=a -- \
  'ServiceAccount/etcd-operator metadata.annotations.team="a"'
takes podAnnotations --set podAnnotations.team=a -- "$operator spec.template.metadata.annotations.team=\"a\""
takes podLabels --set podLabels.team=a -- "$operator spec.template.metadata.labels.team=\"a\""
takes nodeSelector --set nodeSelector.disk=fast -- "$operator $pod.nodeSelector.disk=\"fast\""
takes tolerations --set-json 'tolerations=[{"key":"own","operator":"Exists"}]' -- \
  "$operator $pod.tolerations.0.key=\"own\"" "$operator $pod.tolerations.0.operator=\"Exists\""
takes affinity --set affinity.nodeAffinity.weight=7 -- "$operator $pod.affinity.nodeAffinity.weight=7"
takes manager.watchNamespaces --set 'manager.watchNamespaces={one,two}' -- \
  "$operator $manager.env.2.name=\"WATCH_NAMESPACE\"" "$operator $manager.env.2.value=\"one,two\""
helm template etcd-operator "$chart" --namespace operators --set 'manager.watchNamespaces={one,two,one}' >"$work/watched.yaml"
flatten <"$work/watched.yaml" >"$work/watched"
for namespace in one two; do
  flatten "$namespace" <"$work/watched.yaml" >"$work/watched-$namespace"
  test_that "the operator has its rights in the watched namespace $namespace" as_roles "$work/watched-$namespace"
done
test_that "and in no other one" lacks "$work/watched" Cluster manager-role
test_that "it has those of its Lease in its own" has "$work/watched" \
  'Role/etcd-operator-leader-election-role metadata.namespace="operators"'
render --set 'manager.watchNamespaces={one},kubeRbacProxy.enabled=false,crds.enabled=false' >"$work/roles"
test_that "with kubeRbacProxy.enabled=false nothing but the CRDs belongs to the cluster" \
  same "$(cut -d' ' -f1 "$work/roles" | sort -u)" "$operator
Role/etcd-operator-leader-election-role
Role/etcd-operator-manager-role
RoleBinding/etcd-operator-leader-election-rolebinding
RoleBinding/etcd-operator-manager-rolebinding
Service/etcd-operator-metrics
ServiceAccount/etcd-operator"
for resource in limits.cpu=2 limits.memory=3Gi requests.cpu=1 requests.memory=2Gi; do
  takes "manager.resources.${resource%=*}" --set-string "manager.resources.$resource" -- \
    "$operator $manager.resources.${resource%=*}=\"${resource#*=}\""
done
takes manager.podTemplatePolicy --set manager.podTemplatePolicy=any -- "$operator $manager.args.4=\"--pod-template-policy=any\""
test_that "a policy that does not exist is refused" refused "manager.podTemplatePolicy must be restricted, baseline or any" \
  --set manager.podTemplatePolicy=none
takes metricsService.port --set metricsService.port=9090 -- 'Service/etcd-operator-metrics spec.ports.0.port=9090'

takes kubeRbacProxy.enabled --set kubeRbacProxy.enabled=false -- "$operator $manager.args.1=\"--metrics-bind-address=:8080\"" \
  "$operator $manager.args.2=\"--leader-elect\"" "$operator $manager.ports.0.name=\"http\"" \
  "$operator $manager.ports.0.containerPort=8080" 'Service/etcd-operator-metrics spec.ports.0.targetPort="http"'
render --set kubeRbacProxy.enabled=false >"$work/plain"
test_that "without it nobody is asked who may have metrics" lacks "$work/plain" "" proxy-role
test_that "and there is no role for who reads them" lacks "$work/plain" "" metrics-reader
for ignored in image resources.{limits,requests}.{cpu,memory}; do
  echo "kubeRbacProxy.$ignored" >>"$work/tested"
  render --set-string "kubeRbacProxy.$ignored=7" >"$work/ignored"
  test_that "kubeRbacProxy.$ignored is accepted and changes nothing" same "$(cat "$default")" "$(cat "$work/ignored")"
done
takes admissionPolicy.enabled --set admissionPolicy.enabled=true -- \
  'ValidatingAdmissionPolicy/etcd-operator spec.failurePolicy="Fail"' \
  'ValidatingAdmissionPolicyBinding/etcd-operator spec.policyName="etcd-operator"'
takes admissionPolicy.namespaceSelector --set admissionPolicy.enabled=true \
  --set-json 'admissionPolicy.namespaceSelector={"matchLabels":{"team":"a"}}' -- \
  'ValidatingAdmissionPolicyBinding/etcd-operator spec.matchResources.namespaceSelector.matchLabels.team="a"'
# policy_paths [SED]: the fields that the admission policy reads exist, and none is missing. SED breaks the policy first.
policy_paths() {
  helm template etcd-operator "$chart" --set admissionPolicy.enabled=true | sed "${1:-}" |
    /usr/bin/python3 test/chart/policy_paths.py
}
# blames WORDS SED: with this change of the policy, that fails and says the words.
blames() { ! policy_paths "$2" >"$work/blamed" && grep -F -- "$1" "$work/blamed"; }
test_that "N10: the admission policy reads the Pod fields of each of its kinds" policy_paths
test_that "N10: a field that does not exist is found" blames \
  "object.spec.snapshot.pod is in the schema of no kind of the policy" 's/spec\.template\.pod/spec.snapshot.pod/'
test_that "N10: a kind of which nothing is read is found" blames \
  "nothing of oldObject is read for etcdsnapshotschedules v1alpha2" 's/spec\.template\.pod/spec.pod/'
# n6_other_pods_reach_the_metrics_only: with networkPolicy.enabled, and not at the port of the probes.
n6_other_pods_reach_the_metrics_only() {
  value networkPolicy.enabled --set networkPolicy.enabled=true -- \
    'NetworkPolicy/etcd-operator spec.policyTypes.0="Ingress"' \
    'NetworkPolicy/etcd-operator spec.podSelector.matchLabels.app.kubernetes.io/instance="etcd-operator"' &&
    same "$(part "$work/with" NetworkPolicy/etcd-operator spec.ingress)" \
      'spec.ingress.0.ports.0.port="https"
spec.ingress.0.ports.0.protocol="TCP"'
}
test_that "N6: other Pods reach the metrics only" n6_other_pods_reach_the_metrics_only
takes networkPolicy.metricsFrom --set networkPolicy.enabled=true \
  --set-json 'networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"team":"watch"}}}]' -- \
  'NetworkPolicy/etcd-operator spec.ingress.0.from.0.namespaceSelector.matchLabels.team="watch"'
takes metrics.serviceMonitor.enabled --set metrics.serviceMonitor.enabled=true -- \
  'ServiceMonitor/etcd-operator-metrics spec.endpoints.0.port="https"' \
  'ServiceMonitor/etcd-operator-metrics spec.endpoints.0.scheme="https"' \
  'ServiceMonitor/etcd-operator-metrics spec.endpoints.0.tlsConfig.insecureSkipVerify=true'
takes metrics.certificateSecret --set metrics.certificateSecret=seen,metrics.serviceMonitor.enabled=true -- \
  "$operator $manager.args.3=\"--metrics-cert-path=/etc/etcd-operator/metrics\"" \
  "$operator $manager.volumeMounts.0.mountPath=\"/etc/etcd-operator/metrics\"" \
  "$operator $pod.volumes.0.secret.secretName=\"seen\"" \
  'ServiceMonitor/etcd-operator-metrics spec.endpoints.0.tlsConfig.ca.secret.name="seen"' \
  'ServiceMonitor/etcd-operator-metrics spec.endpoints.0.tlsConfig.serverName="etcd-operator-metrics.operators.svc"'
test_that "a certificate for plain metrics is refused" refused \
  "metrics.certificateSecret needs kubeRbacProxy.enabled=true" \
  --set metrics.certificateSecret=seen,kubeRbacProxy.enabled=false
test_that "a ServiceMonitor without authorized metrics is refused" refused \
  "metrics.serviceMonitor.enabled=true needs kubeRbacProxy.enabled=true" \
  --set metrics.serviceMonitor.enabled=true,kubeRbacProxy.enabled=false

# notes WORDS FLAG...: with these flags, the text that helm prints after an install contains the words.
notes() {
  helm install etcd-operator "$chart" --namespace operators --dry-run=client "${@:2}" | sed -n '/^NOTES:/,$p' >"$work/notes"
  grep -qF -- "$1" "$work/notes" || {
    cat "$work/notes"
    return 1
  }
}
test_that "the notes say that there is no sidecar" notes \
  "there is no sidecar, and kubeRbacProxy.image and kubeRbacProxy.resources have no effect"
test_that "the notes say who reads plain metrics" notes "without TLS and without authentication" --set kubeRbacProxy.enabled=false
test_that "the notes say what the rights end at" notes "It looks after clusters in one, two, and has rights there only." \
  --set 'manager.watchNamespaces={one,two}'
test_that "and what needs a ClusterRole all the same" notes "With kubeRbacProxy.enabled=false this release has none" \
  --set 'manager.watchNamespaces={one}'

# Values that cannot work are refused.
test_that "an account that is not made here must be named" refused \
  "serviceAccount.name is required when serviceAccount.create is false" --set serviceAccount.create=false
test_that "it must not be \"default\"" refused 'serviceAccount.name must not be "default"' \
  --set serviceAccount.create=false,serviceAccount.name=default

test_that "each value of values.yaml is tested here" every_value
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
