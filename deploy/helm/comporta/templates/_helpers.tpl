{{- define "comporta.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) }}
{{- $name | trunc 56 | trimSuffix "-" }}
{{- end }}

{{- define "comporta.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "comporta.labels" -}}
{{ include "comporta.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Port of an address such as 0.0.0.0:8080, [::]:8080 or 8080. */}}
{{- define "comporta.port" -}}
{{ toString . | splitList ":" | last }}
{{- end }}
