{{/* The chart's name, or its override. */}}
{{- define "etcd-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The release's name if it contains the chart's, else both. */}}
{{- define "etcd-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "etcd-operator.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "etcd-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "etcd-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "etcd-operator.labels" -}}
{{ include "etcd-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The operator's image, for the container and OPERATOR_IMAGE. */}}
{{- define "etcd-operator.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag | toString) -}}
{{- end -}}

{{- define "etcd-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "etcd-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- $name := required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- if eq $name "default" -}}
{{- fail "serviceAccount.name must not be \"default\": every Pod of the namespace would get the operator's rights" -}}
{{- end -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* The scheme of the metrics URL, which is also the port's name in the Pod and in the Service. */}}
{{- define "etcd-operator.metricsScheme" -}}
{{- ternary "https" "http" .Values.kubeRbacProxy.enabled -}}
{{- end -}}

{{/* The operator's account, as RBAC's bindings name it. */}}
{{- define "etcd-operator.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "etcd-operator.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
