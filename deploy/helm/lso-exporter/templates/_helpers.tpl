{{/* Names. An instance's name is at most 20 characters, so that all stay below 63. */}}
{{- define "lso-exporter.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 42 | trimSuffix "-" -}}
{{- end -}}

{{- define "lso-exporter.fullname" -}}
{{- $name := include "lso-exporter.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 42 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 42 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 42 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lso-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "lso-exporter.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* What selects all pods of the release. */}}
{{- define "lso-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "lso-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Of every object; those of the chart's own win. */}}
{{- define "lso-exporter.labels" -}}
{{- mergeOverwrite (deepCopy .Values.commonLabels) (include "lso-exporter.ownLabels" . | fromYaml) | toYaml -}}
{{- end -}}

{{- define "lso-exporter.ownLabels" -}}
{{ include "lso-exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "lso-exporter.image" -}}
{{- $image := .Values.image -}}
{{- $repository := required "image.repository is not set: name the image that your cluster can pull (docs/image.md tells how it is built)" $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/*
The exporters of the release, as JSON: an object with the key "list", each with
component (the label that tells it from the others), name (of its objects),
replicas, resources, and config (what stands in its file). A release without
instances has one, the component "exporter".
*/}}
{{- define "lso-exporter.exporters" -}}
{{- $root := . -}}
{{- $list := list -}}
{{- if .Values.instances -}}
  {{- range $name := keys .Values.instances | sortAlpha -}}
    {{- $instance := index $root.Values.instances $name | default dict -}}
    {{- $list = append $list (dict
      "component" $name
      "name" (printf "%s-%s" (include "lso-exporter.fullname" $root) $name)
      "replicas" ($instance.replicas | default $root.Values.replicas)
      "resources" (mergeOverwrite (deepCopy $root.Values.resources) ($instance.resources | default dict))
      "config" (include "lso-exporter.config" (dict "root" $root "overlay" ($instance.config | default dict) "at" (printf "instances.%s.config" $name)) | fromYaml)) -}}
  {{- end -}}
{{- else -}}
  {{- $list = append $list (dict
    "component" "exporter"
    "name" (include "lso-exporter.fullname" $root)
    "replicas" $root.Values.replicas
    "resources" $root.Values.resources
    "config" (include "lso-exporter.config" (dict "root" $root "overlay" dict "at" "config") | fromYaml)) -}}
{{- end -}}
{{- dict "list" $list | toJson -}}
{{- end -}}

{{/* The configuration of one exporter: that of all, the overlay, and what the chart sets. */}}
{{- define "lso-exporter.config" -}}
{{- $root := .root -}}
{{- $config := mergeOverwrite (deepCopy $root.Values.config) (deepCopy .overlay) -}}
{{- $web := $config.web | default dict -}}
{{- range $key := list "listen_address" "health_listen_address" "config_file" -}}
  {{- if hasKey $web $key -}}
    {{- fail (printf "%s: web.%s is set by the chart: remove it and use the values port and web.existingSecret" $.at $key) -}}
  {{- end -}}
{{- end -}}
{{- $kafka := $config.kafka | default dict -}}
{{- if not $kafka.brokers -}}
  {{- fail (printf "%s: kafka.brokers is empty: list at least one host:port" .at) -}}
{{- end -}}
{{- $sasl := $kafka.sasl | default dict -}}
{{- $secrets := dict "kafka.sasl.password" $sasl.password "kafka.sasl.oauth.client_secret" ($sasl.oauth | default dict).client_secret -}}
{{- range $key, $value := $secrets -}}
  {{- if and $value (not (hasPrefix "file:" $value)) -}}
    {{- fail (printf "%s: %s would stand in a ConfigMap: put it into a Secret, name that in the value secrets, and write file:/etc/lso-exporter/secrets/NAME/KEY" $.at $key) -}}
  {{- end -}}
{{- end -}}
{{- $_ := set $web "listen_address" (list (printf ":%v" $root.Values.port)) -}}
{{- if $root.Values.web.existingSecret -}}
  {{- if eq (int $root.Values.port) (int $root.Values.web.healthPort) -}}
    {{- fail "port and web.healthPort are the same: choose another one" -}}
  {{- end -}}
  {{- $_ := set $web "config_file" "/etc/lso-exporter/web/web.yml" -}}
  {{- $_ := set $web "health_listen_address" (printf ":%v" $root.Values.web.healthPort) -}}
{{- end -}}
{{- $_ := set $config "web" $web -}}
{{- toYaml $config -}}
{{- end -}}

{{/* How the kubelet asks for a page. */}}
{{- define "lso-exporter.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ ternary "health" "metrics" (not (empty .root.Values.web.existingSecret)) }}
{{- end -}}

{{/* The name of the Secret behind an entry of secrets. */}}
{{- define "lso-exporter.secretName" -}}
{{- $entry := index .root.Values.secrets .name -}}
{{- $entry.existingSecret | default (printf "%s-%s" (include "lso-exporter.fullname" .root) .name) -}}
{{- end -}}
