{{/*
What other charts include. Each takes the chart's root context, and gives nothing
where there is no sidecar:

  lso-exporter-sidecar.initContainers   entries of spec.initContainers
  lso-exporter-sidecar.containers       entries of spec.containers
  lso-exporter-sidecar.volumes          entries of spec.volumes
  lso-exporter-sidecar.podLabels        labels of the pods, by which they are scraped
  lso-exporter-sidecar.objects          documents: ConfigMap, Secrets, PodMonitor

Of the first two, one is empty: which, is decided by the value native and by the
version of Kubernetes.
*/}}
{{- define "lso-exporter-sidecar.initContainers" -}}
{{- if eq (include "lso-exporter-sidecar.kind" .) "native" -}}
{{- include "lso-exporter-sidecar.container" . }}
  restartPolicy: Always
{{- end -}}
{{- end -}}

{{- define "lso-exporter-sidecar.containers" -}}
{{- if eq (include "lso-exporter-sidecar.kind" .) "plain" -}}
{{- include "lso-exporter-sidecar.container" . }}
{{- end -}}
{{- end -}}

{{- define "lso-exporter-sidecar.volumes" -}}
{{- $values := index .Values "lso-exporter-sidecar" -}}
{{- if $values.enabled -}}
- name: lso-exporter
  configMap:
    name: {{ include "lso-exporter-sidecar.fullname" . }}
{{- /*
The pod's fsGroup is the application's, so all may read; only the exporter has it
mounted. Were it not optional, no container of the pod would be made while a Secret
is missing.
*/}}
{{- range $name := keys $values.secrets | sortAlpha }}
- name: lso-exporter-{{ $name }}
  secret:
    secretName: {{ include "lso-exporter-sidecar.secretName" (dict "root" $ "name" $name) }}
    defaultMode: 0444
    optional: true
{{- end }}
{{- end -}}
{{- end -}}

{{- define "lso-exporter-sidecar.podLabels" -}}
{{- if (index .Values "lso-exporter-sidecar").enabled -}}
lso-exporter/sidecar: {{ .Release.Name | quote }}
{{- end -}}
{{- end -}}

{{- define "lso-exporter-sidecar.objects" -}}
{{- $values := index .Values "lso-exporter-sidecar" -}}
{{- if $values.enabled }}
{{- $text := include "lso-exporter-sidecar.config" . }}
{{- range regexFindAll "/etc/lso-exporter/secrets/[^/\\s\"']+" $text -1 | uniq }}
  {{- if not (hasKey $values.secrets (base .)) }}
    {{- fail (printf "lso-exporter-sidecar: the configuration names %s, and secrets.%s is not set: set it to an existing Secret or to data" . (base .)) }}
  {{- end }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "lso-exporter-sidecar.fullname" . }}
  labels:
    {{- include "lso-exporter-sidecar.labels" . | nindent 4 }}
data:
  lso-exporter.yml: |
    {{- $text | nindent 4 }}
{{- range $name := keys $values.secrets | sortAlpha }}
{{- $entry := index $values.secrets $name }}
{{- if $entry.data }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "lso-exporter-sidecar.secretName" (dict "root" $ "name" $name) }}
  labels:
    {{- include "lso-exporter-sidecar.labels" $ | nindent 4 }}
type: Opaque
data:
  {{- range $key, $value := $entry.data }}
  {{ $key }}: {{ $value | b64enc }}
  {{- end }}
{{- end }}
{{- end }}
{{- if $values.podMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "lso-exporter-sidecar.fullname" . }}
  labels:
    {{- mergeOverwrite (deepCopy $values.podMonitor.labels) (include "lso-exporter-sidecar.labels" . | fromYaml) | toYaml | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "lso-exporter-sidecar.podLabels" . | nindent 6 }}
  podMetricsEndpoints:
    - port: lso-exporter
      path: {{ ($values.config.web | default dict).telemetry_path | default "/metrics" }}
      # The label "cluster" is the exporter's, not the target's.
      honorLabels: true
      {{- with $values.podMonitor.interval }}
      interval: {{ . }}
      {{- end }}
      {{- with $values.podMonitor.scrapeTimeout }}
      scrapeTimeout: {{ . }}
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* native, plain, or none. */}}
{{- define "lso-exporter-sidecar.kind" -}}
{{- $values := index .Values "lso-exporter-sidecar" -}}
{{- if not $values.enabled -}}
none
{{- else if eq $values.native "auto" -}}
{{- ternary "native" "plain" (semverCompare ">=1.29-0" .Capabilities.KubeVersion.Version) -}}
{{- else -}}
{{- ternary "native" "plain" (eq $values.native "always") -}}
{{- end -}}
{{- end -}}

