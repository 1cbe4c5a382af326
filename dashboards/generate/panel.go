package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Grafana's units.
const (
	unitSeconds = "s"
	unitOffsets = "short"  // on an axis
	unitExact   = "locale" // in a table
	unitPerSec  = "suffix: /s"
	unitShare   = "percentunit"
	unitFromNow = "dateTimeFromNow"
	fullWidth   = 24
	halfWidth   = 12
	statHeight  = 4
	graphHeight = 9
	tableHeight = 7
	graphSeries = 10 // of the greatest things
)

// Colours, each with one meaning on all panels.
const (
	good       = "green"
	attention  = "yellow"
	worrying   = "orange"
	bad        = "red"
	neutral    = "blue"
	unknown    = "purple"
	quiet      = "#8e8e8e"
	colourLSO  = "orange"
	colourHWM  = "blue"
	colourLEO  = "purple"
	colourRead = "green"
)

// over is a query over the time that is shown.
func over(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source).Expr(expr).LegendFormat(legend).Range()
}

// atEnd is a query at the end of the time that is shown.
func atEnd(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source).Expr(expr).LegendFormat(legend).
		Instant().Format(prometheus.PromQueryFormatTimeSeries)
}

// refID is the name of the i-th query of a panel.
func refID(i int) string { return string(rune('A' + i)) }

// link is a panel's link to a page.
func link(page string) []cog.Builder[dashboard.DashboardLink] {
	title := "What it means"
	if strings.HasPrefix(page, "runbooks/") {
		title = "Runbook"
	}
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder(title).Type(dashboard.DashboardLinkTypeLink).Url(docs + page).TargetBlank(true),
	}
}

// steps are thresholds: a colour from each value on, the first from below.
func steps(first string, then ...dashboard.Threshold) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
		Steps(append([]dashboard.Threshold{{Color: first}}, then...))
}

// from is a colour from a value on.
func from(value float64, colour string) dashboard.Threshold {
	return dashboard.Threshold{Value: &value, Color: colour}
}

// figure is a panel with one figure, of the end of the time that is shown: of an
// exporter that is gone it shows nothing rather than what was.
func figure(title, page, description string, width uint32, unit string, thresholds *dashboard.ThresholdsConfigBuilder, expr string) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Links(link(page)).Datasource(source).
		Span(width).Height(statHeight).Unit(unit).NoValue("not known").
		Thresholds(thresholds).ColorScheme(byThreshold()).
		ColorMode(common.BigValueColorModeBackground).GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		WithTarget(atEnd(expr, "").RefId(refID(0)))
}

func byThreshold() *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)
}

// graph is a panel with lines over time, above zero.
func graph(title, page, description string, width uint32, unit string, targets ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	return lines(title, page, description, width, unit, targets...).AxisSoftMin(0)
}

// lines is a graph whose axis begins where the lines do.
func lines(title, page, description string, width uint32, unit string, targets ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	b := timeseries.NewPanelBuilder().Title(title).Description(description).Links(link(page)).Datasource(source).
		Span(width).Height(graphHeight).Unit(unit).
		LineWidth(1).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassic)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Legend(below("Last *"))
	for i, t := range targets {
		b.WithTarget(t.RefId(refID(i)))
	}
	return b
}

// counts is a graph of numbers of things.
func counts(title, page, description string, targets ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	return graph(title, page, description, halfWidth, unitExact, targets...).Decimals(0).AxisSoftMax(1)
}

// below is a legend for many lines, with last and greatest values; by one of them
// it is sorted.
func below(sortBy string) *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
		Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"}).SortBy(sortBy).SortDesc(true)
}

// beside is a legend for a few lines, with their last values.
func beside() *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
		Placement(common.LegendPlacementRight).Width(340).Calcs([]string{"lastNotNull"})
}

// stacked has the lines of a graph stand on each other.
func stacked(b *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return b.FillOpacity(45).LineWidth(0).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
}

