// Package dashboards holds the dashboard for Grafana, as it was made by package
// generate from the catalogue of metrics.
package dashboards

import _ "embed"

// LSOExporter is the dashboard in Grafana's JSON: for import by hand, for
// provisioning, and for a sidecar that reads config maps.
//
//go:embed lso-exporter.json
var LSOExporter []byte
