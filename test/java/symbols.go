package java

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// symbols stand in a text for what differs from run to run, each for one value, in
// order of appearance: U1 for an id that somebody drew, P1 for a producer id, and so
// on. What has no identity is a word: TIME, AGE, NUMBER. Addresses of brokers are
// broker1:port. Runs of spaces are one; empty lines and where an exception was
// thrown are left out.
type symbols struct {
	addresses map[string]string // to their symbol
	values    map[string]string // symbol to value
	known     map[string]string // kind and value to symbol
	count     map[string]int    // of a kind
}

func newSymbols(bootstrap []string) *symbols {
	s := &symbols{map[string]string{}, map[string]string{}, map[string]string{}, map[string]int{}}
	for i, address := range bootstrap {
		symbol := "broker" + strconv.Itoa(i+1) + ":port"
		s.addresses[address], s.values[symbol] = symbol, address
	}
	return s
}

func (s *symbols) clone() *symbols {
	return &symbols{s.addresses, maps.Clone(s.values), maps.Clone(s.known), maps.Clone(s.count)}
}

// value is what a symbol stands for, or the word itself.
func (s *symbols) value(word string) string {
	if value, ok := s.values[word]; ok {
		return value
	}
	return word
}

// symbol is the symbol for a value, a new one the first time.
func (s *symbols) symbol(kind, value string) string {
	if known, ok := s.known[kind+value]; ok {
		return known
	}
	s.count[kind]++
	symbol := kind + strconv.Itoa(s.count[kind])
	s.known[kind+value], s.values[symbol] = symbol, value
	return symbol
}

// pattern is something that differs, wherever it stands: the groups of the
// expression. Without a kind the word takes its place.
type pattern struct {
	expression *regexp.Regexp
	kind       string
	word       string
}