// coloured gives the lines of a graph, by their names, colours of their own.
func coloured(b *timeseries.PanelBuilder, colours map[string]string) *timeseries.PanelBuilder {
	for _, name := range slices.Sorted(maps.Keys(colours)) {
		b.OverrideByRegexp(name, []dashboard.DynamicConfigValue{
			{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": colours[name]}},
		})
	}
	return b
}

// A column is one of a table: a label, or the value of a query.
type column struct {
	label string // empty for a value
	value string // its query
	title string
	unit  string // empty for text
	width int    // 0 for what is left

	properties []dashboard.DynamicConfigValue
}

// field is the name under which Grafana knows the column after the tables of
// several queries have been merged.
func (c column) field(values int) string {
	if c.label != "" {
		return c.label
	}
	return "Value #" + refID(values)
}

// columns is a table with a row for each thing. The first query tells which
// there are; all queries have one series for each.
func columns(title, page, description string, width, height uint32, sortBy string, list []column) *table.PanelBuilder {
	b := table.NewPanelBuilder().Title(title).Description(description).Links(link(page)).Datasource(source).
		Span(width).Height(height).NoValue("").Filterable(true).ShowHeader(true).
		CellHeight(common.TableCellHeightSm).Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).
		SortBy([]cog.Builder[common.TableSortByFieldState]{
			common.NewTableSortByFieldStateBuilder().DisplayName(sortBy).Desc(true),
		})
	order, titles, hidden := map[string]int{}, map[string]string{}, map[string]bool{"Time": true, "Value": true}
	values := 0
	for i, c := range list {
		name := c.field(values)
		if c.label == "" {
			b.WithTarget(prometheus.NewDataqueryBuilder().Datasource(source).Expr(c.value).
				Instant().Format(prometheus.PromQueryFormatTable).RefId(refID(values)))
			values++
		}
		order[name] = i
		if c.title == "" {
			hidden[name] = true
			continue
		}
		titles[name] = c.title
		properties := slices.Clone(c.properties)
		if c.unit != "" {
			properties = append(properties, dashboard.DynamicConfigValue{Id: "unit", Value: c.unit})
		}
		if c.width > 0 {
			properties = append(properties, dashboard.DynamicConfigValue{Id: "custom.width", Value: c.width})
		}
		if len(properties) > 0 {
			b.OverrideByName(c.title, properties)
		}
	}
	b.WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	return b.WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": hidden, "indexByName": order, "renameByName": titles,
	}})
}

// inColours has the words in a column stand on their colours.
func inColours(colours map[string]string) []dashboard.DynamicConfigValue {
	options := make(map[string]dashboard.ValueMappingResult)
	for i, word := range slices.Sorted(maps.Keys(colours)) {
		options[word] = dashboard.ValueMappingResult{Color: cog.ToPtr(colours[word]), Index: cog.ToPtr(int32(i))}
	}
	return []dashboard.DynamicConfigValue{
		{Id: "mappings", Value: []dashboard.ValueMap{{Type: dashboard.MappingTypeValueToText, Options: options}}},
		{Id: "custom.cellOptions", Value: map[string]string{"type": "color-background", "mode": "basic"}},
	}
}

// instead has a word in a column shown as another.
func instead(word, shown string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "mappings", Value: []dashboard.ValueMap{{
		Type: dashboard.MappingTypeValueToText, Options: map[string]dashboard.ValueMappingResult{word: {Text: &shown, Index: cog.ToPtr(int32(0))}},
	}}}}
}

// leadsTo has the cells of a column lead to a page.
func leadsTo(title, url string, elsewhere bool) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]any{
		{"title": title, "url": url, "targetBlank": elsewhere},
	}}}
}

// here is this dashboard at the same time and cluster, with other variables.
func here(variables string) string {
	return "/d/" + UID + "?${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}&" + variables
}

// bars is a panel with a bar for each thing, at the end of the time shown.
func bars(title, page, description string, width uint32, unit, expr, legend string) *bargauge.PanelBuilder {
	return bargauge.NewPanelBuilder().Title(title).Description(description).Links(link(page)).Datasource(source).
		Span(width).Height(graphHeight).Unit(unit).Min(0).Max(1).
		Orientation(common.VizOrientationHorizontal).DisplayMode(common.BarGaugeDisplayModeBasic).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor(neutral)).
		WithTarget(atEnd(expr, legend).RefId(refID(0)))
}
