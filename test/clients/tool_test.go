package clients

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// row is a line of a table that the tool prints, by column.
type row map[string]string

// answers are what kafka-consumer-groups.sh --describe --all-groups prints with one
// option more, by that option and group.
type answers map[string]map[string][]row

// ask runs the tool once for each option.
func (c *cluster) ask(options ...string) answers {
	c.t.Helper()
	rows, errs := make([]map[string][]row, len(options)), make([]error, len(options))
	var all sync.WaitGroup
	for i, option := range options {
		all.Go(func() { rows[i], errs[i] = c.describe(option) })
	}
	all.Wait()
	c.must(errors.Join(errs...))
	told := answers{}
	for i, option := range options {
		told[option] = rows[i]
	}
	return told
}

func (c *cluster) describe(option string) (map[string][]row, error) {
	cmd, err := kafka.Command(c.context(), c.version, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", strings.Join(c.bootstrap, ","), "--describe", "--all-groups", option)
	if err != nil {
		return nil, err
	}
	var printed, said strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("describe %s: %w: %s%s", option, err, &printed, &said)
	}
	groups := map[string][]row{}
	for _, r := range parseTables(printed.String()) {
		groups[r["GROUP"]] = append(groups[r["GROUP"]], r)
	}
	return groups, nil
}

// bracket is before the second word of a coordinator.
var bracket = regexp.MustCompile(` +\(`)

// parseTables reads tables, each of which has its titles in its first line. The
// tools of some versions do not align them: words are counted. No value has a
// space but the coordinator, and none is empty but the strategy.
func parseTables(text string) (rows []row) {
	var titles []string
	for line := range strings.Lines(text) {
		words := strings.Fields(bracket.ReplaceAllString(line, "("))
		switch {
		case len(words) > 0 && words[0] == "GROUP":
			titles = words
		case len(words) == 0:
			titles = nil
		case titles != nil:
			rows = append(rows, parseRow(titles, words))
		}
	}
	return rows
}

func parseRow(titles, words []string) row {
	if len(words) < len(titles) {
		titles = slices.DeleteFunc(slices.Clone(titles), func(title string) bool { return title == "ASSIGNMENT-STRATEGY" })
	}
	r := row{}
	for i, word := range words[:min(len(words), len(titles))] {
		r[titles[i]] = word
	}
	return r
}

// of writes down what was told of a group: its state, its members, and what it has
// committed.
func (a answers) of(group string) []string {
	var lines []string
	for _, r := range a["--state"][group] {
		lines = append(lines, fmt.Sprintf("group %s, %s members, coordinator %s", r["STATE"], r["#MEMBERS"], coordinatorID(r["COORDINATOR(ID)"])))
	}
	for _, r := range a["--members"][group] {
		lines = append(lines, fmt.Sprintf("member %s %s %s", r["CONSUMER-ID"], r["HOST"], r["CLIENT-ID"]))
	}
	for _, r := range a["--offsets"][group] {
		lines = append(lines, fmt.Sprintf("%s-%s committed %s high %s lag %s owner %s %s %s",
			r["TOPIC"], r["PARTITION"], r["CURRENT-OFFSET"], r["LOG-END-OFFSET"], r["LAG"], r["CONSUMER-ID"], r["HOST"], r["CLIENT-ID"]))
	}
	slices.Sort(lines)
	return lines
}

// coordinatorID is the broker of "host:port(id)".
func coordinatorID(coordinator string) string {
	_, id, _ := strings.Cut(coordinator, "(")
	return strings.TrimSuffix(id, ")")
}