var patterns = []pattern{
	{expression: regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`), kind: "U"},
	// An id in base 64, by what stands before it.
	{expression: regexp.MustCompile(`(?:TopicId: |topicId=|Cluster ID: |ClusterId: |"topicId":"|member |owned by |ID )([A-Za-z0-9_-]{22})(?:[^A-Za-z0-9_-]|$)`), kind: "I"},
	{expression: regexp.MustCompile(`\{([A-Za-z0-9_-]{22}):`), kind: "I"},
	{expression: regexp.MustCompile(`(?:producerId[=: ]|ProducerId )([0-9]+)\b`), kind: "P"},
	{expression: regexp.MustCompile(`\b(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,:]\d{1,9}(?:Z)?)`), word: "TIME"},
	{expression: regexp.MustCompile(`\b(1[6-9]\d{11})\b`), word: "TIME"},
	// Whichever of several brokers answers first.
	{expression: regexp.MustCompile(`ListTransactions request sent to broker (\d+)`), word: "ID"},
	{expression: regexp.MustCompile(` in (\d+)ms`), word: "AGE"},
	// The end of the controller's log, which grows all the time.
	{expression: regexp.MustCompile(`FinalizedVersionLevel: \S+ Epoch: (\d+)`), word: "EPOCH"},
	// What the performance tools measure.
	{expression: regexp.MustCompile(`\b(\d+(?:\.\d+)?) (?:records/sec|MB/sec|ms (?:avg|max|[\d.]+th))`), word: "NUMBER"},
	{expression: regexp.MustCompile(`^TIME, TIME, [^,]+, ([^,]+), [^,]+, ([^,]+), ([^,]+), ([^,]+), ([^,]+), ([^,]+)$`), word: "NUMBER"},
	{expression: regexp.MustCompile(`(/[^ ",]*/data)\b`), word: "DIR"},
	{expression: regexp.MustCompile(`"logDir":"([^"]+)"`), word: "DIR"},
}

// columns are those of the tools' tables that differ, by their titles.
var columns = map[string]pattern{
	"ProducerId":             {kind: "P"},
	"CONSUMER-ID":            {kind: "M"},
	"MEMBER":                 {kind: "M"},
	"CoordinatorId":          {word: "COORDINATOR"},
	"Coordinator":            {word: "COORDINATOR"},
	"COORDINATOR(ID)":        {word: "COORDINATOR"},
	"StartTimeMs":            {word: "TIME"},
	"TransactionDurationMs":  {word: "AGE"},
	"LastTimestamp":          {word: "TIME"},
	"Duration(min)":          {word: "AGE"},
	"LatestCoordinatorEpoch": {word: "EPOCH"},
}

// replace is what was printed, line by line, with symbols.
func (s *symbols) replace(printed string) []string {
	addresses := slices.SortedFunc(maps.Keys(s.addresses), func(a, b string) int { return len(b) - len(a) })
	for _, address := range addresses {
		printed = strings.ReplaceAll(printed, address, s.addresses[address])
	}
	var lines []string
	var of *table
	end := func() {
		if of != nil {
			lines = append(lines, s.table(*of)...)
			of = nil
		}
	}
	for line := range strings.Lines(printed) {
		words := strings.Fields(bracket.ReplaceAllString(line, "$1"))
		switch {
		case len(words) == 0:
			end()
		case words[0] == "at" && strings.HasPrefix(line, "\t"):
		case firstTitles[words[0]] && len(words) > 1:
			end()
			of = &table{titles: words}
		case of != nil:
			of.rows = append(of.rows, words)
		default:
			lines = append(lines, s.line(strings.Join(words, " ")))
		}
	}
	end()
	return lines
}

// bracket stands between the address and the id of a coordinator.
var bracket = regexp.MustCompile(` +(\((?:ID|[0-9]+)\))`)

// firstTitles begin tables.
var firstTitles = map[string]bool{"GROUP": true, "TOPIC": true, "Topic": true, "TransactionalId": true, "CoordinatorId": true, "ProducerId": true}

// table is what a tool prints beneath titles, up to the next empty line.
type table struct {
	titles []string
	rows   [][]string
}

// table is the lines of a table. Its rows come from several brokers, or out of a
// hash table: they are sorted by what does not differ, and then by all.
func (s *symbols) table(t table) []string {
	slices.SortFunc(t.rows, func(a, b []string) int { return slices.Compare(t.masked(a), t.masked(b)) })
	var rows []string
	for _, row := range t.rows {
		rows = append(rows, s.line(strings.Join(s.row(t.titles, row), " ")))
	}
	slices.Sort(rows)
	return append([]string{strings.Join(t.titles, " ")}, rows...)
}

// masked is a row without what differs.
func (t table) masked(row []string) []string {
	masked := slices.Clone(row)
	for i := range min(len(t.titles), len(row)) {
		if _, differs := columns[t.titles[i]]; differs {
			masked[i] = ""
		}
	}
	return masked
}

// row replaces what differs in a row of a table.
func (s *symbols) row(titles, words []string) []string {
	for i := range min(len(titles), len(words)) {
		p, ok := columns[titles[i]]
		switch {
		case !ok || words[i] == "-" || words[i] == "None" || strings.HasPrefix(words[i], "-1"):
		case p.kind != "":
			words[i] = s.symbol(p.kind, words[i])
		default:
			words[i] = p.word
		}
	}
	return words
}

// line replaces what differs in any line.
func (s *symbols) line(line string) string {
	for _, p := range patterns {
		var rest strings.Builder
		end := 0
		for _, at := range p.expression.FindAllStringSubmatchIndex(line, -1) {
			for group := range slices.Chunk(at[2:], 2) {
				rest.WriteString(line[end:group[0]])
				if p.kind != "" {
					rest.WriteString(s.symbol(p.kind, line[group[0]:group[1]]))
				} else {
					rest.WriteString(p.word)
				}
				end = group[1]
			}
		}
		line = rest.String() + line[end:]
	}
	return line
}