{{/*
The container. It has no startup and no readiness probe: those of a sidecar hold up
the start of the application, and take the pod out of its Services. Alive is its
process alone, whatever Kafka does; restarting it restarts nothing else.
*/}}
{{- define "lso-exporter-sidecar.container" -}}
{{- $values := index .Values "lso-exporter-sidecar" -}}
- name: lso-exporter
  image: {{ include "lso-exporter-sidecar.image" . | quote }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  args:
    - serve
    - --config.file=/etc/lso-exporter/config/lso-exporter.yml
  env:
    - name: POD_IP
      valueFrom:
        fieldRef:
          fieldPath: status.podIP
    {{- with $values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: lso-exporter
      containerPort: {{ $values.port }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    runAsNonRoot: true
    {{- with $values.user }}
    runAsUser: {{ . }}
    runAsGroup: {{ . }}
    {{- end }}
    capabilities:
      drop: [ALL]
    seccompProfile:
      type: RuntimeDefault
  livenessProbe:
    httpGet:
      path: /healthz
      port: lso-exporter
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  {{- with $values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: lso-exporter
      mountPath: /etc/lso-exporter/config
      readOnly: true
    {{- range $name := keys $values.secrets | sortAlpha }}
    - name: lso-exporter-{{ $name }}
      mountPath: /etc/lso-exporter/secrets/{{ $name }}
      readOnly: true
    {{- end }}
    {{- with $values.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* What stands in the exporter's file: the values' config, and what the chart sets. */}}
{{- define "lso-exporter-sidecar.config" -}}
{{- $values := index .Values "lso-exporter-sidecar" -}}
{{- $config := deepCopy $values.config -}}
{{- $web := $config.web | default dict -}}
{{- if hasKey $web "listen_address" -}}
  {{- fail "lso-exporter-sidecar: config.web.listen_address is set by the chart: remove it and use the value port" -}}
{{- end -}}
{{- if or (hasKey $web "config_file") (hasKey $web "health_listen_address") -}}
  {{- fail "lso-exporter-sidecar: config.web.config_file, config.web.health_listen_address: the sidecar has one port, in clear: remove them" -}}
{{- end -}}
{{- $kafka := $config.kafka | default dict -}}
{{- if not $kafka.brokers -}}
  {{- fail "lso-exporter-sidecar: config.kafka.brokers is empty: list at least one host:port" -}}
{{- end -}}
{{- $sasl := $kafka.sasl | default dict -}}
{{- $secrets := dict "kafka.sasl.password" $sasl.password "kafka.sasl.oauth.client_secret" ($sasl.oauth | default dict).client_secret -}}
{{- range $key, $value := $secrets -}}
  {{- if and $value (not (hasPrefix "file:" $value)) -}}
    {{- fail (printf "lso-exporter-sidecar: config.%s would stand in a ConfigMap: put it into a Secret, name that in the value secrets, and write file:/etc/lso-exporter/secrets/NAME/KEY" $key) -}}
  {{- end -}}
{{- end -}}
{{- $_ := set $web "listen_address" (list (printf ":%v" $values.port)) -}}
{{- $_ := set $config "web" $web -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "lso-exporter-sidecar.fullname" -}}
{{- printf "%s-lso-exporter" (.Release.Name | trunc 40 | trimSuffix "-") -}}
{{- end -}}

{{- define "lso-exporter-sidecar.secretName" -}}
{{- $entry := index (index .root.Values "lso-exporter-sidecar").secrets .name -}}
{{- $entry.existingSecret | default (printf "%s-%s" (include "lso-exporter-sidecar.fullname" .root) .name) -}}
{{- end -}}

{{- define "lso-exporter-sidecar.labels" -}}
app.kubernetes.io/name: lso-exporter-sidecar
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "lso-exporter-sidecar.image" -}}
{{- $image := (index .Values "lso-exporter-sidecar").image -}}
{{- $repository := required "lso-exporter-sidecar: image.repository is not set: name the image that your cluster can pull (docs/image.md tells how it is built)" $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default (index .Subcharts "lso-exporter-sidecar").Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
