// Package generate makes the dashboard for Grafana from the catalogue of metrics.
//
// What it guarantees: every query names metrics and labels of the catalogue; a
// metric that is renamed there makes the generation fail. Queries work with and
// without the label cluster, and whatever the number of exporters of a cluster:
// each thing is one series. What is not known shows as nothing, and never as
// zero. The same catalogue gives the same bytes.
//
// The form is the classic one of Grafana (schema version 39 and later read it),
// with the data source as a variable and without inputs, so that the same file
// is imported by hand and provisioned.
//
// Each row is a file: the function that lists its panels, from left to right.
// It leaves out what Grafana does with the file: a test asks a Prometheus that
// has scraped the demo for every panel (test/alerts).
package generate

import (
	"bytes"
	"encoding/json"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// UID is the dashboard's own name in its address: /d/lso-exporter.
const UID = "lso-exporter"

// docs is where the users' pages are.
const docs = "https://github.com/lso-exporter/lso-exporter/blob/main/docs/"

// A row is a title with panels under it.
type row struct {
	title  string
	closed bool // until somebody opens it
	panels []cog.Builder[dashboard.Panel]
}

// rows are all rows, from top to bottom.
func rows() []row {
	return []row{heldRow(), partitionRow(), groupRow(), shareRow(), transactionRow(), logRow(), exporterRow()}
}

// board is the classic form of a dashboard. Grafana imports and provisions the
// next one from version 12 on only.
//
//lint:ignore SA1019 see above
type board = dashboard.Dashboard

// Dashboard makes the dashboard.
func Dashboard() (board, error) {
	//lint:ignore SA1019 see board
	b := dashboard.NewDashboardBuilder("Kafka: last stable offsets and lag").
		Uid(UID).
		Description("What transactions hold back in Kafka, by whom, and the lag of consumer groups against the last stable offset and the high watermark. Metrics of lso-exporter.").
		Tags([]string{"kafka", "lso-exporter"}).
		Timezone("browser").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time("now-1h", "now").
		Refresh("30s").
		Editable()
	for _, v := range variables() {
		b.WithVariable(v)
	}
	for _, l := range []struct{ title, page string }{
		{"Runbooks", "runbooks/README.md"}, {"What the numbers mean", "measurements.md"}, {"This dashboard", "dashboard.md"},
	} {
		b.Link(dashboard.NewDashboardLinkBuilder(l.title).Type(dashboard.DashboardLinkTypeLink).Icon("doc").
			Url(docs + l.page).TargetBlank(true))
	}
	id := uint32(0)
	for _, r := range rows() {
		id++
		heading := dashboard.NewRowBuilder(r.title).Id(id).Collapsed(r.closed)
		if !r.closed {
			b.WithRow(heading)
		}
		for _, p := range r.panels {
			id++
			if r.closed {
				heading.WithPanel(numbered{p, id})
			} else {
				b.WithPanel(numbered{p, id})
			}
		}
		if r.closed {
			b.WithRow(heading)
		}
	}
	d, err := b.Build()
	visible(d.Links)
	return d, err
}

// visible has links stand where people see them, and not in a menu.
func visible(links []dashboard.DashboardLink) {
	for i := range links {
		links[i].Placement = nil
	}
}

// numbered is a panel with its number, by which Grafana tells panels apart.
type numbered struct {
	cog.Builder[dashboard.Panel]
	id uint32
}

// Build implements cog.Builder.
func (n numbered) Build() (dashboard.Panel, error) {
	p, err := n.Builder.Build()
	if err != nil {
		return p, cog.MakeBuildErrors("panel", err)
	}
	p.Id = &n.id
	visible(p.Links)
	return p, nil
}

// JSON is the dashboard as a file.
func JSON() ([]byte, error) {
	d, err := Dashboard()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // people read the queries
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// source is the data source that the variable picks.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// variables are what can be picked above the panels; what one offers depends on
// those before it only. All stands for ".*": a
// matcher that also picks series without the label, so that an exporter without
// a configured cluster is shown too, and that is short however many topics there
// are.
func variables() []cog.Builder[dashboard.VariableModel] {
	query := func(name, label, description, values string) cog.Builder[dashboard.VariableModel] {
		return dashboard.NewQueryVariableBuilder(name).Label(label).Description(description).
			Datasource(source).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(" + values + ", " + name + ")")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortNaturalAsc).
			Multi(true).IncludeAll(true).AllValue(".*").
			Current(dashboard.VariableOption{
				Selected: cog.ToPtr(true),
				Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
				Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
			})
	}
	return []cog.Builder[dashboard.VariableModel]{
		dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus").
			Description("The Prometheus, or what speaks its language, that scrapes lso-exporter."),
		query("cluster", "Cluster", "Setting cluster of the exporters; without it there is none to pick.", named("lso_exporter_last_sweep_success")),
		query("topic", "Topic", "", of("kafka_partition_high_watermark", without("topic"), without("partition"))),
		query("partition", "Partition", "", of("kafka_partition_high_watermark", without("partition"))),
		query("group", "Group", "", of("kafka_group_info", without("group"))),
	}
}
